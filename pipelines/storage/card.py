"""Data cards in Markdown: what a dataset is, what it was made from, and counts; without a date."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from pipelines.storage.dataset import PLACE, view_schema
from pipelines.storage.files import UNSEALED, seal
from pipelines.storage.plan import Plan

PAIRS_TITLE = "# Pairs: "
Part = tuple[tuple[str, str], Collection[Sequence[object]]]
"""A table of two columns: their heads, and its rows."""


def sentences_card(plan: Plan, counts: Mapping[str, int]) -> str:
    """The card of ingested sentences."""
    labels = plan.params.get("labels", "label")
    columns = (
        "One row per sentence: `id` (xxh64 of the text), `text` (NFC, outer white space stripped), and "
        f"`{labels}` and `pair` if the source has them. Empty lines and exact duplicates were dropped."
    )
    if "split" in plan.params:
        columns += f" `{'`, `'.join(PLACE)}`: where it stands; positions are from 0."
    return _card(plan, "# Sentences", [columns], [(("lines", "rows"), counts.items())])


def view_card(plan: Plan, counts: Mapping[str, Any]) -> str:
    """The card of a view dataset."""
    seed = f", run seed {plan.seed}. A row's own seed is xxh64 of run seed, row id and signature"
    paragraphs = [
        f"`{plan.signature}`{'' if plan.seed is None else seed}.",
        f"`{', '.join(view_schema().names)}`; `view` is null if the status is `failed` or `rejected`; offsets of edits "
        "are in characters of `text`.",
    ]
    tables: list[Part] = [
        (("parameter", "value"), [(key, value) for key, value in plan.params.items() if value is not None]),
        (("status", "rows"), [*counts["statuses"].items(), ("all", counts["rows"])]),
        (("reason", "rows"), counts["reasons"].items()),
        (("spans of the sentences", "number"), counts.get("spans", {}).items()),
    ]
    return _card(plan, f"# View: {plan.name}", paragraphs, tables)


def pairs_card(plan: Plan, counts: Mapping[str, Any], made_by: Mapping[str, str], unit: str, columns: str) -> str:
    """The card of pairs: how their sides or sources were made, counts, and the filters in order."""
    description = (
        f"`{columns}`, as an Arrow IPC stream: `datasets.Dataset.from_file` and `pyarrow.ipc.open_stream` read it."
    )
    filters = enumerate(plan.params["filter"], start=1)
    tables: list[Part] = [
        (("made of", "how"), made_by.items()),
        (("rows", "number"), [(unit, counts[unit]), ("pairs", counts["pairs"])]),
        (("filter", "in order"), [(f"`{name}`", number) for number, name in filters]),
    ]
    for key, heading in (("dropped", "dropped because"), ("kept", "kept although"), ("unused", "not used")):
        tables.append(((heading, "rows"), counts.get(key, {}).items()))
    return _card(plan, f"{PAIRS_TITLE}{plan.name}", [description], tables)


def _card(plan: Plan, title: str, paragraphs: Sequence[str], tables: Sequence[Part]) -> str:
    """Title, paragraphs, tables that have rows, and a checksum in a comment."""
    inputs = [(f"`{item.name}`", f"`{item.sha256}`") for item in plan.inputs]
    parts = [title, *paragraphs]
    for columns, rows in (*tables, (("made from", "sha256"), inputs)):
        cells = [columns, ["---"] * len(columns), *([str(cell).replace("|", "\\|") for cell in row] for row in rows)]
        parts += ["\n".join(f"| {' | '.join(row)} |" for row in cells)] if rows else []
    return seal("\n\n".join([*parts, f"<!-- checksum {UNSEALED} -->"]) + "\n")
