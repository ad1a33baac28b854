"""`build-pairs` as a whole: the policy's source of candidates, the filters, and the pairs on disk."""

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from augment.errors import InputError
from pipelines.console import note, show, show_json, table
from pipelines.filter import Filter, is_round_trip, make_filter
from pipelines.ingest import sentences_for
from pipelines.pairing.mixture import ingredients, mixture, shares
from pipelines.pairing.nli import entailment, nli_sources
from pipelines.pairing.views import Choice, check_views, pair_views, preview_views
from pipelines.pairing.write import PairsJob, check_out, write_pairs
from pipelines.views.run import REAL_WEIGHTS, STARTER, Execution


@dataclass(frozen=True, slots=True)
class PairsOptions:
    """What `build-pairs` was asked for."""

    policy: str
    sources: Sequence[str] = ()
    views: Sequence[str] = ()
    filters: Sequence[str] = ()
    default_filters: bool = True
    mix: Sequence[str] = ()
    negatives: bool = False
    seed: int | None = None
    limit: int | None = None
    shards: int | None = None


def _check(options: PairsOptions, running: Execution, out: Path) -> tuple[list[Choice], tuple[Filter, ...]]:
    """Look at everything that can be wrong before something is read or made; the views and the filters.

    Raises:
        InputError: Options that do not go together, views that a policy does not pair, filters that cannot be, or an
            output that is a folder where a file is to be written, or the other way round.
    """
    check_out(out, options.shards)
    policy = options.policy
    for flag, given, owner in (("--mix", options.mix, "mixture"), ("--negatives", options.negatives, "entailment")):
        if given and policy != owner:
            raise InputError(f"{flag} belongs to --pairs {owner}, not {policy}: leave it out, or give --pairs {owner}")
    choices: list[Choice] = []
    if policy not in ("entailment", "mixture"):
        choices = check_views(policy, options.views)
    elif options.views:
        raise InputError(f"--pairs {policy} takes no --view, not {options.views[0]!r}: leave it out")
    if policy == "mixture" and options.sources:
        raise InputError(f"--pairs mixture takes no SOURCE, not {options.sources[0]!r}: name pairs with --mix")
    written = [*options.filters]
    # Back-translations must be paraphrases, unless it is said otherwise.
    if options.default_filters and not any(each.partition(":")[0] == "paraphrase" for each in written):
        written = ["paraphrase"] * any(is_round_trip(choice.spec.name) for choice in choices) + written
    filters = tuple(make_filter(each, running.runtime) for each in written)
    scores = [each.spec.score for each in filters if each.spec.score is not None]
    double = next((score for score in scores if scores.count(score) > 1), None)
    if double is not None:
        raise InputError(f"two --filter write the column {double!r}: give one of them")
    return choices, filters


def build_pairs(
    options: PairsOptions, running: Execution, out: Path, *, rejects: Path | None = None, overwrite: bool = False
) -> tuple[Mapping[str, Any], bool]:
    """Make the missing views, and the pairs; what was counted, and whether they were made now.

    Raises:
        InputError: Sources, views, filters or output that do not fit.
        TwinviewsError: A view failed, or no pair is left.
    """
    choices, filters = _check(options, running, out)
    if any(each.spec.params.get("encoder") == STARTER for each in filters):
        flag = REAL_WEIGHTS["encoder"].removeprefix("--").replace(" ", "=")
        note(f"filter semantic: the bundled starter encoder (small, for trying out); {flag} takes a real one")
    with ExitStack() as held:
        if options.policy == "mixture":
            source = mixture(ingredients(options.mix), options.seed or 0, options.limit)
        elif options.policy == "entailment":
            sources = held.enter_context(nli_sources(options.sources))
            source = entailment(sources, options.limit, negatives=options.negatives)
        else:
            sentences = sentences_for(options.sources)
            source = pair_views(options.policy, choices, sentences, options.seed, options.limit, running)
        recipe = {
            "sources": list(options.sources) or None,
            "pairs": options.policy,
            "view": list(options.views or source.params.get("view", [])) or None,
            "mix": list(options.mix) or None,
            "negatives": options.negatives or None,
            "seed": source.seed,
            "filter": [each.spec.text() for each in filters] or None,
            "default_filters": None if options.default_filters else False,
        }
        workers = running.workers
        job = PairsJob(source, filters, out, rejects, options.shards, recipe, overwrite, running.runtime, workers)
        return write_pairs(job)


def preview_pairs(options: PairsOptions, running: Execution, out: Path, rejects: Path | None) -> dict[str, Any]:
    """What `build_pairs` would do; nothing is written.

    Raises:
        InputError: As for `build_pairs`, as far as that shows before anything is made.
    """
    choices, filters = _check(options, running, out)
    preview: dict[str, Any] = {"out": str(out), "pairs": options.policy}
    if options.policy == "mixture":
        parts = ingredients(options.mix)
        preview["draw"] = dict(zip((part.name for part in parts), shares(parts, options.limit), strict=True))
    elif options.policy == "entailment":
        with nli_sources(options.sources) as sources:
            preview["sources"] = {each.source.name: f"{each.columns.text} and {each.columns.pair}" for each in sources}
    else:
        sentences = sentences_for(options.sources, dry_run=True)
        preview |= preview_views(choices, sentences, options.seed, options.limit, running)
    written = [each.spec.text() for each in filters]
    return {**preview, "filters": written, **({"rejects": str(rejects)} if rejects is not None else {})}


def show_pairs(out: Path, counts: Mapping[str, Any], made: bool, *, as_json: bool) -> None:
    """Print how many pairs there are and what was dropped."""
    if as_json:
        show_json({"out": str(out), **counts, "made_now": made})
        return
    rows = [(name, number) for name, number in counts.items() if not isinstance(number, Mapping)]
    for key, what in (("parts", "of "), ("dropped", "dropped: "), ("kept", "kept: ")):
        rows += [(f"  {what}{name}", number) for name, number in counts.get(key, {}).items()]
    table((str(out), "rows"), rows)
    if not made:
        show("all there already, nothing done")
