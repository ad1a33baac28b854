"""Pairs from sentences and their views: on values by `make_pairs`, and on disk by `augment build-pairs`."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Literal

import pyarrow as pa

from augment.errors import InputError
from augment.view import Runtime, ViewSpec, checked_texts, labelled_view, loaded_view, row_id, view_label
from pipelines.base.console import note
from pipelines.base.files import is_written_by, resolve_path, sibling_path
from pipelines.options import PairsOptions
from pipelines.pairs.candidates import Candidates, PairCounts, judged_blocks, pairs_batch, pairs_schema
from pipelines.pairs.filter import Filter, make_filter
from pipelines.pairs.nli import TableColumns, nli_sources, table_columns, table_pairs
from pipelines.pairs.pair import BLOCK_ROWS, ORIGINAL, SECOND, Candidate, Sentence, SideInfo
from pipelines.pairs.policies import (
    BSL_VIEWS,
    ViewPairs,
    block_candidates,
    check_views,
    describe_sides,
    sentence_judge,
    usual_filters,
    usual_policy,
    view_pairs,
)
from pipelines.pairs.row_pairs import (
    RowPairs,
    column_row_pairs,
    drawn_pairs,
    label_row_pairs,
    neighbour_row_pairs,
)
from pipelines.pairs.views import ChosenView, ViewedSentences, choose_views, finish_views, plan_views
from pipelines.pairs.write import PairsJob, save_pairs
from pipelines.sentences.ingest import sentences_for
from pipelines.storage.card import public_signature
from pipelines.storage.dataset import (
    CARD_FILE,
    PLAN_FILE,
    PLAN_MARKS,
    RECIPE_FILE,
    REPORT_FILE,
    Dataset,
    Input,
    Plan,
    check_folder,
    read_plan,
)
from pipelines.storage.pair_files import NEGATIVE, PAIR_COLUMNS, REASON

if TYPE_CHECKING:
    import datasets

ROW_PAIRS = ("columns", "neighbours", "labels")
"""Policies that pair a sentence, or a view of it, with another text."""
OWN_OPTIONS = {
    "negatives": ["entailment"],
    "strict": ["bsl"],
    "columns": ["columns", "entailment"],
    "distance": ["neighbours"],
    "per_sentence": ["labels"],
}
"""Options that only some policies have."""


def make_pairs(
    sentences: Iterable[str],
    views: Sequence[str | ViewSpec] = (),
    *,
    pairs: Literal["best", "bsl", "multilingual", "original", "self"] = "original",
    filter: Sequence[str] = (),
    default_filters: bool = True,
    negative_view: str | ViewSpec | None = None,
    seed: int = 0,
    device: str = "auto",
) -> "datasets.Dataset":
    """Pair sentences with their views in memory, as `augment build-pairs` does; nothing is read or written.

    Args:
        sentences: Texts, normalised first; equal ones count once, and empty ones not at all.
        views: Names such as "synonym" or "backtranslate-de", or with options `ViewSpec("synonym", {"fraction":
            0.3})`. Without any, "bsl" and "best" take back-translations over German and French.
        pairs: What is paired: the sentence with each view ("original", and "multilingual" for translations),
            with the best one ("best"), two views ("bsl"), or the sentence with itself ("self").
        filter: Filters as `--filter` takes them, such as "chrf:max=95".
        default_filters: Also drop pairs of equal texts, and back-translations that are no paraphrases.
        negative_view: A view that says something else, as a further column; without a pair, the sentence twice.
        seed: That of the views, as in `make_views`.
        device: Where models run.

    Returns the rows of `read_pairs`: strings `id, text, view_a, view_b, view_a_name, view_b_name`, then
    `negative` (null where there is none), and a float for each filter that scores. sentence-transformers
    trains on every column, so select `view_a` and `view_b` for it. Raises InputError for a wrong text, view,
    option or filter, TwinviewsError if no pair is left.
    """
    _check_arguments(pairs, views=views, filter=filter)
    texts = _distinct(sentences)
    specs = _labelled(views or (BSL_VIEWS if pairs in ("best", "bsl") else ()))
    negative = _labelled([negative_view] if negative_view else [])
    check_views(pairs, specs, negative)
    runtime = Runtime(device)
    filters = _filters(pairs, specs.values(), filter, default_filters, runtime)
    loaded = {label: loaded_view(spec, device) for label, spec in {**specs, **negative}.items()}
    results = {label: view(texts, seed) for label, view in loaded.items()}
    viewed = [
        Sentence(row_id(text), text, {name: views[text] for name, views in results.items()}) for text in texts
    ]
    built = {label: loaded[label].view.spec for label in specs}
    made = view_pairs(pairs, built, next(iter(negative), None))
    return _dataset(_candidates(made, describe_sides(built), iter(viewed)), filters, runtime)


def _dataset(candidates: Candidates, filters: Sequence[Filter], runtime: Runtime) -> "datasets.Dataset":
    """The pairs that the filters keep; raises TwinviewsError if there are none."""
    counts, pairs = PairCounts(candidates), list[Candidate]()
    for block in judged_blocks(candidates, filters, runtime):
        counts.add(block)
        pairs += [candidate for candidate in block if candidate.reason is None]
    counts.as_dict()  # raises if there are none
    from datasets import Dataset as ArrowDataset

    schema = pairs_schema(candidates, filters)
    return ArrowDataset(pa.Table.from_batches([pairs_batch(pairs, schema)]))


def _distinct(sentences: Iterable[str]) -> list[str]:
    texts = [*dict.fromkeys(text for text in checked_texts(sentences) if text)]
    if not texts:
        raise InputError("there is no sentence to pair: give some that are not empty")
    return texts


def _check_arguments(pairs: str, **lists: Sequence[str | ViewSpec]) -> None:
    if pairs not in ("best", "bsl", "multilingual", "original", "self"):
        raise InputError(
            f"pairs={pairs!r} needs more than sentences: take original, best, bsl, multilingual or self"
        )
    for name, values in lists.items():
        if isinstance(values, str | ViewSpec):
            raise InputError(f"{name}={values!r} is one of them: give a list")


def _labelled(views: Iterable[str | ViewSpec]) -> dict[str, ViewSpec]:
    specs = dict[str, ViewSpec]()
    for view in views:
        spec = view if isinstance(view, ViewSpec) else labelled_view(view)
        if view_label(spec) in specs:
            raise InputError(f"two views are named {view_label(spec)!r}: give each name once")
        specs[view_label(spec)] = spec
    return specs


def _candidates(pairs: ViewPairs, sides: Mapping[str, SideInfo], sentences: Iterator[Sentence]) -> Candidates:
    """The candidates of sentences with their views, in memory or on disk."""
    is_english = all(side.language in (None, "en") for side in sides.values())
    judge = sentence_judge() if pairs.is_best and is_english else None
    blocks = iter(lambda: [*islice(sentences, BLOCK_ROWS)], [])
    candidates = (block_candidates(pairs, block, judge) for block in blocks)
    return Candidates(candidates, sides, [NEGATIVE] if pairs.negative else [])


def _filters(
    policy: str, views: Iterable[ViewSpec], given: Sequence[str], default_filters: bool, runtime: Runtime
) -> list[Filter]:
    texts = usual_filters(policy, [view.name for view in views], given) if default_filters else []
    filters = [make_filter(text, runtime) for text in (*texts, *given)]
    columns = {*PAIR_COLUMNS, NEGATIVE, REASON, "label"}
    for filter in filters:
        if filter.score in columns:
            raise InputError(
                f"filter {filter.name} writes the column {filter.score!r}, which is taken: leave it out"
            )
        columns.add(filter.score or "")
    return filters


def build_pairs(options: PairsOptions) -> tuple[Mapping[str, Any], bool]:
    """Make the missing views and the pairs; returns the counts, and whether the pairs were made now.

    Raises InputError if sources, views, filters or output do not fit, TwinviewsError if no pair is left.
    """
    policy, table, chosen, filters = _check(options)
    for text in chain.from_iterable(filter.notes() for filter in filters):
        note(text)
    with TemporaryDirectory() as spool:
        if table is not None:
            sources = nli_sources(options.sources or (), Path(spool), table)
            candidates, plan, made_by = table_pairs(sources, options.limit, table, options.negatives)
        else:
            sentences = sentences_for(options.sources or ())
            candidates, plan, made_by = _viewed_pairs(policy, chosen, sentences, options)
        return save_pairs(PairsJob(candidates, plan, made_by, filters, options))


def _check(
    options: PairsOptions,
) -> tuple[str, TableColumns | None, dict[Path, ChosenView], list[Filter]]:
    """The policy, the columns of tables, the views by folder, the negative one last, and the filters.

    Nothing is read or made yet.
    """
    _check_outputs(options)
    names = options.view or (BSL_VIEWS if options.pairs in (None, "best", "bsl") else ())
    chosen = choose_views(names)
    usual = "bsl" if options.strict else usual_policy(view.spec for view in chosen.values())
    policy = options.pairs or usual
    negative = choose_views([options.negative_view]) if options.negative_view else {}
    _check_policy(policy, options)
    columns = table_columns(options.columns, options.labels, is_nli=policy == "entailment")
    specs, negative_specs = (
        {folder.name: view.spec for folder, view in views.items()} for views in (chosen, negative)
    )
    check_views(policy, specs, negative_specs)
    runtime = options.view_options.runtime
    filters = _filters(policy, specs.values(), options.filter or (), options.default_filters, runtime)
    chosen |= negative
    for option, is_drawn in {"seed": policy == "labels", "alternatives": False}.items():
        if getattr(options, option) is not None and not (chosen or is_drawn):
            raise InputError(f"--{option}: --pairs {policy} makes no views and draws nothing: leave it out")
    return policy, columns if columns.is_nli or columns.names else None, chosen, filters


def _check_outputs(options: PairsOptions) -> None:
    """Raise InputError for files that could not be written, or would be among others."""
    out = options.target
    if options.shards:
        check_folder(out)
    elif out.is_dir():
        raise InputError(f"{out} is a folder: give a file as --out, or add --shards")
    if options.rejects is not None:
        rejects, folder = options.rejects.resolve(), options.rejects.parent
        outputs = (out, *(sibling_path(out, name) for name in (REPORT_FILE, CARD_FILE, RECIPE_FILE)))
        if not {path.resolve() for path in outputs}.isdisjoint((rejects, *rejects.parents)):
            raise InputError(
                f"--rejects {options.rejects} is where the pairs are written: choose another file"
            )
        if is_written_by(folder / PLAN_FILE, *PLAN_MARKS):
            raise InputError(f"--rejects {options.rejects} is in a dataset, {folder}: choose another file")


def _check_policy(policy: str, options: PairsOptions) -> None:
    """Raise InputError for an option or a source that is for another policy."""
    for option, policies in OWN_OPTIONS.items():
        if policy not in policies and getattr(options, option) != PairsOptions.model_fields[option].default:
            name = option.replace("_", "-")
            raise InputError(f"--{name} needs --pairs {policies[0]}, not {policy}: leave it out")
    if options.negative_view is not None and options.columns is not None:
        raise InputError(
            f"--negative-view {options.negative_view} is of sentences, not of --columns: leave it out"
        )
    if policy in ROW_PAIRS and options.alternatives:
        raise InputError(f"--alternatives: --pairs {policy} takes the first text of a view: leave it out")
    sources = options.sources or []
    is_file = policy in ROW_PAIRS and bool(sources) and read_plan(resolve_path(sources[0])) is None
    if options.columns is not None and (options.view or not (is_file or policy == "entailment")):
        advice = "give its file as SOURCE and no --view, or run `augment ingest --pair-column` first"
        raise InputError(f"--columns {options.columns} are of a table: {advice}")
    if is_file and options.columns is None and policy != "labels":
        advice = (
            "give --columns LEFT,RIGHT"
            if policy == "columns"
            else "run `augment ingest --split sentences` first"
        )
        raise InputError(f"--pairs {policy} needs more than the sentences of a file: {advice}")


def _viewed_pairs(
    policy: str, chosen: Mapping[Path, ChosenView], sentences: Dataset, options: PairsOptions
) -> tuple[Candidates, Plan, dict[str, str]]:
    """Make the missing views, and pair them for the first `limit` sentences; a label of the sentences comes along.

    Returns the candidates, what decides them, and how each side was made.
    """
    drawn = _row_pairs(policy, options, sentences) if policy in ROW_PAIRS else None
    planned = plan_views(chosen, sentences, options, policy)
    specs = {name: view.plan.spec for name, view in planned.items()}
    describe_sides(specs)  # raises before a view is made
    views = finish_views(planned)
    negative = [*views][-1] if options.negative_view else None
    specs.pop(negative or "", None)
    seed, viewed = None, ViewedSentences(sentences, views)
    if drawn is None:
        candidates, sides, params = _own_pairs(policy, specs, negative, viewed, options)
    else:
        row_pairs, params = drawn
        seed = (options.seed or 0) if specs or policy == "labels" else None
        sides = [ORIGINAL, *specs, *([SECOND] if policy == "columns" else [])]
        blocks = drawn_pairs(
            row_pairs, viewed.take, [*specs], seed, negative, second_texts=policy == "columns"
        )
        candidates = Candidates(blocks, describe_sides(specs), [NEGATIVE] if negative else [])
    params = {"view": [*specs], **params, **({"negative_view": negative} if negative else {})}
    makers = {name: public_signature(view.plan) or name for name, view in views.items()}
    makers |= {ORIGINAL: "the sentence itself", SECOND: "its second text"}
    made_by = {side: makers[side] for side in sides} | ({NEGATIVE: makers[negative]} if negative else {})
    columns = [*({"label"} & {*sentences.read(0, 1).schema.names}), *candidates.columns]
    datasets = {str(dataset.path): dataset for dataset in (sentences, *views.values())}
    inputs = tuple(
        Input(name=name, sha256=dataset.digest, rows=dataset.rows) for name, dataset in datasets.items()
    )
    plan = Plan(kind="pairs", name=policy, params=params, seed=seed, limit=options.limit, inputs=inputs)
    return candidates._replace(columns=columns, rows=sentences.first(options.limit)), plan, made_by


def _own_pairs(
    policy: str,
    views: Mapping[str, ViewSpec],
    negative: str | None,
    viewed: ViewedSentences,
    options: PairsOptions,
) -> tuple[Candidates, list[str], dict[str, Any]]:
    """The candidates of sentences and their own views, the names of their sides, and what else decides them."""
    pairs = view_pairs(policy, views, negative, alternatives=options.alternatives, strict=options.strict)
    sides = [
        *dict.fromkeys(chain.from_iterable(pairs.couples)),
        *([ORIGINAL] if pairs.has_spares or pairs.has_self else []),
    ]
    params: dict[str, Any] = {"alternatives": [*pairs.alternatives]} if pairs.alternatives else {}
    params |= {"fallback": True} if pairs.has_spares else {}
    rows = viewed.sentences.first(options.limit)
    starts = range(0, rows, BLOCK_ROWS)
    sentences = chain.from_iterable(viewed.read(start, min(start + BLOCK_ROWS, rows)) for start in starts)
    return _candidates(pairs, describe_sides(views), sentences), sides, params


def _row_pairs(
    policy: str, options: PairsOptions, sentences: Dataset
) -> tuple[Iterator[RowPairs], dict[str, Any]]:
    """The row pairs of the first `limit` sentences, and the option that decides them.

    Raises InputError for sentences that do not fit.
    """
    rows = sentences.first(options.limit)
    if policy == "columns":
        return column_row_pairs(sentences, rows), {}
    if policy == "neighbours":
        distance = options.distance
        return neighbour_row_pairs(sentences, rows, distance), {"distance": distance}
    per_sentence = options.per_sentence
    pairs = label_row_pairs(sentences, rows, per_sentence, options.seed or 0)
    return pairs, {"per_sentence": per_sentence}
