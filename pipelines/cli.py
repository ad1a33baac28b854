"""The command line `augment`: sentences, views, pairs; see `augment --help`."""

import sys
from contextlib import nullcontext
from pathlib import Path
from typing import Annotated, Literal, NoReturn

import typer

from augment.errors import InputError, TwinviewsError
from augment.plugins import blamed
from augment.view import ENTRY_POINT_GROUP, view_names
from pipelines.commands import view
from pipelines.commands.look import add_look_commands
from pipelines.commands.pairs import add_pairs_commands
from pipelines.console import ConfigOption, VersionOption, call, note, offline, show, show_json, table
from pipelines.reading.sources import Format


def build_app() -> typer.Typer:
    """The command line, with one subcommand for every view that is installed."""
    app = typer.Typer(
        name="augment",
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings={"max_content_width": 120, "help_option_names": ["-h", "--help"]},
    )
    app.callback(epilog="Example: augment backtranslate --pivot de && augment build-pairs")(_main)
    app.command("ingest", epilog="Example: augment ingest reviews.csv --column body")(_ingest)
    for name in view_names():
        try:
            with blamed(ENTRY_POINT_GROUP, name):
                view.add_view_command(app, name)
        except TwinviewsError as error:  # the other commands must still work
            note(f"{error}; it is left out")
    add_pairs_commands(app)
    add_look_commands(app)
    app.command("views", epilog="Example: augment views --json")(_views)
    return app


def main() -> NoReturn:
    """Run the command line."""
    sys.exit(call(build_app(), sys.argv[1:]))


def _main(version: VersionOption = False) -> None:
    """Make views of sentences, and pairs of views, as Arrow datasets that `train` reads."""


def _ingest(
    sources: Annotated[
        list[str],
        typer.Argument(
            metavar="SOURCE...",
            help="Text, Markdown, HTML, CSV, TSV, JSONL, Parquet or Arrow files, .gz and .zst of these, "
            "hf:NAME[:CONFIG][:SPLIT], or - for stdin.",
            show_default=False,
        ),
    ],
    column: Annotated[
        str | None,
        view.Blank(
            help="Column of the sentences, by name or (CSV, TSV) number from 1; else text, sentence or the only one. A "
            "CSV's first row is its header if it names that column, text or sentence."
        ),
    ] = None,
    label_column: Annotated[str, typer.Option(help="Column to keep as label, if there is one.")] = "label",
    labels: Annotated[Literal["spans"] | None, view.Blank(help="Labels are spans: [[start, end, label], ...].")] = None,
    pair_column: Annotated[str, typer.Option(help="Column to keep as pair, if there is one.")] = "pair",
    format: Annotated[Format | None, view.Blank(help="Format of all sources, whatever their endings.")] = None,
    split: Annotated[Literal["sentences"] | None, view.Blank(help="Split running text into sentences.")] = None,
    language: Annotated[str, typer.Option(help="The language for --split, such as en, de or zh.")] = "en",
    min_words: Annotated[int | None, view.Blank(min=0, help="Drop sentences of fewer words.")] = None,
    max_words: Annotated[int | None, view.Blank(min=1, help="Drop sentences of more words.")] = None,
    out: Annotated[Path, typer.Option(help="Folder of the sentences.")] = Path("data/sentences"),
    limit: view.LimitOption = None,
    shard_size: Annotated[int, typer.Option(min=1, max=view.MOST, help="Rows in a shard.")] = 50_000,
    dry_run: view.DryRunOption = False,
    overwrite: view.OverwriteOption = False,
    json: view.JsonOption = False,
    config: ConfigOption = None,
) -> None:
    """Read sentences from SOURCE, drop empty lines and exact duplicates, and write them as a dataset."""
    from pipelines.ingest import Ingest, ingest
    from pipelines.reading.rows import Columns

    if max_words is not None and max_words < (min_words or 0):
        raise InputError(f"--max-words {max_words} is less than --min-words {min_words}: swap them")
    if labels is not None and split is not None:
        raise InputError(f"--labels {labels} with --split {split}: spans are of whole texts; leave one of them out")
    if language != "en" and split is None:
        raise InputError(f"--language {language} is for --split sentences: give both, or neither")
    words = None if min_words is None and max_words is None else (min_words or 0, max_words)
    columns = Columns(column, label_column, pair_column)
    job = Ingest(sources, columns, format, limit, shard_size, language if split else None, words, labels)
    with offline() if dry_run else nullcontext():
        dataset, made = ingest(job, out, overwrite=overwrite, dry_run=dry_run)
    shards = len(dataset.receipts) or -(-dataset.rows // shard_size)
    if json:
        show_json({"out": str(out), **dataset.counts, "shards": shards, "made_now": made})
        return
    state = "would be written" if dry_run else "written" if made else "there already, nothing done"
    table((f"{out}/", "rows"), [*dataset.counts.items()])
    show(f"{dataset.rows:,} sentences in {shards} shards: {state}")


def _views(json: view.JsonOption = False) -> None:
    """List the views that are installed, ours and those of other packages."""
    views = {name: view.describe_view(name) for name in view_names()}
    if json:
        show_json({name: dict(zip(("summary", "example"), each, strict=True)) for name, each in views.items()})
    else:
        table(("view", "what it does", "try"), [(name, *each) for name, each in views.items()])
