"""`augment inspect` and `augment export`: what stands in a dataset, on the terminal or as one file."""

from pathlib import Path
from typing import Annotated

import typer

from pipelines.console import ConfigOption, show, show_json, table
from pipelines.export import ExportFormat
from pipelines.viewcommand import DryRunOption, JsonOption, OverwriteOption

PathArgument = Annotated[
    Path, typer.Argument(help="A folder of sentences, of a view or of pairs, or a pairs.arrow.", show_default=False)
]


def add_look_commands(app: typer.Typer) -> None:
    """Add `inspect` and `export` to `app`."""
    app.command("inspect", epilog="Example: augment inspect data/pairs.arrow --rows 10")(_inspect)
    app.command("export", epilog="Example: augment export data/pairs.arrow --to parquet")(_export)


def _inspect(
    path: PathArgument,
    rows: Annotated[int, typer.Option(min=0, help="Sample rows to show.")] = 5,
    json: JsonOption = False,
    config: ConfigOption = None,
) -> None:
    """Show what a dataset holds: counts, where it comes from, and sample rows with changes marked word by word."""
    from pipelines.inspect import inspect_path, show_inspected

    show_inspected(inspect_path(path, rows), as_json=json)


def _export(
    path: PathArgument,
    to: Annotated[ExportFormat, typer.Option(help="Format to write.")] = "parquet",
    out: Annotated[Path | None, typer.Option(help="File to write; PATH with the format's ending if not given.")] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="Only the first N rows.", show_default=False)] = None,
    dry_run: DryRunOption = False,
    overwrite: OverwriteOption = False,
    json: JsonOption = False,
    config: ConfigOption = None,
) -> None:
    """Write a dataset as one Parquet, JSONL or CSV file."""
    from pipelines.export import export, export_files

    target = out or path.with_name(f"{path.name.removesuffix('.arrow')}.{to}")
    if dry_run:
        table(("", "would be"), [("out", target), ("shards to read", len(export_files(path)))])
        return
    rows = export(path, to, target, limit=limit, overwrite=overwrite)
    if json:
        show_json({"out": str(target), "rows": rows})
    else:
        show(f"{rows:,} rows written to {target}")
