"""The command line `augment`: sentences, views, pairs; see `augment --help`."""

from pathlib import Path
from typing import Annotated, NoReturn

import typer

from augment import __version__
from augment.view import view_names
from pipelines import console
from pipelines.console import ConfigOption, show, show_json, table
from pipelines.export import ExportFormat
from pipelines.pairing import Policy
from pipelines.sources import Format
from pipelines.viewcommand import (
    BatchTokensOption,
    DeviceOption,
    DryRunOption,
    JsonOption,
    LimitOption,
    OverwriteOption,
    SourcesArgument,
    WorkersOption,
    add_view_command,
    view_example,
    view_summary,
)

PathArgument = Annotated[
    Path, typer.Argument(help="A folder of sentences, of a view or of pairs, or a pairs.arrow.", show_default=False)
]


def build_app() -> typer.Typer:
    """The command line, with one subcommand for every view that is installed."""
    app = typer.Typer(
        name="augment",
        add_completion=False,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings={"max_content_width": 120, "help_option_names": ["-h", "--help"]},
    )
    app.callback(epilog="Example: augment backtranslate --pivot de && augment build-pairs")(_main)
    app.command("ingest", epilog="Example: augment ingest reviews.csv --column body")(_ingest)
    for name in view_names():
        add_view_command(app, name)
    app.command("build-pairs", epilog="Example: augment build-pairs --pairs original --view synonym")(_build_pairs)
    app.command("inspect", epilog="Example: augment inspect data/pairs.arrow --rows 10")(_inspect)
    app.command("export", epilog="Example: augment export data/pairs.arrow --to parquet")(_export)
    app.command("views", epilog="Example: augment views --json")(_views)
    app.command("wordnet", epilog="Example: augment wordnet --provide")(_wordnet)
    return app


def main() -> NoReturn:
    """Entry point of `augment`."""
    console.run(build_app())


def _show_version(value: bool) -> None:
    if value:
        show(f"twinviews {__version__}")
        raise typer.Exit


def _main(
    version: Annotated[
        bool, typer.Option("--version", help="Show the version.", is_eager=True, callback=_show_version)
    ] = False,
) -> None:
    """Sentences in, views and pairs of views out, as Arrow datasets; `train` goes on from the pairs."""


def _ingest(
    sources: Annotated[
        list[str],
        typer.Argument(
            metavar="SOURCE...",
            help="Text, .gz, .zst, CSV, TSV, JSONL, Parquet or Arrow files, hf:NAME[:CONFIG][:SPLIT], or - for stdin.",
            show_default=False,
        ),
    ],
    column: Annotated[
        str | None,
        typer.Option(
            help="Column of the sentences, by name or (CSV, TSV) number from 1; else text, sentence or the only one. A "
            "CSV's first row is its header when it names a wanted column, text or sentence.",
            show_default=False,
        ),
    ] = None,
    label_column: Annotated[str, typer.Option(help="Column to keep as label, where there is one.")] = "label",
    pair_column: Annotated[str, typer.Option(help="Column to keep as pair, where there is one.")] = "pair",
    format: Annotated[
        Format | None, typer.Option(help="Format of all sources; else by their endings.", show_default=False)
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder of the sentences.")] = Path("data/sentences"),
    limit: LimitOption = None,
    shard_size: Annotated[int, typer.Option(min=1, help="Rows in a shard.")] = 50_000,
    dry_run: DryRunOption = False,
    overwrite: OverwriteOption = False,
    json: JsonOption = False,
    config: ConfigOption = None,
) -> None:
    """Read sentences from SOURCE, drop empty lines and exact duplicates, and write them as a dataset."""
    from tempfile import TemporaryDirectory

    from pipelines.ingest import Ingest, ingest
    from pipelines.rows import Columns

    job = Ingest(sources, Columns(column, label_column, pair_column), format, limit, shard_size)
    if dry_run:
        with TemporaryDirectory() as scratch:
            dataset, made = ingest(job, Path(scratch) / "sentences")
    else:
        dataset, made = ingest(job, out, overwrite=overwrite)
    if json:
        show_json(
            {"out": str(out), **dataset.counts, "shards": len(dataset.receipts), "made_now": made and not dry_run}
        )
        return
    state = "would be written" if dry_run else "written" if made else "there already, nothing done"
    table((f"{out}/", "rows"), [*dataset.counts.items()])
    show(f"{dataset.rows:,} sentences in {len(dataset.receipts)} shards: {state}")


def _build_pairs(
    sources: SourcesArgument = None,
    pairs: Annotated[
        Policy, typer.Option(help="bsl: two back-translations; original: sentence x a view; self: sentence x itself.")
    ] = "bsl",
    view: Annotated[
        list[str] | None,
        typer.Option(
            help="A view to pair, by its folder's name in data/views or its path; for bsl twice "
            "[default for bsl: backtranslate-de, backtranslate-fr]. Missing views are made.",
            show_default=False,
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            help="File to write; data/pairs.arrow, or with --shards the folder data/pairs.", show_default=False
        ),
    ] = None,
    shards: Annotated[
        int | None, typer.Option(min=1, help="Write a folder of N shards, for very large outputs.", show_default=False)
    ] = None,
    drop_identical: Annotated[
        bool, typer.Option("--drop-identical", help="Drop pairs whose two views are the same text (else counted).")
    ] = False,
    seed: Annotated[
        int | None, typer.Option(help="Run seed of views to be made; else their twin's, or 0.", show_default=False)
    ] = None,
    limit: LimitOption = None,
    workers: WorkersOption = 1,
    device: DeviceOption = "auto",
    batch_tokens: BatchTokensOption = None,
    dry_run: DryRunOption = False,
    overwrite: OverwriteOption = False,
    json: JsonOption = False,
    config: ConfigOption = None,
) -> None:
    """Pair views of the same sentences; views that are missing are made first.

    Sentences of which a view failed or was rejected are dropped and counted by reason; views that equal their
    sentence are kept and counted.
    """
    from pipelines.pairscommand import PairsOptions, build_pairs, check_views, preview_pairs, show_pairs
    from pipelines.views import Running, sentences_for

    options = PairsOptions(pairs, view or [], seed, limit, shards, drop_identical)
    check_views(pairs, options.views)
    running = Running(workers, device, batch_tokens)
    target = out or Path("data/pairs" if shards else "data/pairs.arrow")
    with sentences_for(sources or [], dry_run=dry_run) as source:
        if dry_run:
            preview = preview_pairs(source, options, running, target)
            show_json(preview) if json else table(("", "would be"), preview.items())
            return
        made = build_pairs(source, sources or [], options, running, target, overwrite=overwrite)
    show_pairs(made, as_json=json)


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


def _views(json: JsonOption = False) -> None:
    """List the views that are installed, ours and those of other packages."""
    views = {name: {"summary": view_summary(name), "example": view_example(name)} for name in view_names()}
    if json:
        show_json(views)
    else:
        table(("view", "what it does", "try"), [(name, *each.values()) for name, each in views.items()])


def _wordnet(
    provide: Annotated[bool, typer.Option("--provide", help="Get it where it is missing.")] = False,
    json: JsonOption = False,
) -> None:
    """Say where WordNet was found; the synonym view needs it."""
    from augment import wordnet

    found = wordnet.provide() if provide else wordnet.locate()
    if json:
        show_json({"path": str(found.path), "origin": found.origin})
    else:
        show(f"WordNet: {found.path} ({found.origin})")
