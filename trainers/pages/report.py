"""`train report`: one HTML page on what trainings logged, what they did to the vectors, and what they scored."""

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Annotated, Any

import numpy as np
import typer
from jinja2 import Environment, PackageLoader, StrictUndefined
from numpy.typing import NDArray

from pipelines.console import ConfigOption, InputError, harmless, note, show
from trainers.data.kinds import KINDS, DataOptions, read_examples
from trainers.embedding.model import load_model, starting_model
from trainers.embedding.vectors import Vectors
from trainers.encoders.loading import load_for_training
from trainers.encoders.location import locate
from trainers.evaluation.pairs import spearman
from trainers.files import whole_file
from trainers.results.comparison import compare_suite, published_tables
from trainers.results.records import FOLDER, read_runs
from trainers.training.dev import read_dev
from trainers.training.directory import RECIPE
from trainers.training.fit import LOG

PAGE, MOST = "report.html", 6
MARK = '<meta name="generator" content="Twinviews report">'
PAPERS = ("bsl", "mirror", "isbert")
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
"""What is logged, in the order of the page; the parts of the loss, under their own names, follow the loss."""
WIDTH, HEIGHT, BINS = 100, 40, 40
NEAREST, SHOWN = 5, 8


def report(
    runs: Annotated[list[Path], typer.Argument(help="Directories of runs, or of results.", metavar="RUN...")],
    out: Annotated[
        Path | None, typer.Option(help="File to write. [RUN/report.html; of several runs report.html]")
    ] = None,
    sample: Annotated[int, typer.Option(min=0, max=5000, help="Pairs to draw; 0 loads no encoder.")] = 1000,
    config: ConfigOption = None,
) -> None:
    """Write one HTML page about RUNs.

    Loss and geometry over the steps; cosines and neighbours before and after the training, of the run's --dev, else of
    what it was trained on; scores beside the papers'.

    Example: train report runs/bsl
    """
    if len(runs) > MOST:
        raise InputError(f"{len(runs)} runs: at most {MOST} lines can be told apart")
    target = out or (runs[0] / PAGE if len(runs) == 1 and runs[0].is_dir() else Path(PAGE))
    if target.exists() and not (target.is_file() and MARK.encode() in target.read_bytes()):
        raise InputError(f"{target} exists and was not written by `train report`: choose another --out")
    page = render([read_run(run, sample) for run in runs], scores(runs))
    target.parent.mkdir(parents=True, exist_ok=True)
    with whole_file(target) as stream:
        stream.write(page.encode("utf-8"))
    show(f"{target} written")


def read_run(run: Path, sample: int) -> dict[str, Any]:
    """Return a run's name, its recipe and log (empty if it has none), and its change from `change_of`, if any."""
    try:
        recipe, log = ((run / name).read_text("utf-8") if (run / name).is_file() else "" for name in (RECIPE, LOG))
        lines = [json.loads(line) for line in log.splitlines()]
        read: dict[str, Any] = {"name": str(run), "recipe": json.loads(recipe or "{}"), "log": lines, "change": None}
    except ValueError as error:
        raise InputError(f"the recipe or the log of {run} is damaged ({error}): train it again") from None
    if lines and sample and "pooling" in read["recipe"]:  # a translation model has no vectors
        try:
            read["change"] = change_of(run, read["recipe"], sample)
        except InputError as error:
            note(f"{run}: no cosines before and after ({error})")
    return read


def change_of(run: Path, recipe: Mapping[str, Any], count: int) -> dict[str, Any]:
    """Compare a run's encoder with the one that it started from, on `count` pairs from `sample_pairs`.

    Returns what the page shows: sizes of the groups, their histograms and mean cosines, the rank correlation with the
    grades, the sentences whose neighbours changed most. Raises InputError if the data or an encoder is missing.
    """
    groups = sample_pairs(recipe, count)
    texts = dict.fromkeys(text for rows in groups.values() for row in rows for text in row[:2])
    source, max_tokens = locate(recipe["encoder"]), recipe["max_tokens"]
    before = starting_model(load_for_training(source, recipe["pooling"], max_tokens), source, max_tokens)
    sides = [Vectors.encode(model, texts) for model in (before, load_model(str(run), max_tokens=max_tokens))]
    columns = {name: list(zip(*rows, strict=True)) for name, rows in groups.items()}
    cosines = [{name: side.cosines(*each[:2]) for name, each in columns.items()} for side in sides]
    low, outlines = histograms(cosines)
    grades = [grade for each in columns.values() for grade in (each[2] if len(each) > 2 else ())]
    first = list(dict.fromkeys(text for each in columns.values() for text in each[0]))
    return {
        "numbers": {name: len(rows) for name, rows in groups.items()},
        "low": low,
        "outlines": outlines,
        "means": {name: [float(side[name].mean()) for side in cosines] for name in groups},
        "spearman": [spearman(grades, np.concatenate(list(side.values()))) for side in cosines] if grades else None,
        "neighbours": moved(first, [np.asarray(side.of(first)) for side in sides]),
    }


def sample_pairs(recipe: Mapping[str, Any], count: int) -> dict[str, list[Any]]:
    """Draw pairs of texts in groups that should lie apart.

    They are of the run's development set, with grades, above and below the middle of the scale; without one, of its
    training data: the two views of a sentence, if they differ, and views of two sentences.
    """
    draw = Random(0)
    if recipe.get("dev"):
        dev = read_dev(recipe["dev"], recipe.get("dev_data"))
        grades = dev.labels or []
        rows = list(zip(dev.left, dev.right, grades, strict=True))
        taken, middle = draw.sample(rows, min(count, len(rows))), (min(grades) + max(grades)) / 2
        named: dict[str, list[Any]] = {
            "graded alike": [row for row in taken if row[2] > middle],
            "graded unlike": [row for row in taken if row[2] <= middle],
        }
    else:
        options = {key: recipe[key] for key in DataOptions.model_fields if recipe.get(key) is not None}
        read, _ = read_examples(DataOptions(**options), tuple(KINDS), recipe["seed"])
        drawn = read.take(draw.sample(range(len(read)), min(count, len(read))))
        views = list(zip(drawn.left, drawn.right, strict=True))
        named = {"two views of a sentence": [(one, two) for one, two in views if one != two]}
        named["two sentences"] = [(one, views[number - 1][1]) for number, (one, _) in enumerate(views)]
    return {name: found for name, found in named.items() if found}


def moved(texts: Sequence[str], sides: Sequence[NDArray[np.float32]]) -> list[dict[str, Any]]:
    """Return the texts whose former neighbours fell furthest behind, with their neighbours and cosines on each side.

    `sides`: the texts' vectors (texts, d) before and after the training.
    """
    near = min(NEAREST, len(texts) - 1)
    cosines = [side / np.maximum(np.linalg.norm(side, axis=1, keepdims=True), 1e-12) for side in sides]
    cosines = [side @ side.T - 9 * np.eye(len(texts), dtype=np.float32) for side in cosines]  # itself comes last
    orders = [np.argsort(-side, axis=1, kind="stable") for side in cosines]
    now = 1 + np.take_along_axis(np.argsort(orders[1], axis=1), orders[0][:, :near], axis=1).mean(axis=1)
    found = []
    for row in np.argsort(-now, kind="stable")[: SHOWN if near else 0]:
        before, after = (
            [(texts[other], float(side[row, other])) for other in order[row, :near]]
            for side, order in zip(cosines, orders, strict=True)
        )
        found.append({"text": texts[row], "rank": float(now[row]), "before": before, "after": after})
    return found


def histograms(sides: Sequence[Mapping[str, NDArray[np.float64]]]) -> tuple[float, list[dict[str, str]]]:
    """Draw the cosines of groups of pairs, before and after, on one scale; each group has the same area.

    Returns the left end of the scale, whose right end is 1, and for each side the points of a polygon by group.
    """
    low = math.floor(10 * min(float(values.min()) for side in sides for values in side.values())) / 10
    edges = np.linspace(low, 1 + 1e-9, BINS + 1)
    shares = [{name: np.histogram(values, edges)[0] / len(values) for name, values in side.items()} for side in sides]
    most = max(float(share.max()) for side in shares for share in side.values())
    xs = np.repeat(np.linspace(0, WIDTH, BINS + 1), 2)

    def outline(share: NDArray[np.float64]) -> str:
        ys = HEIGHT - (HEIGHT - 1) * np.concatenate([[0], np.repeat(share / most, 2), [0]])
        return " ".join(f"{x:.2f},{y:.2f}" for x, y in zip(xs, ys, strict=True))

    return low, [{name: outline(share) for name, share in side.items()} for side in shares]


def charts(logs: Sequence[Sequence[Mapping[str, float]]]) -> list[dict[str, Any]]:
    """Draw one chart for each value in the logs, with one line for each run, by its number, as an SVG's points."""
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


def scores(runs: Sequence[Path]) -> list[Any]:
    """Return the runs' scores beside the papers', as tables of `compare_suite`; a run with a log needs no scores.

    Raises InputError for a directory with neither a log nor results.
    """
    scored = [run for run in runs if (run / FOLDER).is_dir() or not (run / LOG).is_file()]
    found = [each for run in scored for each in read_runs(run)]
    suites = dict.fromkeys(each.stored.suite for run in found for each in run.evaluations)
    return [table for name in suites for table in compare_suite(name, found, published_tables([*PAPERS], name))]


def figure(value: float | None) -> str:
    """Return a figure with four digits, an integer with all of its digits, or a dash for None."""
    if value is None:
        return "–"
    return f"{value:,}" if isinstance(value, int) else f"{value:.4g}"


def render(runs: Sequence[Mapping[str, Any]], tables: Sequence[Any]) -> str:
    """Return the page; all text that is put in is escaped, control characters too."""
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
