"""`train report`: what trainings logged, did to the vectors and scored, as one HTML page."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from pipelines.console import ConfigOption, InputError, harmless, note, show
from trainers.files import whole_file

FILES, PAGE, MOST = ("recipe.json", "log.jsonl"), "report.html", 6
MARK = '<meta name="generator" content="Twinviews report">'


def report(
    runs: Annotated[list[Path], typer.Argument(help="Directories of runs, or of results.", metavar="RUN...")],
    out: Annotated[
        Path | None, typer.Option(help="File to write. [RUN/report.html; of several runs report.html]")
    ] = None,
    pairs: Annotated[
        Path | None,
        typer.Option(help="Pairs, graded or a pairs.arrow, to compare. [the run's --dev, else what it was trained on]"),
    ] = None,
    sample: Annotated[int, typer.Option(min=0, max=5000, help="Pairs to draw; 0 loads no encoder.")] = 1000,
    seed: Annotated[int, typer.Option(min=0, help="Decides which.")] = 0,
    beside: Annotated[
        str, typer.Option("--with", help="Papers whose rows stand beside the scores, or none.")
    ] = "bsl,mirror,isbert",
    config: ConfigOption = None,
) -> None:
    """Write one HTML page about RUNs.

    Loss and geometry over the steps; cosines and neighbours before and after the training; scores beside the papers'.

    Example: train report runs/bsl
    """
    if len(runs) > MOST:
        raise InputError(f"{len(runs)} runs: lines of more than {MOST} cannot be told apart")
    if pairs is not None and not pairs.exists():
        raise InputError(f"no pairs at {str(pairs)!r}: give graded ones (TSV, CSV) or a pairs.arrow")
    target = out or (runs[0] / PAGE if len(runs) == 1 and runs[0].is_dir() else Path(PAGE))
    if target.exists() and not (target.is_file() and MARK.encode() in target.read_bytes()):
        raise InputError(f"{target} exists and is no page of ours: choose another --out")
    shown = [read_run(run, pairs, sample, seed) for run in runs]
    page = render(shown, scores(runs, [bool(run["log"]) for run in shown], beside))
    target.parent.mkdir(parents=True, exist_ok=True)
    with whole_file(target) as stream:
        stream.write(page.encode("utf-8"))
    show(f"{target} written")


def read_run(run: Path, pairs: Path | None, sample: int, seed: int) -> dict[str, Any]:
    """Return a run's name, its recipe and log (empty where there is none), and its change from `change_of`, if any."""
    try:
        recipe, log = ((run / name).read_text("utf-8") if (run / name).is_file() else "" for name in FILES)
        lines = [json.loads(line) for line in log.splitlines()]
        read: dict[str, Any] = {"name": str(run), "recipe": json.loads(recipe or "{}"), "log": lines}
    except ValueError as error:
        raise InputError(f"the recipe or the log of {run} cannot be read ({error}): train it again") from None
    if not (read["log"] and sample and "pooling" in read["recipe"]):  # a translation model has no vectors
        return {**read, "change": None}
    from trainers.pages.before import change_of

    try:
        return {**read, "change": change_of(run, read["recipe"], pairs, sample, seed)}
    except InputError as error:
        if pairs is not None:
            raise
        note(f"{run}: no cosines before and after ({error}); --pairs FILE takes others")
        return {**read, "change": None}


def scores(runs: Sequence[Path], trained: Sequence[bool], beside: str) -> list[Any]:
    """Return the runs' scores beside the papers', as tables of `compare_suite`; a run that was trained needs none.

    Raises:
        InputError: A directory holds neither a log nor results, or no paper has such a name.
    """
    from trainers.results.comparison import compare_suite
    from trainers.results.papers import PAPERS, published_tables
    from trainers.results.records import FOLDER, read_runs, shorten

    papers = [] if beside == "none" else beside.split(",")
    if unknown := set(papers) - set(PAPERS):
        raise InputError(f"--with {beside}: no paper {min(unknown)!r}, there are {', '.join(PAPERS)}; or give none")
    scored = [run for run, log in zip(runs, trained, strict=True) if not log or (run / FOLDER).is_dir()]
    found = shorten([each for run in scored for each in read_runs(run)], runs)
    suites = dict.fromkeys(each.stored.suite for run in found for each in run.evaluations)
    return [table for name in suites for table in compare_suite(name, found, published_tables(papers, name))]


def figure(value: float | None) -> str:
    """Return four digits of a figure, all of a whole number, or a dash where there is none."""
    if value is None:
        return "–"
    return f"{value:,}" if isinstance(value, int) else f"{value:.4g}"


def render(runs: Sequence[Mapping[str, Any]], tables: Sequence[Any]) -> str:
    """Return the page; whatever is put in is made harmless and escaped."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    from trainers.pages.charts import charts

    environment = Environment(
        loader=PackageLoader("trainers.pages"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=lambda value: harmless(value) if type(value) is str else value,
    )
    environment.filters["figure"] = figure
    last = [{key: value for line in run["log"] for key, value in line.items()} for run in runs]
    drawn = charts([run["log"] for run in runs])
    return environment.get_template(PAGE).render(runs=runs, last=last, tables=tables, charts=drawn)
