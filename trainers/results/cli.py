"""`train compare`: runs beside each other and beside the papers' rows, with intervals and tests."""

from __future__ import annotations

import errno
import os
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from pipelines.console import ConfigOption, InputError, TwinviewsError, note, show, show_json
from trainers.files import whole_file
from trainers.results.comparison import compare_suite
from trainers.results.page import Comparison, markdown
from trainers.results.papers import PAPERS, load_paper, published_tables
from trainers.results.records import Run, read_runs, shortened
from trainers.results.remarks import mixed_encoders
from trainers.results.significance import intervals as intervals_of
from trainers.results.significance import lacking, untested
from trainers.results.significance import tests as tests_of

NONE = "none"
MOST = 100_000
"""Resamples: p-values to five decimals, and minutes on the greatest sets."""

Runs = Annotated[
    list[Path] | None,
    typer.Argument(
        help="Runs that were evaluated: their directories, folders or JSON files of results, or the folder of a "
        "study (--seeds, sweep), which gives mean and deviation. None: the papers' rows alone.",
        show_default=False,
        metavar="RUN...",
    ),
]
Beside = Annotated[
    str,
    typer.Option(
        "--with",
        "--beside",
        help="Papers to print beside: bsl, mirror, isbert; simcse, esimcse, diffcse, rankcse, congen, sct "
        "(averages alone); or none.",
        metavar="PAPER,...",
    ),
]
Suites = Annotated[
    list[str] | None,
    typer.Option(help="Only this suite, e.g. sts; give it again for another.", metavar="SUITE"),
]
AllTables = Annotated[
    bool, typer.Option("--all-tables", help="Print the papers' ablations and settings too, not only results.")
]
Intervals = Annotated[bool, typer.Option("--intervals", help="Print 95% bootstrap intervals of single runs' scores.")]
Test = Annotated[
    bool, typer.Option("--test", help="Test every further run against the first: bootstrap and randomisation.")
]
Resamples = Annotated[int, typer.Option(min=100, max=MOST, help="Samples of every interval and test.")]
Seed = Annotated[int, typer.Option(min=0, help="Decides the samples.")]
Signatures = Annotated[
    bool, typer.Option("--signature", help="Print below each table one line a run that says all that decides its row.")
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of the tables.")]
Out = Annotated[Path | None, typer.Option(help="Write the tables to this file as Markdown.", metavar="FILE.md")]


def compare(
    runs: Runs = None,
    beside: Beside = "bsl,mirror,isbert",
    suite: Suites = None,
    all_tables: AllTables = False,
    intervals: Intervals = False,
    test: Test = False,
    resamples: Resamples = 2000,
    seed: Seed = 0,
    signature: Signatures = False,
    json: Json = False,
    out: Out = None,
    config: ConfigOption = None,
) -> None:
    """Print the scores of RUNs in one table a suite, the papers' printed rows beside them, each with its source.

    Figures are x 100. Where papers join the subsets of a set in different ways, the column `joined` says how, and ours
    stand there under each way. Several seeds of one setting are mean +- standard deviation. Empty: not evaluated, or
    not printed.

    Example: train compare runs/bsl runs/mirror --suite sts --test
    """
    papers = _papers(beside)
    if out is not None:
        _check_out(out)
    found = shortened([run for path in runs or () for run in read_runs(path)], runs or ())
    suites = _suites(suite, found, papers)
    made = []
    for name in suites:
        blocks = compare_suite(name, found, published_tables(papers, name, everything=all_tables))
        scored = intervals_of(name, found, resamples, seed) if intervals else ()
        tested = tests_of(name, found, resamples, seed) if test else ()
        made.append(Comparison(name, blocks, scored, tested, signature))
    if intervals and not any(each.intervals for each in made):
        raise InputError("no single run here has <suite>.items.npz beside its results: run `train evaluate` again")
    if test and not any(each.tests for each in made):
        raise InputError(untested(suites, found))
    remarks = mixed_encoders(found, suites)
    if intervals or test:
        remarks += [f"no intervals, no tests: {line}" for line in lacking(suites, found)]
    if out is not None:
        _write(out, markdown(made, shlex.join(["train", *sys.argv[1:]]), remarks))
        note(f"written: {out}")
    if json:
        show_json({"suites": [each.json() for each in made], "notes": remarks})
        return
    _show(made)
    for remark in remarks:
        note(remark)


def _papers(written: str) -> list[str]:
    names = [name.strip() for name in written.split(",") if name.strip()]
    if names == [NONE]:
        return []
    for name in names:
        if name not in PAPERS:
            raise InputError(f"--with {written}: no paper {name!r}, there are {', '.join(PAPERS)}; or give none")
    return list(dict.fromkeys(names))


def _suites(wanted: Sequence[str] | None, runs: Sequence[Run], papers: Sequence[str]) -> list[str]:
    """Return the suites to print, in the papers' order: those asked for, else those of the runs, else the papers'."""
    order = list(dict.fromkeys(table.suite for name in PAPERS for table in load_paper(name)))
    present = dict.fromkeys(record.suite for run in runs for record in run.records)
    if not runs:
        present = dict.fromkeys(table.suite for name in papers for table in load_paper(name))
    known = sorted(present, key=lambda name: order.index(name) if name in order else len(order))
    if not known:
        raise InputError("nothing to compare: name a run, or papers with --with")
    for name in wanted or ():
        if name not in known:
            raise InputError(f"--suite {name}: these {'runs' if runs else 'papers'} have {', '.join(known)}")
    return [name for name in known if not wanted or name in wanted]


def _show(made: Sequence[Comparison]) -> None:
    legend: dict[str, None] = {}
    for number, each in enumerate(each for comparison in made for each in comparison.tables()):
        if number:
            show("")
        each.show()
        for line in each.notes:
            note(line)
        legend |= dict.fromkeys(each.legend)
    if legend:
        show("")
    for line in legend:
        note(line)


def _check_out(path: Path) -> None:
    """Refuse, before anything is computed, a place where no file can be written."""
    target = Path(os.path.realpath(path))
    if os.path.lexists(target) and not target.is_file():
        raise _unwritable(path, "it is a folder" if target.is_dir() else "it is no regular file")
    if not target.parent.is_dir():
        raise _unwritable(path, f"there is no folder {str(path.parent)!r}")


def _write(path: Path, text: str) -> None:
    """Write the page where links lead to, whole or not at all."""
    try:
        with whole_file(Path(os.path.realpath(path))) as stream:
            stream.write(text.encode("utf-8"))
    except OSError as error:
        why = error.strerror or type(error).__name__
        if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):  # a full disk is no mistake of the user
            raise TwinviewsError(f"cannot write {str(path)!r} ({why}): free space on its disk") from None
        raise _unwritable(path, why) from None


def _unwritable(path: Path, why: str) -> InputError:
    return InputError(f"cannot write {str(path)!r} ({why}): give another file with --out")
