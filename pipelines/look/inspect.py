"""What is in a dataset: counts, where it comes from, statistics, and some rows with their changes marked."""

import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pipelines.console import Color, in_color, note, show, show_json, show_styled, table
from pipelines.look.figures import QUANTILE_NAMES, bars, figure, flat, measures, part_cells, percent, sampling, shares
from pipelines.look.opened import Opened, open_path
from pipelines.look.rowtext import heading, lines
from pipelines.look.sample import Sample, Sampling, Wanted
from pipelines.look.statistics import SAMPLE_ROWS, Statistics, statistics
from pipelines.look.worddiff import wdiff

STYLES = {"same": "", "removed": "red strike", "added": "bold green"}
LONGEST = 2_000
"""Characters of a text that a terminal shows; what goes into a pipe is whole."""
WIDE = 104
"""Columns from which a terminal has room for histograms."""


@dataclass(frozen=True, slots=True)
class Inspected:
    """A dataset that was looked into: what it is, its statistics, and sample rows."""

    opened: Opened
    statistics: Statistics
    sample: Sample

    def as_dict(self) -> dict[str, Any]:
        """All of it as JSON."""
        return {
            "kind": self.opened.kind,
            "path": str(self.opened.path),
            **self.opened.facts,
            "finished": self.opened.unfinished is None,
            "counts": dict(self.opened.counts),
            "statistics": self.statistics.as_dict(),
            "matching": self.sample.matching,
            "sample": list(self.sample.rows),
        }


def inspect_path(path: Path, wanted: Wanted, *, sample: int = SAMPLE_ROWS) -> Inspected:
    """Look into sentences, a view dataset (finished or not), pairs or rejects.

    Args:
        path: The folder or file.
        wanted: Which rows to show; its seed also draws the sample of the statistics.
        sample: Rows that slow statistics are of; 0 for all.

    Raises:
        InputError: Nothing of ours is there, it is damaged, or it has not the columns to choose rows by.
    """
    opened = open_path(path)
    rows = Sampling(opened, wanted)
    found = statistics(opened, sample=sample, seed=wanted.seed or 0, also=[rows.count])
    return Inspected(opened, found, rows.sample())


def show_inspected(seen: Inspected, wanted: Wanted, *, as_json: bool, color: Color = "auto") -> None:
    """Print what was seen."""
    if as_json:
        show_json(seen.as_dict())
        return
    opened = seen.opened
    if opened.unfinished is not None:
        note(f"{opened.path} is {opened.unfinished}")
    _show_facts(opened)
    table(("counted", "rows"), flat(opened.counts))
    _show_statistics(seen.statistics, opened.kind)
    if wanted.is_narrowed:
        found = seen.sample.matching
        show("")
        show(f"{len(seen.sample.rows):,} of {found:,} matching rows" if found else "no row matches")
    colored = in_color(color)
    for row in seen.sample.rows:
        show("")
        _show_row(opened.kind, row, colored=colored)


def _show_facts(opened: Opened) -> None:
    facts: list[tuple[str, Any]] = [("path", opened.path)]
    facts += [(key, value) for key, value in opened.facts.items() if key not in ("inputs", "params") and value]
    for item in opened.facts.get("inputs", []):
        facts.append(("made from", f"{item['name']} (sha256 {item['sha256'][:12]}…)"))
    table((opened.kind, ""), facts)


def _show_statistics(found: Statistics, kind: str) -> None:
    rows = [(name, f"{count:,}", f"{of:,}", percent(share)) for name, count, of, share in shares(found)]
    if rows:
        table(("share", "rows", "of", "%"), rows, right=("rows", "of", "%"))
    summed = measures(found, kind)
    if summed:
        wide = not sys.stdout.isatty() or shutil.get_terminal_size().columns >= WIDE
        names = ["mean", *QUANTILE_NAMES.values()]
        cells = [
            [name, figure(each.mean), *(figure(each.quantiles[key]) for key in QUANTILE_NAMES)]
            + ([bars(each.histogram)] if wide else [])
            for name, each in summed
        ]
        table(["measure", *names, *(["histogram"] if wide else [])], cells, right=names)
    for name, counts in found.values.items():
        table((f"column {name}", "rows"), counts.items())
    if found.parts:
        columns = ("views", "rows", "% identical", "length, b / a", "chrF*", "self-BLEU*")
        table(columns, [part_cells(name, part) for name, part in found.parts.items()], right=columns[1:])
    if found.self_bleu:
        show(f"self-BLEU* of view_a against view_b: {found.self_bleu.score:.1f} ({found.self_bleu.signature})")
    starred = sampling(found)
    if starred:
        show(starred)


def _show_row(kind: str, row: Mapping[str, Any], *, colored: bool) -> None:
    show_styled("", [(heading(kind, row), "bold")], color=colored)
    texts = list(lines(kind, row, LONGEST if sys.stdout.isatty() else None))
    width = min(24, max(5, *(len(each.label) for each in texts)))
    for label, parts in texts:
        styled = [(piece.text, STYLES[piece.change]) for piece in parts] if colored else [(wdiff(parts), "")]
        show_styled(f"  {label:<{width}}  ", styled, color=colored)
