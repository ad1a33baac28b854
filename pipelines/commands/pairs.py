"""`augment build-pairs` and `mine-negatives`."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from typer.core import TyperCommand

from augment.errors import InputError
from augment.view import Runtime
from pipelines.commands.view import (
    MOST,
    BatchTokensOption,
    DeviceOption,
    DryRunOption,
    JsonOption,
    OverwriteOption,
    WorkersOption,
)
from pipelines.console import ConfigOption, show, show_json, table

SOURCES_HELP = (
    "Files (ingested to data/sentences) or a folder of sentences; without, data/sentences or the sample. For "
    "entailment NLI files (JSONL, TSV, CSV) or hf:NAME."
)
PAIRS_HELP = (
    "bsl: two views (back-translations); original: sentence x each view; self: sentence x itself; multilingual: "
    "sentence x each translation; entailment: premise x entailed hypothesis of NLI sources."
)
VIEW_HELP = (
    "A view to pair, by its folder's name in data/views or its path. For bsl twice [default: backtranslate-de, "
    "backtranslate-fr], for original and multilingual once or more. Missing views are made."
)
FILTER_HELP = (
    "Drop pairs by a filter: NAME or NAME:key=value,key=value, such as semantic:min=0.6,encoder=starter; may be "
    "repeated."
)
DEFAULT_FILTERS_HELP = "Drop back-translations that are not paraphrases of their sentence (--filter paraphrase)."
REJECTS_HELP = "Write what was dropped, with the reason, to this Arrow stream file."
NEGATIVES_HELP = "For entailment: add a column `negative`, a contradiction of the same premise; held in memory."
OUT_HELP = "File to write; data/pairs.arrow, or with --shards the folder data/pairs."
SHARDS_HELP = "Write a folder of N shards, for very large outputs."
SEED_HELP = "Run seed of views to be made; without, that of the other view, or 0."
LIMIT_HELP = "Only the first N sentences, or NLI rows."


class _PairsCommand(TyperCommand):
    """The command, with the filters listed in its help; they are looked up only then."""

    def format_epilog(self, ctx: Any, formatter: Any) -> None:  # noqa: ANN401 - typer brings a click of its own
        """Write the filters, and then the example."""
        from pipelines.filter import filter_summaries

        with formatter.section("Filters, applied in the order given"):
            formatter.write_dl(filter_summaries())
        super().format_epilog(ctx, formatter)


def add_pairs_commands(app: typer.Typer) -> None:
    """Add `build-pairs` and `mine-negatives` to `app`."""
    example = "augment build-pairs --pairs original --view synonym --filter chrf:max=95 --rejects data/rejects.arrow"
    app.command("build-pairs", cls=_PairsCommand, epilog=f"Example: {example}")(_build_pairs)
    mining = "Example: augment mine-negatives data/pairs.arrow --within 20 --margin 0.1"
    app.command("mine-negatives", epilog=mining)(_mine_negatives)


def _build_pairs(
    sources: Annotated[list[str] | None, typer.Argument(metavar="[SOURCE]...", help=SOURCES_HELP)] = None,
    pairs: Annotated[
        Literal["bsl", "original", "self", "multilingual", "entailment"], typer.Option(help=PAIRS_HELP)
    ] = "bsl",
    view: Annotated[list[str] | None, typer.Option(help=VIEW_HELP)] = None,
    filter: Annotated[list[str] | None, typer.Option(help=FILTER_HELP)] = None,
    default_filters: Annotated[
        bool, typer.Option("--default-filters/--no-default-filters", help=DEFAULT_FILTERS_HELP)
    ] = True,
    rejects: Annotated[Path | None, typer.Option(help=REJECTS_HELP)] = None,
    negatives: Annotated[bool, typer.Option("--negatives", help=NEGATIVES_HELP)] = False,
    out: Annotated[Path | None, typer.Option(help=OUT_HELP)] = None,
    shards: Annotated[int | None, typer.Option(min=1, max=MOST, help=SHARDS_HELP)] = None,
    seed: Annotated[int | None, typer.Option(min=-MOST, max=MOST, help=SEED_HELP)] = None,
    limit: Annotated[int | None, typer.Option(min=1, max=MOST, help=LIMIT_HELP)] = None,
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
    sentence are kept and counted, unless a filter drops them.
    """
    from pipelines.offline import offline
    from pipelines.pairing.build import PairsOptions, build_pairs, preview_pairs
    from pipelines.views.run import Execution

    options = PairsOptions(
        pairs, sources or [], view or [], filter or [], default_filters, negatives, seed, limit, shards
    )
    running = Execution(Runtime(device, batch_tokens), workers)
    target = out or Path("data/pairs" if shards else "data/pairs.arrow")
    if dry_run:
        with offline():
            _show_preview(preview_pairs(options, running, target, rejects), as_json=json)
        return
    counts, made = build_pairs(options, running, target, rejects=rejects, overwrite=overwrite)
    _show_pairs(target, counts, made, as_json=json)


def _show_pairs(out: Path, counts: Mapping[str, Any], made: bool, *, as_json: bool) -> None:
    """Print how many pairs there are and what was dropped."""
    if as_json:
        show_json({"out": str(out), **counts, "made_now": made})
        return
    rows = [(name, number) for name, number in counts.items() if not isinstance(number, Mapping)]
    for key, what in (("parts", "of "), ("dropped", "dropped: "), ("kept", "kept: ")):
        rows += [(f"  {what}{name}", number) for name, number in counts.get(key, {}).items()]
    table((str(out), "rows"), rows)
    if not made:
        show("already complete, nothing done")


def _show_preview(preview: dict[str, Any], *, as_json: bool) -> None:
    show_json(preview) if as_json else table(("", "would be"), preview.items())


def _mine_negatives(
    pairs: Annotated[Path, typer.Argument(help="Pairs, a file or a folder.")],
    encoder: Annotated[
        str,
        typer.Option(help="starter, or the folder or Hub name of a sentence-transformers or plain transformers model."),
    ] = "starter",
    out: Annotated[Path | None, typer.Option(help="File to write; PAIRS.negatives.arrow if not given.")] = None,
    skip: Annotated[int, typer.Option(min=0, max=MOST, help="Pass over the N closest texts.")] = 0,
    within: Annotated[int, typer.Option(min=1, max=MOST, help="Draw among the N closest texts.")] = 10,
    margin: Annotated[
        float, typer.Option(min=-2, max=2, help="How far below that of view_b the cosine to view_a must be.")
    ] = 0.05,
    seed: Annotated[int, typer.Option(min=-MOST, max=MOST, help="Seed of what is drawn.")] = 0,
    limit: Annotated[int | None, typer.Option(min=1, max=MOST, help="Only the first N pairs.")] = None,
    batch_size: Annotated[int, typer.Option(min=1, max=MOST, help="Texts that are encoded together.")] = 64,
    device: DeviceOption = "auto",
    dry_run: DryRunOption = False,
    overwrite: OverwriteOption = False,
    json: JsonOption = False,
    config: ConfigOption = None,
) -> None:
    """Give pairs a column `negative`: a text of another pair that an encoder finds close to view_a.

    An existing negative stays. Texts of the same sentence are never drawn. All texts and a vector of each
    (3 KB at 768 dimensions) are held in memory.
    """
    from pipelines.files import beside
    from pipelines.offline import offline
    from pipelines.pairing.negatives import Mining, mine_negatives, preview_mining

    if skip >= within:
        raise InputError(f"--skip {skip} leaves nothing --within {within}: give a larger --within")
    target = out or beside(pairs, "negatives.arrow")
    wanted = Mining(encoder, skip, within, margin, seed, limit)
    if dry_run:
        with offline():
            _show_preview(preview_mining(pairs, wanted, target), as_json=json)
        return
    counts, made = mine_negatives(pairs, wanted, target, device, batch_size, overwrite=overwrite)
    _show_pairs(target, counts, made, as_json=json)
