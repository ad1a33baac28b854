"""The command line `augment`; see `augment --help`."""

import inspect
import sys
from contextlib import nullcontext
from pathlib import Path
from typing import Annotated, NoReturn

import typer

from augment.errors import InputError, TwinviewsError
from augment.view import VIEWS
from pipelines.cli import pairs, views
from pipelines.inspection import REPORT_ROWS, SAMPLE_ROWS
from pipelines.options import (
    DryRunOption,
    IngestOptions,
    JsonOption,
    Number,
    Output,
    OverwriteOption,
    with_options,
)
from pipelines.storage.recipe import ConfigOption
from pipelines.terminal.console import (
    SectionedCommand,
    VersionOption,
    call,
    counted,
    note,
    offline,
    show,
    show_json,
    table,
)

FORMATS = ("parquet", "jsonl", "csv")
PathArgument = Annotated[
    Path, typer.Argument(help="A folder of sentences, of a view or of pairs, or a pairs.arrow.")
]
TO_HELP = "Format to write (parquet, jsonl or csv), or hf:NAME, a dataset on the Hub."
LICENSE_HELP = "For hf: the licence of the texts, as the Hub names it, such as cc-by-sa-4.0."
PATHS_HELP = "Datasets, pairs, rejects or exports, or a folder that holds some, such as data."
PathsArgument = Annotated[list[Path], typer.Argument(metavar="PATH...", help=PATHS_HELP)]
SampleOption = Annotated[int, Number(min=0, help="Rows to sample for the statistics; 0 for all.")]


def build_app() -> typer.Typer:
    """The command line, with one subcommand for every view that is installed."""
    settings = {"max_content_width": 120, "help_option_names": ["-h", "--help"]}
    app = typer.Typer(
        name="augment", rich_markup_mode=None, pretty_exceptions_enable=False, context_settings=settings
    )
    app.callback(epilog="Example: augment backtranslate --pivot de && augment build-pairs")(_main)
    app.command("ingest", epilog="Example: augment ingest reviews.csv --column body")(_ingest)
    for name in VIEWS.usable_names():
        try:
            with VIEWS.errors_of(name):
                views.add_view_command(app, name)
        except TwinviewsError as error:  # the other commands must still work
            note(f"{error}; it is left out")
    example = (
        "augment build-pairs --pairs original --view synonym --filter chrf:max=95 --rejects data/rejects.arrow"
    )
    app.command("build-pairs", epilog=f"Example: {example}")(pairs.build_pairs_command)
    app.command("inspect", epilog="Example: augment inspect data/pairs.arrow --rows 10")(_inspect)
    app.command("report", epilog="Example: augment report data/pairs.arrow")(_report)
    app.command("export", epilog="Example: augment export data/pairs.arrow --to parquet")(_export)
    app.command("verify", epilog="Example: augment verify data/sentences data/pairs.arrow")(_verify)
    app.command("views", epilog="Example: augment views --json")(_views)
    for command in app.registered_commands:
        command.cls = pairs.PairsCommand if command.name == "build-pairs" else SectionedCommand
        # Click would cut it at 45 characters.
        command.short_help = (command.help or inspect.getdoc(command.callback) or "").split("\n")[0]
    return app


def main() -> NoReturn:
    """Run the command line."""
    sys.exit(call(build_app(), sys.argv[1:]))


def _main(version: VersionOption = False) -> None:
    """Make views of sentences, and pairs of views, as Arrow datasets that `train` reads."""


@with_options
def _ingest(options: IngestOptions) -> None:
    """Read sentences from SOURCE, drop empty lines and exact duplicates, and write them as a dataset."""
    from pipelines.sentences.ingest import ingest

    if options.max_words is not None and options.max_words < (options.min_words or 0):
        raise InputError(
            f"--max-words {options.max_words} is less than --min-words {options.min_words}: swap them"
        )
    if options.labels is not None and options.split is not None:
        advice = "spans belong to whole texts; leave one of them out"
        raise InputError(f"--labels {options.labels} with --split {options.split}: {advice}")
    if options.language != "en" and options.split is None:
        raise InputError(f"--language {options.language} is for --split sentences: give both, or neither")
    with offline() if options.dry_run else nullcontext():
        dataset, is_new = ingest(options)
    shards = len(dataset.receipts) or -(-dataset.rows // options.shard_size)
    if options.json:
        show_json({"out": str(options.out), **dataset.counts, "shards": shards, "made_now": is_new})
        return
    state = "would be written" if options.dry_run else "written" if is_new else "already there, nothing done"
    table((f"{options.out}/", "rows"), [*dataset.counts.items()])
    show(f"{counted(dataset.rows, 'sentence')} in {counted(shards, 'shard')}: {state}")


def _inspect(
    path: PathArgument,
    rows: Annotated[int, Number(min=0, help="Sample rows to show, spread evenly.")] = 5,
    seed: Annotated[int | None, Number(help="Draw the rows and the sample at random.")] = None,
    sample: SampleOption = SAMPLE_ROWS,
    status: Annotated[
        str | None, typer.Option(help="Of a view, show only rows with this status, such as ok.")
    ] = None,
    json: JsonOption = False,
    config: ConfigOption = None,
) -> None:
    """Show what a dataset holds: counts, where it comes from, statistics, and rows with changes marked word by word."""
    from pipelines.inspection.inspect import inspect

    inspect(path, rows, seed, sample, status=status, as_json=json)


def _report(
    path: PathArgument,
    out: Annotated[Path | None, Output(help="File to write. [PATH with the ending .report.html]")] = None,
    rows: Annotated[int, Number(min=0, help="Sample rows on the page, spread evenly.")] = REPORT_ROWS,
    seed: Annotated[int, Number(help="Seed of the sample of the statistics.")] = 0,
    sample: SampleOption = SAMPLE_ROWS,
    dry_run: DryRunOption = False,
    overwrite: OverwriteOption = False,
    json: JsonOption = False,
    config: ConfigOption = None,
) -> None:
    """Write one HTML page about a dataset: where it comes from, statistics, and rows with their changes."""
    from pipelines.inspection.opened import open_path
    from pipelines.inspection.report import check_report, report_path, write_report

    target, opened = out or report_path(path), open_path(path)
    if dry_run:
        check_report(target, opened, rows, sample, seed, overwrite=overwrite)
        views.show_preview({"out": str(target), "rows": opened.rows, "sample": sample}, as_json=json)
        return
    is_new = write_report(target, opened, rows, sample, seed, overwrite=overwrite)
    line = f"{target} written" if is_new else f"{target} exists already, nothing done"
    show_json({"out": str(target), "made_now": is_new}) if json else show(line)


def _export(
    path: PathArgument,
    to: Annotated[str, typer.Option(help=TO_HELP)] = "parquet",
    out: Annotated[Path | None, Output(help="File to write. [PATH with the format's ending]")] = None,
    public: Annotated[bool, typer.Option("--public", help="For hf: make it public.")] = False,
    license: Annotated[str, typer.Option(help=LICENSE_HELP)] = "unknown",
    limit: Annotated[
        int | None, Number(min=1, help="Only the first N rows.", rich_help_panel="Running")
    ] = None,
    dry_run: DryRunOption = False,
    overwrite: OverwriteOption = False,
    json: JsonOption = False,
    config: ConfigOption = None,
) -> None:
    """Write a dataset as one Parquet, JSONL or CSV file, or put it on the Hugging Face Hub with its card."""
    from pipelines.inspection.opened import open_path
    from pipelines.outputs.export import export, push
    from pipelines.storage.files import sibling_path

    is_hub = to.startswith("hf:")
    if not is_hub and to not in FORMATS:
        raise InputError(f"--to {to} is not a format: give one of {', '.join(FORMATS)}, or hf:NAME")
    if is_hub and out is not None:
        raise InputError(f"--out {out} names a file, but --to {to} writes to the Hub: leave --out out")
    if not is_hub and (public or license != "unknown"):
        raise InputError(f"--public and --license are for a dataset on the Hub, not --to {to}: leave them out")
    opened, target = open_path(path), None if is_hub else out or sibling_path(path, to)
    rows = min(opened.rows, limit or opened.rows)
    facts: dict[str, object] = {"out": str(target or to), "rows": rows}
    is_new = target is None or export(opened, rows, to, target, overwrite=overwrite, dry_run=dry_run)
    if dry_run:
        views.show_preview({**facts, "files to read": len(opened.files)}, as_json=json)
        return
    line = (
        f"{counted(rows, 'row')} written to {target}"
        if is_new
        else f"{target} is already complete, nothing done"
    )
    if target is None:
        address = push(opened, rows, to, public=public, license=license, overwrite=overwrite)
        line, facts = f"{address}: {'public' if public else 'private'}", {"out": address, "public": public}
    show_json(facts) if json else show(line)


def _verify(paths: PathsArgument, json: JsonOption = False) -> None:
    """Compare every file of an output with its recorded hash; exit with 1 if one is damaged, missing or unfinished."""
    from pipelines.outputs.verify import verify

    files = verify(paths)
    problems = {str(path): problem for path, problem in files.items() if problem is not None}
    total = counted(len(problems), "problem") if problems else "no problems"
    lines = [f"{problem}: {path}" for path, problem in problems.items()]
    lines.append(f"{counted(len(files), 'file')} verified: {total}")
    show_json({"files": len(files), "problems": problems}) if json else show("\n".join(lines))
    if problems:
        raise typer.Exit(1)


def _views(json: JsonOption = False) -> None:
    """List the views that are installed, ours and those of other packages."""
    descriptions = {name: views.describe_view(name) for name in VIEWS.usable_names()}
    if json:
        show_json(
            {
                name: dict(zip(("summary", "example"), texts, strict=True))
                for name, texts in descriptions.items()
            }
        )
    else:
        table(("view", "what it does", "try"), [(name, *texts) for name, texts in descriptions.items()])
