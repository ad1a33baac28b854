"""NLI corpora as pairs: the premise, a hypothesis that it entails and, if wanted, one that contradicts it."""

import csv
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import xxhash

from augment.errors import InputError
from pipelines.ingest import normalise
from pipelines.pairing.source import Candidates, PairSource
from pipelines.pairs import NEGATIVE, PAIR_COLUMNS
from pipelines.plan import Input
from pipelines.reading.lines import read_lines
from pipelines.reading.rows import Columns, listed
from pipelines.reading.sources import Source, check_source, load_hub, read_rows
from pipelines.seen import Seen

PREMISES = ("sentence1", "premise", "ori_sentence")
HYPOTHESES = ("sentence2", "hypothesis", "new_sentence")
LABELS = ("gold_label", "label")
ENTAILED = frozenset({"entailment", "entails", "entailed"})
CONTRADICTED = frozenset({"contradiction", "contradicts"})
OTHERS = frozenset({"neutral", "not_entailment", "unknown"}) | CONTRADICTED
UNLABELLED = frozenset({"", "-", "-1"})
SIDES = ("premise", "hypothesis")
EXAMPLE = "give e.g. snli_1.0_train.jsonl, multinli_1.0_train.txt or hf:snli"


@dataclass(frozen=True, slots=True)
class NliSource:
    """An NLI source that was looked at: which columns it has, and the names of its labels where it numbers them."""

    source: Source
    columns: Columns
    label_names: Sequence[str] | None = None

    def batches(self) -> Iterator[tuple[list[str], list[str], list[str | None]]]:
        """Premises, hypotheses (both normalised) and labels in lower case, None where annotators did not agree on one.

        Raises:
            InputError: A row that cannot be read, or labels that are numbers without names.
        """
        for rows in read_rows(self.source, self.columns):
            texts = [normalise(text) for text in rows.texts]
            yield texts, [normalise(pair or "") for pair in rows.pairs], [self._label(each) for each in rows.labels]

    def _label(self, label: str | None) -> str | None:
        text = (label or "").strip().lower()
        if text in UNLABELLED:
            return None
        if not text.isdecimal():
            return text
        if self.label_names is None or int(text) >= len(self.label_names):
            raise InputError(f"{self.source.name}: the label {text!r} is a number without a name: give labels as words")
        return self.label_names[int(text)].lower()


@contextmanager
def nli_sources(names: Sequence[str]) -> Iterator[list[NliSource]]:
    """Look at NLI sources: JSONL, TSV (`.txt` counts as that) or CSV, compressed or not, or `hf:NAME`.

    The premise is the column `sentence1`, `premise` or `ori_sentence`, the hypothesis `sentence2`, `hypothesis` or
    `new_sentence`, the label `gold_label` or `label`: SNLI's, MultiNLI's and GLUE's own files, and others.

    Raises:
        InputError: No source, one that cannot be read, or one without these columns.
    """
    if not names:
        raise InputError(f"--pairs entailment pairs an NLI corpus, and no SOURCE is given: {EXAMPLE}")
    with TemporaryDirectory() as spool:
        yield [_look(name, Path(spool)) for name in names]


def _look(name: str, spool: Path) -> NliSource:
    source = check_source(name, spool)
    if source.format == "text":
        source = Source(source.name, source.path, "tsv", source.sha256)
    names, label_names = _columns_of(source)
    found = [next((each for each in known if each in names), None) for known in (PREMISES, HYPOTHESES, LABELS)]
    premise, hypothesis, label = found
    if premise is None or hypothesis is None or label is None:
        missing = ("premise", "hypothesis", "label")[found.index(None)]
        known = " or ".join((PREMISES, HYPOTHESES, LABELS)[found.index(None)])
        there = listed(names) or "no columns"
        raise InputError(f"{source.name} has no {missing} column ({known}), only {there}: {EXAMPLE}")
    return NliSource(source, Columns(premise, label, hypothesis), label_names)


def _columns_of(source: Source) -> tuple[list[str], Sequence[str] | None]:
    """The names of a source's columns, and of its labels where it numbers them."""
    if source.format == "hub":
        features = load_hub(source.name).features
        return list(features), next(
            (features[name].names for name in LABELS if hasattr(features.get(name), "names")), None
        )
    if source.format in ("parquet", "arrow"):
        raise InputError(f"{source.name} is a {source.format} file: {EXAMPLE}")
    line = next((line for lines in read_lines(source.path, source.name) for line in lines if line.strip()), "")
    if source.format == "jsonl":
        try:
            first = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise InputError(f"{source.name}: its first line is no JSON ({error}): one object a line") from None
        return (list(first) if isinstance(first, dict) else []), None
    cells = next(csv.reader([line])) if source.format == "csv" else line.split("\t")
    return [cell.strip() for cell in cells], None


@dataclass(frozen=True)
class Entailment(PairSource):
    """The entailed pairs of NLI sources (of their first `limit` rows), each once, with or without `negatives`."""

    sources: Sequence[NliSource] = ()
    negatives: bool = False

    def _batches(self) -> Iterator[tuple[str | None, list[str], list[str], list[str | None]]]:
        """The name of the source where there are several, and the columns of a batch."""
        left = self.limit
        for source in self.sources:
            part = source.source.name if len(self.sources) > 1 else None
            for premises, hypotheses, labels in source.batches():
                if left == 0:
                    return
                yield part, premises[:left], hypotheses[:left], labels[:left]
                left = None if left is None else max(0, left - len(premises))

    def tasks(self) -> Iterator[Candidates]:
        """A candidate a row: those that are not entailed or were there already come with that reason.

        Contradictions are handed out in turn: the second hypothesis that a premise entails gets the second one.
        """
        import pyarrow as pa

        contradictions, turns = self._contradictions() if self.negatives else {}, Counter[str]()
        with TemporaryDirectory() as spool:
            seen = Seen(Path(spool))
            for part, premises, hypotheses, labels in self._batches():
                found = _candidates(premises, hypotheses, labels, part, seen)
                if not self.negatives:
                    yield found
                    continue
                negatives: list[str | None] = []
                for premise, hypothesis, reason in zip(premises, hypotheses, found.reasons.to_pylist(), strict=True):
                    others = [each for each in contradictions.get(premise, ()) if each != hypothesis]
                    negatives.append(others[turns[premise] % len(others)] if others and reason is None else None)
                    if premise in contradictions:
                        turns[premise] += reason is None
                yield found.with_negatives(pa.array(negatives, pa.string()))

    def _contradictions(self) -> dict[str, dict[str, None]]:
        """What contradicts each premise that entails something, in order and each once; all of it is in memory."""
        entailing = {
            xxhash.xxh64_intdigest(premise.encode())
            for _, premises, _, labels in self._batches()
            for premise, label in zip(premises, labels, strict=True)
            if label in ENTAILED
        }
        found: dict[str, dict[str, None]] = {}
        for _, premises, hypotheses, labels in self._batches():
            for premise, hypothesis, label in zip(premises, hypotheses, labels, strict=True):
                if label in CONTRADICTED and hypothesis and xxhash.xxh64_intdigest(premise.encode()) in entailing:
                    found.setdefault(premise, {})[hypothesis] = None
        return found


def entailment(sources: Sequence[NliSource], limit: int | None = None, *, negatives: bool = False) -> Entailment:
    """The pairs of NLI sources; the label of all of them is the same, so there is no column of it."""
    import pyarrow as pa

    return Entailment(
        policy="entailment",
        unit="rows",
        inputs=[Input(name=each.source.name, sha256=each.source.sha256) for each in sources],
        params={"negatives": True} if negatives else {},
        made_by={each.source.name: f"{each.columns.text} and {each.columns.pair}" for each in sources},
        columns={NEGATIVE: pa.string()} if negatives else {},
        limit=limit,
        sources=sources,
        negatives=negatives,
    )


def _candidates(
    premises: Sequence[str], hypotheses: Sequence[str], labels: Sequence[str | None], part: str | None, seen: Seen
) -> Candidates:
    """Candidates of some rows; of pairs that are the same only the first that was `seen` has no reason."""
    import numpy as np
    import pyarrow as pa

    rows = list(zip(premises, hypotheses, labels, strict=True))
    numbers = [xxhash.xxh64_intdigest(f"{premise}\t{hypothesis}".encode()) for premise, hypothesis, _ in rows]
    reasons = [_reason(*row) for row in rows]
    entailed = [place for place, reason in enumerate(reasons) if reason is None]
    fresh = seen.add(np.array([numbers[place] for place in entailed], dtype=np.uint64))
    for place, is_new in zip(entailed, fresh.tolist(), strict=True):
        reasons[place] = None if is_new else "exact duplicate"
    names = (pa.repeat(side, len(rows)) for side in SIDES)
    ids = [f"{number:016x}" for number in numbers]
    columns = dict(zip(PAIR_COLUMNS, (ids, premises, premises, hypotheses, *names), strict=True))
    parts = pa.array([part] * len(rows), pa.string())
    return Candidates(pa.RecordBatch.from_pydict(columns), pa.array(reasons, pa.string()), parts)


def _reason(premise: str, hypothesis: str, label: str | None) -> str | None:
    if label is None:
        return "no gold label"
    if label not in ENTAILED:
        return f"gold label {label}" if label in OTHERS else "another gold label"
    return None if premise and hypothesis else "empty premise or hypothesis"
