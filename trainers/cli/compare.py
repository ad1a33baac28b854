"""`train compare`: runs beside each other and beside the papers' rows, with intervals and tests."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from pydantic import Field

from pipelines.base.console import ConfigOption, InputError, show_json
from pipelines.base.options import Options, with_options
from trainers.scores.pages.assessment import assess
from trainers.scores.pages.comparison import PAPERS, compare_suite, load_paper, published_tables
from trainers.scores.pages.verdict_table import verdict_table
from trainers.scores.result_files import Table, show
from trainers.scores.runs import Run, named, read_runs
from trainers.scores.verdicts import judge_runs

NO_ITEMS = "<suite>.items.npz beside the results of a suite: run `train evaluate` again, or name another"


class CompareOptions(Options):
    """What is compared, with what, and how it is shown."""

    runs: Annotated[list[Path] | None, typer.Argument(show_default=False, metavar="RUN...")] = None
    """Runs that were evaluated: their directories, folders or JSON files of results, or the folder of several
    --seeds, shown as mean and deviation. None: only the papers' rows."""
    beside: Annotated[str, typer.Option("--with", metavar="PAPER,...")] = "bsl,mirror,isbert"
    """Papers to print beside: bsl, mirror, isbert; simcse, esimcse, diffcse, rankcse, congen, sct (only averages);
    or none."""
    suite: list[str] | None = None
    """Only this suite; repeat it for more."""
    all_tables: bool = False
    """Print the papers' ablations too."""
    intervals: bool = False
    """Print 95% intervals of single runs."""
    test: bool = False
    """Test every further run against the first."""
    as_json: bool = Field(False, alias="json")
    """Print the tables as JSON."""
    config: ConfigOption = None


@with_options
def compare(options: CompareOptions) -> None:
    """Print the scores of RUNs in one table a suite, the papers' printed rows beside them, each with its source.

    Figures are x 100. If papers join the subsets of a set in different ways, the column `joined` says how, and
    ours are printed for each way. Several seeds of one setting are mean +- standard deviation. Empty: not
    evaluated in every seed, or not printed.

    Example: train compare runs/bsl runs/mirror --suite sts --test
    """
    papers = _papers(options.beside)
    runs = [run for path in options.runs or [] for run in read_runs(path)]
    tables, assessed = list[Table](), list[Table]()
    for name in _suites(options.suite or (), runs, papers):
        judged, rest = judge_runs(name, runs), runs
        if judged:
            tables.append(verdict_table(judged))
            rest = [run for run in runs if not any(judged.name_of(scores.file) for scores in run.of(name))]
        tables += compare_suite(
            name, named(rest), published_tables(papers, name, everything=options.all_tables)
        )
        encoders = [*(judged.runs() if judged else []), *named(rest)]
        statistics = assess(name, encoders, intervals=options.intervals, test=options.test)
        tables += statistics
        assessed += statistics
    if (options.intervals or options.test) and not assessed:
        option, lack = ("--test", "two runs") if options.test else ("--intervals", "run")
        raise InputError(f"nothing for {option}: no {lack} of one seed with {NO_ITEMS}")
    if options.as_json:
        show_json({"tables": [table._asdict() for table in tables]})
    else:
        show(tables)


def _papers(beside: str) -> list[str]:
    papers = [] if beside == "none" else list(dict.fromkeys(name.strip() for name in beside.split(",")))
    for name in papers:
        if name not in PAPERS:
            raise InputError(
                f"--with {beside}: no paper {name!r}, there are {', '.join(PAPERS)}; or give none"
            )
    return papers


def _suites(requested: Sequence[str], runs: Sequence[Run], papers: Sequence[str]) -> list[str]:
    """The suites to print: those requested, else those of the runs, else the papers'."""
    printed = [table.suite for name in papers for table in load_paper(name)]
    present = [evaluation.suite for run in runs for evaluation in run.evaluations] if runs else printed
    suites = list(dict.fromkeys(present))
    if not suites:
        raise InputError("nothing to compare: name a run, or papers with --with")
    for name in requested:
        if name not in suites:
            raise InputError(f"--suite {name}: these {'runs' if runs else 'papers'} have {', '.join(suites)}")
    return [name for name in suites if not requested or name in requested]
