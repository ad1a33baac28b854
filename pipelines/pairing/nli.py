"""NLI corpora as pairs: a premise, a hypothesis that it entails and, on request, one that contradicts it."""

import csv
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import xxhash

from augment.errors import InputError
from pipelines.ingest import Seen, normalise
from pipelines.pairing.candidates import Candidates, PairSource
from pipelines.pairs import NEGATIVE, PAIR_COLUMNS
from pipelines.plan import Input
from pipelines.reading.rows import Columns, listed
from pipelines.reading.sources import Source, check_source, load_hub, read_lines, read_rows

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
    """Normalised texts, and a label in lower case, None if annotators did not agree on one."""

    premise: str
    hypothesis: str
    label: str | None


@dataclass(frozen=True, slots=True)
class NliSource:
    """An NLI source with its columns, and the names of its labels if they are numbers."""

    source: Source
    columns: Columns
    label_names: Sequence[str] | None = None

    def batches(self) -> Iterator[list[NliRow]]:
        """Its rows in batches; raises InputError for a row that cannot be read or a number without a label's name."""
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


def nli_sources(names: Sequence[str], spool: Path) -> list[NliSource]:
    """Find the columns of NLI sources: JSONL, TSV (also named `.txt`) or CSV, compressed or not, or `hf:NAME`.

    The premise is the column `sentence1`, `premise` or `ori_sentence`, the hypothesis `sentence2`, `hypothesis` or
    `new_sentence`, the label `gold_label` or `label`. Stdin and pipes are first copied into the folder `spool`. Raises
    InputError for no source, one that cannot be read, or one without these columns.
    """
    if not names:
        raise InputError(f"--pairs entailment pairs an NLI corpus, and no SOURCE is given: {EXAMPLE}")
    return [_look(check_source(name, spool)) for name in names]


def _look(source: Source) -> NliSource:
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
    found = []
    for what, known in COLUMNS.items():
        column = next((each for each in known if each in names), None)
        if column is None:
            said = f"has no {what} column ({' or '.join(known)}), only {listed(names) or 'no columns'}"
            raise InputError(f"{source.name} {said}: {EXAMPLE}")
        found.append(column)
    premise, hypothesis, label = found
    return NliSource(source, Columns(premise, label, hypothesis), label_names)


def _header(source: Source) -> list[str]:
    """The names of a file's columns, from its first line; raises InputError if that should be a JSON object."""
    line = next((line for lines in read_lines(source.path, source.name) for line in lines if line.strip()), "")
    if source.format == "jsonl":
        with suppress(ValueError, RecursionError, AttributeError):
            return list(json.loads(line or "{}").keys())
        raise InputError(f"{source.name}: its first line is not a JSON object: {EXAMPLE}")
    cells = next(csv.reader([line])) if source.format == "csv" else line.split("\t")
    return [cell.strip() for cell in cells]


def entailment(sources: Sequence[NliSource], limit: int | None = None, *, negatives: bool = False) -> PairSource:
    """The entailed pairs of NLI sources (of their first `limit` rows), each once."""
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


def _batches(sources: Sequence[NliSource], limit: int | None) -> Iterator[tuple[str | None, list[NliRow]]]:
    """Batches of rows, with the name of their source if there are several."""
    left = limit
    for source in sources:
        for rows in source.batches():
            if left == 0:
                return
            yield source.source.name if len(sources) > 1 else None, rows[:left]
            left = None if left is None else max(0, left - len(rows))


def contradictions_of(sources: Sequence[NliSource], limit: int | None = None) -> dict[str, dict[str, None]]:
    """The distinct contradictions of each premise that entails something, in order; all are in memory."""
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


def _candidates(sources: Sequence[NliSource], limit: int | None, *, negatives: bool) -> Iterator[Candidates]:
    """A candidate per row; rows that are not entailed or are duplicates have that reason.

    The second hypothesis that a premise entails gets the second contradiction of it, and so on in turn.
    """
    contradictions, turns = contradictions_of(sources, limit) if negatives else {}, Counter[str]()
    with TemporaryDirectory() as spool:
        seen = Seen(Path(spool))
        for part, rows in _batches(sources, limit):
            reasons = [_reason(*row) for row in rows]
            found: list[str | None] = [None] * len(rows)
            numbers = [xxhash.xxh64_intdigest(f"{row.premise}\t{row.hypothesis}".encode()) for row in rows]
            entailed = [place for place, reason in enumerate(reasons) if reason is None]
            fresh = seen.add(np.array([numbers[place] for place in entailed], dtype=np.uint64)).tolist()
            for place, is_new in zip(entailed, fresh, strict=True):
                premise, hypothesis, _ = rows[place]
                reasons[place] = None if is_new else "exact duplicate"
                others = [each for each in contradictions.get(premise, ()) if each != hypothesis]
                found[place] = others[turns[premise] % len(others)] if is_new and others else None
                turns[premise] += is_new
            premises, hypotheses, _ = zip(*rows, strict=True)
            names = (pa.repeat(side, len(rows)) for side in ("premise", "hypothesis"))
            ids = [f"{number:016x}" for number in numbers]
            pairs = dict(zip(PAIR_COLUMNS, (ids, premises, premises, hypotheses, *names), strict=True))
            parts = pa.array([part] * len(rows), pa.string())
            made = Candidates(pa.RecordBatch.from_pydict(pairs), pa.array(reasons, pa.string()), parts)
            yield made.add_negatives(pa.array(found, pa.string())) if negatives else made


def _reason(premise: str, hypothesis: str, label: str | None) -> str | None:
    if label is None:
        return "no gold label"
    if label not in ENTAILED:
        return f"gold label {label}" if label in OTHERS else "another gold label"
    return None if premise and hypothesis else "empty premise or hypothesis"
