"""Data cards in Markdown: what a dataset is, what it is made from and what was counted; undated, so they repeat."""

from collections.abc import Mapping, Sequence
from typing import Any

from pipelines.files import UNSEALED, seal
from pipelines.plan import Plan

PAIRS_TITLE = "# Pairs: "
"""How the card of pairs begins; a file that begins otherwise is none."""


def sentences_card(plan: Plan, counts: Mapping[str, int]) -> str:
    """The card of ingested sentences."""
    lines = [
        "# Sentences",
        "",
        "One row a sentence: `id` (xxh64 of the text), `text` (NFC, outer white space stripped), and "
        f"`{plan.params.get('labels', 'label')}` and `pair` where the source has them. Empty lines and exact "
        "duplicates were dropped.",
        "",
        *_table(("lines", "rows"), list(counts.items())),
        "",
        *_inputs(plan),
    ]
    return _sealed(lines)


def view_card(plan: Plan, counts: Mapping[str, Any]) -> str:
    """The card of a view dataset."""
    lines = [
        f"# View: {plan.name}",
        "",
        f"`{plan.signature}`, run seed {plan.seed}. A row's own seed is xxh64 of run seed, row id and signature.",
        "",
        "`id, text, view, status, reason, pivot, edits, target_fraction, achieved_fraction, alternatives`; `view` is "
        "null where the status is `failed` or `rejected`; offsets of edits are in characters of `text`.",
        "",
        *_table(("parameter", "value"), [(key, value) for key, value in plan.params.items() if value is not None]),
        "",
        *_table(("status", "rows"), [*counts["statuses"].items(), ("all", counts["rows"])]),
        "",
    ]
    if counts["reasons"]:
        lines += [*_table(("reason", "rows"), list(counts["reasons"].items())), ""]
    if "spans" in counts:
        lines += [*_table(("spans of the sentences", "number"), list(counts["spans"].items())), ""]
    return _sealed([*lines, *_inputs(plan)])


def pairs_card(
    plan: Plan,
    counts: Mapping[str, Any],
    made_by: Mapping[str, str],
    *,
    unit: str,
    filters: Sequence[str],
    columns: Sequence[str],
) -> str:
    """The card of a file of pairs.

    Args:
        plan: The plan.
        counts: What was counted; `unit` is the key of what was read.
        made_by: How the sides, or the sources, were made, by name.
        unit: What was read: sentences, rows, ...
        filters: Every filter with its parameters, in the order in which they were applied.
        columns: The columns of the pairs.
    """
    lines = [
        f"{PAIRS_TITLE}{plan.name}",
        "",
        f"`{', '.join(columns)}`, as an Arrow IPC stream: `datasets.Dataset.from_file` and `pyarrow.ipc.open_stream` "
        "read it.",
        "",
        *_table(("made of", "how"), list(made_by.items())),
        "",
        *_table(("rows", "number"), [(unit, counts[unit]), ("pairs", counts["pairs"])]),
        "",
    ]
    if filters:
        lines += [*_table(("filter", "in order"), [(f"`{each}`", n) for n, each in enumerate(filters, start=1)]), ""]
    for key, heading in (("parts", "pairs of"), ("dropped", "dropped because"), ("kept", "kept although")):
        if counts.get(key):
            lines += [*_table((heading, "rows"), list(counts[key].items())), ""]
    return _sealed([*lines, *_inputs(plan)])


def _sealed(lines: Sequence[str]) -> str:
    """The lines, with a checksum in a comment that a page made of them does not show."""
    return seal("\n".join([*lines, "", f"<!-- checksum {UNSEALED} -->"]) + "\n")


def _inputs(plan: Plan) -> list[str]:
    return _table(("made from", "sha256"), [(f"`{item.name}`", f"`{item.sha256}`") for item in plan.inputs])


def _table(columns: Sequence[str], rows: Sequence[Sequence[object]]) -> list[str]:
    escaped = (" | ".join(str(cell).replace("|", "\\|") for cell in row) for row in rows)
    return [f"| {' | '.join(columns)} |", f"|{' --- |' * len(columns)}", *(f"| {row} |" for row in escaped)]
