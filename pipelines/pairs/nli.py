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
import xxhash

from augment.errors import InputError
from augment.view import normalise
from pipelines.pairs.candidates import Candidates
from pipelines.pairs.pair import BLOCK_ROWS, Candidate
from pipelines.sentences.rows import Columns, listed
from pipelines.sentences.selection import Seen
from pipelines.sentences.sources import Source, check_source, read_rows
from pipelines.storage.pair_files import NEGATIVE
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
    """Find NLI sources, or with a `pair` of columns any tables that have these; raises InputError for none."""
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
    for rows in read_rows(source, partial(_choose_columns, source.name, pair)):
        labels = ["entailment" if pair else (label or "").strip().lower() for label in rows.labels]
        if pair and not NLI_LABELS.isdisjoint(rows.labels):
            raise InputError(NLI_INSTEAD.format(source.name))
        if number := next(filter(str.isdecimal, labels), None):
            raise InputError(f"{source.name}: the label {number!r} is a number without a name: give labels as words")
        hypotheses = (normalise(text or "") for text in rows.pairs)
        gold = (None if label in UNLABELLED else label for label in labels)
        yield from map(NliRow, map(normalise, rows.texts), hypotheses, gold)


def _choose_columns(source: str, pair: Sequence[str], names: Sequence[str]) -> Columns:
    if pair and all(not set(names).isdisjoint(choices) for choices in COLUMNS.values()):
        raise InputError(NLI_INSTEAD.format(source))
    if missing := [name for name in pair if name not in names]:
        raise InputError(f"{source} has no column {listed(missing)}, only {listed(names)}: check --columns")
    if pair:
        return Columns(pair[0], next((name for name in COLUMNS["label"] if name in names), ""), pair[1])
    columns = {role: next((name for name in choices if name in names), "") for role, choices in COLUMNS.items()}
    if role := next((role for role, column in columns.items() if not column), None):
        problem = f"has no {role} column ({' or '.join(COLUMNS[role])}), only {listed(names)}"
        raise InputError(f"{source} {problem}: {EXAMPLE}")
    return Columns(*columns.values())


def table_plan(sources: Sequence[Source], limit: int | None, pair: Sequence[str], *, negatives: bool) -> Plan:
    """What decides the pairs of tables."""
    params: dict[str, Any] = {"columns": [*pair]} if pair else {"negatives": True} if negatives else {}
    inputs = tuple(Input(name=source.name, sha256=source.sha256) for source in sources)
    name = "columns" if pair else "entailment"
    return Plan(kind="pairs", name=name, params=params, limit=limit, shard_size=0, inputs=inputs)


def table_pairs(
    sources: Sequence[Source], limit: int | None = None, pair: Sequence[str] = (), *, negatives: bool = False
) -> Candidates:
    """The entailed pairs of NLI sources, or a `pair` of columns, of their first `limit` rows, each once."""
    rows, again = (islice(chain.from_iterable(nli_rows(source, pair) for source in sources), limit) for _ in range(2))
    blocks = _blocks(rows, pair)
    if not negatives:
        return Candidates(blocks, unit="rows")
    return Candidates(_with_negatives(blocks, again), columns=[NEGATIVE], unit="rows")


def _blocks(remaining: Iterator[NliRow], pair: Sequence[str]) -> Iterator[list[Candidate]]:
    """A candidate for each row, with a reason if it is not entailed or is a duplicate."""
    left, right = pair or ("premise", "hypothesis")
    with TemporaryDirectory() as spool:
        hashes = Seen(Path(spool))
        while rows := list(islice(remaining, BLOCK_ROWS)):
            numbers = [xxhash.xxh64_intdigest(f"{row.premise}\t{row.hypothesis}".encode()) for row in rows]
            block = [
                Candidate(f"{number:016x}", row.premise, row.premise, row.hypothesis, left, right)
                for row, number in zip(rows, numbers, strict=True)
            ]
            for candidate, row in zip(block, rows, strict=True):
                candidate.reason = _reason(*row, left, right)
                if pair:  # the right text is no view of the left one, with which filters would compare it
                    candidate.sentence_b = candidate.view_b
            kept = np.flatnonzero([candidate.reason is None for candidate in block])
            for place in kept[~hashes.add(np.array(numbers, dtype=np.uint64)[kept])].tolist():
                block[place].reason = "exact duplicate"
            yield block


def _with_negatives(blocks: Iterator[list[Candidate]], rows: Iterator[NliRow]) -> Iterator[list[Candidate]]:
    """The hypotheses that a premise entails get its distinct contradictions, which are all in memory, in turn."""
    contradictions, turns = defaultdict[str, dict[str, None]](dict), Counter[str]()
    for premise, hypothesis, label in rows:
        if label in CONTRADICTED and hypothesis:
            contradictions[premise][hypothesis] = None
    for block in blocks:
        for candidate in block:
            if candidate.reason is None:
                choices = [text for text in contradictions.get(candidate.text, ()) if text != candidate.view_b]
                if choices:
                    candidate.negative = choices[turns[candidate.text] % len(choices)]
                turns[candidate.text] += 1
        yield block


def _reason(premise: str, hypothesis: str, label: str | None, left: str, right: str) -> str | None:
    if label is None:
        return "no gold label"
    if label not in ENTAILED:
        return f"gold label {label}" if label in OTHER_LABELS else "another gold label"
    return None if premise and hypothesis else f"empty {left} or {right}"
