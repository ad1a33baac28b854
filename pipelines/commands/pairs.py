"""`augment build-pairs` and `mine-negatives`."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from typer.core import TyperCommand

from augment.errors import InputError
from augment.view import Runtime
from pipelines.commands import view as shared
from pipelines.commands.view import Number
from pipelines.console import ConfigOption, flat, offline, show, show_json, table

Policy = Literal["bsl", "original", "self", "multilingual", "entailment"]

SOURCES_HELP = f"{shared.SOURCES_HELP} For entailment: NLI files (JSONL, TSV, CSV) or hf:NAME."
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
NEGATIVES_HELP = "For entailment: add a column `negative`, a contradiction of the same premise; held in memory."
OUT_HELP = "File to write; data/pairs.arrow, or with --shards the folder data/pairs."
SEED_HELP = "Seed of the views to make; by default that of the other view, else 0."


class PairsCommand(TyperCommand):
    """The command; its help lists the filters, which are looked up only then."""

    def format_epilog(self, ctx: Any, formatter: Any) -> None:  # noqa: ANN401 - typer brings a click of its own
        """Write the filters, and then the example."""
        from pipelines.filter import filter_summaries

        with formatter.section("Filters, applied in the order given"):
            formatter.write_dl(filter_summaries())
        super().format_epilog(ctx, formatter)


def build_pairs_command(
    sources: Annotated[list[str] | None, typer.Argument(metavar="[SOURCE]...", help=SOURCES_HELP)] = None,
    pairs: Annotated[Policy, typer.Option(help=PAIRS_HELP)] = "bsl",
    view: Annotated[list[str] | None, typer.Option(help=VIEW_HELP)] = None,
    filter: Annotated[list[str] | None, typer.Option(help=FILTER_HELP)] = None,
    default_filters: Annotated[bool, typer.Option(help=DEFAULT_FILTERS_HELP)] = True,
    rejects: Annotated[
        Path | None, typer.Option(help="Arrow stream file for the dropped pairs, with their reasons.")
    ] = None,
    negatives: Annotated[bool, typer.Option("--negatives", help=NEGATIVES_HELP)] = False,
    out: Annotated[Path | None, typer.Option(help=OUT_HELP)] = None,
    shards: Annotated[int | None, Number(min=1, help="Write a folder of N shards, for very large outputs.")] = None,
    seed: Annotated[int | None, Number(help=SEED_HELP)] = None,
    limit: Annotated[int | None, Number(min=1, help="Only the first N sentences, or NLI rows.")] = None,
    workers: shared.WorkersOption = 1,
    device: shared.DeviceOption = "auto",
    batch_tokens: shared.BatchTokensOption = None,
    dry_run: shared.DryRunOption = False,
    overwrite: shared.OverwriteOption = False,
    json: shared.JsonOption = False,
    config: ConfigOption = None,
) -> None:
    """Pair views of the same sentences; views that are missing are made first.

    Sentences of which a view failed or was rejected are dropped and counted by reason; views that equal their
    sentence are kept and counted, unless a filter drops them.
    """
    from pipelines.pairing.build import PairsOptions, build_pairs, preview_pairs
    from pipelines.views.run import Execution

    options = PairsOptions(
        pairs, sources or [], view or [], filter or [], default_filters, negatives, seed, limit, shards
    )
    running = Execution(Runtime(device, batch_tokens), workers)
    target = out or Path("data/pairs" if shards else "data/pairs.arrow")
    if dry_run:
        with offline():
            shared.show_preview(preview_pairs(options, running, target, rejects), as_json=json)
        return
    counts, made = build_pairs(options, running, target, rejects=rejects, overwrite=overwrite)
    _show_pairs(target, counts, made, as_json=json)


def _show_pairs(out: Path, counts: Mapping[str, Any], made: bool, *, as_json: bool) -> None:
    """Print how many pairs there are and what was dropped."""
    if as_json:
        show_json({"out": str(out), **counts, "made_now": made})
        return
    table((str(out), "rows"), [(f"  {name}" if ": " in name else name, number) for name, number in flat(counts)])
    if not made:
        show("already complete, nothing done")


def mine_negatives_command(
    pairs: Annotated[Path, typer.Argument(help="Pairs, a file or a folder.")],
    encoder: Annotated[str, typer.Option(help="starter, or an encoder's folder or name on the Hub.")] = "starter",
    out: Annotated[Path | None, typer.Option(help="File to write; PAIRS.negatives.arrow if not given.")] = None,
    skip: Annotated[int, Number(min=0, help="Skip the N closest texts.")] = 0,
    within: Annotated[int, Number(min=1, help="Draw among the N closest texts.")] = 10,
    margin: Annotated[
        float, typer.Option(min=-2, max=2, help="Its cosine to view_a must be this much below view_b's.")
    ] = 0.05,
    seed: Annotated[int, Number(help="Seed of the draw.")] = 0,
    limit: Annotated[int | None, Number(min=1, help="Only the first N pairs.")] = None,
    batch_size: Annotated[int, Number(min=1, help="Texts encoded at once.")] = 64,
    device: shared.DeviceOption = "auto",
    dry_run: shared.DryRunOption = False,
    overwrite: shared.OverwriteOption = False,
    json: shared.JsonOption = False,
    config: ConfigOption = None,
) -> None:
    """Give pairs a column `negative`: a text of another pair that an encoder finds close to view_a.

    An existing negative stays. Texts of the same sentence are never drawn. All texts and a vector of each
    (3 KB at 768 dimensions) are held in memory.
    """
    from pipelines.files import beside
    from pipelines.pairing.negatives import Mining, mine_negatives, preview_mining

    if skip >= within:
        raise InputError(f"--skip {skip} leaves nothing --within {within}: give a larger --within")
    target = out or beside(pairs, "negatives.arrow")
    wanted = Mining(encoder, skip, within, margin, seed, limit)
    if dry_run:
        with offline():
            shared.show_preview(preview_mining(pairs, wanted, target), as_json=json)
        return
    counts, made = mine_negatives(pairs, wanted, target, device, batch_size, overwrite=overwrite)
    _show_pairs(target, counts, made, as_json=json)
