"""What the two commands share: what to score on, the dry run, the tables on the screen and on the page."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path

from pipelines.console import InputError, TwinviewsError, note, show, table
from trainers.processes import is_first
from trainers.studies.results import Results, summarise
from trainers.studies.scores import Precision, Scoring, find_scoring
from trainers.studies.study import Planned, Study, plan, run_study, write_results
from trainers.studies.table import Table, failures, title

HOW_TO_SCORE = "no scores: give --data DIR (as `train evaluate`) or set TWINVIEWS_DATA; the same command adds them"


def scoring_of(data: str | None, precision: Precision | None, *, baseline: bool) -> Scoring | None:
    """Return what to score on, from the options or the environment; None without data.

    Raises:
        InputError: No such data, or a baseline without data.
    """
    from trainers.evaluation.cli import DATA_VARIABLE

    data = data or os.environ.get(DATA_VARIABLE)
    if not data:
        if baseline:
            raise InputError(f"--baseline needs benchmarks to score on: give --data DIR, or set {DATA_VARIABLE}")
        return None
    return find_scoring(data, precision or "fp32")


def conduct(
    study: Study, tables: Callable[[Results], list[Table]], details: Callable[[Results], Table] | None = None
) -> None:
    """Check everything, then run what is not done, print the tables, and leave JSON and a page in the folder.

    Raises:
        InputError: Options or data that cannot be used; nothing was run.
        TwinviewsError: A run failed; the others are done.
    """
    planned = plan(study)
    if study.values["dry_run"]:
        _show_plan(study, planned)
        return

    def save(results: Results) -> list[Path]:
        return write_results(study, results, _page(results, tables, details))

    results = run_study(study, save)
    if not is_first():
        return
    for made in tables(results):
        show(made.title)
        table(made.columns, made.rows, right=made.columns[1:])
    for line in failures(results):
        show(line)
    if study.scoring is None:
        note(HOW_TO_SCORE)
    note("written: " + ", ".join(map(str, save(results))))
    if results.failed:
        raise TwinviewsError(f"{len(results.failed)} of {len(planned)} runs failed, see above; the others are done")


def _page(
    results: Results, tables: Callable[[Results], list[Table]], details: Callable[[Results], Table] | None
) -> str:
    lines = [f"# {title(results)}", ""]
    for made in (*tables(results), *([details(results)] if details is not None else [])):
        lines += [*made.markdown(), ""]
    lines += [f"- {line}" for line in failures(results)]
    lines += _remarks(results)
    return "\n".join(lines) + "\n"


def _remarks(results: Results) -> Sequence[str]:
    remarks = []
    seconds = summarise([run.seconds for item in results.cells for run in item.runs])
    if seconds is not None:
        remarks.append(f"- A training took {seconds.mean:.0f} s (mean of {seconds.count}).")
    if len(results.seeds) > 1:
        remarks.append(f"- Mean +- standard deviation (n - 1) over seeds {', '.join(map(str, results.seeds))}.")
    if any(metric.digits == 2 for metric in results.metrics):
        remarks.append("- Scores: Spearman x 100 of the cosine, aggregation `all`.")
    return remarks


def _show_plan(study: Study, planned: Sequence[Planned]) -> None:
    names = [axis.name for axis in study.axes]
    table(
        [*names, "seed", "rows", "steps", "directory", "state"],
        [
            [*item.cell.labels.values(), item.seed, item.rows, item.steps, str(item.directory), item.state]
            for item in planned
        ],
        title=f"train {study.objective}, {len(planned)} runs: a dry run, nothing is written",
    )
