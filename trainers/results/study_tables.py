"""A study's figures as the papers print them: seeds as rows, a setting's values as columns, two settings as a grid."""

from __future__ import annotations

from collections.abc import Sequence

from trainers.results.records import group
from trainers.results.scoring import Metric
from trainers.results.study import Study, Trial, summary
from trainers.results.table import Table

NOTHING = "-"


def seeds_tables(study: Study) -> list[Table]:
    """Return one table: a row for every seed, and their mean and deviation."""
    metrics = _present(study)
    rows = [(trial.title, *(_cell(study, [trial], metric) for metric in metrics)) for trial in study.untrained]
    for trials in study.by_setting().values():
        rows += [(f"seed {trial.seed}", *(_cell(study, [trial], metric) for metric in metrics)) for trial in trials]
        means = (summary(trials, metric) for metric in metrics)
        rows.append(("mean +- sd", *(NOTHING if each is None else str(each) for each in means)))
    return [_table(title(study), "run", [metric.title for metric in metrics], rows)]


def sweep_tables(study: Study) -> list[Table]:
    """Return the figures in the papers' shape.

    One option swept: its values as columns, metrics as rows. Two: a grid for every metric, the first option down.
    More: a row for every setting.
    """
    metrics = [metric for metric in _present(study) if metric.headline]
    if len(study.axes) > 2:
        return [_list(study, metrics)]
    if len(study.axes) == 2:
        return [_grid(study, metric) for metric in metrics]
    (axis,) = study.axes
    trials = [*([trial] for trial in study.untrained), *study.by_setting().values()]
    columns = [each[0].title if each[0].setting is None else each[0].setting.labels[axis.name] for each in trials]
    rows = [(metric.title, *(_cell(study, each, metric) for each in trials)) for metric in metrics]
    return [_table(title(study), axis.name, columns, rows)]


def sweep_details(study: Study) -> Table:
    """Return all figures, a row for every setting."""
    return _list(study, _present(study))


def failures(study: Study) -> list[str]:
    """Return why runs failed, each reason once, under the mark that stands in the tables."""
    reasons = group((trial.error, trial.title) for trial in study.trials if trial.error)
    return [f"[{number}] {error} ({'; '.join(runs)})" for number, (error, runs) in enumerate(reasons.items(), 1)]


def title(study: Study) -> str:
    """Return what the figures are of, in one line."""
    over = " over " + " and ".join(axis.name for axis in study.axes) if study.axes else ""
    return f"train {study.objective}{over}, {len(study.seeds)} seed{'s' if len(study.seeds) > 1 else ''}"


def _grid(study: Study, metric: Metric) -> Table:
    down, across = study.axes
    found = {tuple(setting.labels.values()): trials for setting, trials in study.by_setting().items()}
    rows = [
        (label, *(_cell(study, found.get((label, other), []), metric) for other in across.labels))
        for label in down.labels
    ]
    start = "".join(f"; {trial.title}: {_cell(study, [trial], metric)}" for trial in study.untrained)
    return _table(f"{title(study)}: {metric.title}{start}", f"{down.name} / {across.name}", across.labels, rows)


def _list(study: Study, metrics: Sequence[Metric]) -> Table:
    trials = [(trial.title, [trial]) for trial in study.untrained]
    trials += [(setting.title, each) for setting, each in study.by_setting().items()]
    rows = [(name, *(_cell(study, each, metric) for metric in metrics)) for name, each in trials]
    return _table(title(study), "setting", [metric.title for metric in metrics], rows)


def _table(title: str, corner: str, columns: Sequence[str], rows: Sequence[tuple[str, ...]]) -> Table:
    return Table(title, (corner, *columns), tuple(rows), tuple(columns))


def _cell(study: Study, trials: Sequence[Trial], metric: Metric) -> str:
    """Write mean and deviation, over how many seeds where some failed, and the marks of the reasons."""
    marks = list(dict.fromkeys(trial.error for trial in study.trials if trial.error))
    failed = "".join(f" [{marks.index(error) + 1}]" for error in dict.fromkeys(t.error for t in trials if t.error))
    figure = summary(trials, metric)
    if figure is None:
        return f"failed{failed}" if failed else NOTHING
    return f"{figure} ({figure.count} of {len(trials)} seeds){failed}" if failed else str(figure)


def _present(study: Study) -> list[Metric]:
    """Leave out what no run has, such as the dev score of trainings without a dev set; with no figures, keep one."""
    known = {key for trial in (*study.trials, *study.untrained) for key in trial.figures}
    return [metric for metric in study.metrics if metric.key in known] or list(study.metrics[:1])
