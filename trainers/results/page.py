"""All that is known of a suite, its tables for the screen, as Markdown and as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from trainers.results.comparison import ALL, Block
from trainers.results.records import group
from trainers.results.remarks import listed
from trainers.results.significance import Scored, Tested
from trainers.results.table import Table


@dataclass(frozen=True, slots=True)
class Comparison:
    """A suite's rows side by side, and intervals and tests where they were asked for.

    `signed`: say below each table what decides the figures of our rows.
    """

    suite: str
    blocks: Sequence[Block]
    intervals: Sequence[Scored] = ()
    tests: Sequence[Tested] = ()
    signed: bool = False

    def tables(self) -> list[Table]:
        """Return them as text."""
        made = [block.table(signed=self.signed) for block in self.blocks]
        if self.intervals:
            made.append(self._intervals())
        if self.tests:
            made.append(self._tests())
        return made

    def json(self) -> dict[str, Any]:
        """Return them as JSON values."""
        return {
            "suite": self.suite,
            "tables": [block.json() for block in self.blocks],
            "intervals": [asdict(each) for each in self.intervals],
            "tests": [asdict(each) for each in self.tests],
        }

    def _intervals(self) -> Table:
        columns = ("run", "set", "items", "score", "low", "high")
        rows = []
        for each in self.intervals:
            found = each.interval
            rows.append((each.run, each.name, str(each.items), *_decimals(found.value, found.low, found.high)))
        drawn = max(each.interval.resamples for each in self.intervals)
        legend = [f"intervals: 95%, percentiles of {drawn:,} bootstrap samples of the items"]
        return self._titled("intervals", columns, rows, columns[2:], legend, self.intervals, ())

    def _tests(self) -> Table:
        columns = (
            "first", "second", "set",
            "items", "first score", "second score", "difference", "low", "high",
            "p boot", "p rand", "Holm boot", "Holm rand",
        )  # fmt: skip
        rows = []
        for each in self.tests:
            found = each.difference
            values = found.bootstrap, found.randomisation, each.holm_bootstrap, each.holm_randomisation
            rows.append((
                each.first, each.second, each.name, str(each.items), *_decimals(*each.scores),
                f"{found.value:+.2f}", *_decimals(found.low, found.high),
                *("" if p is None else f"{p:.4f}" for p in values),
            ))  # fmt: skip
        legend = [
            "tests: difference is second minus first, with its 95% interval; two-sided p of the paired bootstrap and "
            "of the randomisation test; Holm: corrected for the number of sets, by itself for each pair of runs, "
            "averages not counted"
        ]
        copies = group(((each.first, each.second), each.name) for each in self.tests if each.copies and each.sets == 1)
        notes = [
            f"{listed(sets)}: the same grades over other texts in {first} and in {second}: the copies are tested too"
            for (first, second), sets in copies.items()
        ]
        return self._titled("tests", columns, rows, columns[3:], legend, self.tests, notes)

    def _titled(
        self, kind: str, columns: tuple[str, ...], rows: Sequence[tuple[str, ...]], right: tuple[str, ...],
        legend: list[str], lines: Sequence[Scored | Tested], notes: Sequence[str],
    ) -> Table:  # fmt: skip
        """Return a table of scores, titled with what they are, and what is to be said where averages are among them."""
        measures = dict.fromkeys(each.measure for each in lines if each.sets == 1)
        named = ", ".join("Spearman over all pairs of a set" if name == ALL else name for name in measures)
        if any(each.sets > 1 for each in lines):
            legend.append("average: each set is drawn by itself, as if independent of the others")
            if self.suite == "sts":
                legend.append("average of sts: STS-B does share pairs with STS12-16")
        return Table(f"{self.suite}: {kind}, {named}", columns, tuple(rows), right, tuple(notes), tuple(legend))


def markdown(comparisons: Sequence[Comparison], command: str, remarks: Sequence[str]) -> str:
    """Return a page with all tables; `command` is how it was made, `remarks` are of more than one of them."""
    lines = ["# Comparison", "", f"`{command}`", "", *(f"- {remark}" for remark in remarks), *([""] if remarks else [])]
    for comparison in comparisons:
        for table in comparison.tables():
            lines += table.markdown()
    return "\n".join(lines).rstrip() + "\n"


def _decimals(*values: float) -> tuple[str, ...]:
    return tuple(f"{value:.2f}" for value in values)
