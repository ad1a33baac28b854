"""`train report`: one HTML page on what trainings logged, what they did to the vectors, and what they scored."""

import json
import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import numpy as np
import typer
from numpy.typing import NDArray
from pydantic import Field
from scipy.stats import rankdata

from pipelines.base.console import ConfigOption, InputError, note, render_page, show
from pipelines.base.files import check_sums, is_written_by, without_paths, write_page
from pipelines.base.options import Options, with_options
from trainers.cli.evaluate import SHOWN, ColumnsOption, JudgeOption
from trainers.data.examples import Examples
from trainers.data.reading import Spellings, own_columns
from trainers.encoders.location import LOG, RECIPE, TIME
from trainers.encoders.vectors import Vectors, unit
from trainers.files import located
from trainers.scores.pages.comparison import compare_suite, published_tables
from trainers.scores.runs import FOLDER, named, read_runs, seed_folders
from trainers.scores.statistics.significance import score_interval
from trainers.scores.statistics.wording import RULE
from trainers.scores.task import Predictions
from trainers.training import directory

if TYPE_CHECKING:  # it imports the judge, which takes seconds
    from trainers.scores.pages.beside import Judged

PAGE, MAX_RUNS = "report.html", 6
MARK = b'<meta name="generator" content="Twinviews report">'
PAPERS = ["bsl", "mirror", "isbert"]
TITLES = {
    "loss": "Loss",
    "contrast": "Contrastive part of the loss",
    "moved": "Distance from the original vectors, part of the loss",
    "accuracy": "Share of masked tokens that are predicted right",
    "dev": "Development set, x 100",
    "learning_rate": "Learning rate",
    "alignment": "Alignment: distance of the two views",
    "uniformity": "Uniformity: lower is more even",
    "spread": "Spread: 0 is one direction for all",
    "isotropy": "Isotropy: 1 is even in all directions",
    "random_cosine": "Cosine of random pairs",
    "grad_norm": "Norm of the gradient",
}
"""What is logged, in the order of the page; the parts of the loss, under their own names, follow the loss."""
BINS = 40
NEAREST, MAX_MOVED = 5, 8


class ReportOptions(Options):
    """What the page is about, and where it goes."""

    runs: Annotated[list[Path], typer.Argument(metavar="RUN...")]
    """Directories of runs, or of results."""
    out: Path | None = None
    """File to write. [RUN/report.html; of several runs report.html]"""
    sample: Annotated[int, Field(ge=0, le=5000), SHOWN] = 1000
    """Pairs to draw; 0 loads no encoder."""
    judge: JudgeOption = None
    columns: ColumnsOption = None
    config: ConfigOption = None


@with_options
def report(options: ReportOptions) -> None:
    """Write one HTML page about RUNs.

    Loss and geometry over the steps; cosines and neighbours before and after the training, of the run's --dev,
    else of what it was trained on; scores beside the papers'.

    Example: train report runs/bsl
    """
    from trainers.scores.pages.beside import judged_files, score_beside

    runs, target = options.runs, options.out
    if len(runs) > MAX_RUNS:
        raise InputError(f"{len(runs)} runs: at most {MAX_RUNS} lines can be told apart")
    target = target or (runs[0] / PAGE if len(runs) == 1 and runs[0].is_dir() else Path(PAGE))
    if target.exists() and not is_written_by(target, MARK):
        raise InputError(f"{target} exists and was not written by `train report`: choose another --out")
    folders = [seed_folders(run)[0] for run in runs]
    trainings = [read_run(folder, options.sample) for folder in folders]
    columns = own_columns(options.columns)
    if options.judge:
        score_beside(folders, options.judge, columns)
    results = [run for folder in runs if _needs_scores(folder) for run in read_runs(folder)]
    suites = dict.fromkeys(evaluation.suite for run in results for evaluation in run.evaluations)
    titled = named(results)
    tables = [
        table for name in suites for table in compare_suite(name, titled, published_tables(PAPERS, name))
    ]
    judgements = [(Path(run.title), judged) for run in results for judged in judged_files(run)]
    tables += [judged.table for _, judged in judgements if not judged.sides]
    parts = [judged_part(run, judged, columns) for run, judged in judgements if judged.sides]
    shown = {
        "runs": trainings,
        "charts": charts(trainings),
        "tables": tables,
        "judged": parts,
        # What was judged together has one verdict, which stands on the page once.
        "verdicts": dict.fromkeys((part["source"], part["verdict"]) for part in parts),
        "rule": RULE,
    }
    write_page(target, render_page("trainers.scores.pages", without_paths, **shown))
    show(f"{target} written")


def _needs_scores(run: Path) -> bool:
    """Whether to read a directory's scores: it has some, or no log either, so that reading tells what is wrong."""
    return any((folder / FOLDER).is_dir() or not (folder / LOG).is_file() for folder in seed_folders(run))


def read_run(run: Path, sample: int) -> dict[str, Any]:
    """Return a run's name, its recipe and log (empty if missing), its last values, and its change, if any."""
    check_sums(run, "train it again with --overwrite")
    try:
        texts = [
            (run / name).read_text("utf-8") if (run / name).is_file() else "" for name in (RECIPE, LOG, TIME)
        ]
        recipe, end, *lines = map(json.loads, [texts[0] or "{}", texts[2] or "{}", *texts[1].splitlines()])
        if not all(isinstance(values, dict) for values in (recipe, end, *lines)):
            raise ValueError("a line is no object")
    except (ValueError, RecursionError) as error:
        raise InputError(f"{RECIPE}, {LOG} or {TIME} of {run} is damaged ({error}): train it again") from None
    change = None
    if lines and sample and "pooling" in recipe:  # a translation model has no vectors
        try:
            change = change_of(run, recipe, sample)
        except InputError as error:
            note(f"{run}: no cosines before and after ({error})")
    last = {key: value for line in lines for key, value in line.items()}
    shown = directory.without_paths(recipe)
    return {"name": str(run), "recipe": shown, "log": lines, "last": last, "change": change, "end": end}


def change_of(run: Path, recipe: Mapping[str, Any], count: int) -> dict[str, Any]:
    """Return a run's encoder beside its start on `count` pairs; raises InputError if data or encoder is gone."""
    from trainers.encoders.loading import load_for_training
    from trainers.encoders.model import load_model, starting_model
    from trainers.scores.provenance import find_start

    groups, source = sample_pairs(run, recipe, count), find_start(run, recipe)
    columns = {name: list(zip(*rows, strict=True)) for name, rows in groups.items()}
    texts = [text for sides in columns.values() for side in sides for text in side]
    max_tokens = recipe["max_tokens"]
    before = starting_model(load_for_training(source, recipe["pooling"], max_tokens), source, max_tokens)
    encodings = [
        Vectors.encode(model, texts) for model in (before, load_model(str(run), max_tokens=max_tokens))
    ]
    cosines = [{name: vectors.cosines(*sides) for name, sides in columns.items()} for vectors in encodings]
    low = math.floor(10 * min(float(values.min()) for side in cosines for values in side.values())) / 10
    shares = [{name: _histogram(values, low) for name, values in side.items()} for side in cosines]
    first = list(dict.fromkeys(text for left, _ in columns.values() for text in left))
    return {
        "numbers": {name: len(rows) for name, rows in groups.items()},
        "low": low,
        "shares": shares,
        "peak": max(share for side in shares for group in side.values() for share in group),
        "means": {name: [float(side[name].mean()) for side in cosines] for name in groups},
        "neighbours": moved(first, [np.asarray(vectors.of(first)) for vectors in encodings]),
    }


def sample_pairs(run: Path, recipe: Mapping[str, Any], count: int) -> dict[str, list[tuple[str, str]]]:
    """Draw pairs that should lie apart, by grade from the run's --dev, else views of one sentence and of two."""
    from trainers.scores.dev_set import dev_of
    from trainers.scores.provenance import training_text

    rng, dev = Random(0), dev_of(run, recipe)
    if isinstance(dev, Examples):
        grades = dev.labels or []
        rows = list(zip(dev.left, dev.right, grades, strict=True))
        sample, middle = rng.sample(rows, min(count, len(rows))), (min(grades) + max(grades)) / 2
        groups = {"graded alike": [pair[:2] for pair in sample if pair[2] > middle]}
        groups["graded unlike"] = [pair[:2] for pair in sample if pair[2] <= middle]
    else:
        examples = training_text(run, recipe)
        examples = examples.take(rng.sample(range(len(examples)), min(count, len(examples))))
        views = list(zip(examples.left, examples.right, strict=True))
        groups = {"two views of a sentence": [(left, right) for left, right in views if left != right]}
        groups["two sentences"] = [(left, views[row - 1][1]) for row, (left, _) in enumerate(views)]
    return {name: pairs for name, pairs in groups.items() if pairs}


def moved(texts: Sequence[str], sides: Sequence[NDArray[np.float32]]) -> list[dict[str, Any]]:
    """Return the texts whose neighbours fell furthest behind from the first of the sides (texts, d) to the second."""
    near = min(NEAREST, len(texts) - 1)
    # itself last
    cosines = [side @ side.T - 9 * np.eye(len(texts), dtype=np.float32) for side in map(unit, sides)]
    orders = [np.argsort(-side, axis=1, kind="stable") for side in cosines]
    ranks = 1 + np.take_along_axis(np.argsort(orders[1], axis=1), orders[0][:, :near], axis=1).mean(axis=1)
    changes = []
    for row in np.argsort(-ranks, kind="stable")[: MAX_MOVED if near else 0]:
        before, after = (
            [(texts[neighbour], float(side[row, neighbour])) for neighbour in order[row, :near]]
            for side, order in zip(cosines, orders, strict=True)
        )
        changes.append({"text": texts[row], "rank": float(ranks[row]), "before": before, "after": after})
    return changes


def _histogram(values: NDArray[np.float64], low: float) -> list[float]:
    """Return the shares of cosines in equal bins from `low` to 1."""
    counts, _ = np.histogram(values, np.linspace(low, 1 + 1e-9, BINS + 1))
    return [float(share) for share in counts / len(values)]


def charts(runs: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return a chart for each value in the logs: its ends, and the points of each run that has any, by its number."""
    keys = dict.fromkeys(key for run in runs for key in run["last"] if key not in ("step", "epoch"))
    figures = []
    for key in ["loss", *(key for key in keys if key not in TITLES), *list(TITLES)[1:]]:
        logs = ([line for line in run["log"] if "step" in line and key in line] for run in runs)
        curves = [[(line["step"], line[key]) for line in log if math.isfinite(line[key])] for log in logs]
        points = [point for curve in curves for point in curve]
        if points:
            steps, values = zip(*points, strict=True)
            ends = {"first": min(steps), "last": max(steps), "low": min(values), "high": max(values)}
            figures.append({"title": TITLES.get(key, key.replace("_", " ")), **ends, "curves": curves})
    return figures


def judged_part(run: Path, judged: "Judged", columns: Spellings) -> dict[str, Any]:
    """Return what the page shows of a judged table: its lines, with scores and intervals of both sides."""
    sides = [
        [(of.estimate.score, *score_interval(of.estimate)) for of in side.values()] for side in judged.sides
    ]
    ends = [end for side in sides for line in side for end in line]
    changes = sorted(text_changes(run, judged, columns), key=lambda change: change.gain)
    return {
        "run": str(run),
        "title": judged.table.title,
        "source": Path(next(iter(judged.sides[1].values())).stored.source).name,
        "verdict": str(judged.verdict),
        "figures": list(zip(judged.table.rows, zip(*sides, strict=True), strict=True)),
        "low": min(ends),
        "high": max(ends),
        "changes": changes,
        "are_pairs": any(change.cosines for change in changes),
    }


class TextChange(NamedTuple):
    """A judged text, query or pair, the means of its figures x 100 before and after, and of a pair its two cosines."""

    text: str
    before: float
    after: float
    cosines: tuple[float, float] | None = None

    @property
    def gain(self) -> float:
        """By how much it is better."""
        return self.after - self.before


def text_changes(run: Path, judged: "Judged", columns: Spellings) -> list[TextChange]:
    """Return the judged texts or pairs whose figures are known before and after, if the table is still there.

    A pair counts only if its cosine went where its rank did: all others may have moved past it.
    """
    from trainers.scores.tables.judge import read_judge

    before, after = judged.sides
    stored, items, _ = next(iter(after.values()))
    source = located(run, stored.source)
    try:
        if not Path(source.partition(",")[0]).is_file():
            raise InputError("it is not there")
        task = read_judge(source, judged.shots, columns).tasks[0]
        if task.sha256() != stored.sha256:
            raise InputError("it has changed since")
    except InputError as error:
        note(f"{run}: no texts of {source} that gained or lost ({error})")
        return []
    if items.statistic in ("spearman", "ap"):
        return _pair_changes(task.texts, next(iter(before.values())).items, items)
    outcomes = defaultdict[str, list[tuple[float, float]]](list)
    for name in after.keys() & before.keys():
        old, new = before[name].items, after[name].items
        if new.statistic == "mean":
            for number, *pair in zip(new.gold.astype(int), old.predicted, new.predicted, strict=True):
                if not np.isnan(pair).any():
                    outcomes[str(task.texts[number])].append((100 * pair[0], 100 * pair[1]))
    means = {text: np.mean(figures, axis=0) for text, figures in outcomes.items()}
    return [TextChange(text, float(old), float(new)) for text, (old, new) in means.items()]


def _pair_changes(texts: Sequence[str], before: Predictions, after: Predictions) -> list[TextChange]:
    """Return pairs by how near the rank of their cosine is to that of their grade."""
    target = after.gold if after.statistic == "ap" else rankdata(after.gold) / len(after.gold)
    old, new = (rankdata(side.predicted) / len(side.predicted) for side in (before, after))
    changes = []
    for row, (first, second) in enumerate(zip(texts[: len(target)], texts[len(target) :], strict=True)):
        cosines = float(before.predicted[row]), float(after.predicted[row])
        if (new[row] - old[row]) * (cosines[1] - cosines[0]) > 0:
            was, now = (100 - 100 * float(abs(side[row] - target[row])) for side in (old, new))
            changes.append(TextChange(f"{first} | {second}", was, now, cosines))
    return changes
