"""Pairs from sentences and their views: on values by `make_pairs`, and on disk by `augment build-pairs`."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Literal

import pyarrow as pa

from augment.errors import InputError, checked_texts
from augment.view import Runtime, ViewSpec, labelled_view, loaded_view, normalise, row_id, view_label
from pipelines.options import PairsOptions
from pipelines.pairs.candidates import Candidates, PairCounts, judged_blocks, pairs_batch, pairs_schema
from pipelines.pairs.filter import Filter, make_filter
from pipelines.pairs.labels import label_blocks
from pipelines.pairs.nli import nli_sources, table_columns, table_pairs
from pipelines.pairs.pair import ORIGINAL, Candidate, Sentence, blocks
from pipelines.pairs.policies import (
    BSL_VIEWS,
    POLICIES,
    VIEW_COUNTS,
    check_views,
    describe_sides,
    usual_filters,
    usual_policy,
    view_pairs,
)
from pipelines.pairs.views import ChosenView, choose_views, finish_views, plan_views, viewed_sentences
from pipelines.pairs.write import PairsJob, save_pairs
from pipelines.sentences.ingest import sentences_for
from pipelines.storage.card import public_plan
from pipelines.storage.dataset import Input, Plan, check_folder
from pipelines.storage.pair_files import NEGATIVE, PAIR_COLUMNS, REASON

if TYPE_CHECKING:
    import datasets

OWN_OPTIONS = {
    "negatives": ["entailment"],
    "columns": ["columns", "entailment"],
    "labels": ["entailment"],
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
        default_filters: As `--default-filters`: also drop equal texts, and poor back-translations.
        negative_view: A view that says something else, as a further column.
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
    filters = _filters(pairs, specs.values(), filter, default_filters, Runtime(device))
    loaded = {label: loaded_view(spec, device) for label, spec in {**specs, **negative}.items()}
    results = {label: view(texts, seed) for label, view in loaded.items()}
    viewed = [
        Sentence(row_id(text), text, {name: views[text] for name, views in results.items()}) for text in texts
    ]
    built = {label: loaded[label].view.spec for label in specs}
    made = view_pairs(pairs, built, next(iter(negative), None), default_filters=default_filters)
    candidates = Candidates(map(made.candidates, blocks(viewed)), describe_sides(built), made.columns)
    return _dataset(candidates, filters, Runtime(device))


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
    texts = [*dict.fromkeys(filter(None, map(normalise, checked_texts(sentences))))]
    if not texts:
        raise InputError("there is no sentence to pair: give some that are not empty")
    return texts


def _check_arguments(pairs: str, **lists: Sequence[str | ViewSpec]) -> None:
    if pairs not in POLICIES:
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
    _check_outputs(options)
    names = options.view or (BSL_VIEWS if options.pairs in (None, "best", "bsl") else ())
    views = choose_views(names)
    policy = options.pairs or usual_policy(view.spec for view in views.values())
    _check_policy(policy, options)
    negative = choose_views([options.negative_view]) if options.negative_view else {}
    specs, negatives = (
        {folder.name: view.spec for folder, view in chosen.items()} for chosen in (views, negative)
    )
    check_views(policy, specs, negatives)
    filters = _filters(
        policy, specs.values(), options.filter or (), options.default_filters, options.view_options.runtime
    )
    with TemporaryDirectory() as spool:
        if policy in ("entailment", "columns"):
            columns = table_columns(options.columns, options.labels, is_nli=policy == "entailment")
            sources = nli_sources(options.sources or (), Path(spool))
            candidates, plan, made_by = table_pairs(sources, options.limit, columns, options.negatives)
        else:
            negative_name = next(iter(negatives), None)
            candidates, plan, made_by = _sentence_pairs(policy, views | negative, negative_name, options)
        signatures = [filter.signature() for filter in filters]
        params = {**plan.params, "filter": signatures, "shards": options.shards}
        plan = plan.model_copy(update={"params": params})
        return save_pairs(PairsJob(candidates, plan, made_by, filters, options))


def _sentence_pairs(
    policy: str, chosen: Mapping[Path, ChosenView], negative: str | None, options: PairsOptions
) -> tuple[Candidates, Plan, dict[str, str]]:
    """Make the missing views, and pair them for the first `limit` sentences, whose labels come along.

    Returns the candidates, what decides them, and how each side was made.
    """
    sentences = sentences_for(options.sources or ())
    rows, names = sentences.first(options.limit), sentences.read(0, 1).schema.names
    planned = plan_views(chosen, sentences, options)
    describe_sides({name: view.plan.spec for name, view in planned.items()})  # raises before a view is made
    views = finish_views(planned)
    specs = {name: view.plan.spec for name, view in views.items() if name != negative}
    pairs = view_pairs(policy, specs, negative, default_filters=options.default_filters)
    candidate_blocks: Iterable[list[Candidate]] = map(
        pairs.candidates, viewed_sentences(sentences, views, rows)
    )
    seed, per_sentence = None, None
    if policy == "labels":
        seed, per_sentence = options.seed or 0, options.per_sentence
        candidate_blocks = label_blocks(sentences, rows, per_sentence, seed)
    columns = [*(["label"] if "label" in names else []), *pairs.columns]
    candidates = Candidates(iter(candidate_blocks), describe_sides(specs), columns, rows=rows)
    params = {
        "view": [*specs],
        "alternatives": [*pairs.alternatives],
        "fallback": pairs.has_spares,
        "per_sentence": per_sentence,
        "negative_view": negative,
    }
    given = {name: value for name, value in params.items() if value}
    datasets = {str(dataset.path): dataset for dataset in (sentences, *views.values())}
    inputs = [Input(name=name, sha256=data.digest) for name, data in datasets.items()]
    plan = Plan(kind="pairs", name=policy, params=given, seed=seed, limit=options.limit, inputs=tuple(inputs))
    made_by = {ORIGINAL: "the sentence itself"}
    for name, view in views.items():
        made_by[NEGATIVE if name == negative else name] = public_plan(view.plan).signature or name
    return candidates, plan, made_by


def _check_outputs(options: PairsOptions) -> None:
    """Raise InputError for pairs that could not be written."""
    out = options.target
    if options.shards:
        check_folder(out)
    elif out.is_dir():
        raise InputError(f"{out} is a folder: give a file as --out, or add --shards")


def _check_policy(policy: str, options: PairsOptions) -> None:
    """Raise InputError for an option or a source that is for another policy."""
    usual = PairsOptions()
    for option, policies in OWN_OPTIONS.items():
        if policy not in policies and getattr(options, option) != getattr(usual, option):
            name = option.replace("_", "-")
            raise InputError(f"--{name} needs --pairs {policies[0]}, not {policy}: leave it out")
    if options.seed is not None and policy not in (*VIEW_COUNTS, "labels") and options.negative_view is None:
        raise InputError(f"--seed: --pairs {policy} makes no views and draws nothing: leave it out")
    if policy == "columns" and (options.columns is None or not options.sources):
        raise InputError("--pairs columns needs a table as SOURCE, and --columns LEFT,RIGHT of it")
