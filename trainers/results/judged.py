"""A run's scores on a user's own data beside those of the untouched encoder that its training began from."""

from collections.abc import Callable, Sequence
from pathlib import Path

from pipelines.terminal.console import InputError, note
from trainers.encoders.location import locate
from trainers.encoders.vectors import TextEncoder
from trainers.evaluation.judge import PREFIX
from trainers.evaluation.result_files import Table, results_folder, write
from trainers.evaluation.scoring import evaluate_suites, read_start
from trainers.evaluation.task import Suite
from trainers.results.runs import Evaluation, Run, StoredSuite, is_scored, load
from trainers.results.significance import assess
from trainers.settings import Pooling

RESAMPLES = 2000
COLUMNS = ("figure", "items", "untouched", "this", "difference", "low", "high", "p")
NOTE = "difference: with its 95% interval and the p of a paired bootstrap over the items"


def score_untouched(
    run: Path | None,
    suite: Suite,
    opened: Callable[[str, Pooling | None], TextEncoder],
    parts: Sequence[str],
    seed: int,
) -> None:
    """Score the encoder that a run's training began from, unless scores of the same vectors and items are there.

    They are where `train evaluate` on its name, with settings that are called `parts`, has them. A transformer without
    a pooling gets the run's. Nothing is done for a model that is not a run, or if the encoder cannot be loaded.
    """
    if run is None or (training := read_start(run)) is None:
        return
    recipe, start = training
    try:
        encoder = opened(start, None if locate(start).modules() else recipe["pooling"])
    except InputError as error:
        note(f"not beside the untouched encoder: {error}")
        return
    folder = results_folder(start, None, None, parts, [])
    if not is_scored(encoder, suite, folder, seed):
        write(folder, evaluate_suites(encoder, [suite], seed=seed))


def beside_untouched(
    model: str, run: Path | None, directory: Path, suite: str, parts: Sequence[str] = ()
) -> list[Table]:
    """Return a table of how scores in `directory` differ from the untouched encoder's; its last note is the verdict.

    Without such scores, for a model that is no run of ours, it has intervals of the model's own.
    """
    file, training = directory / f"{suite}.json", read_start(run) if run else None
    runs, start = [Run(model, [Evaluation(load(StoredSuite, file), file, model)])], training[1] if training else ""
    path = results_folder(start, None, None, parts, []) / file.name if start else Path()
    if path.is_file():
        runs.insert(0, Run(start, [Evaluation(load(StoredSuite, path), path, start)]))
    # Another run may have been judged since on another table of the same name.
    if len({tuple(part.sha256 for part in run.of(suite)[0].stored.sets.values()) for run in runs}) == len(runs):
        return assess(suite, runs[-1:], RESAMPLES, 0, intervals=True)
    rows = tuple(row[2:] for table in assess(suite, runs, RESAMPLES, 0, test=True) for row in table.rows)
    title = f"{suite}: {model} beside {start}, untouched"
    return [Table(title, COLUMNS, rows, COLUMNS[1:], (NOTE, verdict(rows, model, start)))]


def judged_tables(run: Run) -> list[Table]:
    """Return the tables of `beside_untouched` of all tables that a run was judged on."""
    files = [scores.file for scores in run.evaluations if scores.stored.suite.startswith(PREFIX)]
    return [table for file in files for table in beside_untouched(run.title, Path(run.title), file.parent, file.stem)]


def verdict(rows: Sequence[Sequence[str]], model: str, start: str) -> str:
    """Say which figures, in rows of `COLUMNS`, differ by more than their interval, and what to do."""
    better, worse = (", ".join(row[0] for row in rows if sign * float(row[end]) > 0) for sign, end in ((1, 5), (-1, 6)))
    if better and worse:
        return f"verdict: {model} is better in {better}, worse in {worse}: choose by the figure that you need"
    if better:
        return f"verdict: {model} is better than {start} in {better}; nothing measured was worse"
    return f"verdict: keep {start} as it is: {f'worse in {worse}' if worse else 'nothing measured was better'}"
