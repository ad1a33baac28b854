"""`augment build-pairs`: the source of candidates for a policy, the filters, and the pairs on disk."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from augment.errors import InputError
from pipelines.claim import check_folder
from pipelines.console import note, show, show_json, table
from pipelines.filter import Filter, is_round_trip, make_filter
from pipelines.ingest import sentences_for
from pipelines.pairing.nli import entailment, nli_sources
from pipelines.pairing.views import Choice, choose_views, pair_views, plan_views
from pipelines.pairing.write import REASON, PairsJob, write_pairs
from pipelines.pairs import NEGATIVE, PAIR_COLUMNS
from pipelines.views.run import REAL_WEIGHTS, STARTER, Execution, preview_run
from pipelines.views.work import ViewRun


@dataclass(frozen=True, slots=True)
class PairsOptions:
    """What `build-pairs` was asked for."""

    policy: str
    sources: Sequence[str] = ()
    views: Sequence[str] = ()
    filters: Sequence[str] = ()
    default_filters: bool = True
    negatives: bool = False
    seed: int | None = None
    limit: int | None = None
    shards: int | None = None


def _check(options: PairsOptions, running: Execution, out: Path) -> tuple[list[Choice], tuple[Filter, ...]]:
    """The views and the filters; all that can be wrong is checked before anything is read or made."""
    policy = options.policy
    if options.shards:
        check_folder(out)
    elif out.is_dir():
        raise InputError(f"{out} is a folder, a file is to be written: choose another --out, or give --shards")
    if options.negatives and policy != "entailment":
        raise InputError(f"--negatives needs --pairs entailment, not {policy}: leave it out")
    takes_views = policy not in ("entailment", "self")
    if options.views and not takes_views:
        raise InputError(f"--pairs {policy} takes no --view, not {options.views[0]!r}: leave it out")
    choices = choose_views(policy, options.views) if takes_views else []
    written = [*options.filters]
    if options.default_filters and not any(each.partition(":")[0] == "paraphrase" for each in written):
        written = ["paraphrase"] * any(is_round_trip(choice.spec.name) for choice in choices) + written
    filters = tuple(make_filter(each, running.runtime) for each in written)
    columns = {*PAIR_COLUMNS, NEGATIVE, REASON, "label"}
    for each in filters:
        if each.score in columns:
            raise InputError(f"--filter {each.name} writes the column {each.score!r}, which is taken: leave it out")
        columns.add(each.score or "")
    return choices, filters


def build_pairs(
    options: PairsOptions, running: Execution, out: Path, *, rejects: Path | None = None, overwrite: bool = False
) -> tuple[Mapping[str, Any], bool]:
    """Make the missing views and the pairs; what was counted, and whether the pairs were made now.

    Raises InputError if sources, views, filters or output do not fit, TwinviewsError if no pair is left.
    """
    choices, filters = _check(options, running, out)
    if any(getattr(each, "encoder", None) == STARTER for each in filters):
        flag = REAL_WEIGHTS["encoder"].removeprefix("--").replace(" ", "=")
        note(f"filter semantic: the bundled starter encoder (small, for trying out); {flag} takes a real one")
    with TemporaryDirectory() as spool:
        if options.policy == "entailment":
            sources = nli_sources(options.sources, Path(spool))
            source = entailment(sources, options.limit, negatives=options.negatives)
        else:
            sentences = sentences_for(options.sources)
            source = pair_views(options.policy, choices, sentences, options.seed, options.limit, running)
        recipe = {
            "sources": list(options.sources) or None,
            "pairs": options.policy,
            "view": list(options.views or source.params.get("view", [])) or None,
            "negatives": options.negatives or None,
            "seed": options.seed,
            "filter": [each.text() for each in filters] or None,
            "default_filters": None if options.default_filters else False,
        }
        workers = running.workers
        job = PairsJob(source, filters, out, rejects, options.shards, recipe, overwrite, running.runtime, workers)
        return write_pairs(job)


def preview_pairs(options: PairsOptions, running: Execution, out: Path, rejects: Path | None) -> dict[str, Any]:
    """What `build_pairs` would do; nothing is written, and nothing at `out` is compared."""
    choices, filters = _check(options, running, out)
    preview: dict[str, Any] = {"out": str(out), "pairs": options.policy}
    if options.policy == "entailment":
        with TemporaryDirectory() as spool:
            preview["sources"] = entailment(nli_sources(options.sources, Path(spool))).made_by
    else:
        sentences = sentences_for(options.sources, dry_run=True)
        planned = plan_views(choices, sentences, options.seed, options.limit, running)
        preview["sentences"] = min(sentences.rows, options.limit or sentences.rows)
        preview["views"] = list(planned)
        missing = {name: preview_run(view) for name, view in planned.items() if isinstance(view, ViewRun)}
        preview["views_to_make"] = missing
    preview["filters"] = [each.text() for each in filters]
    return {**preview, **({"rejects": str(rejects)} if rejects is not None else {})}


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
