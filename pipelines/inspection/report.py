"""A dataset as one HTML page that needs no other file: provenance, statistics, rows with their changes."""

from collections.abc import Mapping
from pathlib import Path

from augment import __version__
from pipelines.base.console import flat, render_page
from pipelines.base.files import sibling_path
from pipelines.base.record import write_recorded
from pipelines.inspection.inspect import figure, heading, lines, percent, sampling
from pipelines.inspection.opened import QUANTILES, facts_of, sample_rows, statistics
from pipelines.options import ReportOptions
from pipelines.storage.card import public_plan
from pipelines.storage.dataset import REPORT_FILE, Dataset, read_plan


def report_path(path: Path) -> Path:
    """Where a report goes: beside the dataset, but into a folder of pairs, beside which there may be a file of them."""
    plan = read_plan(path)
    is_pairs = plan is not None and plan.kind == "pairs"
    return path / REPORT_FILE if is_pairs else sibling_path(path, REPORT_FILE)


def write_report(out: Path, dataset: Dataset, options: ReportOptions) -> bool:
    """Write a report; False if it is there already.

    Raises InputError for another file, or report without `overwrite`.
    """
    plan = {
        "kind": "page",
        "--rows": options.rows,
        "--sample": options.sample,
        "--seed": options.seed,
        "--judge-encoder": options.judge_encoder,
        "the dataset's sha256": dataset.digest,
        "the version of twinviews": __version__,
    }
    return write_recorded(out, plan, lambda: report_html(dataset, options), overwrite=options.overwrite)


def report_html(dataset: Dataset, options: ReportOptions) -> str:
    """The page: `rows` spread evenly, and statistics of `sample` rows (0: of all)."""
    summary = statistics(dataset, options.sample, options.seed, options.judge_encoder)
    path, plan, counts = dataset.path, dataset.plan, dataset.counts
    return render_page(
        "pipelines.inspection",
        figure,
        percent,
        written,
        heading,
        lines,
        kind=plan.kind,
        facts=facts_of(dataset._replace(plan=public_plan(plan))),
        found=summary,
        version=__version__,
        title=(path if path.name else path.resolve()).name,
        counts=flat(counts),
        quantiles=list(QUANTILES),
        rows=sample_rows(dataset, options.rows).to_pylist(),
        sampling=sampling(summary),
    )


def written(value: object) -> str:
    """A setting as text: lists and mappings without brackets."""
    if isinstance(value, Mapping):
        value = [f"{key}={item}" for key, item in value.items()]
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
