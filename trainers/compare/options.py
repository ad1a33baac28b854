"""The options of `train compare`: what is asked for, as the command line has it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

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
Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of the tables.")]
Out = Annotated[Path | None, typer.Option(help="Write the tables to this file as Markdown.", metavar="FILE.md")]
