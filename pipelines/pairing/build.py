"""`augment build-pairs`: choose views, make the missing ones, pair them row by row, filter and write the pairs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from augment.errors import InputError
from augment.translate.stages import HOP
from augment.view import ViewSpec, view_attribute, view_names
from pipelines.console import note
from pipelines.files import locate
from pipelines.filter import About, Filter, is_round_trip, make_filter
from pipelines.folder import Dataset, check_folder, finished_dataset
from pipelines.ingest import sentences_for
from pipelines.pairing.candidates import TASK_ROWS, Candidates, PairSource
from pipelines.pairing.nli import entailment, nli_sources
from pipelines.pairing.write import REASON, PairsJob, write_pairs
from pipelines.pairs import NEGATIVE, PAIR_COLUMNS
from pipelines.plan import Input, Plan, read_plan
from pipelines.views import run as runs
from pipelines.views.work import ViewRun, build_view

ORIGINAL = "original"
BSL_VIEWS = ("backtranslate-de", "backtranslate-fr")


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


class Choice(NamedTuple):
    """A view that was asked for: its name in the pairs, its folder, the plan if there is one, and which view it is."""

    name: str
    folder: Path
    plan: Plan | None
    spec: ViewSpec


def _check(options: PairsOptions, running: runs.Execution, out: Path) -> tuple[list[Choice], tuple[Filter, ...]]:
    """The views and the filters; all that can be wrong is checked before anything is read or made."""
    policy = options.policy
    if options.shards:
        check_folder(out)
    elif out.is_dir():
        raise InputError(f"{out} is a folder: give a file as --out, or add --shards")
    if options.negatives and policy != "entailment":
        raise InputError(f"--negatives needs --pairs entailment, not {policy}: leave it out")
    choices = choose_views(policy, options.views)
    if options.seed is not None and not choices:
        raise InputError(f"--seed {options.seed}: --pairs {policy} makes no views, so nothing is drawn: leave it out")
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
    options: PairsOptions, running: runs.Execution, out: Path, *, rejects: Path | None = None, overwrite: bool = False
) -> tuple[Mapping[str, Any], bool]:
    """Make the missing views and the pairs; what was counted, and whether the pairs were made now.

    Raises InputError if sources, views, filters or output do not fit, TwinviewsError if no pair is left.
    """
    choices, filters = _check(options, running, out)
    if any(getattr(each, "encoder", None) == runs.STARTER for each in filters):
        said = "(small, for trying out); encoder=bert-base-uncased takes a real one"
        note(f"filter semantic: the bundled starter encoder {said}")
    with TemporaryDirectory() as spool:
        if options.policy == "entailment":
            sources = nli_sources(options.sources, Path(spool))
            source = entailment(sources, options.limit, negatives=options.negatives)
        else:
            sentences = sentences_for(options.sources)
            source = pair_views(choices, sentences, options, running)
        recipe = {
            "sources": list(options.sources) or None,
            "pairs": options.policy,
            "view": list(options.views or source.params.get("view", [])) or None,
            "negatives": options.negatives or None,
            "seed": options.seed,
            "filter": [each.text() for each in filters] or None,
            "default_filters": None if options.default_filters else False,
        }
        run = (overwrite, running.runtime, running.workers)
        return write_pairs(PairsJob(source, filters, out, rejects, options.shards, recipe, *run))


def preview_pairs(options: PairsOptions, running: runs.Execution, out: Path, rejects: Path | None) -> dict[str, Any]:
    """What `build_pairs` would do; nothing is written, and nothing at `out` is compared."""
    choices, filters = _check(options, running, out)
    preview: dict[str, Any] = {"out": str(out), "pairs": options.policy}
    if options.policy == "entailment":
        with TemporaryDirectory() as spool:
            preview["sources"] = entailment(nli_sources(options.sources, Path(spool))).made_by
    else:
        sentences = sentences_for(options.sources, dry_run=True)
        planned = plan_views(choices, sentences, options, running)
        preview["sentences"] = min(sentences.rows, options.limit or sentences.rows)
        missing = {name: runs.preview_run(view) for name, view in planned.items() if isinstance(view, ViewRun)}
        preview |= {"views": list(planned), "views_to_make": missing}
    preview["filters"] = [each.text() for each in filters]
    return {**preview, **({"rejects": str(rejects)} if rejects is not None else {})}


def choose_views(policy: str, views: Sequence[str]) -> list[Choice]:
    """The views that a policy pairs; raises InputError unless their number fits and each exists or can be made."""
    if policy in ("entailment", "self"):
        if views:
            raise InputError(f"--pairs {policy} takes no --view, not {views[0]!r}: leave it out")
        return []
    choices = [_choice(name) for name in views or (BSL_VIEWS if policy == "bsl" else ())]
    if len(choices) != 2 if policy == "bsl" else not choices:
        count = f"2 --view, not {len(choices)}" if policy == "bsl" else "1 --view, not 0 (or several)"
        example = "translate-de" if policy == "multilingual" else "backtranslate-de"
        raise InputError(f"--pairs {policy} takes {count}: e.g. --view {example}")
    names = [choice.name for choice in choices]
    for choice in choices:
        if choice.name == ORIGINAL:
            raise InputError(f"--view {ORIGINAL} is the name of the sentence itself: give the folder another name")
        if names.count(choice.name) > 1:
            raise InputError(f"--view {choice.name} is given twice: two different views make a pair (or --pairs self)")
        if policy == "multilingual" and view_attribute(choice.spec.name, "ends_in", "source") == "source":
            said = "is not a translation: take translate-de or the like, or --pairs original"
            raise InputError(f"--view {choice.name} {said}")
    return choices


def _choice(name: str) -> Choice:
    """A view by its path or the name of its folder in `data/views/`: `backtranslate-fr` has the pivot fr."""
    folder = locate(name) if read_plan(locate(name)) is not None else runs.VIEWS / name
    plan = read_plan(folder)
    if plan is not None:
        if plan.kind != "view":
            raise InputError(f"--view {name}: {folder} holds {plan.kind}, not a view: see `augment inspect {folder}`")
        return Choice(folder.name, folder, plan, ViewSpec(plan.name, plan.params))
    for view in sorted(view_names(), key=len, reverse=True):
        key = view_attribute(view, "named_by")
        if name == view or (key is not None and name.startswith(f"{view}-")):
            spec = ViewSpec(view, {} if name == view else {key: name.removeprefix(f"{view}-")})
            build_view(spec)
            return Choice(folder.name, folder, None, spec)
    raise InputError(f"no view dataset {name!r} in {runs.VIEWS}/ and no view of that name: see `augment views`")


def plan_views(
    choices: Sequence[Choice], source: Dataset, options: PairsOptions, running: runs.Execution
) -> dict[str, Dataset | ViewRun]:
    """Every view by its name: finished, or planned; a missing one is planned like an existing one of the same kind.

    Raises InputError for a view of other sentences.
    """
    twin = next((choice.plan for choice in choices if choice.plan is not None), None)
    planned: dict[str, Dataset | ViewRun] = {}
    for name, folder, plan, spec in choices:
        like, seed, limit = plan, options.seed, options.limit
        if plan is not None:
            if source.receipts and plan.inputs[0].sha256 != source.digest:  # a dry run has counts alone
                said = f"was made from other sentences ({plan.inputs[0].name}) than {source.path}"
                raise InputError(f"{folder} {said}: give those as SOURCE, or make the view again with --overwrite")
            finished = finished_dataset(folder)
            if finished is not None:
                planned[name] = finished
                continue
            seed, limit = plan.seed, plan.limit
        elif twin is not None and twin.name == spec.name:
            like = twin
            # The twin's revision is of its own weights.
            spec = ViewSpec(spec.name, {**{k: v for k, v in twin.params.items() if k != "revision"}, **spec.params})
            seed, limit = twin.seed if seed is None else seed, twin.limit if limit is None else limit
        view, size = build_view(spec, running.runtime), runs.SHARD_ROWS if like is None else like.shard_size
        cut: dict[str, Any] = {"seed": seed or 0, "limit": limit, "shard_size": size}
        planned[name] = runs.plan_run(view, source, running.runtime, **cut, out=folder)
    return planned


def pair_views(
    choices: Sequence[Choice], sentences: Dataset, options: PairsOptions, running: runs.Execution
) -> PairSource:
    """Make the missing views, and pair them (or the sentence and each of them) for the first `limit` sentences.

    A label of the sentences comes along. Raises InputError for views of other sentences, TwinviewsError if one failed.
    """
    views: dict[str, Dataset] = {}
    for name, view in plan_views(choices, sentences, options, running).items():
        if isinstance(view, ViewRun):
            note(f"making the missing view {name} ({view.plan.rows:,} sentences) in {view.out}/")
            runs.note_starter(ViewSpec(view.plan.name, view.plan.params))
            view, _ = runs.make_run(view, running)
        views[name] = view
    names = list(views) or [ORIGINAL]
    couples = [(names[0], names[1])] if options.policy == "bsl" else [(ORIGINAL, name) for name in names]
    columns = ["label"] if "label" in sentences.read(0, 1).schema.names else []
    datasets = {str(each.path): each for each in (sentences, *views.values())}
    rows = min(options.limit or sentences.rows, sentences.rows)
    made_by = {name: each.plan.signature or name for name, each in views.items()} | {ORIGINAL: "the sentence itself"}
    return PairSource(
        policy=options.policy,
        unit="sentences",
        inputs=[Input(name=name, sha256=each.digest, rows=each.rows) for name, each in datasets.items()],
        tasks=((start, min(start + TASK_ROWS, rows)) for start in range(0, rows, TASK_ROWS)),
        candidates=partial(_candidates, sentences, views, couples, columns),
        about=partial(_about, views),
        params={"view": list(views)},
        made_by={name: made_by[name] for couple in couples for name in couple},
        columns=dict.fromkeys(columns, pa.string()),
        limit=options.limit,
        ways=len(couples),
    )


def _about(views: Mapping[str, Dataset], name: str) -> About:
    """The view that made a side, and the language it is in."""
    spoken = next((each.plan.params.get("source") for each in views.values()), None)
    if name not in views:
        return About(name, "identity", spoken)
    plan = views[name].plan
    language = plan.params.get(view_attribute(plan.name, "ends_in", "source"))
    return About(name, plan.name, spoken if language is None else language.rpartition(HOP)[2])


def _candidates(
    source: Dataset,
    views: Mapping[str, Dataset],
    couples: Sequence[tuple[str, str]],
    columns: Sequence[str],
    task: tuple[int, int],
) -> Candidates:
    """A pair for each couple of each sentence from `task[0]` to `task[1]`, those of one sentence side by side."""
    sentences = pa.concat_batches(source.read(*task).select(["id", "text", *columns]).to_batches())
    size, none = len(sentences), pa.nulls(len(sentences), pa.string())
    sides = {name: _side(sentences, name, view, task[0]) for name, view in views.items()}
    sides[ORIGINAL] = sentences["text"], none, none
    found = []
    for one, two in couples:
        (a, a_missing, a_notes), (b, b_missing, b_notes) = sides[one], sides[two]
        names = (pa.repeat(name, size) for name in (one, two))
        pairs = dict(zip(PAIR_COLUMNS, (sentences["id"], sentences["text"], a, b, *names), strict=True))
        rows = pa.RecordBatch.from_pydict(pairs | {name: sentences[name] for name in columns})
        part = pa.repeat(pa.scalar(f"{one} x {two}" if len(couples) > 1 else None, pa.string()), size)
        found.append(Candidates(rows, pc.coalesce(a_missing, b_missing), part, (a_notes, b_notes)))
    if len(found) == 1:
        return found[0]
    order = pa.array(np.arange(size * len(found)).reshape(len(found), -1).T.ravel())
    arrays = zip(*((each.reasons, each.parts, *each.notes) for each in found), strict=True)
    reasons, parts, *notes = (pa.concat_arrays(each).take(order) for each in arrays)
    return Candidates(pa.concat_batches([each.pairs for each in found]).take(order), reasons, parts, notes)


def _side(sentences: pa.RecordBatch, name: str, view: Dataset, start: int) -> tuple[pa.Array, pa.Array, pa.Array]:
    """The view of the sentences from row `start` on: its texts, why one is missing, a note if it is the sentence."""
    stop = min(start + len(sentences), view.rows)
    table = view.read(start, stop) if start < stop else view.read(0, 1).slice(0, 0)
    lacking = pa.nulls(len(sentences) - len(table), pa.string())
    columns = (table[column].combine_chunks() for column in ("view", "status", "reason"))
    texts, statuses, reasons = (pa.concat_arrays([column, lacking]) for column in columns)
    because = pc.if_else(pc.equal(reasons.fill_null(""), ""), "", pc.binary_join_element_wise(": ", reasons, ""))
    missing = pc.binary_join_element_wise(f"{name} ", statuses, because, "")
    missing = pc.coalesce(missing, pa.scalar(f"{name} was not made for it"))
    missing = pc.if_else(texts.is_valid(), None, missing)
    return texts, missing, pc.if_else(pc.equal(statuses, "unchanged"), f"{name} left it unchanged", None)
