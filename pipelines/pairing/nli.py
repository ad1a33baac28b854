"""NLI corpora as pairs: the premise, a hypothesis that it entails and, if wanted, one that contradicts it."""

import csv
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import numpy as np
import pyarrow as pa
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

COLUMNS = {
    "premise": ("sentence1", "premise", "ori_sentence"),
    "hypothesis": ("sentence2", "hypothesis", "new_sentence"),
    "label": ("gold_label", "label"),
}
ENTAILED = frozenset({"entailment", "entails", "entailed"})
CONTRADICTED = frozenset({"contradiction", "contradicts"})
OTHERS = frozenset({"neutral", "not_entailment", "unknown"}) | CONTRADICTED
UNLABELLED = frozenset({"", "-", "-1"})
EXAMPLE = "give e.g. snli_1.0_train.jsonl, multinli_1.0_train.txt or hf:snli"


class NliRow(NamedTuple):
    """Normalised texts, and a label in lower case, None where annotators did not agree on one."""

    premise: str
    hypothesis: str
    label: str | None


@dataclass(frozen=True, slots=True)
class NliSource:
    """An NLI source that was looked at: which columns it has, and the names of its labels where it numbers them."""

    source: Source
    columns: Columns
    label_names: Sequence[str] | None = None

    def batches(self) -> Iterator[list[NliRow]]:
        """Its rows, many at a time.

        Raises:
            InputError: A row that cannot be read, or labels that are numbers without names.
        """
        for rows in read_rows(self.source, self.columns):
            yield [
                NliRow(normalise(text), normalise(pair or ""), self._label(label))
                for text, label, pair in zip(*rows, strict=True)
            ]

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
    label_names: Sequence[str] | None = None
    if source.format == "text":
        source = replace(source, format="tsv")
    if source.format == "hub":
        features = load_hub(source.name).features
        names = list(features)
        numbered = (features[each] for each in COLUMNS["label"] if hasattr(features.get(each), "names"))
        label_names = next((each.names for each in numbered), None)
    elif source.format in ("jsonl", "csv", "tsv"):
        names = _header(source)
    else:
        raise InputError(f"{source.name} is a {source.format} file: {EXAMPLE}")
    found = {what: [each for each in known if each in names] for what, known in COLUMNS.items()}
    for what, here in found.items():
        if not here:
            known, there = " or ".join(COLUMNS[what]), listed(names) or "no columns"
            raise InputError(f"{source.name} has no {what} column ({known}), only {there}: {EXAMPLE}")
    premise, hypothesis, label = (here[0] for here in found.values())
    return NliSource(source, Columns(premise, label, hypothesis), label_names)


def _header(source: Source) -> list[str]:
    """The names of a file's columns, as its first line has them.

    Raises:
        InputError: It is no JSON object, in a JSONL file.
    """
    line = next((line for lines in read_lines(source.path, source.name) for line in lines if line.strip()), "")
    if source.format == "jsonl":
        with suppress(ValueError, RecursionError):
            first = json.loads(line or "{}")
            if isinstance(first, dict):
                return list(first)
        raise InputError(f"{source.name}: its first line is no JSON object: {EXAMPLE}")
    cells = next(csv.reader([line])) if source.format == "csv" else line.split("\t")
    return [cell.strip() for cell in cells]


def entailment(sources: Sequence[NliSource], limit: int | None = None, *, negatives: bool = False) -> PairSource:
    """The entailed pairs of NLI sources (of their first `limit` rows), each once; all have the same label."""
    return PairSource(
        policy="entailment",
        unit="rows",
        inputs=[Input(name=each.source.name, sha256=each.source.sha256) for each in sources],
        tasks=_candidates(sources, limit, negatives=negatives),
        params={"negatives": True} if negatives else {},
        made_by={each.source.name: f"{each.columns.text} and {each.columns.pair}" for each in sources},
        columns={NEGATIVE: pa.string()} if negatives else {},
        limit=limit,
    )


def _candidates(sources: Sequence[NliSource], limit: int | None, *, negatives: bool) -> Iterator[Candidates]:
    """A candidate a row: those that are not entailed or were there already come with that reason.

    Contradictions are handed out in turn: the second hypothesis that a premise entails gets the second one.
    """
    contradictions, turns = contradictions_of(sources, limit) if negatives else {}, Counter[str]()
    with TemporaryDirectory() as spool:
        seen = Seen(Path(spool))
        for part, rows in _batches(sources, limit):
            found = _entailed(rows, part, seen)
            column: list[str | None] = [None] * len(rows)
            for place in np.flatnonzero(found.reasons.is_null()).tolist() if negatives else ():
                premise, hypothesis, _ = rows[place]
                others = [each for each in contradictions.get(premise, ()) if each != hypothesis]
                column[place] = others[turns[premise] % len(others)] if others else None
                if premise in contradictions:
                    turns[premise] += 1
            yield found.with_negatives(pa.array(column, pa.string())) if negatives else found


def _batches(sources: Sequence[NliSource], limit: int | None) -> Iterator[tuple[str | None, list[NliRow]]]:
    """The name of the source where there are several, and rows of it."""
    left = limit
    for source in sources:
        for rows in source.batches():
            if left == 0:
                return
            yield source.source.name if len(sources) > 1 else None, rows[:left]
            left = None if left is None else max(0, left - len(rows))


def contradictions_of(sources: Sequence[NliSource], limit: int | None = None) -> dict[str, dict[str, None]]:
    """What contradicts each premise that entails something, in order and each once; all of it is in memory."""
    entailing = {
        xxhash.xxh64_intdigest(row.premise.encode())
        for _, rows in _batches(sources, limit)
        for row in rows
        if row.label in ENTAILED
    }
    found: dict[str, dict[str, None]] = {}
    for _, rows in _batches(sources, limit):
        for premise, hypothesis, label in rows:
            if label in CONTRADICTED and hypothesis and xxhash.xxh64_intdigest(premise.encode()) in entailing:
                found.setdefault(premise, {})[hypothesis] = None
    return found


def _entailed(rows: Sequence[NliRow], part: str | None, seen: Seen) -> Candidates:
    """Candidates of some rows; of pairs that are the same only the first that was `seen` has no reason."""
    numbers = [xxhash.xxh64_intdigest(f"{row.premise}\t{row.hypothesis}".encode()) for row in rows]
    reasons = [_reason(*row) for row in rows]
    entailed = [place for place, reason in enumerate(reasons) if reason is None]
    fresh = seen.add(np.array([numbers[place] for place in entailed], dtype=np.uint64))
    for place, is_new in zip(entailed, fresh.tolist(), strict=True):
        reasons[place] = None if is_new else "exact duplicate"
    premises, hypotheses, _ = zip(*rows, strict=True)
    names = (pa.repeat(side, len(rows)) for side in ("premise", "hypothesis"))
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
