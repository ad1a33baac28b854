"""A study's results as the papers print them: seeds as rows, a setting's values as columns, two settings as a grid."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from trainers.studies.results import Baseline, CellResult, Results, Run, Summary, summarise
from trainers.studies.scores import Metric

NOTHING = "-"


@dataclass(frozen=True, slots=True)
class Table:
    """A title, the columns' names, and rows of text; all columns but the first are figures."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    def markdown(self) -> list[str]:
        """Return the table's lines in Markdown, its title first."""
        lines = [self.columns, ("---", *["--:"] * (len(self.columns) - 1)), *self.rows]
        return [f"## {self.title}", "", *("| " + " | ".join(cells) + " |" for cells in lines)]


def shown(summary: Summary | None, digits: int = 2) -> str:
    """Write mean and standard deviation, e.g. `72.85 +- 0.23`; the mean alone where it is of one value."""
    if summary is None:
        return NOTHING
    # Adding zero takes the sign from a zero.
    mean = f"{round(summary.mean, digits) + 0.0:.{digits}f}"
    return mean if summary.deviation is None else f"{mean} +- {summary.deviation:.{digits}f}"


def seeds_tables(results: Results) -> list[Table]:
    """Return one table: a row for every seed, and their mean and deviation."""
    marks = _marks(results)
    metrics = _present(results)
    rows = [(baseline.name, *_single(baseline, metrics)) for baseline in results.baselines]
    for item in results.cells:
        for run in item.runs:
            cells = [f"failed [{marks[run.error]}]"] * len(metrics) if run.error else _single(run, metrics)
            rows.append((f"seed {run.seed}", *cells))
        rows.append(("mean +- sd", *(shown(item.summary(metric.key), metric.digits) for metric in metrics)))
    return [Table(title(results), ("run", *_titles(metrics)), tuple(rows))]


def sweep_tables(results: Results) -> list[Table]:
    """Return the results in the papers' shape.

    One option swept: its values as columns, metrics as rows. Two: a grid for every metric, the first option down.
    More: a row for every cell.
    """
    metrics = [metric for metric in _present(results) if metric.headline]
    if len(results.axes) == 1:
        return [_across(results, metrics)]
    if len(results.axes) == 2:
        return [_grid(results, metric) for metric in metrics]
    return [_list(results, metrics)]


def sweep_details(results: Results) -> Table:
    """Return all figures, a row for every cell."""
    return _list(results, _present(results))


def failures(results: Results) -> list[str]:
    """Return why runs failed, each reason once, under the mark that stands in the tables."""
    runs: dict[str, list[str]] = {}
    for cell, run in results.failed:
        runs.setdefault(run.error or "", []).append(cell.run_title(run.seed))
    return [f"[{mark}] {error} ({'; '.join(runs[error])})" for error, mark in _marks(results).items()]


def _across(results: Results, metrics: Sequence[Metric]) -> Table:
    cell = _cell_writer(results)
    (axis,) = results.axes
    columns = [baseline.name for baseline in results.baselines]
    columns += [item.cell.labels[axis.name] for item in results.cells]
    rows = [
        (
            metric.title,
            *(_number(baseline.figures.get(metric.key), metric) for baseline in results.baselines),
            *(cell(item, metric) for item in results.cells),
        )
        for metric in metrics
    ]
    return Table(title(results), (axis.name, *columns), tuple(rows))


def _grid(results: Results, metric: Metric) -> Table:
    cell = _cell_writer(results)
    down, across = results.axes
    found = {tuple(item.cell.labels.values()): item for item in results.cells}
    rows = [
        (
            label,
            *(cell(found[label, other], metric) if (label, other) in found else NOTHING for other in across.labels),
        )
        for label in down.labels
    ]
    start = "".join(
        f"; {baseline.name}: {_number(baseline.figures.get(metric.key), metric)}" for baseline in results.baselines
    )
    return Table(
        f"{title(results)}: {metric.title}{start}", (f"{down.name} / {across.name}", *across.labels), tuple(rows)
    )


def _list(results: Results, metrics: Sequence[Metric]) -> Table:
    cell = _cell_writer(results)
    rows = [(baseline.name, *_single(baseline, metrics)) for baseline in results.baselines]
    rows += [(item.cell.title, *(cell(item, metric) for metric in metrics)) for item in results.cells]
    return Table(title(results), ("setting", *_titles(metrics)), tuple(rows))


def _cell_writer(results: Results) -> Callable[[CellResult, Metric], str]:
    """Write a cell: mean and deviation, over how many seeds where some failed, and the marks of the reasons."""
    marks = _marks(results)

    def write(item: CellResult, metric: Metric) -> str:
        reasons = dict.fromkeys(run.error for run in item.runs if run.error is not None)
        summary = item.summary(metric.key)
        if not reasons:
            return shown(summary, metric.digits)
        failed = "".join(f" [{marks[reason]}]" for reason in reasons)
        if summary is None:
            return f"failed{failed}"
        return f"{shown(summary, metric.digits)} ({summary.count} of {len(item.runs)} seeds){failed}"

    return write


def _marks(results: Results) -> dict[str, int]:
    reasons = dict.fromkeys(run.error for _, run in results.failed if run.error is not None)
    return {reason: number for number, reason in enumerate(reasons, 1)}


def _present(results: Results) -> list[Metric]:
    """Leave out what no run has, such as the dev score of trainings without a dev set; with no figures, keep all."""
    figures = [run.figures for result in results.cells for run in result.runs] + [b.figures for b in results.baselines]
    present = [metric for metric in results.metrics if any(metric.key in found for found in figures)]
    return present or list(results.metrics[:1])


def _single(item: Run | Baseline, metrics: Iterable[Metric]) -> list[str]:
    return [_number(item.figures.get(metric.key), metric) for metric in metrics]


def _number(value: float | None, metric: Metric) -> str:
    return shown(summarise([value]), metric.digits)


def _titles(metrics: Iterable[Metric]) -> list[str]:
    return [metric.title for metric in metrics]


def title(results: Results) -> str:
    """Return what the results are of, in one line."""
    over = " over " + " and ".join(axis.name for axis in results.axes) if results.axes else ""
    return f"train {results.objective}{over}, {len(results.seeds)} seed{'s' if len(results.seeds) > 1 else ''}"
