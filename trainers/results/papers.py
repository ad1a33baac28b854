"""The results that the papers print, table by table, as data: `published/<paper>.yaml`."""

from collections.abc import Mapping, Sequence
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from trainers.evaluation.table import Figure

PAPERS = ("bsl", "mirror", "isbert", "simcse", "esimcse", "diffcse", "rankcse", "congen", "sct")
SPEARMAN = "spearman"
"""The measure that an evaluation gives under several aggregations; any other has one figure, of its own name."""
AVERAGE = "average"


class Column(NamedTuple):
    """What a column of a table holds: a measure of a set, or its plain mean over several."""

    sets: tuple[str, ...]
    measure: str


class PublishedRow(NamedTuple):
    """One printed row. `origin`: where the authors took it from; `aggregation`: how a year's subsets were joined."""

    model: str
    cells: Mapping[Column, Figure]
    origin: str | None
    aggregation: str | None
    note: str | None


class PublishedTable(NamedTuple):
    """One printed table. `heads` are the columns as printed; `main`: of results, not of settings or details.

    `source`: the table as it is cited, `BSL Table 1`; `cited`: how other papers cite the paper, `Zhang et al. 2020`.
    """

    source: str
    cited: str
    suite: str
    main: bool
    heads: Mapping[Column, str]
    rows: Sequence[PublishedRow]


@cache
def published_sizes() -> Mapping[str, int]:
    """Return how many items of each set the papers score, if that is known."""
    sizes: dict[str, int] = _read("sizes")
    return sizes


@cache
def load_paper(name: str) -> tuple[PublishedTable, ...]:
    """Return the tables of a paper, one of `PAPERS`, in print order."""
    paper = _read(name)
    return tuple(_table(paper, values) for values in paper["tables"])


def published_tables(papers: Sequence[str], suite: str, *, everything: bool = False) -> list[PublishedTable]:
    """Return the papers' tables of a suite: those of results, or also those of settings and details."""
    tables = [table for name in papers for table in load_paper(name) if table.suite == suite]
    return [table for table in tables if table.main or everything]


def _read(name: str) -> Any:  # noqa: ANN401 - YAML
    import yaml

    return yaml.safe_load((Path(__file__).parent / "published" / f"{name}.yaml").read_text(encoding="utf-8"))


def _table(paper: Mapping[str, Any], values: Mapping[str, Any]) -> PublishedTable:
    """Read columns `set`, `set/measure` and `average`, which is over `average_of` or the table's other sets."""
    named = [written.partition("/")[0] for written in values["columns"]]
    averaged = tuple(values.get("average_of") or dict.fromkeys(name for name in named if name != AVERAGE))
    heads = {
        Column(averaged if name == AVERAGE else (name,), written.partition("/")[2] or values["measure"]): head
        for name, (written, head) in zip(named, values["columns"].items(), strict=True)
    }
    source = f"{paper['title']} {values.get('printed', 'Table ' + values['table'])}"
    marks = {**paper.get("marks", {}), **values.get("marks", {})}
    rows = []
    # A line in brackets is a heading.
    for line in (line for line in values["rows"].splitlines() if not line.startswith("[")):
        model, *printed = (part.strip() for part in line.split("|"))
        mark = model[-1] if model[-1] in marks else None
        model = model[:-1].rstrip() if mark else model
        pairs = zip(heads, printed, strict=True)
        cells = {column: _figure(text, values.get("times", 1)) for column, text in pairs if text != "-"}
        origin = marks[mark] if mark else None if model in values.get("own", ()) else values.get("origin")
        aggregation = paper.get("aggregations", {}).get(mark, values.get("aggregation"))
        note = values.get("notes", {}).get(model, values.get("note"))
        rows.append(PublishedRow(model, cells, origin, aggregation, note))
    return PublishedTable(source, paper["cited"], values["suite"], values.get("main", False), heads, rows)


def _figure(printed: str, times: int) -> Figure:
    value, _, deviation = (part.strip() for part in printed.partition("±"))
    # As decimals, so that .556 becomes exactly 55.6.
    digits = max(0, len(value.partition(".")[2]) - len(str(times)) + 1)
    return Figure(float(Decimal(value) * times), digits, float(Decimal(deviation) * times) if deviation else None)
