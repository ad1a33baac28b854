"""`train report`: what trainings logged, did to the vectors and scored, as one HTML page."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pipelines.console import ConfigOption, InputError, harmless, note, show
from trainers.files import whole_file

if TYPE_CHECKING:
    from trainers.results.table import Table

RECIPE, LOG, PAGE = "recipe.json", "log.jsonl", "report.html"
MARK = '<meta name="generator" content="Twinviews report">'
COLOURS = 6
"""Runs of one page: more lines in a chart cannot be told apart."""

Runs = Annotated[list[Path], typer.Argument(help="Directories of runs, or of results.", metavar="RUN...")]
Out = Annotated[Path | None, typer.Option(help="File to write. [RUN/report.html; of several runs report.html]")]
Pairs = Annotated[
    Path | None,
    typer.Option(
        help="Pairs whose cosines are shown before and after: graded ones (TSV, CSV), or a pairs.arrow. [the run's "
        "--dev, else what it was trained on]"
    ),
]
Sample = Annotated[int, typer.Option(min=0, max=5000, help="How many pairs to draw; 0 loads no encoder.")]
Seed = Annotated[int, typer.Option(min=0, help="Decides which.")]
Papers = Annotated[str, typer.Option("--with", help="Papers whose rows stand beside the scores, or none.")]


@dataclass(frozen=True, slots=True)
class Shown:
    """A run on the page: its recipe and log, empty where there are none, and what it did to the vectors."""

    name: str
    recipe: Mapping[str, Any]
    log: Sequence[Mapping[str, float]]
    change: Mapping[str, Any] | None

    def last(self, key: str) -> float | None:
        """Return the value that was logged last."""
        return next((line[key] for line in reversed(self.log) if key in line), None)


def report(
    runs: Runs,
    out: Out = None,
    pairs: Pairs = None,
    sample: Sample = 1000,
    seed: Seed = 0,
    beside: Papers = "bsl,mirror,isbert",
    config: ConfigOption = None,
) -> None:
    """Write one HTML page about RUNs.

    Loss and geometry over the steps; cosines and neighbours before and after the training; scores beside the papers'.

    Example: train report runs/bsl
    """
    if len(runs) > COLOURS:
        raise InputError(f"{len(runs)} runs: a page shows {COLOURS} at most")
    target = out or (runs[0] / PAGE if len(runs) == 1 and runs[0].is_dir() else Path(PAGE))
    if target.exists() and not (target.is_file() and MARK.encode() in target.read_bytes()):
        raise InputError(f"{target} exists and is no page of ours: choose another --out")
    shown = [_shown(run, pairs, sample, seed) for run in runs]
    page = render(shown, scores(runs, shown, beside))
    with whole_file(target) as stream:
        stream.write(page.encode("utf-8"))
    show(f"{target} written")


def _shown(run: Path, pairs: Path | None, sample: int, seed: int) -> Shown:
    if not run.exists():
        raise InputError(f"no run at {str(run)!r}: give the directory of a run, such as runs/bsl")
    try:
        recipe = json.loads((run / RECIPE).read_text(encoding="utf-8")) if (run / RECIPE).is_file() else {}
        lines = (run / LOG).read_text(encoding="utf-8").splitlines() if (run / LOG).is_file() else []
        log = [json.loads(line) for line in lines]
    except ValueError as error:
        raise InputError(f"the recipe or the log of {run} cannot be read ({error}): train it again") from None
    change = None
    if log and sample:
        from trainers.pages.before import change_of

        try:
            change = change_of(run, recipe, pairs, sample, seed)
        except InputError as error:
            if pairs is not None:
                raise
            note(f"{run}: no cosines before and after ({error}); --pairs FILE takes others")
    return Shown(str(run), recipe, log, change)


def scores(runs: Sequence[Path], shown: Sequence[Shown], beside: str) -> list[Table]:
    """Return the runs' scores beside the papers', a table a suite; a run that was trained needs none.

    Raises:
        InputError: A directory holds neither a log nor results, or no paper has such a name.
    """
    from trainers.results.comparison import compare_suite
    from trainers.results.papers import PAPERS, published_tables
    from trainers.results.records import FOLDER, read_runs, shorten

    papers = [] if beside == "none" else beside.split(",")
    if unknown := set(papers) - set(PAPERS):
        raise InputError(f"--with {beside}: no paper {min(unknown)!r}, there are {', '.join(PAPERS)}; or give none")
    scored = [run for run, each in zip(runs, shown, strict=True) if not each.log or (run / FOLDER).is_dir()]
    found = shorten([each for run in scored for each in read_runs(run)], runs)
    suites = dict.fromkeys(record.stored.suite for each in found for record in each.records)
    return [table for name in suites for table in compare_suite(name, found, published_tables(papers, name))]


def render(runs: Sequence[Shown], tables: Sequence[Table]) -> str:
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
    environment.filters["figure"] = lambda value: "–" if value is None else f"{value:.4g}"
    settings = dict.fromkeys(key for run in runs for key in run.recipe if key not in ("twinviews", "command"))
    template = environment.get_template(PAGE)
    return template.render(runs=runs, tables=tables, charts=charts([run.log for run in runs]), settings=settings)
