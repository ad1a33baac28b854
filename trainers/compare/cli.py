"""`train compare`: runs beside each other and beside the papers' rows, with intervals and tests."""

from __future__ import annotations

import errno
import os
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import TYPE_CHECKING

from pipelines.console import ConfigOption, InputError, note, show, show_json, table
from trainers.compare import options

if TYPE_CHECKING:
    from trainers.compare.page import Comparison
    from trainers.compare.runs import Contender

NONE = "none"


def compare(
    runs: options.Runs = None,
    beside: options.Beside = "bsl,mirror,isbert",
    suite: options.Suites = None,
    all_tables: options.AllTables = False,
    intervals: options.Intervals = False,
    test: options.Test = False,
    resamples: options.Resamples = 2000,
    seed: options.Seed = 0,
    json: options.Json = False,
    out: options.Out = None,
    config: ConfigOption = None,
) -> None:
    """Print the scores of RUNs in one table a suite, the papers' printed rows beside them, each with its source.

    Figures are x 100. Where papers join the subsets of a set in different ways, the column `joined` says how, and ours
    stand there under each way. Several seeds of one setting are mean +- standard deviation. Empty: not evaluated, or
    not printed.

    Example: train compare runs/bsl runs/mirror --suite sts --test
    """
    from trainers.compare import page
    from trainers.compare.papers import PAPERS
    from trainers.compare.remarks import mixed_encoders
    from trainers.compare.runs import read_contenders, shortened
    from trainers.compare.significance import lacking
    from trainers.evaluation.record import replace

    papers = _papers(beside, PAPERS)
    target = None if out is None else _place(out)
    contenders = shortened([contender for path in runs or () for contender in read_contenders(path)], runs or ())
    suites = _suites(suite, contenders, papers)
    draws = (resamples, seed)
    made = _compared(suites, contenders, papers, draws, everything=all_tables, intervals=intervals, test=test)
    remarks = mixed_encoders(contenders, suites)
    if intervals or test:
        remarks += [f"no intervals, no tests: {line}" for line in lacking(suites, contenders)]
    if target is not None:
        text = page.markdown(made, shlex.join(["train", *sys.argv[1:]]), remarks)
        replace(target, lambda stream: stream.write(text.encode("utf-8")))
        note(f"written: {out}")
    if json:
        show_json(page.payload(made, remarks))
        return
    _show(made)
    for remark in remarks:
        note(remark)


def _compared(
    suites: Sequence[str],
    contenders: Sequence[Contender],
    papers: Sequence[str],
    draws: tuple[int, int],
    *,
    everything: bool,
    intervals: bool,
    test: bool,
) -> list[Comparison]:
    """Compare suite by suite; `draws` are the number of samples of intervals and tests, and their seed.

    Raises:
        InputError: Nothing has an interval, or can be tested, where that is asked for.
    """
    from trainers.compare.page import Comparison
    from trainers.compare.papers import published_tables
    from trainers.compare.side_by_side import compare_suite
    from trainers.compare.significance import intervals as intervals_of
    from trainers.compare.significance import tests as tests_of
    from trainers.compare.significance import untested

    made = []
    for name in suites:
        blocks = compare_suite(name, contenders, published_tables(papers, name, everything=everything))
        scored = intervals_of(name, contenders, *draws) if intervals else ()
        tested = tests_of(name, contenders, *draws) if test else ()
        made.append(Comparison(name, tuple(blocks), tuple(scored), tuple(tested)))
    if intervals and not any(each.intervals for each in made):
        raise InputError("no single run here has <suite>.items.npz beside its results: run `train evaluate` again")
    if test and not any(each.tests for each in made):
        raise InputError(untested(suites, contenders))
    return made


def _papers(written: str, known: Sequence[str]) -> list[str]:
    names = [name.strip() for name in written.split(",") if name.strip()]
    if names == [NONE]:
        return []
    for name in names:
        if name not in known:
            raise InputError(f"--with {written}: no paper {name!r}, there are {', '.join(known)}; or give none")
    return list(dict.fromkeys(names))


def _suites(wanted: Sequence[str] | None, contenders: Sequence[Contender], papers: Sequence[str]) -> list[str]:
    """Return the suites to print, in the papers' order: those asked for, else those of the runs, else the papers'."""
    from trainers.compare.papers import OTHER_TEXT, PAPERS, load_paper
    from trainers.compare.runs import suites_of

    order = list(dict.fromkeys(table.suite for name in PAPERS for table in load_paper(name)))
    printed = {table.suite for name in papers for table in load_paper(name)}
    present = suites_of(contenders) if contenders else printed

    def place(name: str) -> tuple[int, bool]:
        same = OTHER_TEXT.get(name) or name
        return order.index(same) if same in order else len(order), name in OTHER_TEXT

    present = sorted(present, key=place)
    if not present:
        raise InputError("nothing to compare: name a run, or papers with --with")
    for name in wanted or ():
        if name not in present:
            where = "these runs" if contenders else "these papers"
            raise InputError(f"--suite {name}: {where} have {', '.join(present)}")
    return [name for name in present if not wanted or name in wanted]


def _show(made: Sequence[Comparison]) -> None:
    from trainers.compare import page

    legend: dict[str, None] = {}
    for number, each in enumerate(each for comparison in made for each in page.tables(comparison)):
        if number:
            show("")
        show(each.title)
        table(each.columns, each.rows, right=each.right)
        for line in each.notes:
            note(line)
        legend |= dict.fromkeys(each.legend)
    if legend:
        show("")
    for line in legend:
        note(line)


def _place(path: Path) -> Path:
    """Return the file that is to be written, where links lead to, if one can be written there.

    Raises:
        InputError: Something else than a file is there, or nothing can be written.
    """
    target = Path(os.path.realpath(path))
    if os.path.lexists(target) and not target.is_file():
        why = "it is a folder" if target.is_dir() else "it is no regular file"
    elif not target.parent.is_dir():
        why = f"there is no folder {str(path.parent)!r}"
    elif target.exists() and not os.access(target, os.W_OK):
        why = "it is protected"
    else:
        try:
            # As it will be written, under another name beside it; only trying shows what a place allows.
            with NamedTemporaryFile(dir=target.parent, prefix=f".{target.name}."):
                return target
        except OSError as error:
            if error.errno in (errno.ENOSPC, errno.EDQUOT):
                raise  # a full disk is no mistake of the user
            why = error.strerror or type(error).__name__
    raise InputError(f"cannot write {str(path)!r} ({why}): give another file with --out")
