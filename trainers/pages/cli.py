"""`train report`: what trainings logged, did to the vectors and scored, as one HTML page."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from pipelines.console import ConfigOption, InputError, harmless, note, show
from trainers.files import whole_file

FILES, PAGE, MOST = ("recipe.json", "log.jsonl"), "report.html", 6
MARK = '<meta name="generator" content="Twinviews report">'
TITLES = {
    "loss": "Loss",
    "dev": "Development set, Spearman x 100",
    "learning_rate": "Learning rate",
    "alignment": "Alignment: distance of the two views",
    "uniformity": "Uniformity: lower is more even",
    "spread": "Spread: 0 is one direction for all",
    "isotropy": "Isotropy: 1 is even in all directions",
    "random_cosine": "Cosine of random pairs",
    "grad_norm": "Norm of the gradient",
}
"""What is logged, in the order of the page; the parts of the loss, which have names of their own, follow the loss."""
WIDTH, HEIGHT = 100, 40


def report(
    runs: Annotated[list[Path], typer.Argument(help="Directories of runs, or of results.", metavar="RUN...")],
    out: Annotated[
        Path | None, typer.Option(help="File to write. [RUN/report.html; of several runs report.html]")
    ] = None,
    sample: Annotated[int, typer.Option(min=0, max=5000, help="Pairs to draw; 0 loads no encoder.")] = 1000,
    seed: Annotated[int, typer.Option(min=0, help="Decides which.")] = 0,
    beside: Annotated[
        str, typer.Option("--with", help="Papers whose rows stand beside the scores, or none.")
    ] = "bsl,mirror,isbert",
    config: ConfigOption = None,
) -> None:
    """Write one HTML page about RUNs.

    Loss and geometry over the steps; cosines and neighbours before and after the training, of the run's --dev, else of
    what it was trained on; scores beside the papers'.

    Example: train report runs/bsl
    """
    if len(runs) > MOST:
        raise InputError(f"{len(runs)} runs: lines of more than {MOST} cannot be told apart")
    target = out or (runs[0] / PAGE if len(runs) == 1 and runs[0].is_dir() else Path(PAGE))
    if target.exists() and not (target.is_file() and MARK.encode() in target.read_bytes()):
        raise InputError(f"{target} exists and is no page of ours: choose another --out")
    shown = [read_run(run, sample, seed) for run in runs]
    page = render(shown, scores(runs, beside))
    target.parent.mkdir(parents=True, exist_ok=True)
    with whole_file(target) as stream:
        stream.write(page.encode("utf-8"))
    show(f"{target} written")


def read_run(run: Path, sample: int, seed: int) -> dict[str, Any]:
    """Return a run's name, its recipe and log (empty where there is none), and its change from `change_of`, if any."""
    try:
        recipe, log = ((run / name).read_text("utf-8") if (run / name).is_file() else "" for name in FILES)
        lines = [json.loads(line) for line in log.splitlines()]
        read: dict[str, Any] = {"name": str(run), "recipe": json.loads(recipe or "{}"), "log": lines, "change": None}
    except ValueError as error:
        raise InputError(f"the recipe or the log of {run} cannot be read ({error}): train it again") from None
    if read["log"] and sample and "pooling" in read["recipe"]:  # a translation model has no vectors
        from trainers.pages.before import change_of

        try:
            read["change"] = change_of(run, read["recipe"], sample, seed)
        except InputError as error:
            note(f"{run}: no cosines before and after ({error})")
    return read


def scores(runs: Sequence[Path], beside: str) -> list[Any]:
    """Return the runs' scores beside the papers', as tables of `compare_suite`; a run with a log needs none.

    Raises InputError for a directory with neither a log nor results, and for a paper that is not known.
    """
    from trainers.results.comparison import compare_suite
    from trainers.results.papers import PAPERS, published_tables
    from trainers.results.records import FOLDER, read_runs

    papers = [] if beside == "none" else beside.split(",")
    if unknown := set(papers) - set(PAPERS):
        raise InputError(f"--with {beside}: no paper {min(unknown)!r}, there are {', '.join(PAPERS)}; or give none")
    scored = [run for run in runs if (run / FOLDER).is_dir() or not (run / FILES[1]).is_file()]
    found = [each for run in scored for each in read_runs(run)]
    suites = dict.fromkeys(each.stored.suite for run in found for each in run.evaluations)
    return [table for name in suites for table in compare_suite(name, found, published_tables(papers, name))]


def charts(logs: Sequence[Sequence[Mapping[str, float]]]) -> list[dict[str, Any]]:
    """Draw what runs logged, a chart for each value with a line for each run, by the run's number, as an SVG's points.

    `logs` has the lines of each run's log, in their order.
    """
    keys = dict.fromkeys(key for log in logs for line in log for key in line if key not in ("step", "epoch"))
    drawn = []
    for key in ["loss", *(key for key in keys if key not in TITLES), *list(TITLES)[1:]]:
        runs = [[(line["step"], line[key]) for line in log if math.isfinite(line.get(key, math.nan))] for log in logs]
        steps, values = ([point[part] for run in runs for point in run] for part in (0, 1))
        if not steps:
            continue
        first, low = min(steps), min(values)
        across, up = WIDTH / ((max(steps) - first) or 1), (HEIGHT - 2) / ((max(values) - low) or 1)
        lines = {
            number: " ".join(f"{(x - first) * across:.2f},{HEIGHT - 1 - (y - low) * up:.2f}" for x, y in run)
            for number, run in enumerate(runs)
            if run
        }
        title = TITLES.get(key, key.replace("_", " "))
        drawn.append({"title": title, "low": low, "high": max(values), "last": max(steps), "lines": lines})
    return drawn


def figure(value: float | None) -> str:
    """Return four digits of a figure, all of a whole number, or a dash where there is none."""
    if value is None:
        return "–"
    return f"{value:,}" if isinstance(value, int) else f"{value:.4g}"


def render(runs: Sequence[Mapping[str, Any]], tables: Sequence[Any]) -> str:
    """Return the page; whatever is put in is made harmless and escaped."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

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
