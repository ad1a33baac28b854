"""`augment build-pairs`: choose views, make the missing ones, pair them row by row, filter and write the pairs."""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from augment.errors import InputError
from augment.translate.stages import HOP
from augment.view import ViewSpec, labelled_view, make_view, view_attribute, view_label
from pipelines.console import counted, note
from pipelines.files import beside, is_written_by, locate
from pipelines.filter import SIDES, About, Filter, is_round_trip, make_filter
from pipelines.folder import CARD_FILE, RECIPE_FILE, REPORT_FILE, Dataset, check_folder, finished_dataset
from pipelines.ingest import sentences_for
from pipelines.options import PairsOptions
from pipelines.pairing.candidates import DROPPED, ORIGINAL, TASK_ROWS, UNUSED, PairSource
from pipelines.pairing.nli import entailment, nli_sources
from pipelines.pairing.write import PairsJob, write_pairs
from pipelines.pairs import NEGATIVE, PAIR_COLUMNS, REASON
from pipelines.plan import PLAN_FILE, PLAN_MARKS, Input, Plan, read_plan
from pipelines.shards import SHARD_ROWS
from pipelines.views import run as runs
from pipelines.views.work import ViewRun

BSL_VIEWS = ("backtranslate-de", "backtranslate-fr")
VIEWS_TAKEN = {"bsl": (2, 2), "self": (0, 0), "entailment": (0, 0)}
"""The fewest and the most views that a policy pairs; the others pair one or more."""


def build_pairs(options: PairsOptions) -> tuple[Mapping[str, Any], bool]:
    """Make the missing views and the pairs; what was counted, and whether the pairs were made now.

    Raises InputError if sources, views, filters or output do not fit, TwinviewsError if no pair is left.
    """
    choices, filters = _check(options)
    if any(getattr(each, "encoder", None) == runs.STARTER for each in filters):
        note("filter semantic: the bundled starter encoder (small, for trying out); encoder=NAME takes a real one")
    with TemporaryDirectory() as spool:
        if options.pairs == "entailment":
            sources = nli_sources(options.sources or (), Path(spool))
            source = entailment(sources, options.limit, negatives=options.negatives)
        else:
            source = pair_views(choices, sentences_for(options.sources or ()), options)
        settings = {
            "sources": options.sources,
            "pairs": options.pairs,
            "view": options.view or source.plan.params.get("view") or None,
            "negatives": options.negatives or None,
            "alternatives": options.alternatives,
            "seed": options.seed,
            "filter": [each.text() for each in filters] or None,
            "default_filters": None if options.default_filters else False,
        }
        return write_pairs(PairsJob(source, filters, options, settings))


def preview_pairs(options: PairsOptions) -> dict[str, Any]:
    """What `build_pairs` would do; nothing is written, and no earlier output is compared."""
    choices, filters = _check(options)
    preview: dict[str, Any] = {"out": str(options.target), "pairs": options.pairs}
    if options.pairs == "entailment":
        with TemporaryDirectory() as spool:
            preview["sources"] = [source.name for source in nli_sources(options.sources or (), Path(spool))]
    else:
        sentences = sentences_for(options.sources or (), dry_run=True)
        planned = plan_views(choices, sentences, options)
        preview["sentences"] = min(sentences.rows, options.limit or sentences.rows)
        missing = {name: runs.preview_run(view) for name, view in planned.items() if isinstance(view, ViewRun)}
        preview |= {"views": list(planned), "views_to_make": missing}
    preview["filters"] = [each.text() for each in filters]
    return {**preview, **({} if options.rejects is None else {"rejects": str(options.rejects)})}


def _check(options: PairsOptions) -> tuple[dict[Path, ViewSpec], list[Filter]]:
    """The views by their folders, and the filters; checks all options before anything is read or made."""
    policy, out = options.pairs, options.target
    if options.shards:
        check_folder(out)
    elif out.is_dir():
        raise InputError(f"{out} is a folder: give a file as --out, or add --shards")
    if options.rejects is not None:
        rejects, folder = options.rejects.resolve(), options.rejects.parent
        outputs = {out.resolve(), *(beside(out, name).resolve() for name in (REPORT_FILE, CARD_FILE, RECIPE_FILE))}
        if not outputs.isdisjoint((rejects, *rejects.parents)):
            raise InputError(f"--rejects {options.rejects} is where the pairs are written: choose another file")
        if is_written_by(folder / PLAN_FILE, *PLAN_MARKS):
            raise InputError(f"--rejects {options.rejects} is in a dataset, {folder}: choose another file")
    if options.negatives and policy != "entailment":
        raise InputError(f"--negatives needs --pairs entailment, not {policy}: leave it out")
    choices = choose_views(policy, options.view or ())
    for option, value in {f"--seed {options.seed}": options.seed, "--alternatives": options.alternatives}.items():
        if value is not None and not choices:
            raise InputError(f"{option}: --pairs {policy} makes no views and draws nothing: leave it out")
    written = [*(options.filter or ())]
    if options.default_filters and not any(each.partition(":")[0] == "paraphrase" for each in written):
        written = ["paraphrase"] * any(is_round_trip(spec.name) for spec in choices.values()) + written
    filters = [make_filter(each, options.view_options.runtime) for each in written]
    columns = {*PAIR_COLUMNS, NEGATIVE, REASON, "label"}
    for each in filters:
        if each.score in columns:
            raise InputError(f"--filter {each.name} writes the column {each.score!r}, which is taken: leave it out")
        columns.add(each.score or "")
    return choices, filters


def choose_views(policy: str, names: Sequence[str]) -> dict[Path, ViewSpec]:
    """The views that a policy pairs, by their folders; the name of its folder stands for a view in the pairs.

    Raises InputError unless their number fits, they differ, and each exists or can be made.
    """
    choices: dict[Path, ViewSpec] = {}
    for name in names or (BSL_VIEWS if policy == "bsl" else ()):
        folder, spec = _choose_view(name)
        if folder.name in (ORIGINAL, *(each.name for each in choices)):
            raise InputError(f"--view {name}: another side is named {folder.name!r}: give another view, or rename one")
        if policy == "multilingual" and view_attribute(spec.name, "ends_in", "source") == "source":
            raise InputError(f"--view {name} is not a translation: take translate-de or the like, or --pairs original")
        choices[folder] = spec
    fewest, most = VIEWS_TAKEN.get(policy, (1, math.inf))
    if not fewest <= len(choices) <= most:
        taken = {0: "no", 2: "2"}.get(fewest, "1 or more")
        raise InputError(f"--pairs {policy} takes {taken} --view, not {len(choices)}: see `augment build-pairs --help`")
    twin = next(filter(None, map(read_plan, choices)), None)
    for folder, spec in choices.items():
        if read_plan(folder) is None:
            if twin is not None and twin.name == spec.name:  # a revision is of the twin's own weights
                params = {key: value for key, value in twin.params.items() if key != "revision"}
                choices[folder] = ViewSpec(spec.name, {**params, **spec.params})
            make_view(choices[folder])
    return choices


def _choose_view(name: str) -> tuple[Path, ViewSpec]:
    """A view by its path, the name of its folder in `data/views/` (`backtranslate-fr`), or its own name."""
    folder = locate(name) if read_plan(locate(name)) is not None else runs.VIEWS / name
    plan = read_plan(folder)
    if plan is None:
        spec = labelled_view(name)
        folder = runs.VIEWS / view_label(spec)
        plan = read_plan(folder)
        if plan is None:
            return folder, spec
    if plan.kind != "view":
        raise InputError(f"--view {name}: {folder} holds {plan.kind}, not a view: see `augment inspect {folder}`")
    return folder, ViewSpec(plan.name, plan.params)


def plan_views(
    choices: Mapping[Path, ViewSpec], source: Dataset, options: PairsOptions
) -> dict[str, Dataset | ViewRun]:
    """Every view by its name: finished, or planned; a missing one is planned like an existing one of the same kind.

    Raises InputError for a view of other sentences, or for views of different languages.
    """
    plans = {folder: read_plan(folder) for folder in choices}
    twin = next(filter(None, plans.values()), None)
    planned: dict[str, Dataset | ViewRun] = {}
    for folder, spec in choices.items():
        plan, finished = plans[folder], finished_dataset(folder)
        # Of sentences that a dry run only counted there is no hash.
        if plan is not None and source.receipts and plan.inputs[0].sha256 != source.digest:
            said = f"was made from other sentences ({plan.inputs[0].name}) than {source.path}"
            raise InputError(f"{folder} {said}: give those as SOURCE, or make the view again with --overwrite")
        if finished is not None:
            planned[folder.name] = finished
            continue
        like = plan or (twin if twin is not None and twin.name == spec.name else None)
        seed, limit, size = (0, None, SHARD_ROWS) if like is None else (like.seed, like.limit, like.shard_size)
        if plan is None:
            seed = seed if options.seed is None else options.seed
            limit = limit if options.limit is None else options.limit
        wanted = replace(options.view_options, seed=seed or 0, limit=limit, shard_size=size)
        view = make_view(spec, device=wanted.device, batch_tokens=wanted.batch_tokens)
        planned[folder.name] = runs.plan_run(view, source, wanted, folder)
    _describe_sides(planned)  # before one is made
    return planned


def pair_views(choices: Mapping[Path, ViewSpec], sentences: Dataset, options: PairsOptions) -> PairSource:
    """Make the missing views, and pair them (or the sentence and each of them) for the first `limit` sentences.

    A label of the sentences comes along. Raises InputError for views of other sentences, TwinviewsError if one failed.
    """
    views: dict[str, Dataset] = {}
    for name, view in plan_views(choices, sentences, options).items():
        if isinstance(view, ViewRun):
            note(f"making the missing view {name} ({counted(view.plan.rows, 'sentence')}) in {view.out}/")
            runs.note_starter(ViewSpec(view.plan.name, view.plan.params))
            view, _ = runs.make_run(view)
        views[name] = view
    names = list(views) or [ORIGINAL]
    defaults = {name: view_attribute(view.plan.name, "equal_alternatives", False) for name, view in views.items()}
    asked = options.alternatives
    paired = [name for name, default in defaults.items() if (default if asked is None else asked)]
    couples = [(names[0], names[1])] if options.pairs == "bsl" else [(ORIGINAL, name) for name in names]
    columns = [*PAIR_COLUMNS[:2], *({"label"} & set(sentences.read(0, 1).schema.names))]
    datasets = {str(each.path): each for each in (sentences, *views.values())}
    inputs = tuple(Input(name=name, sha256=each.digest, rows=each.rows) for name, each in datasets.items())
    params = {"view": list(views), **({"alternatives": paired} if paired else {})}
    plan = Plan(kind="pairs", name=options.pairs, params=params, limit=options.limit, shard_size=0, inputs=inputs)
    rows = min(options.limit or sentences.rows, sentences.rows)
    made_by = {name: each.plan.signature or name for name, each in views.items()} | {ORIGINAL: "the sentence itself"}
    return PairSource(
        plan,
        unit="sentences",
        tasks=((start, min(start + TASK_ROWS, rows)) for start in range(0, rows, TASK_ROWS)),
        made_by={name: made_by[name] for couple in couples for name in couple},
        candidates=partial(_candidates, sentences, views, couples, columns, paired),
        known=_describe_sides(views),
        columns=dict.fromkeys(columns[2:], pa.string()),
        rows=rows,
    )


def _describe_sides(views: Mapping[str, Dataset | ViewRun]) -> dict[str, About]:
    """The view that makes a side, and the language it is in, by name; raises InputError if sentences have two."""
    plans = {name: view.plan for name, view in views.items()}
    options = ((name, plan.params, view_attribute(plan.name, "starts_in", "source")) for name, plan in plans.items())
    spoken = {params[key]: name for name, params, key in options if params.get(key) is not None}
    if len(spoken) > 1:
        said = ", ".join(f"{name} of sentences in {language!r}" for language, name in spoken.items())
        raise InputError(f"the views are of different languages ({said}): make them again with one --source")
    sentence = next(iter(spoken), None)
    known = {ORIGINAL: About(ORIGINAL, "identity", sentence)}
    for name, plan in plans.items():
        language = plan.params.get(view_attribute(plan.name, "ends_in", "source"))
        language = sentence if language is None else language.rpartition(HOP)[2]
        known[name] = About(name, plan.name, language, plan.params.get("models"))
    return known


def _candidates(
    source: Dataset,
    views: Mapping[str, Dataset],
    couples: Sequence[tuple[str, str]],
    columns: Sequence[str],
    paired: Collection[str],
    task: tuple[int, int],
) -> pa.RecordBatch:
    """The pairs of each couple for each sentence from `task[0]` to `task[1]`, those of one sentence side by side.

    Where views `paired` have alternatives, the n-th text of one side goes with the n-th of the other; the side with
    fewer texts begins again.
    """
    sentences = pa.concat_batches(source.read(*task).select(columns).to_batches())
    size = len(sentences)
    sides = {name: _side(sentences, name, view, task[0]) for name, view in views.items()}
    sides[ORIGINAL] = sentences["text"], pa.nulls(size, pa.list_(pa.string())), pa.nulls(size, pa.string())
    batches, origins = [], []
    for names in couples:
        couple = [sides[name] for name in names]
        further = [pc.list_value_length(alternatives).fill_null(0).to_numpy() for _, alternatives, _ in couple]
        numbers = [1 + number * (name in paired) for name, number in zip(names, further, strict=True)]
        most = np.maximum(*numbers)
        rows = np.repeat(np.arange(size), most)
        turns = np.arange(len(rows)) - np.repeat(np.cumsum(most) - most, most)
        pairs = {name: sentences[name].take(pa.array(rows)) for name in columns}
        for side, (texts, alternatives, _), more, number in zip(SIDES, couple, further, numbers, strict=True):
            turn = turns % number[rows]
            places = np.where(turn, size + (np.cumsum(more) - more)[rows] + turn - 1, rows)
            pairs[side] = pa.concat_arrays([texts, alternatives.flatten()]).take(pa.array(places))
        pairs |= {f"{side}_name": pa.repeat(name, len(rows)) for side, name in zip(SIDES, names, strict=True)}
        unused = sum(1 + more - number for more, number in zip(further, numbers, strict=True))
        pairs[UNUSED] = np.where(turns, 0, unused[rows])  # counted once a sentence
        pairs[DROPPED] = pc.coalesce(*(missing for *_, missing in couple)).take(pa.array(rows))
        batches.append(pa.RecordBatch.from_pydict(pairs))
        origins.append(rows)
    order = np.argsort(np.concatenate(origins), kind="stable")
    return pa.concat_batches(batches).take(pa.array(order))


def _side(sentences: pa.RecordBatch, name: str, view: Dataset, start: int) -> tuple[pa.Array, pa.Array, pa.Array]:
    """The texts of the view for the sentences from row `start` on, their alternatives, and why a text is missing."""
    stop = min(start + len(sentences), view.rows)
    table = view.read(start, stop) if start < stop else view.read(0, 1).slice(0, 0)
    columns = (table[column].combine_chunks() for column in ("view", "status", "reason", "alternatives"))
    lacking = len(sentences) - len(table)
    whole = (pa.concat_arrays([column, pa.nulls(lacking, column.type)]) for column in columns)
    texts, statuses, reasons, alternatives = whole
    status = statuses.fill_null("was not made for it")
    because = pc.binary_join_element_wise(status, reasons, ": ", null_handling="skip")
    return texts, alternatives, pc.if_else(texts.is_valid(), None, pc.binary_join_element_wise(name, because, " "))
