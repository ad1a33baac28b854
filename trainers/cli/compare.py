"""`train compare`: runs beside each other and beside the papers' rows, with intervals and tests."""

import os
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from pydantic import Field

from pipelines.base.console import ConfigOption, InputError, note, show_json
from pipelines.base.files import write_page
from pipelines.base.options import Options, with_options
from trainers.cli.evaluate import SHOWN
from trainers.scores.contenders import starts_of
from trainers.scores.pages.assessment import assess
from trainers.scores.pages.comparison import PAPERS, compare_suite, load_paper, published_tables
from trainers.scores.pages.verdict_table import verdict_table
from trainers.scores.result_files import Table, load, markdown, show
from trainers.scores.runs import Run, named, read_runs
from trainers.scores.verdicts import Judged, is_judged, judge_runs

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
    seed: Annotated[int, Field(ge=0), SHOWN] = 0
    """Decides the samples of intervals and tests."""
    as_json: Annotated[bool, Field(alias="json")] = False
    """Print the tables as JSON."""
    out: Path | None = None
    """Write the tables to this file as Markdown."""
    config: ConfigOption = None


@with_options
def compare(options: CompareOptions) -> None:
    """Print the scores of RUNs in one table a suite, the papers' printed rows beside them, each with its source.

    Figures are x 100. If papers join the subsets of a set in different ways, the column `joined` says how, and
    ours are printed for each way. Several seeds of one setting are mean +- standard deviation. Empty: not
    evaluated in every seed, or not printed.

    Example: train compare runs/bsl runs/mirror --suite sts --test
    """
    papers, page, paths = _papers(options.beside), _page(options.out), options.runs or []
    runs = [run for path in paths for run in read_runs(path)]
    suites = _suites(options.suite or (), runs, papers)
    printed = {name: published_tables(papers, name, everything=options.all_tables) for name in suites}
    tables, has_statistics = list[Table](), False
    for name in suites:
        judged = _judged(name, runs, options.seed)
        encoders, rest = _beside_start(name, judged, runs) if judged else ([], runs)
        tables += [verdict_table(judged)] if judged else []
        tables += compare_suite(name, named(rest), printed[name])
        assessed = [*encoders, *named(rest)]
        statistics = assess(name, assessed, options.seed, intervals=options.intervals, test=options.test)
        has_statistics |= bool(statistics)
        tables += statistics
    if (options.intervals or options.test) and not has_statistics:
        option, lack = ("--test", "two runs") if options.test else ("--intervals", "run")
        raise InputError(f"nothing for {option}: no {lack} of one seed with {NO_ITEMS}")
    if options.as_json:
        show_json({"tables": [table._asdict() for table in tables]})
    else:
        show(tables)
    shown = [table for of_suite in printed.values() for table in of_suite]
    if absent := [name for name in papers if not any(table in shown for table in load_paper(name))]:
        note(f"papers without a row on {', '.join(suites)}: {', '.join(absent)}")
    if page:
        write_page(page, markdown("Comparison", [f"`{shlex.join(['train', *sys.argv[1:]])}`"], tables))
        note(f"written: {options.out}")


def _judged(suite: str, runs: Sequence[Run], seed: int) -> Judged | None:
    if not is_judged(suite):
        return None
    starts = starts_of(run.title for run in runs if run.of(suite))
    return judge_runs(suite, runs, starts, seed)


def _beside_start(suite: str, judged: Judged, runs: Sequence[Run]) -> tuple[list[Run], list[Run]]:
    """Return the encoders of a verdict, the start first, and the runs that it is not about."""
    files = {file.resolve() for of in judged.files.values() for file in of}
    titles = [judged.start, *[*judged.files][1:]]
    encoders = [
        Run(title, list(map(load, of))) for title, of in zip(titles, judged.files.values(), strict=True)
    ]
    rest = [run for run in runs if files.isdisjoint(stored.file.resolve() for stored in run.of(suite))]
    return encoders, rest


def _papers(beside: str) -> list[str]:
    papers = [] if beside == "none" else list(dict.fromkeys(name.strip() for name in beside.split(",")))
    for name in papers:
        if name not in PAPERS:
            raise InputError(
                f"--with {beside}: no paper {name!r}, there are {', '.join(PAPERS)}; or give none"
            )
    return papers


def _page(out: Path | None) -> Path | None:
    """Return where to write the page; raises InputError before any work if nothing can be written there."""
    page = out and Path(os.path.realpath(out))  # a link stays a link
    if page and (not page.parent.is_dir() or (os.path.lexists(page) and not page.is_file())):
        raise InputError(f"cannot write {str(out)!r}: give --out a file in a folder that exists")
    return page


def _suites(requested: Sequence[str], runs: Sequence[Run], papers: Sequence[str]) -> list[str]:
    """The suites to print, in the papers' order: those requested, else those of the runs, else the papers'."""
    order = [table.suite for name in PAPERS for table in load_paper(name)]
    printed = {table.suite for name in papers for table in load_paper(name)}
    present = {evaluation.suite for run in runs for evaluation in run.evaluations} if runs else printed
    suites = sorted(present, key=lambda name: (order.index(name) if name in order else len(order), name))
    if not suites:
        raise InputError("nothing to compare: name a run, or papers with --with")
    for name in requested:
        if name not in suites:
            raise InputError(f"--suite {name}: these {'runs' if runs else 'papers'} have {', '.join(suites)}")
    return [name for name in suites if not requested or name in requested]
