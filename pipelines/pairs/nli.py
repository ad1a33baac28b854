"""Tables as pairs: two columns, or of NLI a premise, a hypothesis that it entails and one that contradicts it."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import NamedTuple

import xxhash

from augment.errors import InputError
from augment.view import normalise
from pipelines.base.tables.columns import find_columns, header_names, listed
from pipelines.base.tables.reader import open_table
from pipelines.base.tables.sources import Source, check_source
from pipelines.base.tables.table import Table
from pipelines.pairs.candidates import Candidates
from pipelines.pairs.pair import Candidate, blocks
from pipelines.sentences.selection import Seen
from pipelines.storage.dataset import Input, Plan
from pipelines.storage.pair_files import NEGATIVE

COLUMNS = {
    "premise": ("sentence1", "premise", "ori_sentence", "context", "sentence_A"),
    "hypothesis": ("sentence2", "hypothesis", "new_sentence", "hypo", "sentence_B"),
    "label": ("gold_label", "label", "entailment_label", "entailment_judgment", "gold"),
}
"""The columns of SNLI, MultiNLI, XNLI, ANLI, SICK, DocNLI, WANLI and the like."""
ENTAILED = frozenset({"entailment", "entails", "entailed"})
CONTRADICTED = frozenset({"contradiction", "contradicts", "contradictory"})
TEXT_ROLES = ("premise", "hypothesis", NEGATIVE)
UNLABELLED = frozenset({"", "-", "-1"})
MEANINGS = ("entailment", "neutral", "contradiction")
LETTERS = {meaning[0]: meaning for meaning in MEANINGS}
"""ANLI's labels, which are those of an NLI corpus only beside its columns."""
EXAMPLE = "give e.g. snli_1.0_train.jsonl, multinli_1.0_train.txt or hf:snli"


class NliRow(NamedTuple):
    """Normalised texts, and a label in lower case, None if annotators did not agree on one."""

    premise: str
    hypothesis: str
    label: str | None
    negative: str = ""


class TableColumns(NamedTuple):
    """How to read a table as pairs: its columns, none for the usual ones of NLI, and what other labels mean.

    Without an `is_nli`, two columns are pairs, whatever a label says, and a third one has their negatives.
    """

    names: Sequence[str] = ()
    is_nli: bool = True
    meanings: Mapping[str, str] = {}

    @property
    def roles(self) -> Sequence[str]:
        """What the columns that are named hold, in their order."""
        return tuple(COLUMNS) if self.is_nli else TEXT_ROLES


def table_columns(columns: str | None, labels: str | None, *, is_nli: bool) -> TableColumns:
    """What `--columns` and `--labels` name; raises InputError if they are not written as these take them."""
    names = [name.strip() for name in columns.split(",")] if columns is not None else []
    if names and (not 2 <= len(names) <= 3 or len({*names, ""}) != len(names) + 1):
        form = "PREMISE,HYPOTHESIS,LABEL" if is_nli else "LEFT,RIGHT or LEFT,RIGHT,NEGATIVE"
        raise InputError(f"--columns {columns}: write the names of columns, {form}")
    meanings = dict[str, str]()
    for part in labels.split(",") if labels is not None else ():
        label, _, meaning = (word.strip().lower() for word in part.rpartition("="))
        if not label or meaning not in MEANINGS:
            raise InputError(
                f"--labels {labels}: write LABEL=MEANING,..., where a meaning is {', '.join(MEANINGS)}"
            )
        meanings[label] = meaning
    return TableColumns(names, is_nli, meanings)


def nli_sources(names: Sequence[str], spool: Path) -> list[Source]:
    """Find the sources of NLI rows, or of other tables; raises InputError for none."""
    if not names:
        raise InputError(f"--pairs entailment needs an NLI corpus as SOURCE: {EXAMPLE}")
    return [check_source(name, spool, is_table=True) for name in names]


def nli_rows(source: Source, columns: TableColumns) -> Iterator[NliRow]:
    """The rows of a source, those of other tables all entailed.

    Raises InputError for a label without a name.
    """
    table = open_table(source, header_names([COLUMNS]).union(columns.names))
    chosen = _find(source.name, table, columns)
    for row in table.rows(chosen, [role for role in TEXT_ROLES if role in chosen]):
        label = _meaning(row.get("label"), columns)
        if label and label.isdecimal():
            raise InputError(
                f"{source.name}: the label {label!r} is a number without a name: "
                "say what it means, e.g. --labels 0=entailment,1=neutral,2=contradiction"
            )
        premise, hypothesis, negative = (normalise(row.get(role) or "") for role in TEXT_ROLES)
        yield NliRow(premise, hypothesis, label, negative)


def _meaning(label: str | None, columns: TableColumns) -> str | None:
    """The label as NLI has it; of other tables, whose rows are all pairs, "entailment"."""
    if not columns.is_nli:
        return "entailment"
    plain = (label or "").strip().lower()
    plain = columns.meanings.get(plain) or LETTERS.get(plain, plain)
    return None if plain in UNLABELLED else plain


def _find(source: str, table: Table, columns: TableColumns) -> dict[str, str]:
    """The columns of premise, hypothesis and label.

    Of other tables the two that are named, and perhaps a label.
    """
    usual, names = find_columns(source, COLUMNS, table.names), listed(table.opening or table.names)
    if not columns.is_nli and len(usual) == len(COLUMNS):
        raise InputError(
            f"{source} says in a label which of its rows are pairs: see --pairs entailment, or leave that column out"
        )
    if missing := [name for name in columns.names if not table.has(name)]:
        raise InputError(f"{source} has no column {listed(missing)}, only {names}: check --columns")
    chosen = usual | dict(zip(columns.roles, columns.names, strict=False))
    role = next((role for role in COLUMNS if role not in chosen), None)
    if columns.is_nli and role is not None:
        raise InputError(
            f"{source} has no {role} column ({' or '.join(COLUMNS[role])}), only {names}"
            f": name them by --columns PREMISE,HYPOTHESIS,LABEL, or {EXAMPLE}"
        )
    return chosen


def table_pairs(
    sources: Sequence[Source], limit: int | None, columns: TableColumns, negatives: bool
) -> tuple[Candidates, Plan, dict[str, str]]:
    """The entailed pairs of NLI sources, or those of other tables, of their first `limit` rows, each once.

    Returns the candidates, what decides them, and how each source was read.
    """
    given = {"columns": [*columns.names], "labels": dict(columns.meanings), "negatives": negatives}
    params = {name: value for name, value in given.items() if value}
    inputs = tuple(Input(name=source.name, sha256=source.sha256) for source in sources)
    name, how = "entailment", "premises and hypotheses that they entail"
    if not columns.is_nli:
        name, how = "columns", f"columns {' and '.join(columns.names)}"
    plan = Plan(kind="pairs", name=name, params=params, limit=limit, inputs=inputs)
    rows, again = (
        islice(chain.from_iterable(nli_rows(source, columns) for source in sources), limit) for _ in range(2)
    )
    candidate_blocks = _candidate_blocks(rows, columns)
    if negatives:
        candidate_blocks = _with_negatives(candidate_blocks, again)
    has_negatives = negatives or NEGATIVE in columns.roles[: len(columns.names)]
    candidates = Candidates(candidate_blocks, columns=[NEGATIVE] * has_negatives, unit="rows")
    return candidates, plan, {source.name: how for source in sources}


def _candidate_blocks(remaining: Iterator[NliRow], columns: TableColumns) -> Iterator[list[Candidate]]:
    """A candidate for each row, with a reason if it is not entailed or is a duplicate."""
    left, right = ("premise", "hypothesis") if columns.is_nli else columns.names[:2]
    hashes = Seen()
    for rows in blocks(remaining):
        block = list[Candidate]()
        for row in rows:
            texts = f"{row.premise}\t{row.hypothesis}\t{row.negative}".removesuffix("\t")
            id = xxhash.xxh64_hexdigest(texts.encode())
            candidate = Candidate(id, row.premise, row.premise, row.hypothesis, left, right)
            candidate.negative = row.negative or None
            candidate.reason = _reason(row, f"{left} or {right}")
            # the right text is no view of the left one, with which filters would compare it
            if not columns.is_nli:
                candidate.sentence_b = row.hypothesis
            block.append(candidate)
        kept = [candidate for candidate in block if candidate.reason is None]
        for candidate, is_new in zip(kept, hashes.add([int(one.id, 16) for one in kept]), strict=True):
            candidate.reason = None if is_new else "exact duplicate"
        yield block


def _with_negatives(blocks: Iterator[list[Candidate]], rows: Iterator[NliRow]) -> Iterator[list[Candidate]]:
    """The hypotheses that a premise entails get its distinct contradictions, which are all in memory, in turn."""
    contradictions, turns = defaultdict[str, dict[str, None]](dict), Counter[str]()
    for premise, hypothesis, label, _ in rows:
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


def _reason(row: NliRow, names: str) -> str | None:
    """Why a row is no pair; None if it is one."""
    if row.label is None:
        return "no gold label"
    if row.label in ENTAILED:
        return None if row.premise and row.hypothesis else f"empty {names}"
    return f"gold label {row.label[:40]}"
