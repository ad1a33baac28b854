"""`augment build-pairs`."""

from pathlib import Path
from typing import Annotated

import typer

from pipelines.console import ConfigOption, show_json, table
from pipelines.pairing import Policy
from pipelines.viewcommand import (
    BatchTokensOption,
    DeviceOption,
    DryRunOption,
    JsonOption,
    LimitOption,
    OverwriteOption,
    SourcesArgument,
    WorkersOption,
)


def add_pairs_command(app: typer.Typer) -> None:
    """Add `build-pairs` to `app`."""
    app.command("build-pairs", epilog="Example: augment build-pairs --pairs original --view synonym")(_build_pairs)


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
    from pipelines.makepairs import PairsOptions, build_pairs, check_views, preview_pairs, show_pairs
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
