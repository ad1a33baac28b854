"""`augment inspect`, `report`, `export` and `verify`: what a dataset holds, and whether it is whole."""

from pathlib import Path
from typing import Annotated

import typer

from augment.errors import InputError
from pipelines.commands.view import MOST, Blank, DryRunOption, JsonOption, OverwriteOption, show_preview
from pipelines.console import ConfigOption, show, show_json
from pipelines.look import REPORT_ROWS, SAMPLE_ROWS

FORMATS = ("parquet", "jsonl", "csv")
PathArgument = Annotated[Path, typer.Argument(help="A folder of sentences, of a view or of pairs, or a pairs.arrow.")]
SampleOption = Annotated[int, typer.Option(min=0, max=MOST, help="Rows that the statistics are taken from; 0 for all.")]


def add_look_commands(app: typer.Typer) -> None:
    """Add `inspect`, `report`, `export` and `verify` to `app`."""
    app.command("inspect", epilog="Example: augment inspect data/pairs.arrow --rows 10")(_inspect)
    app.command("report", epilog="Example: augment report data/pairs.arrow")(_report)
    app.command("export", epilog="Example: augment export data/pairs.arrow --to parquet")(_export)
    app.command("verify", epilog="Example: augment verify data/sentences data/pairs.arrow")(_verify)


def _inspect(
    path: PathArgument,
    rows: Annotated[int, typer.Option(min=0, max=MOST, help="Sample rows to show, spread evenly.")] = 5,
    seed: Annotated[int | None, Blank(min=-MOST, max=MOST, help="Draw the rows and the sample at random.")] = None,
    sample: SampleOption = SAMPLE_ROWS,
    json: JsonOption = False,
    config: ConfigOption = None,
) -> None:
    """Show what a dataset holds: counts, where it comes from, statistics, and rows with changes marked word by word."""
    from pipelines.look.inspect import inspect

    inspect(path, rows, seed, sample, as_json=json)


def _report(
    path: PathArgument,
    out: Annotated[Path | None, Blank(help="File to write; PATH with the ending .report.html if not given.")] = None,
    rows: Annotated[int, typer.Option(min=0, max=MOST, help="Sample rows on the page, spread evenly.")] = REPORT_ROWS,
    seed: Annotated[int, typer.Option(min=-MOST, max=MOST, help="Seed of the sample of the statistics.")] = 0,
    sample: SampleOption = SAMPLE_ROWS,
    dry_run: DryRunOption = False,
    overwrite: OverwriteOption = False,
    json: JsonOption = False,
    config: ConfigOption = None,
) -> None:
    """Write one HTML page about a dataset: where it comes from, statistics, and rows with their changes."""
    from pipelines.look.opened import open_path
    from pipelines.look.report import report_html, report_path, write_report

    target, opened = out or report_path(path), open_path(path)
    made = write_report(target, report_html(opened, rows, sample, seed), overwrite=overwrite, dry_run=dry_run)
    if dry_run:
        show_preview({"out": str(target), "rows": opened.rows, "sample": sample}, as_json=json)
        return
    line = f"{target} written" if made else f"{target} exists already, nothing done"
    show_json({"out": str(target), "made_now": made}) if json else show(line)


def _export(
    path: PathArgument,
    to: Annotated[
        str, typer.Option(help="Format to write (parquet, jsonl or csv), or hf:NAME, a dataset on the Hub.")
    ] = "parquet",
    out: Annotated[Path | None, typer.Option(help="File to write; PATH with the format's ending if not given.")] = None,
    public: Annotated[bool, typer.Option("--public", help="For hf: let everybody see it.")] = False,
    license: Annotated[
        str, typer.Option(help="For hf: the licence of the texts, as the Hub names it, such as cc-by-sa-4.0.")
    ] = "unknown",
    limit: Annotated[int | None, typer.Option(min=1, max=MOST, help="Only the first N rows.")] = None,
    dry_run: DryRunOption = False,
    overwrite: OverwriteOption = False,
    json: JsonOption = False,
    config: ConfigOption = None,
) -> None:
    """Write a dataset as one Parquet, JSONL or CSV file, or put it on the Hugging Face Hub with its card."""
    from pipelines.export import export, push
    from pipelines.files import beside
    from pipelines.look.opened import open_path

    is_hub = to.startswith("hf:")
    if not is_hub and to not in FORMATS:
        raise InputError(f"--to {to} is not a format: give one of {', '.join(FORMATS)}, or hf:NAME")
    if is_hub and out is not None:
        raise InputError(f"--out {out} is a file, and --to {to} writes none: leave it out")
    if not is_hub and (public or license != "unknown"):
        raise InputError(f"--public and --license are for a dataset on the Hub, not --to {to}: leave them out")
    opened, target = open_path(path), None if is_hub else out or beside(path, to)
    rows = min(opened.rows, limit or opened.rows)
    facts: dict[str, object] = {"out": str(target or to), "rows": rows}
    if dry_run:
        show_preview({**facts, "files to read": len(opened.files)}, as_json=json)
        return
    line = f"{rows:,} rows written to {target}"
    if target is None:
        address = push(opened, rows, to, public=public, license=license, overwrite=overwrite)
        line, facts = f"{address}: {'public' if public else 'private'}", {"out": address, "public": public}
    else:
        export(opened, rows, to, target, overwrite=overwrite)
    show_json(facts) if json else show(line)


def _verify(
    paths: Annotated[
        list[Path],
        typer.Argument(
            metavar="PATH...", help="Datasets, pairs, rejects or exports, or a folder that holds some, such as data."
        ),
    ],
    json: JsonOption = False,
) -> None:
    """Compare every file of an output with its recorded hash; exit with 1 if one is damaged, missing or unfinished."""
    from pipelines.verify import verify

    found = verify(paths)
    wrong = {str(file): problem for file, problem in found.items() if problem is not None}
    summary = f"{len(found):,} files verified: {f'{len(wrong):,} are not' if wrong else 'all are'} as they were written"
    lines = [*(f"{problem}: {file}" for file, problem in wrong.items()), summary]
    show_json({"files": len(found), "problems": wrong}) if json else show("\n".join(lines))
    if wrong:
        raise typer.Exit(1)
