"""The commands of `augment` besides those of views, each a function `NAME_command`."""

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import typer

from augment.errors import InputError
from augment.plugins import VIEWS
from pipelines.base.console import SectionedCommand, counted, flat, show, show_json, table
from pipelines.base.options import with_options
from pipelines.cli.views import example_of
from pipelines.options import (
    ExportOptions,
    IngestOptions,
    InspectOptions,
    ListOptions,
    PairsOptions,
    ReportOptions,
    VerifyOptions,
)

FORMATS = ("parquet", "jsonl", "csv")


class PairsCommand(SectionedCommand):
    """`build-pairs`, whose help lists the filters; they are looked up only for that."""

    def format_epilog(self, ctx: Any, formatter: Any) -> None:  # noqa: ANN401 - typer brings a click of its own
        """Write the filters, and then the example."""
        from pipelines.pairs.filter import filter_summaries

        with formatter.section("Filters, applied in the order given"):
            formatter.write_dl(filter_summaries())
        super().format_epilog(ctx, formatter)


@with_options
def ingest_command(options: IngestOptions) -> None:
    """Read sentences from SOURCE, drop empty lines and exact duplicates, and write them as a dataset."""
    from pipelines.sentences.ingest import ingest

    if options.language != "en" and options.split is None:
        raise InputError(f"--language {options.language} is for --split sentences: give both, or neither")
    dataset, is_new = ingest(options)
    shards = len(dataset.shards)
    if options.as_json:
        show_json({"out": str(options.out), **dataset.counts, "shards": shards, "made_now": is_new})
        return
    state = "written" if is_new else "already there, nothing done"
    table((f"{options.out}/", "rows"), [*dataset.counts.items()])
    show(f"{counted(dataset.rows, 'sentence')} in {counted(shards, 'shard')}: {state}")


@with_options
def build_pairs_command(options: PairsOptions) -> None:
    """Pair views of the same sentences; views that are missing are made first.

    Sentences of which a view failed or was rejected are dropped and counted by reason; views that equal their
    sentence are kept and counted, unless a filter drops them.
    """
    from pipelines.pairs.build import build_pairs

    counts, is_new = build_pairs(options)
    if options.as_json:
        show_json({"out": str(options.target), **counts, "made_now": is_new})
        return
    rows = [(f"  {name}" if ": " in name else name, number) for name, number in flat(counts)]
    table((str(options.target), "rows"), rows)
    if not is_new:
        show("already complete, nothing done")


@with_options
def inspect_command(options: InspectOptions) -> None:
    """Show what a dataset holds: counts, where it comes from, statistics, and rows with changes marked word by word."""
    from pipelines.inspection.inspect import inspect

    inspect(options)


@with_options
def report_command(options: ReportOptions) -> None:
    """Write one HTML page about a dataset: where it comes from, statistics, and rows with their changes."""
    from pipelines.inspection.opened import open_path
    from pipelines.inspection.report import report_path, write_report

    target = options.out or report_path(options.path)
    is_new = write_report(target, open_path(options.path), options)
    line = f"{target} written" if is_new else f"{target} exists already, nothing done"
    show_json({"out": str(target), "made_now": is_new}) if options.as_json else show(line)


@with_options
def export_command(options: ExportOptions) -> None:
    """Write a dataset as one Parquet, JSONL or CSV file, or put it on the Hugging Face Hub with its card."""
    from pipelines.base.files import sibling_path
    from pipelines.inspection.opened import open_path
    from pipelines.outputs.export import export, push
    from pipelines.outputs.own_columns import with_own_columns

    to, out = options.to, options.out
    is_hub = to.startswith("hf:")
    if not is_hub and to not in FORMATS:
        raise InputError(f"--to {to} is not a format: give one of {', '.join(FORMATS)}, or hf:NAME")
    if is_hub and out is not None:
        raise InputError(f"--out {out} names a file, but --to {to} writes to the Hub: leave --out out")
    if not is_hub and (options.public or options.license != "unknown" or options.dry_run):
        raise InputError(
            f"--public, --license and --dry-run are for a dataset on the Hub, not --to {to}: leave them out"
        )
    if options.public and options.license == "unknown":
        raise InputError("--public needs the licence of the texts, as --license cc-by-4.0")
    with TemporaryDirectory() as spool:
        dataset = open_path(options.path)
        if options.carry:
            dataset = with_own_columns(dataset, Path(spool))
        rows = dataset.first(options.limit)
        if options.dry_run:
            preview = {"out": to, "rows": rows, "files to read": len(dataset.shards)}
            show_json(preview) if options.as_json else table(("", "would be"), preview.items())
            return
        if is_hub:
            address = push(dataset, rows, options)
            facts: dict[str, object] = {"out": address, "public": options.public}
            line = f"{address}: {'public' if options.public else 'private'}"
        else:
            target = out or sibling_path(options.path, to)
            is_new = export(dataset, rows, target, options)
            facts = {"out": str(target), "rows": rows}
            line = f"{target} is already complete, nothing done"
            if is_new:
                line = f"{counted(rows, 'row')} written to {target}"
    show_json(facts) if options.as_json else show(line)


@with_options
def verify_command(options: VerifyOptions) -> None:
    """Compare every file of an output with its recorded hash.

    Exit with 1 if one is damaged, missing or unfinished.
    """
    from pipelines.outputs.verify import verify

    files = verify(options.paths)
    problems = {str(path): problem for path, problem in files.items() if problem is not None}
    total = counted(len(problems), "problem") if problems else "no problems"
    lines = [f"{problem}: {path}" for path, problem in problems.items()]
    lines.append(f"{counted(len(files), 'file')} verified: {total}")
    show_json({"files": len(files), "problems": problems}) if options.as_json else show("\n".join(lines))
    if problems:
        raise typer.Exit(1)


@with_options
def views_command(options: ListOptions) -> None:
    """List the views that are installed, ours and those of other packages."""
    texts = {name: (VIEWS.summary(name), example_of(name)) for name in VIEWS.usable_names()}
    if options.as_json:
        show_json(
            {name: {"summary": summary, "example": example} for name, (summary, example) in texts.items()}
        )
    else:
        table(("view", "what it does", "try"), [(name, *row) for name, row in texts.items()])
