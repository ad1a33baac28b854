"""Hard negatives of pairs: a view of another meaning, or a text of another sentence that an encoder finds close."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc
import xxhash

from augment.errors import InputError
from augment.meaning.judge import sentence_encoder
from augment.models.weights import find_encoder
from augment.view import check_params
from pipelines.options import MiningOptions, PairsOptions
from pipelines.pairs.candidates import DROPPED, TASK_ROWS, PairSource
from pipelines.pairs.views import Choice, choose_views
from pipelines.pairs.write import PairsJob, write_pairs
from pipelines.storage.dataset import Dataset
from pipelines.storage.files import sha256_of
from pipelines.storage.pair_files import NEGATIVE, PAIR_COLUMNS, pair_files
from pipelines.storage.plan import Input, Plan
from pipelines.storage.shards import read_table
from pipelines.terminal.console import note, progress

BLOCK_SCORES = 1 << 25
"""Similarities in memory at a time, 128 MiB of them."""
NEGATIVE_POLICIES = ("original", "bsl", "columns")
Row: TypeAlias = tuple[str, str, str, str]
"""A pair's id, its sentence (`view_a` if there is none), `view_a` and `view_b`."""


def negative_choice(choices: Mapping[Path, Choice], options: PairsOptions) -> dict[Path, Choice]:
    """The view of `--negative-view` by its folder, if any; raises InputError for one that the pairs cannot have."""
    if (name := options.negative_view) is None:
        return {}
    if options.pairs not in NEGATIVE_POLICIES or options.columns is not None:
        advice = f"it needs --pairs {', '.join(NEGATIVE_POLICIES)} of sentences"
        raise InputError(f"--negative-view {name}: {advice}, not {options.pairs}: leave it out")
    chosen = choose_views("original", [name])
    if chosen.keys() & choices.keys():
        raise InputError(f"--negative-view {name} is a --view too: a text cannot be both: give another one")
    for spec, *_ in chosen.values():
        if getattr(check_params(spec.name, spec.params), "is_paraphrase", False):
            raise InputError(f"--negative-view {name} keeps the meaning: pair it as a --view instead")
    return chosen


def with_negatives(view: Dataset, start: int, pairs: pa.RecordBatch) -> pa.RecordBatch:
    """Candidates of the sentences from row `start` on, with what the view made of each where that is ok."""
    first = min(start, view.rows - 1)
    rows = view.read(first, min(first + TASK_ROWS, view.rows)).combine_chunks()
    texts = pc.if_else(pc.equal(rows["status"], "ok"), rows["view"], pa.scalar(None, pa.string())).combine_chunks()
    return pairs.append_column(NEGATIVE, texts.take(pc.index_in(pairs["id"], rows["id"].combine_chunks())))


def view_negatives(candidates: Callable[[Any], pa.RecordBatch], view: Dataset, task: tuple[int, int]) -> pa.RecordBatch:
    """The candidates of a task of views, with negatives."""
    return with_negatives(view, task[0], candidates(task))


def mine_negatives(options: MiningOptions) -> tuple[Mapping[str, Any], bool]:
    """Write the pairs again with a column `negative`; returns the counts, and whether they were made now.

    An existing negative stays. Raises InputError for no pairs, no encoder, or another recipe's output.
    """
    source = _source(options)
    if options.encoder == "starter":
        note("the bundled starter encoder (small, for trying out); --encoder takes a real one")
    settings = {"pairs": str(options.pairs), **source.plan.params, "seed": options.seed}
    output = PairsOptions(out=options.target, overwrite=options.overwrite)
    return write_pairs(PairsJob(source, (), output, settings, "mine-negatives"))


def preview_mining(options: MiningOptions) -> dict[str, Any]:
    """What `mine_negatives` would do; nothing is written, and no earlier output is compared."""
    source = _source(options)
    rows = sum(file.rows or 0 for file in source.plan.inputs)
    pairs = min(rows, options.limit or rows)
    return {"out": str(options.target), "pairs": pairs, "revision": source.plan.params["revision"]}


def _source(options: MiningOptions) -> PairSource:
    files, weights = pair_files(options.pairs), find_encoder(options.encoder, options.revision)
    table = pa.concat_tables(read_table(file.path, file.sha256) for file in files).slice(0, options.limit)
    if NEGATIVE not in table.schema.names:
        table = table.append_column(NEGATIVE, pa.nulls(len(table), pa.string()))
    columns = {field.name: field.type for field in table.schema if field.name not in (*PAIR_COLUMNS, NEGATIVE)}
    columns[NEGATIVE] = pa.string()
    schema = pa.schema({**dict.fromkeys(PAIR_COLUMNS, pa.string()), **columns})
    params: dict[str, Any] = {key: getattr(options, key) for key in ("encoder", "skip", "within", "margin")}
    params |= {"seed": None, "limit": None, "revision": weights.revision}  # the plan has seed and limit itself
    inputs = tuple(
        Input(name=str(file.path), sha256=file.sha256 or sha256_of(file.path), rows=file.rows) for file in files
    )
    seed, limit = options.seed, options.limit
    plan = Plan(kind="pairs", name="mined", params=params, seed=seed, limit=limit, shard_size=0, inputs=inputs)
    tasks = _candidates(table.select(schema.names).cast(schema), options, weights.path)
    ranks = f"rank {options.skip + 1} to {options.within} by {options.encoder}, {options.margin:g} below the positive"
    return PairSource(plan, "read", tasks, {NEGATIVE: ranks}, columns=columns)


def _candidates(table: pa.Table, options: MiningOptions, encoder: Path) -> Iterator[pa.RecordBatch]:
    is_complete = pc.and_(table["view_a"].is_valid(), table["view_b"].is_valid()).combine_chunks()
    negatives = table[NEGATIVE].combine_chunks()
    lacks_negative = pc.and_(negatives.is_null(), is_complete)
    if lacks_negative.true_count:
        mined = _mine(_rows(table.filter(is_complete)), _rows(table.filter(lacks_negative)), options, encoder)
        negatives = pc.replace_with_mask(negatives, lacks_negative, pa.array(mined, pa.string()))
    reasons = pc.if_else(is_complete, pa.scalar(None, pa.string()), "a view is missing")
    table = table.drop_columns(NEGATIVE).append_column(NEGATIVE, negatives).append_column(DROPPED, reasons)
    for start in range(0, len(table), TASK_ROWS):
        yield pa.concat_batches(table.slice(start, TASK_ROWS).to_batches())


def _rows(table: pa.Table) -> list[Row]:
    columns = (table[name].to_pylist() for name in ("id", "text", "view_a", "view_b"))
    return [(id, text or view_a, view_a, view_b) for id, text, view_a, view_b in zip(*columns, strict=True)]


def _mine(pairs: Sequence[Row], targets: Sequence[Row], options: MiningOptions, encoder: Path) -> list[str | None]:
    """A negative for each pair in `targets`, out of the texts of `view_b` in `pairs`."""
    import torch

    texts = list(dict.fromkeys(view_b for *_, view_b in pairs))
    numbers = {text: number for number, text in enumerate(dict.fromkeys([*texts, *(row[2] for row in targets)]))}
    settings = {"normalize_embeddings": True, "show_progress_bar": False, "convert_to_tensor": True}
    model = sentence_encoder(encoder, options.device)
    vectors = model.encode(list(numbers), batch_size=options.batch_size, **settings)
    own: defaultdict[str, set[int]] = defaultdict(set)  # texts of the same sentence are never negatives
    for _, *row in pairs:
        own[row[0]].update(number for text in row if (number := numbers.get(text, len(texts))) < len(texts))
    size = max(1, BLOCK_SCORES // len(texts))
    negatives: list[str | None] = []
    with progress("negatives", len(targets)) as advance, torch.inference_mode():
        for start in range(0, len(targets), size):
            block = targets[start : start + size]
            anchors, positives = (vectors[[numbers[row[side]] for row in block]] for side in (2, 3))
            scores = anchors @ vectors[: len(texts)].T
            scores[scores > ((anchors * positives).sum(dim=1) - options.margin)[:, None]] = -torch.inf
            for number, (_, sentence, *_) in enumerate(block):
                scores[number, list(own[sentence])] = -torch.inf
            best, closest = scores.topk(min(options.within, len(texts)))
            counts = torch.isfinite(best).sum(dim=1).tolist()
            for (id, *_), ranks, count in zip(block, closest.tolist(), counts, strict=True):
                choices = [texts[number] for number in ranks[options.skip : count]]
                draw = xxhash.xxh64_intdigest(f"{options.seed}|{id}".encode())
                negatives.append(choices[draw % len(choices)] if choices else None)
            advance(len(block))
    return negatives
