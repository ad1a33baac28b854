"""`augment build-pairs`."""

from typing import Any

from pipelines.cli.views import show_preview
from pipelines.options import PairsOptions
from pipelines.terminal.console import SectionedCommand, flat, note, offline, show, show_json, table
from pipelines.terminal.options import with_options


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

    if options.dry_run:
        with offline():
            show_preview(preview_pairs(options), as_json=options.json)
        return
    counts, is_new = build_pairs(options)
    if options.json:
        show_json({"out": str(options.target), **counts, "made_now": is_new})
        return
    rows = [(f"  {name}" if ": " in name else name, number) for name, number in flat(counts)]
    table((str(options.target), "rows"), rows)
    dropped = counts.get("dropped", {})
    if counts["pairs"] < sum(dropped.values()):
        is_translated = any("is not a paraphrase" in reason for reason in dropped)
        advice = (
            "; if round trips are not paraphrases, `augment backtranslate --models opus-mt` translates better"
        )
        note(f"most rows were dropped{advice if is_translated else ''}")
    if not is_new:
        show("already complete, nothing done")
