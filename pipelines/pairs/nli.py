"""Tables as pairs: two columns, or of NLI a premise, a hypothesis that it entails and one that contradicts it."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain, islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import xxhash

from augment.errors import InputError
from augment.view import normalise
from pipelines.pairs.candidates import DROPPED, TASK_ROWS, PairSource
from pipelines.pairs.filter import SENTENCE_B
from pipelines.sentences.rows import Columns, listed
from pipelines.sentences.selection import Seen
from pipelines.sentences.sources import Source, check_source, load_hub, read_rows
from pipelines.storage.pair_files import NEGATIVE, PAIR_COLUMNS
from pipelines.storage.plan import Input, Plan

COLUMNS = {
    "premise": ("sentence1", "premise", "ori_sentence"),
    "label": ("gold_label", "label"),
    "hypothesis": ("sentence2", "hypothesis", "new_sentence"),
}
ENTAILED = frozenset({"entailment", "entails", "entailed"})
CONTRADICTED = frozenset({"contradiction", "contradicts"})
OTHER_LABELS = frozenset({"neutral", "not_entailment", "unknown"}) | CONTRADICTED
NLI_LABELS = ENTAILED | OTHER_LABELS
UNLABELLED = frozenset({"", "-", "-1"})
NLI_INSTEAD = "{} says in a label which of its rows are pairs: see --pairs entailment, or leave that column out"
EXAMPLE = "give e.g. snli_1.0_train.jsonl, multinli_1.0_train.txt or hf:snli"


class NliRow(NamedTuple):
    """Normalised texts, and a label in lower case, None if annotators did not agree on one."""

    premise: str
    hypothesis: str
    label: str | None


def nli_sources(names: Sequence[str], spool: Path, pair: Sequence[str] = ()) -> list[Source]:
    """Find NLI sources, or with a `pair` of columns tables that have these, in any format that `ingest` reads.

    Text files are read as TSV. Raises InputError for no source, one that cannot be read, or one without the columns.
    """
    if not names:
        raise InputError(f"--pairs entailment needs an NLI corpus as SOURCE: {EXAMPLE}")
    checked = [check_source(name, spool) for name in names]
    sources = [replace(source, format="tsv") if source.format == "text" else source for source in checked]
    for source in sources:
        if source.format in ("markdown", "html"):
            raise InputError(f"{source.name} is a {source.format} file: {EXAMPLE}")
        next(nli_rows(source, pair), None)
    return sources


def nli_rows(source: Source, pair: Sequence[str] = ()) -> Iterator[NliRow]:
    """The rows of a source, those of a `pair` of columns all entailed; raises InputError for a label without a name."""
    features = load_hub(source.name).features if source.format == "hub" else {}
    labels = next((features[name].names for name in COLUMNS["label"] if hasattr(features.get(name), "names")), ())

    def label_text(label: str | None) -> str | None:
        text = (label or "").strip().lower()
        if not text.isdecimal():
            return None if text in UNLABELLED else text
        if int(text) >= len(labels):
            raise InputError(f"{source.name}: the label {text!r} is a number without a name: give labels as words")
        return str(labels[int(text)]).lower()

    for rows in read_rows(source, partial(_choose_columns, source.name, pair)):
        hypotheses = (normalise(text or "") for text in rows.pairs)
        if pair and not NLI_LABELS.isdisjoint(rows.labels):
            raise InputError(NLI_INSTEAD.format(source.name))
        row_labels = ["entailment"] * len(rows.labels) if pair else map(label_text, rows.labels)
        yield from map(NliRow, map(normalise, rows.texts), hypotheses, row_labels)


def _choose_columns(source: str, pair: Sequence[str], names: Sequence[str]) -> Columns:
    if pair and all(not set(names).isdisjoint(choices) for choices in COLUMNS.values()):
        raise InputError(NLI_INSTEAD.format(source))
    if missing := [name for name in pair if name not in names]:
        raise InputError(f"{source} has no column {listed(missing)}, only {listed(names)}: check --columns")
    if pair:
        return Columns(pair[0], next((name for name in COLUMNS["label"] if name in names), ""), pair[1])
    columns = []
    for role, choices in COLUMNS.items():
        column = next((name for name in choices if name in names), None)
        if column is None:
            problem = f"has no {role} column ({' or '.join(choices)}), only {listed(names)}"
            raise InputError(f"{source} {problem}: {EXAMPLE}")
        columns.append(column)
    return Columns(*columns)


def table_pairs(
    sources: Sequence[Source], limit: int | None = None, pair: Sequence[str] = (), *, negatives: bool = False
) -> PairSource:
    """The entailed pairs of NLI sources, or a `pair` of columns, of their first `limit` rows, each once."""
    params: dict[str, Any] = {"columns": [*pair]} if pair else {"negatives": True} if negatives else {}
    inputs = tuple(Input(name=source.name, sha256=source.sha256) for source in sources)
    name, how = ("columns", "columns {} and {}") if pair else ("entailment", "premises and hypotheses that they entail")
    plan = Plan(kind="pairs", name=name, params=params, limit=limit, shard_size=0, inputs=inputs)
    made_by = dict.fromkeys((source.name for source in sources), how.format(*pair))
    tasks = _candidates(sources, limit, pair)
    if not negatives:
        return PairSource(plan, "rows", tasks, made_by)
    tasks = _with_negatives(tasks, _all_rows(sources, limit, ()))
    return PairSource(plan, "rows", tasks, made_by, columns={NEGATIVE: pa.string()})


def _all_rows(sources: Sequence[Source], limit: int | None, pair: Sequence[str]) -> Iterator[NliRow]:
    return islice(chain.from_iterable(nli_rows(source, pair) for source in sources), limit)


def _candidates(sources: Sequence[Source], limit: int | None, pair: Sequence[str]) -> Iterator[pa.RecordBatch]:
    """A candidate for each row, with a reason if it is not entailed or is a duplicate."""
    remaining, names = _all_rows(sources, limit, pair), pair or ("premise", "hypothesis")
    with TemporaryDirectory() as spool:
        hashes = Seen(Path(spool))
        while rows := list(islice(remaining, TASK_ROWS)):
            premises, hypotheses, _ = zip(*rows, strict=True)
            numbers = [xxhash.xxh64_intdigest(f"{row.premise}\t{row.hypothesis}".encode()) for row in rows]
            reasons = [_reason(*row, *names) for row in rows]
            places = np.flatnonzero([reason is None for reason in reasons])
            for place in places[~hashes.add(np.array(numbers, dtype=np.uint64)[places])].tolist():
                reasons[place] = "exact duplicate"
            ids, sides = [f"{number:016x}" for number in numbers], (pa.repeat(name, len(rows)) for name in names)
            columns = zip((*PAIR_COLUMNS, DROPPED), (ids, premises, premises, hypotheses, *sides, reasons), strict=True)
            pairs = {name: pa.array(column, pa.string()) for name, column in columns}
            if pair:  # the right text is no view of the left one, with which filters would compare it
                pairs[SENTENCE_B] = pairs["view_b"]
            yield pa.RecordBatch.from_pydict(pairs)


def _with_negatives(batches: Iterator[pa.RecordBatch], rows: Iterator[NliRow]) -> Iterator[pa.RecordBatch]:
    """The hypotheses that a premise entails get its distinct contradictions, which are all in memory, in turn."""
    contradictions, turns = defaultdict[str, dict[str, None]](dict), Counter[str]()
    for premise, hypothesis, label in rows:
        if label in CONTRADICTED and hypothesis:
            contradictions[premise][hypothesis] = None
    for batch in batches:
        negatives = []
        columns = (batch[name].to_pylist() for name in ("view_a", "view_b", DROPPED))
        for premise, hypothesis, reason in zip(*columns, strict=True):
            choices = [text for text in contradictions.get(premise, ()) if text != hypothesis and reason is None]
            negatives.append(choices[turns[premise] % len(choices)] if choices else None)
            turns[premise] += reason is None
        yield batch.append_column(NEGATIVE, pa.array(negatives, pa.string()))


def _reason(premise: str, hypothesis: str, label: str | None, left: str, right: str) -> str | None:
    if label is None:
        return "no gold label"
    if label not in ENTAILED:
        return f"gold label {label}" if label in OTHER_LABELS else "another gold label"
    return None if premise and hypothesis else f"empty {left} or {right}"
