"""Data cards in Markdown: what a dataset is, what it is made from and what was counted; undated, so they repeat."""

from collections.abc import Mapping, Sequence
from typing import Any

from pipelines.plan import Plan


def sentences_card(plan: Plan, counts: Mapping[str, int]) -> str:
    """The card of ingested sentences."""
    lines = [
        "# Sentences",
        "",
        "One row a sentence: `id` (xxh64 of the text), `text` (NFC, outer white space stripped), and `label` and "
        "`pair` where the source has them. Empty lines and exact duplicates were dropped.",
        "",
        *_table(("lines", "rows"), list(counts.items())),
        "",
        *_inputs(plan),
    ]
    return "\n".join(lines) + "\n"


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
    return "\n".join([*lines, *_inputs(plan)]) + "\n"


def pairs_card(plan: Plan, counts: Mapping[str, Any], views: Mapping[str, str]) -> str:
    """The card of a file of pairs; `views` maps the name of each side to its signature."""
    lines = [
        f"# Pairs: {plan.name}",
        "",
        "`id, text, view_a, view_b, view_a_name, view_b_name` (and `label` where the sentences have one), as an Arrow "
        "IPC stream: `datasets.Dataset.from_file` and `pyarrow.ipc.open_stream` read it.",
        "",
        *_table(("view", "made by"), list(views.items())),
        "",
        *_table(("rows", "number"), [("sentences", counts["sentences"]), ("pairs", counts["pairs"])]),
        "",
    ]
    if counts["dropped"]:
        lines += [*_table(("dropped because", "rows"), list(counts["dropped"].items())), ""]
    if counts["kept"]:
        lines += [*_table(("kept although", "rows"), list(counts["kept"].items())), ""]
    return "\n".join([*lines, *_inputs(plan)]) + "\n"


def _inputs(plan: Plan) -> list[str]:
    return _table(("made from", "sha256"), [(f"`{item.name}`", f"`{item.sha256}`") for item in plan.inputs])


def _table(columns: Sequence[str], rows: Sequence[Sequence[object]]) -> list[str]:
    escaped = (" | ".join(str(cell).replace("|", "\\|") for cell in row) for row in rows)
    return [f"| {' | '.join(columns)} |", f"|{' --- |' * len(columns)}", *(f"| {row} |" for row in escaped)]
