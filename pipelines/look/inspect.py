"""What is in a dataset, on the terminal: counts, origin, statistics, and some rows with changes marked."""

import shutil
import sys
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from pipelines.console import harmless, show, show_json, table
from pipelines.look.opened import open_path, spread
from pipelines.look.rows import figure, flat, heading, lines, percent, sampling, wdiff
from pipelines.look.statistics import QUANTILES, Statistics, statistics

STYLES = {"same": "", "removed": "red strike", "added": "bold green"}
WIDE = 104
"""Columns from which a terminal has room for histograms."""
BARS = " ▁▂▃▄▅▆▇█"


def inspect(path: Path, shown: int, seed: int | None, sampled: int, *, as_json: bool) -> None:
    """Print what is in sentences, a view dataset, pairs or rejects: counts, statistics over a sample, and some rows.

    The seed draws both; without one the rows are spread evenly. Raises InputError for what is damaged or not ours.
    """
    opened = open_path(path)
    rows = opened.take(spread(opened.rows, shown, seed)).to_pylist()
    found = statistics(opened, sampled, seed or 0)
    if as_json:
        whole = {"counts": opened.counts, "statistics": asdict(found)}
        show_json({"kind": opened.kind, "path": str(path), **opened.facts, **whole, "sample": rows})
        return
    facts = [(key, value) for key, value in opened.facts.items() if key not in ("inputs", "params") and value]
    inputs = opened.facts.get("inputs", [])
    origins = [("made from", f"{item['name']} (sha256 {item['sha256'][:12]}…)") for item in inputs]
    table((opened.kind, ""), [("path", opened.path), *facts, *origins])
    table(("counted", "rows"), flat(opened.counts))
    _show_statistics(found)
    for row in rows:
        _show_row(opened.kind, row)


def _show_statistics(found: Statistics) -> None:
    if found.shares:
        rows = [(name, f"{count:,}", f"{of:,}", percent(count / of)) for name, (count, of) in found.shares.items()]
        table(("share", "rows", "of", "%"), rows, right=("rows", "of", "%"))
    if found.measures:
        wide = not sys.stdout.isatty() or shutil.get_terminal_size().columns >= WIDE
        cells = []
        for name, each in found.measures.items():
            # Any count above 0 shows.
            bars = "".join(BARS[-(-(len(BARS) - 1) * count // max(each.counts))] for count in each.counts)
            cells.append([name, figure(each.mean), *map(figure, each.quantiles.values())] + [bars] * wide)
        table(["measure", "mean", *QUANTILES, *["histogram"] * wide], cells, right=["mean", *QUANTILES])
    for name, counts in found.values.items():
        table((f"column {name}", "rows"), counts.items())
    if found.self_bleu:
        show(f"self-BLEU of view_a against view_b: {found.self_bleu[0]:.1f}")
    show(sampling(found))


def _show_row(kind: str, row: Mapping[str, Any]) -> None:
    """A heading and the texts; on a terminal lines are wrapped and, if it can, coloured."""
    title = harmless(heading(kind, row))
    texts = [(harmless(label), parts) for label, parts in lines(kind, row)]
    if not sys.stdout.isatty():
        width = max(5, *(len(label) for label, _ in texts))
        show("\n".join(["", title, *(f"  {label:<{width}}  {harmless(wdiff(parts))}" for label, parts in texts)]))
        return
    console, grid = Console(file=sys.stdout, highlight=False), Table.grid(padding=(0, 2, 0, 0))
    colored = console.color_system is not None and not console.no_color
    for label, parts in texts:
        styled = Text.assemble(*((harmless(piece.text), STYLES[piece.change]) for piece in parts))
        grid.add_row("", label, styled if colored else Text(harmless(wdiff(parts))))
    console.print("", Text(title, "bold"), grid, sep="\n")
