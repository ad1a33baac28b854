"""`train report`: one HTML page on what trainings logged, what they did to the vectors, and what they scored."""

from pathlib import Path
from typing import Annotated, Any

import typer
from pydantic import Field

from augment.record import FileRecord
from pipelines.base.console import ConfigOption, InputError, render_page, show
from pipelines.base.files import without_paths
from pipelines.base.options import Options, with_options
from pipelines.base.record import is_unaltered, write_recorded
from trainers.encoders.location import LOG
from trainers.scores.pages.comparison import compare_suite, published_tables
from trainers.scores.pages.judged_part import judged_parts
from trainers.scores.pages.training import charts, read_run
from trainers.scores.runs import FOLDER, named, read_runs, seed_folders
from trainers.scores.statistics.wording import RULE
from trainers.scores.task import PREFIX

PAGE, MAX_RUNS = "report.html", 6
PAPERS = ["bsl", "mirror", "isbert"]


class ReportOptions(Options):
    """What the page is about, and where it goes."""

    runs: Annotated[list[Path], typer.Argument(metavar="RUN...")]
    """Directories of runs, or of results."""
    out: Path | None = None
    """File to write. [RUN/report.html; of several runs report.html]"""
    sample: int = Field(1000, ge=0, le=5000)
    """Pairs to draw; 0 loads no encoder."""
    config: ConfigOption = None


@with_options
def report(options: ReportOptions) -> None:
    """Write one HTML page about RUNs.

    Loss and geometry over the steps; cosines before and after the training of what it was trained on; scores
    beside the papers'.

    Example: train report runs/bsl
    """
    runs, target = options.runs, options.out
    if len(runs) > MAX_RUNS:
        raise InputError(f"{len(runs)} runs: at most {MAX_RUNS} lines can be told apart")
    target = target or (runs[0] / PAGE if len(runs) == 1 and runs[0].is_dir() else Path(PAGE))
    folders = [seed_folders(run)[0] for run in runs]
    trainings = [read_run(folder, options.sample) for folder in folders]
    results = [run for folder in folders if _needs_scores(folder) for run in read_runs(folder)]
    suites = dict.fromkeys(evaluation.suite for run in results for evaluation in run.evaluations)
    titled = named(results)
    tables = [
        table for name in suites for table in compare_suite(name, titled, published_tables(PAPERS, name))
    ]
    parts = list[dict[str, Any]]()
    for name in filter(lambda suite: suite.startswith(PREFIX), suites):
        of_table, intervals = judged_parts(name, results)
        parts += of_table
        tables += intervals
    content = {
        "runs": trainings,
        "charts": charts(trainings),
        "tables": tables,
        "judged": parts,
        # What was judged together has one verdict, which stands on the page once.
        "verdicts": dict.fromkeys((part["source"], part["verdict"]) for part in parts),
        "rule": RULE,
    }
    page = render_page("trainers.scores.pages", without_paths, **content)
    plan = {"kind": "page", "the page's sha256": FileRecord.of(page.encode()).sha256}
    write_recorded(target, plan, lambda: page, overwrite=is_unaltered(target))
    show(f"{target} written")


def _needs_scores(run: Path) -> bool:
    """Whether to read a directory's scores: it has some, or no log either, so that reading tells what is wrong."""
    return any((folder / FOLDER).is_dir() or not (folder / LOG).is_file() for folder in seed_folders(run))
