"""`augment build-pairs` and `mine-negatives`."""

from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias

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
from pipelines.console import ConfigOption, show_json, table

Policy: TypeAlias = Literal["bsl", "original", "self", "multilingual", "entailment", "mixture"]
SourcesArgument = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[SOURCE]...",
        help="Files (ingested to data/sentences) or a folder of sentences; without, data/sentences or the sample. For "
        "entailment NLI files (JSONL, TSV, CSV) or hf:NAME.",
    ),
]


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
    sources: SourcesArgument = None,
    pairs: Annotated[
        Policy,
        typer.Option(
            help="bsl: two views (back-translations); original: sentence x each view; self: sentence x itself; "
            "multilingual: sentence x each translation; entailment: premise x entailed hypothesis of NLI sources; "
            "mixture: other files of pairs, by --mix."
        ),
    ] = "bsl",
    view: Annotated[
        list[str] | None,
        typer.Option(
            help="A view to pair, by its folder's name in data/views or its path; NAME:2 is its second hypothesis. "
            "For bsl twice [default: backtranslate-de, backtranslate-fr], for original and multilingual once or more. "
            "Missing views are made."
        ),
    ] = None,
    filter: Annotated[
        list[str] | None,
        typer.Option(
            help="Drop pairs by a filter: NAME or NAME:key=value,key=value, such as semantic:min=0.6,encoder=starter; "
            "may be repeated."
        ),
    ] = None,
    default_filters: Annotated[
        bool,
        typer.Option(
            "--default-filters/--no-default-filters",
            help="Drop back-translations that are no paraphrases of their sentence (--filter paraphrase).",
        ),
    ] = True,
    rejects: Annotated[
        Path | None, typer.Option(help="Write what was dropped, with the reason, to this Arrow stream file.")
    ] = None,
    mix: Annotated[
        list[str] | None,
        typer.Option(help="For mixture: PATH=WEIGHT, a file or folder of pairs and its share; may be repeated."),
    ] = None,
    negatives: Annotated[
        bool,
        typer.Option(
            "--negatives",
            help="For entailment: a column `negative`, a contradiction of the same premise; those of all entailing "
            "premises are held in memory.",
        ),
    ] = False,
    out: Annotated[
        Path | None, typer.Option(help="File to write; data/pairs.arrow, or with --shards the folder data/pairs.")
    ] = None,
    shards: Annotated[
        int | None, typer.Option(min=1, max=MOST, help="Write a folder of N shards, for very large outputs.")
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option(
            min=-MOST, max=MOST, help="Run seed of views to be made (else their twin's, or 0), or of a mixture."
        ),
    ] = None,
    limit: Annotated[
        int | None, typer.Option(min=1, max=MOST, help="Only the first N sentences, or NLI rows; N pairs of a mixture.")
    ] = None,
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
    from pipelines.pairing.build import PairsOptions, build_pairs, preview_pairs, show_pairs
    from pipelines.views.run import Execution

    options = PairsOptions(
        pairs, sources or [], view or [], filter or [], default_filters, mix or [], negatives, seed, limit, shards
    )
    running = Execution(Runtime(device, batch_tokens), workers)
    target = out or Path("data/pairs" if shards else "data/pairs.arrow")
    if dry_run:
        with offline():
            preview = preview_pairs(options, running, target, rejects)
        show_json(preview) if json else table(("", "would be"), preview.items())
        return
    counts, made = build_pairs(options, running, target, rejects=rejects, overwrite=overwrite)
    show_pairs(target, counts, made, as_json=json)


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

    A negative that is there already stays. Texts of the same sentence are never drawn. All texts and a vector of each
    (3 KB at 768 dimensions) are held in memory.
    """
    from pipelines.files import beside
    from pipelines.offline import offline
    from pipelines.pairing.build import show_pairs
    from pipelines.pairing.negatives import Mining, mine_negatives, preview_mining

    if skip >= within:
        raise InputError(f"--skip {skip} leaves nothing --within {within}: give a larger --within")
    target = out or beside(pairs, "negatives.arrow")
    wanted = Mining(encoder, skip, within, margin, seed, limit)
    if dry_run:
        with offline():
            preview = preview_mining(pairs, wanted, target, overwrite=overwrite)
        show_json(preview) if json else table(("", "would be"), preview.items())
        return
    counts, made = mine_negatives(pairs, wanted, target, Runtime(device), batch_size, overwrite=overwrite)
    show_pairs(target, counts, made, as_json=json)
