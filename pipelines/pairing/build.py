"""`build-pairs` as a whole: the policy's source of candidates, the filters, and the pairs on disk."""

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from augment.errors import InputError
from pipelines.console import note, show, show_json, table
from pipelines.filter import Filter, make_filter
from pipelines.ingest import sentences_for
from pipelines.pairing.mixture import ingredients, mixture
from pipelines.pairing.nli import entailment, nli_sources
from pipelines.pairing.source import VIEW_POLICIES, PairSource, Policy, ViewPolicy
from pipelines.pairing.views import check_views, default_filters, pair_views, preview_views
from pipelines.pairing.write import Pairs, PairsJob, write_pairs
from pipelines.views.run import REAL_WEIGHTS, STARTER, Execution


@dataclass(frozen=True, slots=True)
class PairsOptions:
    """What `build-pairs` was asked for."""

    policy: Policy
    sources: Sequence[str] = ()
    views: Sequence[str] = ()
    filters: Sequence[str] = ()
    default_filters: bool = True
    mix: Sequence[str] = ()
    negatives: bool = False
    seed: int | None = None
    limit: int | None = None
    shards: int | None = None


def check_options(options: PairsOptions) -> None:
    """Look at everything that can be wrong before something is read or made.

    Raises:
        InputError: Options that do not go together, or views that a policy does not pair.
    """
    policy = options.policy
    for flag, given, owner in (
        ("--mix", options.mix, "mixture"),
        ("--negatives", options.negatives, "entailment"),
    ):
        if given and policy != owner:
            raise InputError(f"{flag} belongs to --pairs {owner}, not {policy}: leave it out, or give --pairs {owner}")
    if policy in VIEW_POLICIES:
        check_views(cast(ViewPolicy, policy), options.views)
    elif options.views:
        raise InputError(f"--pairs {policy} takes no --view, not {options.views[0]!r}: leave it out")
    if policy == "mixture" and options.sources:
        raise InputError(f"--pairs mixture takes no SOURCE, not {options.sources[0]!r}: name pairs with --mix")


def make_filters(options: PairsOptions, running: Execution) -> tuple[Filter, ...]:
    """The filters in the order in which they are applied.

    Raises:
        InputError: An unknown filter, a wrong parameter, or weights or an extra that are not there.
    """
    defaults: list[str] = []
    if options.default_filters and options.policy in VIEW_POLICIES:
        defaults = default_filters(cast(ViewPolicy, options.policy), options.views, options.filters)
    filters = tuple(make_filter(written, running.runtime) for written in [*defaults, *options.filters])
    scores = [each.spec.score for each in filters if each.spec.score is not None]
    double = next((score for score in scores if scores.count(score) > 1), None)
    if double is not None:
        raise InputError(f"two --filter write the column {double!r}: give one of them")
    return filters


def build_pairs(
    options: PairsOptions, running: Execution, out: Path, *, rejects: Path | None = None, overwrite: bool = False
) -> Pairs:
    """Make the missing views, and the pairs.

    Raises:
        InputError: Sources, views, filters or output that do not fit.
        TwinviewsError: A view failed, or no pair is left.
    """
    check_options(options)
    filters = make_filters(options, running)
    for each in filters:
        if each.spec.params.get("encoder") == STARTER:
            flag = REAL_WEIGHTS["encoder"].removeprefix("--").replace(" ", "=")
            note(
                f"filter {each.spec.name}: the bundled starter encoder (small, for trying out); {flag} takes a real one"
            )
    with ExitStack() as held:
        source = _source(options, running, held)
        job = PairsJob(
            source,
            filters,
            out,
            rejects,
            options.shards,
            _recipe_options(options, source, filters),
            overwrite,
            running.runtime,
            running.workers,
        )
        return write_pairs(job)


def _source(options: PairsOptions, running: Execution, held: ExitStack) -> PairSource:
    """Where the policy's candidates come from, open as long as `held` is."""
    if options.policy == "mixture":
        return mixture(ingredients(options.mix), options.seed or 0, options.limit)
    if options.policy == "entailment":
        sources = held.enter_context(nli_sources(options.sources))
        return entailment(sources, options.limit, negatives=options.negatives)
    sentences = sentences_for(options.sources)
    return pair_views(options.policy, options.views, sentences, options.seed, options.limit, running)


def _recipe_options(options: PairsOptions, source: PairSource, filters: Sequence[Filter]) -> dict[str, Any]:
    """The options as `--config` takes them, filters resolved."""
    written = [each.spec.text() for each in filters]
    views = [*options.views] or (source.params.get("view") if options.policy in VIEW_POLICIES else None)
    return {
        "sources": list(options.sources) or None,
        "pairs": options.policy,
        "view": views or None,
        "mix": list(options.mix) or None,
        "negatives": options.negatives or None,
        "seed": source.seed,
        "filter": written or None,
        "default_filters": None if options.default_filters else False,
    }


def preview_pairs(options: PairsOptions, running: Execution, out: Path, rejects: Path | None) -> dict[str, Any]:
    """What `build_pairs` would do; nothing is written.

    Raises:
        InputError: As for `build_pairs`, as far as that shows before anything is made.
    """
    check_options(options)
    filters = [each.spec.text() for each in make_filters(options, running)]
    preview: dict[str, Any] = {"out": str(out), "pairs": options.policy}
    if options.policy == "mixture":
        mixed = mixture(ingredients(options.mix), options.seed or 0, options.limit)
        preview["draw"] = {part.name: count for part, count in zip(mixed.parts, mixed.counts, strict=True)}
    elif options.policy == "entailment":
        with nli_sources(options.sources) as sources:
            preview["sources"] = {each.source.name: f"{each.columns.text} and {each.columns.pair}" for each in sources}
    else:
        sentences = sentences_for(options.sources, dry_run=True)
        preview |= preview_views(options.policy, options.views, sentences, options.seed, options.limit, running)
    return {**preview, "filters": filters, **({"rejects": str(rejects)} if rejects is not None else {})}


def show_pairs(pairs: Pairs, *, as_json: bool) -> None:
    """Print how many pairs there are and what was dropped."""
    counts: Mapping[str, Any] = pairs.counts
    if as_json:
        show_json({"out": str(pairs.path), **counts, "made_now": pairs.made})
        return
    rows = [(name, number) for name, number in counts.items() if not isinstance(number, Mapping)]
    rows += [(f"  of {part}", number) for part, number in counts.get("parts", {}).items()]
    rows += [(f"  dropped: {reason}", number) for reason, number in counts["dropped"].items()]
    rows += [(f"  kept: {reason}", number) for reason, number in counts["kept"].items()]
    table((str(pairs.path), "rows"), rows)
    if not pairs.made:
        show("all there already, nothing done")
