"""`augment build-pairs`: choose views, make the missing ones, pair them row by row, filter and write the pairs."""

from collections.abc import Collection, Iterator, Mapping, Sequence
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
from pipelines.options import PairsOptions
from pipelines.pairs.candidates import DROPPED, ORIGINAL, TASK_ROWS, UNUSED, PairSource
from pipelines.pairs.columns import column_row_pairs
from pipelines.pairs.filter import SIDES, Filter, SideInfo, is_round_trip, make_filter
from pipelines.pairs.labels import label_row_pairs
from pipelines.pairs.neighbours import neighbour_row_pairs
from pipelines.pairs.nli import nli_sources, table_pairs
from pipelines.pairs.row_pairs import PAIR, RowPairs, missing_texts, row_pair_batches
from pipelines.pairs.write import PairsJob, write_pairs
from pipelines.sentences.ingest import sentences_for
from pipelines.storage.dataset import CARD_FILE, RECIPE_FILE, REPORT_FILE, Dataset, check_folder, finished_dataset
from pipelines.storage.files import is_written_by, resolve_path, sibling_path
from pipelines.storage.pair_files import NEGATIVE, PAIR_COLUMNS, REASON
from pipelines.storage.plan import PLAN_FILE, PLAN_MARKS, Input, Plan, read_plan
from pipelines.storage.shards import SHARD_ROWS
from pipelines.terminal.console import counted, note
from pipelines.views import run as runs
from pipelines.views.windows import ViewRun

BSL_VIEWS = ("backtranslate-de", "backtranslate-fr")
VIEW_COUNTS = {"bsl": 2, "self": 0, "entailment": 0}
"""How many views a policy pairs; the others pair one or more."""
ROW_PAIRS = {"columns": "columns", "neighbours": "distance", "labels": "per_sentence"}
"""Policies that pair a sentence, or a view of it, with another text, and their own option."""


def build_pairs(options: PairsOptions) -> tuple[Mapping[str, Any], bool]:
    """Make the missing views and the pairs; returns the counts, and whether the pairs were made now.

    Raises InputError if sources, views, filters or output do not fit, TwinviewsError if no pair is left.
    """
    choices, filters = _check(options)
    if any(getattr(filter, "encoder", None) == runs.STARTER for filter in filters):
        note("filter semantic: the bundled starter encoder (small, for trying out); encoder=NAME takes a real one")
    with TemporaryDirectory() as spool:
        if options.pairs == "entailment" or options.columns is not None:
            pair = _columns(options)
            sources = nli_sources(options.sources or (), Path(spool), pair)
            source = table_pairs(sources, options.limit, pair, negatives=options.negatives)
        else:
            source = pair_views(choices, sentences_for(options.sources or ()), options)
        settings = {
            "sources": options.sources,
            "pairs": options.pairs,
            "view": options.view or source.plan.params.get("view") or None,
            "negatives": options.negatives or None,
            "columns": options.columns,
            **{key: source.plan.params.get(key) for key in ("distance", "per_sentence")},
            "alternatives": options.alternatives,
            "seed": options.seed,
            "filter": [filter.text() for filter in filters] or None,
            "default_filters": None if options.default_filters else False,
        }
        return write_pairs(PairsJob(source, filters, options, settings))


def preview_pairs(options: PairsOptions) -> dict[str, Any]:
    """What `build_pairs` would do; nothing is written, and no earlier output is compared."""
    choices, filters = _check(options)
    preview: dict[str, Any] = {"out": str(options.target), "pairs": options.pairs}
    if options.pairs == "entailment" or options.columns is not None:
        with TemporaryDirectory() as spool:
            sources = nli_sources(options.sources or (), Path(spool), _columns(options))
            preview["sources"] = [source.name for source in sources]
    else:
        sentences = sentences_for(options.sources or (), dry_run=True)
        if options.pairs in ROW_PAIRS and sentences.receipts:
            row_pairs_of(options, sentences)  # raises for sentences that do not fit
        planned = plan_views(choices, sentences, options)
        preview["sentences"] = min(sentences.rows, options.limit or sentences.rows)
        missing = {name: runs.preview_run(view) for name, view in planned.items() if isinstance(view, ViewRun)}
        preview |= {"views": list(planned), "views_to_make": missing}
    preview["filters"] = [filter.text() for filter in filters]
    return preview | ({} if options.rejects is None else {"rejects": str(options.rejects)})


def _check(options: PairsOptions) -> tuple[dict[Path, ViewSpec], list[Filter]]:
    """The views by their folders, and the filters; checks all options before anything is read or made."""
    policy, out = options.pairs, options.target
    if options.shards:
        check_folder(out)
    elif out.is_dir():
        raise InputError(f"{out} is a folder: give a file as --out, or add --shards")
    if options.rejects is not None:
        rejects, folder = options.rejects.resolve(), options.rejects.parent
        outputs = (out, *(sibling_path(out, name) for name in (REPORT_FILE, CARD_FILE, RECIPE_FILE)))
        if not {path.resolve() for path in outputs}.isdisjoint((rejects, *rejects.parents)):
            raise InputError(f"--rejects {options.rejects} is where the pairs are written: choose another file")
        if is_written_by(folder / PLAN_FILE, *PLAN_MARKS):
            raise InputError(f"--rejects {options.rejects} is in a dataset, {folder}: choose another file")
    if options.negatives and policy != "entailment":
        raise InputError(f"--negatives needs --pairs entailment, not {policy}: leave it out")
    choices = choose_views(policy, options.view or ())
    _check_row_pairs(options)
    for option, value in {f"--seed {options.seed}": options.seed, "--alternatives": options.alternatives}.items():
        if value is not None and not choices and (policy != "labels" or value is options.alternatives):
            raise InputError(f"{option}: --pairs {policy} makes no views and draws nothing: leave it out")
    texts = [*(options.filter or ())]
    if options.default_filters and not any(text.partition(":")[0] == "paraphrase" for text in texts):
        texts = ["paraphrase"] * any(is_round_trip(spec.name) for spec in choices.values()) + texts
    filters = [make_filter(text, options.view_options.runtime) for text in texts]
    columns = {*PAIR_COLUMNS, NEGATIVE, REASON, "label"}
    for filter in filters:
        if filter.score in columns:
            raise InputError(f"--filter {filter.name} writes the column {filter.score!r}, which is taken: leave it out")
        columns.add(filter.score or "")
    return choices, filters


def _check_row_pairs(options: PairsOptions) -> None:
    """Check the options of policies that pair a sentence with another text."""
    policy, sources = options.pairs, options.sources or []
    is_table = policy in ROW_PAIRS and bool(sources) and read_plan(resolve_path(sources[0])) is None
    for owner, name in ROW_PAIRS.items():
        if policy != owner and getattr(options, name) != getattr(PairsOptions, name):
            raise InputError(f"--{name.replace('_', '-')} needs --pairs {owner}, not {policy}: leave it out")
    if policy in ROW_PAIRS and options.alternatives:
        raise InputError(f"--alternatives: --pairs {policy} takes the first text of a view: leave it out")
    if options.columns is not None and (options.view or not is_table):
        advice = "give its file as SOURCE and no --view, or run `augment ingest --pair-column` first"
        raise InputError(f"--columns {options.columns} are of a table: {advice}")
    if is_table and options.columns is None and policy != "labels":
        advice = "give --columns LEFT,RIGHT" if policy == "columns" else "run `augment ingest --split sentences` first"
        raise InputError(f"--pairs {policy} needs more than the sentences of a file: {advice}")
    _columns(options)


def _columns(options: PairsOptions) -> Sequence[str]:
    """The two columns of a table, if any; raises InputError for another number."""
    names = [] if options.columns is None else [name.strip() for name in options.columns.split(",")]
    if names and (len(names) != 2 or len({*names, ""}) != 3):
        raise InputError(f"--columns {options.columns}: write the names of two columns, LEFT,RIGHT")
    return names


def choose_views(policy: str, names: Sequence[str]) -> dict[Path, ViewSpec]:
    """The views that a policy pairs, by their folders; the name of its folder stands for a view in the pairs.

    Raises InputError unless their number fits, they differ, and each exists or can be made.
    """
    choices: dict[Path, ViewSpec] = {}
    for name in names or (BSL_VIEWS if policy == "bsl" else ()):
        folder, spec = _choose_view(name)
        if folder.name in (ORIGINAL, *(choice.name for choice in choices)):
            raise InputError(f"--view {name}: another side is named {folder.name!r}: give another view, or rename one")
        if policy == "multilingual" and view_attribute(spec.name, "language_option", "source") == "source":
            raise InputError(f"--view {name} is not a translation: take translate-de or the like, or --pairs original")
        choices[folder] = spec
    count = VIEW_COUNTS.get(policy, len(choices) if policy in ROW_PAIRS else max(1, len(choices)))
    if len(choices) != count:
        number = {0: "no", 2: "2"}.get(count, "1 or more")
        raise InputError(
            f"--pairs {policy} takes {number} --view, not {len(choices)}: see `augment build-pairs --help`"
        )
    plans = {folder: read_plan(folder) for folder in choices}
    twin = next(filter(None, plans.values()), None)
    for folder, spec in choices.items():
        if plans[folder] is None:
            if twin is not None and twin.name == spec.name:  # a revision is of the twin's own weights
                params = {key: value for key, value in twin.params.items() if key != "revision"}
                choices[folder] = ViewSpec(spec.name, {**params, **spec.params})
            make_view(choices[folder])
    return choices


def _choose_view(name: str) -> tuple[Path, ViewSpec]:
    """A view by its path, the name of its folder in `data/views/` (`backtranslate-fr`), or its own name."""
    folder = resolve_path(name) if read_plan(resolve_path(name)) is not None else runs.VIEWS / name
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
            problem = f"was made from other sentences ({plan.inputs[0].name}) than {source.path}"
            raise InputError(f"{folder} {problem}: give those as SOURCE, or make the view again with --overwrite")
        if finished is not None:
            planned[folder.name] = finished
            continue
        model = plan or (twin if twin is not None and twin.name == spec.name else None)
        seed, limit, size = (0, None, SHARD_ROWS) if model is None else (model.seed, model.limit, model.shard_size)
        if plan is None:
            seed = seed if options.seed is None else options.seed
            limit = limit if options.limit is None else options.limit
        settings = replace(options.view_options, seed=seed or 0, limit=limit, shard_size=size)
        view = make_view(spec, device=settings.device, batch_tokens=settings.batch_tokens)
        planned[folder.name] = runs.plan_run(view, source, settings, folder)
    _describe_sides(planned)  # raises before a view is made
    return planned


def pair_views(choices: Mapping[Path, ViewSpec], sentences: Dataset, options: PairsOptions) -> PairSource:
    """Make the missing views, and pair them (or the sentence and each of them) for the first `limit` sentences.

    A label of the sentences comes along. Raises InputError for views of other sentences, TwinviewsError if one failed.
    """
    row_pairs, numbers = row_pairs_of(options, sentences) if options.pairs in ROW_PAIRS else (iter(()), {})
    views: dict[str, Dataset] = {}
    for name, view in plan_views(choices, sentences, options).items():
        if isinstance(view, ViewRun):
            note(f"making the missing view {name} ({counted(view.plan.rows, 'sentence')}) in {view.out}/")
            runs.note_starter(ViewSpec(view.plan.name, view.plan.params))
            view, _ = runs.make_run(view)
        views[name] = view
    paired = [*views] if options.alternatives else []
    if options.alternatives is None and options.pairs not in ROW_PAIRS:
        paired = [name for name, view in views.items() if view_attribute(view.plan.name, "equal_alternatives", False)]
    columns = [*PAIR_COLUMNS[:2], *({"label"} & set(sentences.read(0, 1).schema.names))]
    datasets = {str(dataset.path): dataset for dataset in (sentences, *views.values())}
    inputs = tuple(Input(name=name, sha256=dataset.digest, rows=dataset.rows) for name, dataset in datasets.items())
    params = {"view": list(views), **({"alternatives": paired} if paired else {}), **numbers}
    plan = Plan(kind="pairs", name=options.pairs, params=params, limit=options.limit, shard_size=0, inputs=inputs)
    rows = min(options.limit or sentences.rows, sentences.rows)
    makers = {name: view.plan.signature or name for name, view in views.items()} | {ORIGINAL: "the sentence itself"}
    if options.pairs in ROW_PAIRS:
        makers |= {PAIR: "its second text"} if options.pairs == "columns" else {}
        seed = (options.seed or 0) if views or options.pairs == "labels" else None
        plan, second_texts = plan.model_copy(update={"seed": seed}), options.pairs == "columns"
        tasks: Iterator[Any] = row_pair_batches(row_pairs, sentences, views, columns, seed, second_texts=second_texts)
        candidates = None
    else:
        names = list(views) or [ORIGINAL]
        sides = [(names[0], names[1])] if options.pairs == "bsl" else [(ORIGINAL, name) for name in names]
        makers = {name: makers[name] for couple in sides for name in couple}
        tasks = ((start, min(start + TASK_ROWS, rows)) for start in range(0, rows, TASK_ROWS))
        candidates = partial(_candidates, sentences, views, sides, columns, paired)
    further = dict.fromkeys(columns[2:], pa.string())
    return PairSource(plan, "sentences", tasks, makers, candidates, _describe_sides(views), further, rows)


def row_pairs_of(options: PairsOptions, sentences: Dataset) -> tuple[Iterator[RowPairs], dict[str, int]]:
    """The row pairs of the first `limit` sentences, and the number that decides them, by its option."""
    rows = min(options.limit or sentences.rows, sentences.rows)
    if options.pairs == "columns":
        return column_row_pairs(sentences, rows), {}
    if options.pairs == "neighbours":
        return neighbour_row_pairs(sentences, rows, options.distance), {"distance": options.distance}
    row_pairs = label_row_pairs(sentences, rows, options.per_sentence, options.seed or 0)
    return row_pairs, {"per_sentence": options.per_sentence}


def _describe_sides(views: Mapping[str, Dataset | ViewRun]) -> dict[str, SideInfo]:
    """The view that makes a side, and the language it is in, by name; raises InputError if sentences have two."""
    plans = {name: view.plan for name, view in views.items()}
    languages = {
        plan.params.get(view_attribute(plan.name, "sentence_language_option", "source")): name
        for name, plan in plans.items()
    }
    languages.pop(None, None)
    if len(languages) > 1:
        names = ", ".join(f"{name} of sentences in {language!r}" for language, name in languages.items())
        raise InputError(f"the views are of different languages ({names}): make them again with one --source")
    sentence = next(iter(languages), None)
    known = {ORIGINAL: SideInfo(ORIGINAL, "identity", sentence)}
    for name, plan in plans.items():
        language = plan.params.get(view_attribute(plan.name, "language_option", "source"))
        language = sentence if language is None else language.rpartition(HOP)[2]
        known[name] = SideInfo(name, plan.name, language, plan.params.get("models"))
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
        numbers = [1 + others * (name in paired) for name, others in zip(names, further, strict=True)]
        counts = np.maximum(*numbers)
        rows = np.repeat(np.arange(size), counts)
        turns = np.arange(len(rows)) - np.repeat(np.cumsum(counts) - counts, counts)
        pairs = {name: sentences[name].take(pa.array(rows)) for name in columns}
        for side, (texts, alternatives, _), others, number in zip(SIDES, couple, further, numbers, strict=True):
            turn = turns % number[rows]
            places = np.where(turn, size + (np.cumsum(others) - others)[rows] + turn - 1, rows)
            pairs[side] = pa.concat_arrays([texts, alternatives.flatten()]).take(pa.array(places))
        pairs |= {f"{side}_name": pa.repeat(name, len(rows)) for side, name in zip(SIDES, names, strict=True)}
        unused = sum(1 + others - number for others, number in zip(further, numbers, strict=True))
        pairs[UNUSED] = np.where(turns, 0, unused[rows])  # counted once a sentence
        pairs[DROPPED] = pc.coalesce(*(missing for *_, missing in couple)).take(pa.array(rows))
        batches.append(pa.RecordBatch.from_pydict(pairs))
        origins.append(rows)
    order = np.argsort(np.concatenate(origins), kind="stable")
    return pa.concat_batches(batches).take(pa.array(order))


def _side(sentences: pa.RecordBatch, name: str, view: Dataset, start: int) -> tuple[pa.Array, pa.Array, pa.Array]:
    """The texts of the view for the sentences from row `start` on, their alternatives, and why a text is missing."""
    numbers = np.arange(start, start + len(sentences))
    table = view.read(start, min(start + len(sentences), view.rows)) if start < view.rows else view.read(0, 1)
    places = pa.array(numbers - start, mask=numbers >= view.rows)
    columns = ("view", "status", "reason", "alternatives")
    texts, statuses, reasons, alternatives = (table[name].combine_chunks().take(places) for name in columns)
    return texts, alternatives, missing_texts(name, texts, statuses, reasons)
