"""`train compare`: runs beside each other and beside the papers' rows, with intervals and tests."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pipelines.console import ConfigOption, InputError, note, show, show_json, table

if TYPE_CHECKING:
    from trainers.compare.page import Comparison
    from trainers.compare.runs import Contender

NONE = "none"


def compare(
    runs: Annotated[
        list[Path] | None,
        typer.Argument(
            help="Runs that were evaluated: their directories, folders or JSON files of results, or the folder of a "
            "study (--seeds, sweep), which gives mean and deviation. None: the papers' rows alone.",
            show_default=False,
            metavar="RUN...",
        ),
    ] = None,
    beside: Annotated[
        str,
        typer.Option(
            "--with", "--beside", help="Papers to print beside: bsl, mirror, isbert, or none.", metavar="PAPER,..."
        ),
    ] = "bsl,mirror,isbert",
    suite: Annotated[
        list[str] | None,
        typer.Option(help="Only this suite, e.g. sts; give it again for another.", metavar="SUITE"),
    ] = None,
    all_tables: Annotated[
        bool, typer.Option("--all-tables", help="Print the papers' ablations and settings too, not only results.")
    ] = False,
    intervals: Annotated[
        bool, typer.Option("--intervals", help="Print 95% bootstrap intervals of single runs' scores.")
    ] = False,
    test: Annotated[
        bool, typer.Option("--test", help="Test every further run against the first: bootstrap and randomisation.")
    ] = False,
    resamples: Annotated[int, typer.Option(min=100, help="Samples of every interval and test.")] = 2000,
    seed: Annotated[int, typer.Option(min=0, help="Decides the samples.")] = 0,
    json: Annotated[bool, typer.Option("--json", help="Print JSON instead of the tables.")] = False,
    out: Annotated[
        Path | None, typer.Option(help="Write the tables to this file as Markdown.", metavar="FILE.md")
    ] = None,
    config: ConfigOption = None,
) -> None:
    """Print the scores of RUNs in one table a suite, the papers' printed rows beside them, each with its source.

    Figures are x 100. Where papers join the subsets of a set in different ways, the column `joined` says how, and ours
    stand there under each way. Several seeds of one setting are mean +- standard deviation. Empty: not evaluated, or
    not printed.

    Example: train compare runs/bsl runs/mirror --suite sts --test
    """
    from trainers.compare import page
    from trainers.compare.papers import PAPERS, published_tables
    from trainers.compare.remarks import mixed_encoders
    from trainers.compare.runs import read_contenders
    from trainers.compare.side_by_side import compare_suite
    from trainers.compare.significance import intervals as intervals_of
    from trainers.compare.significance import tests as tests_of

    papers = _papers(beside, PAPERS)
    contenders = [contender for path in runs or () for contender in read_contenders(path)]
    made = []
    suites = _suites(suite, contenders, papers)
    for name in suites:
        blocks = compare_suite(name, contenders, published_tables(papers, name, everything=all_tables))
        scored = intervals_of(name, contenders, resamples, seed) if intervals else ()
        tested = tests_of(name, contenders, resamples, seed) if test else ()
        made.append(page.Comparison(name, tuple(blocks), tuple(scored), tuple(tested)))
    if intervals and not any(each.intervals for each in made):
        raise InputError("no single run here has <suite>.items.npz beside its results: run `train evaluate` again")
    if test and not any(each.tests for each in made):
        raise InputError("a test takes two runs with <suite>.items.npz beside their results of one suite: name two")
    remarks = mixed_encoders(contenders, suites)
    if out is not None:
        _write(out, page.markdown(made, shlex.join(["train", *sys.argv[1:]]), remarks))
    if json:
        show_json(page.payload(made, remarks))
    else:
        _show(made)
        for remark in remarks:
            note(remark)


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
    from trainers.compare.papers import OTHER_TEXT, load_paper
    from trainers.compare.runs import suites_of

    printed = list(dict.fromkeys(table.suite for name in papers for table in load_paper(name)))
    present = suites_of(contenders) if contenders else printed

    def place(name: str) -> tuple[int, bool]:
        same = OTHER_TEXT.get(name) or name
        return printed.index(same) if same in printed else len(printed), name in OTHER_TEXT

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

    for comparison in made:
        for each in page.tables(comparison):
            show(each.title)
            table(each.columns, each.rows, right=each.right)
            for line in each.notes:
                note(line)


def _write(path: Path, text: str) -> None:
    draft = path.with_name(f"{path.name}.tmp")
    try:
        draft.write_text(text, encoding="utf-8")
        os.replace(draft, path)
    except OSError as error:
        raise InputError(f"cannot write {str(path)!r} ({error.strerror}): give another file with --out") from None
    note(f"written: {path}")
