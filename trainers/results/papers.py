"""The results that the papers print, table by table, as data: `published/<paper>.yaml`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any

from trainers.results.table import Figure

PAPERS = ("bsl", "mirror", "isbert", "simcse", "esimcse", "diffcse", "rankcse", "congen", "sct")
PUBLISHED = Path(__file__).parent / "published"

SPEARMAN = "spearman"
"""The measure that an evaluation gives under several aggregations; any other has one figure, of its own name."""
AVERAGE = "average"
EMPTY = "-"


@dataclass(frozen=True, slots=True)
class Column:
    """What one column of a table holds: a measure of a set, or its plain mean over several."""

    sets: tuple[str, ...]
    measure: str

    @property
    def averaged(self) -> bool:
        """Whether it is a mean over sets."""
        return len(self.sets) > 1

    @property
    def key(self) -> str:
        """A name for JSON: `stsb`, `ncbi/accuracy@5`, `average of sts12, ...`."""
        name = f"{AVERAGE} of {', '.join(self.sets)}" if self.averaged else self.sets[0]
        return name if self.measure == SPEARMAN else f"{name}/{self.measure}"


@dataclass(frozen=True, slots=True)
class PublishedRow:
    """One printed row. `origin`: where the authors took it from; `aggregation`: how a year's subsets were joined."""

    model: str
    group: str
    cells: Mapping[Column, Figure]
    origin: str | None
    aggregation: str | None
    note: str | None


@dataclass(frozen=True, slots=True)
class PublishedTable:
    """One printed table. `heads` are the columns as printed; `main`: of results, not of settings or details.

    `cited` is how other papers name its own, `Zhang et al. 2020`.
    """

    paper: str
    cited: str
    number: str
    suite: str
    main: bool
    heads: Mapping[Column, str]
    rows: tuple[PublishedRow, ...]

    @property
    def source(self) -> str:
        """The table as it is cited: `BSL Table 1`, `Mirror-BERT section 4.2`."""
        return f"{self.paper} {self.number}"

    @property
    def year(self) -> int:
        """The year of its paper."""
        return int(self.cited.rpartition(" ")[2])


@cache
def published_sizes() -> Mapping[str, int]:
    """Return how many items of each set the papers score, as far as that is known."""
    import yaml

    sizes: dict[str, int] = yaml.safe_load((PUBLISHED / "sizes.yaml").read_text(encoding="utf-8"))
    return sizes


@cache
def load_paper(name: str) -> tuple[PublishedTable, ...]:
    """Return the tables of a paper, in print order.

    Args:
        name: One of `PAPERS`.
    """
    import yaml

    paper = yaml.safe_load((PUBLISHED / f"{name}.yaml").read_text(encoding="utf-8"))
    return tuple(_table(paper, values) for values in paper["tables"])


def published_tables(papers: Sequence[str], suite: str, *, everything: bool = False) -> list[PublishedTable]:
    """Return the papers' tables of a suite: those of results, or also those of settings and details."""
    tables = [table for name in papers for table in load_paper(name) if table.suite == suite]
    return [table for table in tables if table.main or everything]


def _table(paper: Mapping[str, Any], values: Mapping[str, Any]) -> PublishedTable:
    heads = _columns(values)
    return PublishedTable(
        paper=paper["title"],
        cited=paper["cited"],
        number=values.get("printed", f"Table {values['table']}"),
        suite=values["suite"],
        main=values.get("main", False),
        heads=heads,
        rows=tuple(_rows(paper, values, tuple(heads))),
    )


def _columns(values: Mapping[str, Any]) -> dict[Column, str]:
    """Understand `set`, `set/measure` and `average`, which is over `average_of` or the table's other sets."""
    named = [written.partition("/")[0] for written in values["columns"]]
    averaged = tuple(values.get("average_of") or dict.fromkeys(name for name in named if name != AVERAGE))
    return {
        Column(averaged if name == AVERAGE else (name,), written.partition("/")[2] or values["measure"]): head
        for name, (written, head) in zip(named, values["columns"].items(), strict=True)
    }


def _rows(paper: Mapping[str, Any], values: Mapping[str, Any], columns: Sequence[Column]) -> list[PublishedRow]:
    marks = {**paper.get("marks", {}), **values.get("marks", {})}
    own, notes = values.get("own", ()), values.get("notes", {})
    group, rows = "", []
    for line in values["rows"].splitlines():
        if line.startswith("["):
            group = line.strip("[]")
            continue
        name, *printed = (part.strip() for part in line.split("|"))
        mark = name[-1] if name[-1] in marks else None
        model = name[:-1].rstrip() if mark else name
        cells = {
            column: _cell(text, values.get("times", 1))
            for column, text in zip(columns, printed, strict=True)
            if text != EMPTY
        }
        rows.append(
            PublishedRow(
                model=model,
                group=group,
                cells=cells,
                origin=marks[mark] if mark else None if model in own else values.get("origin"),
                aggregation=paper.get("aggregations", {}).get(mark, values.get("aggregation")),
                note=notes.get(model, values.get("note")),
            )
        )
    return rows


def _cell(printed: str, times: int) -> Figure:
    value, _, deviation = (part.strip() for part in printed.partition("±"))
    # As decimals, so that .556 becomes 55.6 and nothing near it.
    decimals = len(value.partition(".")[2]) - len(str(times)) + 1
    return Figure(
        float(Decimal(value) * times), max(0, decimals), float(Decimal(deviation) * times) if deviation else None
    )
