"""`augment build-pairs` and `mine-negatives`."""

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from augment.errors import InputError
from pipelines.cli.views import show_preview
from pipelines.options import MiningOptions, PairsOptions, with_options
from pipelines.terminal.console import SectionedCommand, flat, note, offline, show, show_json, table

Options = TypeVar("Options", PairsOptions, MiningOptions)


class PairsCommand(SectionedCommand):
    """`build-pairs`, whose help lists the filters; they are looked up only for that."""

    def format_epilog(self, ctx: Any, formatter: Any) -> None:  # noqa: ANN401 - typer brings a click of its own
        """Write the filters, and then the example."""
        from pipelines.pairs.filter import filter_summaries

        with formatter.section("Filters, applied in the order given"):
            formatter.write_dl(filter_summaries())
        super().format_epilog(ctx, formatter)


@with_options
def build_pairs_command(options: PairsOptions) -> None:
    """Pair views of the same sentences; views that are missing are made first.

    Sentences of which a view failed or was rejected are dropped and counted by reason; views that equal their
    sentence are kept and counted, unless a filter drops them.
    """
    from pipelines.pairs.build import build_pairs, preview_pairs

    _make_pairs(options, build_pairs, preview_pairs)


@with_options
def mine_negatives_command(options: MiningOptions) -> None:
    """Give pairs a column `negative`: a text of another pair that an encoder finds close to view_a.

    An existing negative stays. Texts of the same sentence are never drawn. All texts and a vector of each
    (3 KB at 768 dimensions) are held in memory.
    """
    from pipelines.pairs.negatives import mine_negatives, preview_mining

    if options.skip >= options.within:
        raise InputError(f"--skip {options.skip} leaves nothing --within {options.within}: give a larger --within")
    _make_pairs(options, mine_negatives, preview_mining)


def _make_pairs(
    options: Options,
    make: Callable[[Options], tuple[Mapping[str, Any], bool]],
    preview: Callable[[Options], Mapping[str, Any]],
) -> None:
    """Make pairs and print how many there are and what was dropped; in a dry run, print what would be made."""
    if options.dry_run:
        with offline():
            show_preview(preview(options), as_json=options.json)
        return
    counts, is_new = make(options)
    if options.json:
        show_json({"out": str(options.target), **counts, "made_now": is_new})
        return
    rows = [(f"  {name}" if ": " in name else name, number) for name, number in flat(counts)]
    table((str(options.target), "rows"), rows)
    dropped = counts.get("dropped", {})
    if counts["pairs"] < sum(dropped.values()):
        is_translated = any("is not a paraphrase" in reason for reason in dropped)
        advice = "; if round trips are not paraphrases, `augment backtranslate --models opus-mt` translates better"
        note(f"most rows were dropped{advice if is_translated else ''}")
    if not is_new:
        show("already complete, nothing done")
