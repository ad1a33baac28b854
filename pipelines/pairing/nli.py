"""NLI corpora as pairs: a premise, a hypothesis that it entails and, on request, one that contradicts it."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import xxhash

from augment.errors import InputError
from pipelines.ingest import Seen, normalise
from pipelines.pairing.candidates import PairSource, candidate_rows
from pipelines.pairs import NEGATIVE, PAIR_COLUMNS
from pipelines.plan import Input, Plan
from pipelines.reading.rows import Columns, listed
from pipelines.reading.sources import Source, check_source, load_hub, read_rows

COLUMNS = {
    "premise": ("sentence1", "premise", "ori_sentence"),
    "label": ("gold_label", "label"),
    "hypothesis": ("sentence2", "hypothesis", "new_sentence"),
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


def nli_sources(names: Sequence[str], spool: Path) -> list[Source]:
    """Find NLI sources, in any format of tables that `ingest` reads; text is taken for TSV.

    The premise is the column `sentence1`, `premise` or `ori_sentence`, the hypothesis `sentence2`, `hypothesis` or
    `new_sentence`, the label `gold_label` or `label`. Stdin and pipes are first copied into the folder `spool`. Raises
    InputError for no source, one that cannot be read, or one without these columns.
    """
    if not names:
        raise InputError(f"--pairs entailment pairs an NLI corpus, and no SOURCE is given: {EXAMPLE}")
    checked = [check_source(name, spool) for name in names]
    sources = [replace(each, format="tsv") if each.format == "text" else each for each in checked]
    for source in sources:
        next(nli_rows(source), None)
    return sources


def nli_rows(source: Source) -> Iterator[list[NliRow]]:
    """The rows of a source in batches; raises InputError for a row that cannot be read, or whose label has no name."""
    features = load_hub(source.name).features if source.format == "hub" else {}
    labels = next((features[each].names for each in COLUMNS["label"] if hasattr(features.get(each), "names")), ())

    def name(label: str | None) -> str | None:
        text = (label or "").strip().lower()
        if not text.isdecimal():
            return None if text in UNLABELLED else text
        if int(text) >= len(labels):
            raise InputError(f"{source.name}: the label {text!r} is a number without a name: give labels as words")
        return str(labels[int(text)]).lower()

    for rows in read_rows(source, partial(_choose_columns, source.name)):
        texts = (map(normalise, rows.texts), (normalise(each or "") for each in rows.pairs))
        yield list(map(NliRow, *texts, map(name, rows.labels)))


def _choose_columns(source: str, names: Sequence[str]) -> Columns:
    found = {what: next((each for each in known if each in names), None) for what, known in COLUMNS.items()}
    for what, column in found.items():
        if column is None:
            said = f"has no {what} column ({' or '.join(COLUMNS[what])}), only {listed(names)}"
            raise InputError(f"{source} {said}: {EXAMPLE}")
    return Columns(*map(str, found.values()))


def entailment(sources: Sequence[Source], limit: int | None = None, *, negatives: bool = False) -> PairSource:
    """The entailed pairs of NLI sources (of their first `limit` rows), each once."""
    params = {"negatives": True} if negatives else {}
    inputs = tuple(Input(name=each.name, sha256=each.sha256) for each in sources)
    plan = Plan(kind="pairs", name="entailment", params=params, limit=limit, shard_size=0, inputs=inputs)
    made_by = dict.fromkeys((each.name for each in sources), "premises and hypotheses that they entail")
    tasks, columns = _candidates(sources, limit, negatives=negatives), {NEGATIVE: pa.string()} if negatives else {}
    return PairSource(plan, "rows", tasks, made_by, columns=columns)


def _batches(sources: Sequence[Source], limit: int | None) -> Iterator[tuple[str | None, list[NliRow]]]:
    """Batches of rows, with the name of their source if there are several."""
    left = limit
    for source in sources:
        for rows in nli_rows(source):
            if left == 0:
                return
            yield source.name if len(sources) > 1 else None, rows[:left]
            left = None if left is None else max(0, left - len(rows))


def _contradictions(sources: Sequence[Source], limit: int | None) -> dict[str, dict[str, None]]:
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


def _candidates(sources: Sequence[Source], limit: int | None, *, negatives: bool) -> Iterator[pa.RecordBatch]:
    """A candidate per row; rows that are not entailed or are duplicates have that reason.

    The second hypothesis that a premise entails gets the second contradiction of it, and so on in turn.
    """
    contradictions, turns = _contradictions(sources, limit) if negatives else {}, Counter[str]()
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
            yield candidate_rows(pairs, reasons, part, negatives=found if negatives else None)


def _reason(premise: str, hypothesis: str, label: str | None) -> str | None:
    if label is None:
        return "no gold label"
    if label not in ENTAILED:
        return f"gold label {label}" if label in OTHERS else "another gold label"
    return None if premise and hypothesis else "empty premise or hypothesis"
