"""NLI corpora as pairs: a premise, a hypothesis that it entails and, on request, one that contradicts it."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain, islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import xxhash

from augment.errors import InputError
from augment.view import normalise
from pipelines.pairs.candidates import DROPPED, TASK_ROWS, PairSource
from pipelines.sentences.ingest import Seen
from pipelines.sentences.rows import Columns, listed
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
EXAMPLE = "give e.g. snli_1.0_train.jsonl, multinli_1.0_train.txt or hf:snli"


class NliRow(NamedTuple):
    """Normalised texts, and a label in lower case, None if annotators did not agree on one."""

    premise: str
    hypothesis: str
    label: str | None


def nli_sources(names: Sequence[str], spool: Path) -> list[Source]:
    """Find NLI sources: tables in any format that `ingest` reads; text files are read as TSV.

    The premise is the column `sentence1`, `premise` or `ori_sentence`, the hypothesis `sentence2`, `hypothesis` or
    `new_sentence`, the label `gold_label` or `label`. Stdin and pipes are first copied into the folder `spool`. Raises
    InputError for no source, one that cannot be read, or one without these columns.
    """
    if not names:
        raise InputError(f"--pairs entailment needs an NLI corpus as SOURCE: {EXAMPLE}")
    checked = [check_source(name, spool) for name in names]
    sources = [replace(source, format="tsv") if source.format == "text" else source for source in checked]
    for source in sources:
        if source.format in ("markdown", "html"):
            raise InputError(f"{source.name} is a {source.format} file: {EXAMPLE}")
        next(nli_rows(source), None)
    return sources


def nli_rows(source: Source) -> Iterator[NliRow]:
    """The rows of a source; raises InputError for one that cannot be read, or whose label is a number with no name."""
    features = load_hub(source.name).features if source.format == "hub" else {}
    labels = next((features[name].names for name in COLUMNS["label"] if hasattr(features.get(name), "names")), ())

    def label_text(label: str | None) -> str | None:
        text = (label or "").strip().lower()
        if not text.isdecimal():
            return None if text in UNLABELLED else text
        if int(text) >= len(labels):
            raise InputError(f"{source.name}: the label {text!r} is a number without a name: give labels as words")
        return str(labels[int(text)]).lower()

    for rows in read_rows(source, partial(_choose_columns, source.name)):
        hypotheses = (normalise(text or "") for text in rows.pairs)
        yield from map(NliRow, map(normalise, rows.texts), hypotheses, map(label_text, rows.labels))


def _choose_columns(source: str, names: Sequence[str]) -> Columns:
    columns = []
    for role, choices in COLUMNS.items():
        column = next((name for name in choices if name in names), None)
        if column is None:
            problem = f"has no {role} column ({' or '.join(choices)}), only {listed(names)}"
            raise InputError(f"{source} {problem}: {EXAMPLE}")
        columns.append(column)
    return Columns(*columns)


def entailment(sources: Sequence[Source], limit: int | None = None, *, negatives: bool = False) -> PairSource:
    """The entailed pairs of NLI sources (of their first `limit` rows), each once."""
    params = {"negatives": True} if negatives else {}
    inputs = tuple(Input(name=source.name, sha256=source.sha256) for source in sources)
    plan = Plan(kind="pairs", name="entailment", params=params, limit=limit, shard_size=0, inputs=inputs)
    made_by = dict.fromkeys((source.name for source in sources), "premises and hypotheses that they entail")
    rows = ((row.premise, row.hypothesis, _reason(*row)) for row in _all_rows(sources))
    tasks = distinct_pairs(rows, limit, "premise", "hypothesis")
    if not negatives:
        return PairSource(plan, "rows", tasks, made_by)
    tasks = _with_negatives(tasks, islice(_all_rows(sources), limit))
    return PairSource(plan, "rows", tasks, made_by, columns={NEGATIVE: pa.string()})


def _all_rows(sources: Sequence[Source]) -> Iterator[NliRow]:
    return chain.from_iterable(map(nli_rows, sources))


def distinct_pairs(
    rows: Iterator[tuple[str, str, str | None]], limit: int | None, left: str, right: str
) -> Iterator[pa.RecordBatch]:
    """Candidates of the first `limit` rows of two texts and a reason to drop them, or None; duplicates get one.

    `left` and `right` are the names of the sides.
    """
    rows = islice(rows, limit)
    with TemporaryDirectory() as spool:
        hashes = Seen(Path(spool))
        while block := list(islice(rows, TASK_ROWS)):
            texts, partners, reasons = (list(column) for column in zip(*block, strict=True))
            pairs = zip(texts, partners, strict=True)
            numbers = np.array([xxhash.xxh64_intdigest("\t".join(pair).encode()) for pair in pairs], dtype=np.uint64)
            places = np.flatnonzero([reason is None for reason in reasons])
            for place in places[~hashes.add(numbers[places])].tolist():
                reasons[place] = "exact duplicate"
            ids = [f"{number:016x}" for number in numbers.tolist()]
            names = ([name] * len(block) for name in (left, right))
            columns = zip((*PAIR_COLUMNS, DROPPED), (ids, texts, texts, partners, *names, reasons), strict=True)
            yield pa.RecordBatch.from_pydict({name: pa.array(column, pa.string()) for name, column in columns})


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


def _reason(premise: str, hypothesis: str, label: str | None) -> str | None:
    if label is None:
        return "no gold label"
    if label not in ENTAILED:
        return f"gold label {label}" if label in OTHER_LABELS else "another gold label"
    return None if premise and hypothesis else "empty premise or hypothesis"
