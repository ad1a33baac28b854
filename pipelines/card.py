"""Data cards in Markdown: what a dataset is, what it is made from and what was counted; undated, so they repeat."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pipelines.files import UNSEALED, seal
from pipelines.plan import Plan

PAIRS_TITLE = "# Pairs: "
"""How the card of pairs begins; a file that begins otherwise is none."""
Part = tuple[tuple[str, str], Iterable[Sequence[object]]]
"""A table of two columns: their heads, and its rows."""


def sentences_card(plan: Plan, counts: Mapping[str, int]) -> str:
    """The card of ingested sentences."""
    said = (
        "One row a sentence: `id` (xxh64 of the text), `text` (NFC, outer white space stripped), and "
        f"`{plan.params.get('labels', 'label')}` and `pair` where the source has them. Empty lines and exact "
        "duplicates were dropped."
    )
    return _card(plan, "# Sentences", [said], [(("lines", "rows"), counts.items())])


def view_card(plan: Plan, counts: Mapping[str, Any]) -> str:
    """The card of a view dataset."""
    said = [
        f"`{plan.signature}`, run seed {plan.seed}. A row's own seed is xxh64 of run seed, row id and signature.",
        "`id, text, view, status, reason, pivot, edits, target_fraction, achieved_fraction, alternatives`; `view` is "
        "null where the status is `failed` or `rejected`; offsets of edits are in characters of `text`.",
    ]
    tables: list[Part] = [
        (("parameter", "value"), [(key, value) for key, value in plan.params.items() if value is not None]),
        (("status", "rows"), [*counts["statuses"].items(), ("all", counts["rows"])]),
    ]
    if counts["reasons"]:
        tables.append((("reason", "rows"), counts["reasons"].items()))
    if "spans" in counts:
        tables.append((("spans of the sentences", "number"), counts["spans"].items()))
    return _card(plan, f"# View: {plan.name}", said, tables)


def pairs_card(
    plan: Plan, counts: Mapping[str, Any], made_by: Mapping[str, str], unit: str, filters: Sequence[str], columns: str
) -> str:
    """The card of pairs: how their sides or sources were made, what was read and counted, and the filters in order."""
    said = f"`{columns}`, as an Arrow IPC stream: `datasets.Dataset.from_file` and `pyarrow.ipc.open_stream` read it."
    tables: list[Part] = [
        (("made of", "how"), made_by.items()),
        (("rows", "number"), [(unit, counts[unit]), ("pairs", counts["pairs"])]),
    ]
    if filters:
        tables.append((("filter", "in order"), [(f"`{each}`", n) for n, each in enumerate(filters, start=1)]))
    for key, heading in (("parts", "pairs of"), ("dropped", "dropped because"), ("kept", "kept although")):
        if counts.get(key):
            tables.append(((heading, "rows"), counts[key].items()))
    return _card(plan, f"{PAIRS_TITLE}{plan.name}", [said], tables)


def _card(plan: Plan, title: str, said: Sequence[str], tables: Sequence[Part]) -> str:
    """Title, paragraphs and tables, and a checksum in a comment that a page made of them does not show."""
    inputs = [(f"`{item.name}`", f"`{item.sha256}`") for item in plan.inputs]
    parts = [title, *said, *(_table(*each) for each in (*tables, (("made from", "sha256"), inputs)))]
    return seal("\n\n".join([*parts, f"<!-- checksum {UNSEALED} -->"]) + "\n")


def _table(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    escaped = (" | ".join(str(cell).replace("|", "\\|") for cell in row) for row in rows)
    return "\n".join([f"| {' | '.join(columns)} |", f"|{' --- |' * len(columns)}", *(f"| {row} |" for row in escaped)])
