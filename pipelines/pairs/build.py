"""`augment build-pairs`: check the options, make the missing views, pair row by row, filter and write the pairs."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Literal

import pyarrow as pa
from pyarrow.feather import write_feather

from augment.errors import InputError
from augment.view import ViewSpec, checked_texts, labelled_view, loaded_view, view_attribute, view_label
from pipelines.options import IngestOptions, PairsOptions, ViewOptions
from pipelines.pairs.candidates import ORIGINAL, TASK_ROWS, PairSource
from pipelines.pairs.filter import Filter, is_round_trip, make_filter
from pipelines.pairs.labels import label_row_pairs
from pipelines.pairs.neighbours import neighbour_row_pairs
from pipelines.pairs.nli import nli_sources, table_pairs
from pipelines.pairs.row_pairs import PAIR, RowPairs, column_row_pairs, row_pair_batches, view_candidates
from pipelines.pairs.views import Choice, choose_views, describe_sides, make_views, negative_choice, plan_views
from pipelines.pairs.write import PairsJob, write_pairs
from pipelines.sentences.ingest import ingest, sentences_for
from pipelines.storage.dataset import CARD_FILE, RECIPE_FILE, REPORT_FILE, Dataset, check_folder
from pipelines.storage.files import is_written_by, resolve_path, sibling_path
from pipelines.storage.pair_files import NEGATIVE, PAIR_COLUMNS, REASON
from pipelines.storage.plan import PLAN_FILE, PLAN_MARKS, Input, Plan, read_plan
from pipelines.terminal.console import note
from pipelines.views.run import STARTER, make_run, plan_run, preview_run
from pipelines.views.windows import ViewRun

if TYPE_CHECKING:
    import datasets

ROW_PAIRS = {"columns": "columns", "neighbours": "distance", "labels": "per_sentence"}
"""Policies that pair a sentence, or a view of it, with another text, and their own option."""


def build_pairs(options: PairsOptions) -> tuple[Mapping[str, Any], bool]:
    """Make the missing views and the pairs; returns the counts, and whether the pairs were made now.

    Raises InputError if sources, views, filters or output do not fit, TwinviewsError if no pair is left.
    """
    choices, filters = _check(options)
    if any(getattr(filter, "encoder", None) == STARTER for filter in filters):
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
            "negative_view": options.negative_view,
            "columns": options.columns,
            **{key: source.plan.params.get(key) for key in ("distance", "per_sentence")},
            "alternatives": options.alternatives,
            "strict": options.strict or None,
            "seed": options.seed,
            "filter": [filter.text() for filter in filters] or None,
            "default_filters": None if options.default_filters else False,
        }
        return write_pairs(PairsJob(source, filters, options, settings))


def make_pairs(
    sentences: Iterable[str], views: Sequence[str | ViewSpec] = (), *,
    pairs: Literal["original", "bsl", "multilingual", "self"] = "original", filter: Sequence[str] = (),
    default_filters: bool = True, negative_view: str | ViewSpec | None = None, seed: int = 0, device: str = "auto",
) -> "datasets.Dataset":  # fmt: skip
    """Pair sentences with their views as `augment build-pairs` does, whose options these are.

    A view is named as "synonym" or "backtranslate-de", or with other options `ViewSpec("synonym", {"fraction": 0.3})`;
    `seed` is that of the views. Equal sentences count once, and empty ones not at all. Returns the rows of `read_pairs`
    in memory; sentence-transformers trains on every column, so select `view_a` and `view_b` for it. Raises InputError
    for a wrong text, view, option or filter, TwinviewsError if no pair is left.
    """
    if pairs not in ("original", "bsl", "multilingual", "self"):
        raise InputError(f"pairs={pairs!r} needs more than sentences: take original, bsl, multilingual or self")
    if not (texts := [text for text in checked_texts(sentences) if text]):
        raise InputError("there is no sentence to pair: give some that are not empty")
    named = [*views, *([negative_view] if negative_view else [])]
    specs = [view if isinstance(view, ViewSpec) else labelled_view(view) for view in named]
    labels = [view_label(spec) for spec in specs]
    if twice := next((label for label in labels if labels.count(label) > 1), None):
        raise InputError(f"two views are named {twice!r}: give each name once")
    from datasets import Dataset as ArrowDataset

    with TemporaryDirectory() as place:
        folder = Path(place)
        write_feather(pa.table({"text": texts}), str(folder / "sentences.arrow"))
        source, _ = ingest(IngestOptions([str(folder / "sentences.arrow")], out=folder / "sentences"))
        folders = [str(folder / "views" / label) for label in labels]
        for spec, out in zip(specs, folders, strict=True):
            make_run(plan_run(loaded_view(spec, device).view, source, ViewOptions(seed=seed), Path(out)))
        options = PairsOptions(
            sources=[str(source.path)], pairs=pairs, view=folders[: len(views)], filter=[*filter],
            default_filters=default_filters, negative_view=folders[-1] if negative_view else None, device=device,
            out=folder / "pairs.arrow",
        )  # fmt: skip
        build_pairs(options)
        return ArrowDataset.from_file(str(options.out), in_memory=True)


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
            _row_pairs(options, sentences)  # raises for sentences that do not fit
        planned = plan_views(choices, sentences, options)
        preview["sentences"] = min(sentences.rows, options.limit or sentences.rows)
        missing = {name: preview_run(view) for name, view in planned.items() if isinstance(view, ViewRun)}
        preview |= {"views": list(planned), "views_to_make": missing}
    preview["filters"] = [filter.text() for filter in filters]
    return preview | ({} if options.rejects is None else {"rejects": str(options.rejects)})


def _check(options: PairsOptions) -> tuple[dict[Path, Choice], list[Filter]]:
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
    if options.strict and policy != "bsl":
        raise InputError(f"--strict needs --pairs bsl, not {policy}: leave it out")
    choices = choose_views(policy, options.view or ())
    choices |= negative_choice(choices, options)
    _check_row_pairs(options)
    for option, value in {f"--seed {options.seed}": options.seed, "--alternatives": options.alternatives}.items():
        if value is not None and not choices and (policy != "labels" or value is options.alternatives):
            raise InputError(f"{option}: --pairs {policy} makes no views and draws nothing: leave it out")
    texts = [*(options.filter or ())]
    views, given = [choice.spec.name for choice in choices.values()], {text.partition(":")[0] for text in texts}
    if options.default_filters:
        usual = {"identical": any(view_attribute(name, "keeps_meaning", False) for name in views)}
        usual["paraphrase"] = any(map(is_round_trip, views))
        texts = [name for name, is_used in usual.items() if is_used and name not in given] + texts
    filters = [make_filter(text, options.view_options.runtime) for text in texts]
    columns = {*PAIR_COLUMNS, NEGATIVE, REASON, "label"}
    for filter in filters:
        if filter.score in columns:
            raise InputError(f"--filter {filter.name} writes the column {filter.score!r}, which is taken: leave it out")
        columns.add(filter.score or "")
    return choices, filters


def _check_row_pairs(options: PairsOptions) -> None:
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
    names = [] if options.columns is None else [name.strip() for name in options.columns.split(",")]
    if names and (len(names) != 2 or len({*names, ""}) != 3):
        raise InputError(f"--columns {options.columns}: write the names of two columns, LEFT,RIGHT")
    return names


def pair_views(choices: Mapping[Path, Choice], sentences: Dataset, options: PairsOptions) -> PairSource:
    """Make the missing views, and pair them for the first `limit` sentences; a label of the sentences comes along."""
    policy, rows = options.pairs, min(options.limit or sentences.rows, sentences.rows)
    row_pairs = _row_pairs(options, sentences) if policy in ROW_PAIRS else iter(())
    views = make_views(plan_views(choices, sentences, options))
    negative_view = views.pop([*views][-1]) if options.negative_view else None
    columns = [*PAIR_COLUMNS[:2], *({"label"} & set(sentences.read(0, 1).schema.names))]
    sources = filter(None, (sentences, *views.values(), negative_view))
    datasets = {str(dataset.path): dataset for dataset in sources}
    inputs = tuple(Input(name=name, sha256=dataset.digest, rows=dataset.rows) for name, dataset in datasets.items())
    params: dict[str, Any] = {"view": list(views)}
    makers = {name: view.plan.signature or name for name, view in views.items()} | {ORIGINAL: "the sentence itself"}
    seed = candidates = None
    if policy in ROW_PAIRS:
        if policy == "columns":
            makers[PAIR] = "its second text"
        else:
            params[ROW_PAIRS[policy]] = getattr(options, ROW_PAIRS[policy])
        if views or policy == "labels":
            seed = options.seed or 0
        second_texts = policy == "columns"
        tasks: Iterator[Any] = row_pair_batches(
            row_pairs, sentences, views, columns, seed, negative_view, second_texts=second_texts
        )
    else:
        paired = [name for name, view in views.items() if view_attribute(view.plan.name, "equal_alternatives", False)]
        if options.alternatives is not None:
            paired = [*views] if options.alternatives else []
        names = list(views) or [ORIGINAL]
        sides = [(names[0], names[1])] if policy == "bsl" else [(ORIGINAL, name) for name in names]
        makers = {name: makers[name] for couple in sides for name in couple}
        tasks = ((start, min(start + TASK_ROWS, rows)) for start in range(0, rows, TASK_ROWS))
        are_round_trips = all(is_round_trip(view.plan.name) for view in views.values())
        fallback = policy == "bsl" and not options.strict and are_round_trips
        params |= ({"alternatives": paired} if paired else {}) | ({"fallback": True} if fallback else {})
        if fallback:
            makers[ORIGINAL] = "the sentence itself"
        candidates = partial(view_candidates, sentences, views, sides, columns, paired, fallback, negative_view)
    further = columns[2:]
    if negative_view is not None:
        further.append(NEGATIVE)
        params["negative_view"] = negative_view.path.name
        makers[NEGATIVE] = negative_view.plan.signature or negative_view.path.name
    plan = Plan(kind="pairs", name=policy, params=params, seed=seed, limit=options.limit, shard_size=0, inputs=inputs)
    return PairSource(plan, "sentences", tasks, makers, candidates, describe_sides(views), further, rows)


def _row_pairs(options: PairsOptions, sentences: Dataset) -> Iterator[RowPairs]:
    """The row pairs of the first `limit` sentences; raises InputError for sentences that do not fit."""
    rows = min(options.limit or sentences.rows, sentences.rows)
    if options.pairs == "columns":
        return column_row_pairs(sentences, rows)
    if options.pairs == "neighbours":
        return neighbour_row_pairs(sentences, rows, options.distance)
    return label_row_pairs(sentences, rows, options.per_sentence, options.seed or 0)
