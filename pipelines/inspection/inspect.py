"""`augment inspect`: counts, origin, statistics, and rows with what a view changed in a text marked word by word."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any, Literal, NamedTuple

import regex
from rich.table import Table
from rich.text import Text

from augment.text.edits import find_edits
from pipelines.base.console import (
    counted,
    escape_control,
    flat,
    print_on,
    show,
    show_json,
    stdout_console,
    table,
)
from pipelines.inspection.opened import QUANTILES, Statistics, facts_of, open_path, sample_rows, statistics
from pipelines.options import InspectOptions
from pipelines.similarity import UNSPACED
from pipelines.storage.pair_files import NEGATIVE

MAX_CHARACTERS = 1_000
"""Characters of a text that are compared and shown."""
WORD = regex.compile(
    rf"\s*+(?:(?:(?!{UNSPACED.pattern})[\p{{L}}\p{{N}}_]\p{{M}}*[\u200c\u200d'’‘\-‐‑]?)+|\X)|\s+"
)
"""A word with accents and apostrophes, or one sign (a whole emoji, an unspaced letter), and the space before
it."""
STYLES = {"same": "", "removed": "red strike", "added": "bold green"}
TEXTS = ("text", "pivot", "view", "view_a", "view_b", NEGATIVE)
"""Columns that are shown on lines of their own; the views are compared with the sentence."""
UNTITLED = {"id", *TEXTS, "view_a_name", "view_b_name", "target_fraction", "achieved_fraction"}


class Piece(NamedTuple):
    """Text that is in both versions ("same"), only in the old one ("removed"), or only in the new one ("added")."""

    change: Literal["same", "removed", "added"]
    text: str


def pieces(old: str, new: str) -> list[Piece]:
    """How `old` became `new`, word by word, up to MAX_CHARACTERS."""
    hidden = max(len(old), len(new)) - MAX_CHARACTERS
    old, new = old[:MAX_CHARACTERS], new[:MAX_CHARACTERS]
    parts, end = list[Piece](), 0
    for edit in find_edits(old, new, WORD.findall):
        parts += [Piece("same", old[end : edit.start]), Piece("removed", edit.old), Piece("added", edit.new)]
        end = edit.end
    parts.append(Piece("same", old[end:]))
    if hidden > 0:
        parts.append(Piece("same", f" … {counted(hidden, 'more character')}"))
    return [piece for piece in parts if piece.text]


def wdiff(parts: Iterable[Piece]) -> str:
    """Pieces as wdiff writes them: `a [-big-]{+large+} dog`."""
    marks = {"same": "{}", "removed": "[-{}-]", "added": "{{+{}+}}"}
    return "".join(marks[piece.change].format(piece.text) for piece in parts)


def figure(value: float) -> str:
    """A number with three digits or three decimals, without decimals from 100 on; a dash for NaN."""
    if value != value:
        return "–"
    if abs(value) >= 100 or value == int(value):
        return f"{value:,.0f}"
    return f"{value:.3f}" if 0.001 <= abs(value) < 0.1 else f"{value:.3g}"


def percent(value: float) -> str:
    """A share as a percentage with one decimal."""
    return f"{100 * value:.1f}"


def sampling(summary: Statistics) -> str:
    """Which rows the statistics cover."""
    return f"statistics over {summary.sampled:,} of {summary.rows:,} rows, drawn with seed {summary.seed}"


def heading(row: Mapping[str, Any]) -> str:
    """A row's id, and its status, reason, label and scores by name."""
    parts = (
        f"{key} {figure(value) if isinstance(value, float) else value}"
        for key, value in row.items()
        if key not in UNTITLED and value is not None and not isinstance(value, list | dict)
    )
    return "  ".join([str(row["id"]), *parts])


def lines(row: Mapping[str, Any]) -> Iterator[tuple[str, Sequence[Piece]]]:
    """The texts of a row by their names, views as they differ from the sentence."""
    for name in TEXTS:
        if isinstance(row.get(name), str):
            old = row["text"] or "" if name.startswith("view") else row[name]
            yield str(row.get(f"{name}_name") or name), pieces(old, row[name])


def inspect(options: InspectOptions) -> None:
    """Print counts, statistics over a sample, and rows: spread evenly, or drawn like the sample if there is a seed."""
    path, seed, dataset = options.path, options.seed, open_path(options.path)
    facts, counts, kind = facts_of(dataset), dataset.counts, dataset.plan.kind
    rows = sample_rows(dataset, options.rows, seed).to_pylist()
    summary = statistics(dataset, options.sample, seed or 0, options.judge_encoder)
    if options.as_json:
        parts = {"counts": counts, "statistics": asdict(summary), "sample": rows}
        show_json({"kind": kind, "path": str(path), **facts, **parts})
        return
    plain = [(key, value) for key, value in facts.items() if key not in ("inputs", "params") and value]
    inputs = [("made from", f"{item['name']} (sha256 {item['sha256'][:12]}…)") for item in facts["inputs"]]
    table((kind, ""), [("path", path), *plain, *inputs])
    table(("counted", "rows"), flat(counts))
    if summary.shares:
        shares = [
            (name, f"{count:,}", f"{of:,}", percent(count / of))
            for name, (count, of) in summary.shares.items()
        ]
        table(("share", "rows", "of", "%"), shares, right=("rows", "of", "%"))
    if summary.measures:
        measures = summary.measures.items()
        cells = [
            (name, *map(figure, (measure.mean, *measure.quantiles.values()))) for name, measure in measures
        ]
        table(["measure", "mean", *QUANTILES], cells, right=["mean", *QUANTILES])
    for name, counts in summary.values.items():
        table((f"column {name}", "rows"), counts.items())
    show(sampling(summary))
    for row in rows:
        _show_row(row)


def _show_row(row: Mapping[str, Any]) -> None:
    """A heading and the texts: on a terminal wrapped and, if it can, coloured."""
    console, grid = stdout_console(), Table.grid(padding=(0, 2, 0, 0))
    for label, parts in lines(row):
        if console.color_system is not None and not console.no_color:
            text = Text.assemble(*((escape_control(piece.text), STYLES[piece.change]) for piece in parts))
        else:
            text = Text(escape_control(wdiff(parts)))
        text.overflow = "fold"
        grid.add_row("", Text(escape_control(label)), text)
    print_on(console, "", Text(escape_control(heading(row)), "bold"), grid)
