"""`augment mine-negatives`: pairs with hard negatives, texts of other sentences that an encoder finds close."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import xxhash

from augment.errors import InputError
from augment.models.weights import find_encoder
from augment.translate.meaning import sentence_encoder
from pipelines.options import MiningOptions, PairsOptions
from pipelines.pairs.candidates import DROPPED, TASK_ROWS, PairSource
from pipelines.pairs.write import PairsJob, write_pairs
from pipelines.storage.files import sha256_of
from pipelines.storage.pair_files import NEGATIVE, PAIR_COLUMNS, pair_files
from pipelines.storage.plan import Input, Plan
from pipelines.storage.shards import read_table
from pipelines.terminal.console import note, progress

BLOCK_SCORES = 1 << 25
"""Similarities in memory at a time, 128 MiB of them."""


def mine_negatives(options: MiningOptions) -> tuple[Mapping[str, Any], bool]:
    """Write the pairs again with a column `negative`; what was counted, and whether they were made now.

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
    rows = sum(each.rows or 0 for each in source.plan.inputs)
    pairs, revision = min(rows, options.limit or rows), source.plan.params["revision"]
    return {"out": str(options.target), "pairs": pairs, "revision": revision}


def _source(options: MiningOptions) -> PairSource:
    files, weights = pair_files(options.pairs), find_encoder(options.encoder, options.revision)
    try:
        tables = [read_table(file.path, file.sha256) for file in files]
        table = pa.concat_tables(tables, promote_options="permissive").slice(0, options.limit)
    except pa.ArrowException as error:
        raise InputError(f"{options.pairs} holds files of different columns ({error}): give one of them") from None
    if NEGATIVE not in table.schema.names:
        table = table.append_column(NEGATIVE, pa.nulls(len(table), pa.string()))
    more = {field.name: field.type for field in table.schema if field.name not in (*PAIR_COLUMNS, NEGATIVE)}
    columns = {**more, NEGATIVE: pa.string()}
    schema = pa.schema({**dict.fromkeys(PAIR_COLUMNS, pa.string()), **columns})
    params: dict[str, Any] = {key: getattr(options, key) for key in ("encoder", "skip", "within", "margin")}
    params |= {"seed": None, "limit": None, "revision": weights.revision}  # the plan has seed and limit itself
    inputs = tuple(
        Input(name=str(each.path), sha256=each.sha256 or sha256_of(each.path), rows=each.rows) for each in files
    )
    seed, limit = options.seed, options.limit
    plan = Plan(kind="pairs", name="mined", params=params, seed=seed, limit=limit, shard_size=0, inputs=inputs)
    tasks = _candidates(table.select(schema.names).cast(schema), options, weights.path)
    how = f"rank {options.skip + 1} to {options.within} by {options.encoder}, {options.margin:g} below the positive"
    return PairSource(plan, "read", tasks, {NEGATIVE: how}, columns=columns)


def _candidates(table: pa.Table, options: MiningOptions, encoder: Path) -> Iterator[pa.RecordBatch]:
    """All pairs, once their negatives are found."""
    whole = pc.and_(table["view_a"].is_valid(), table["view_b"].is_valid()).combine_chunks()
    negatives = table[NEGATIVE].combine_chunks()
    wanting = pc.and_(negatives.is_null(), whole)
    if wanting.true_count:
        model = sentence_encoder(encoder, options.device)
        found = _mine(_rows(table.filter(whole)), _rows(table.filter(wanting)), options, model)
        negatives = pc.replace_with_mask(negatives, wanting, pa.array(found, pa.string()))
    reasons = pc.if_else(whole, pa.scalar(None, pa.string()), "a view is missing")
    table = table.drop_columns(NEGATIVE).append_column(NEGATIVE, negatives).append_column(DROPPED, reasons)
    for start in range(0, len(table), TASK_ROWS):
        yield pa.concat_batches(table.slice(start, TASK_ROWS).to_batches())


def _rows(table: pa.Table) -> list[tuple[str, str, str, str]]:
    """The id, sentence (`view_a` if there is none), `view_a` and `view_b` of each pair."""
    columns = (table[name].to_pylist() for name in ("id", "text", "view_a", "view_b"))
    return [(id, text or one, one, two) for id, text, one, two in zip(*columns, strict=True)]


def _mine(
    pairs: Sequence[tuple[str, str, str, str]],
    wanting: Sequence[tuple[str, str, str, str]],
    options: MiningOptions,
    model: Any,  # noqa: ANN401 - a SentenceTransformer
) -> list[str | None]:
    """A negative for each pair in `wanting`, out of the texts of `view_b` in `pairs`."""
    import torch

    texts = list(dict.fromkeys(two for *_, two in pairs))
    numbers = {text: number for number, text in enumerate(dict.fromkeys([*texts, *(one for *_, one, _ in wanting)]))}
    how = {"normalize_embeddings": True, "show_progress_bar": False, "convert_to_tensor": True}
    vectors = model.encode(list(numbers), batch_size=options.batch_size, **how)
    own: defaultdict[str, set[int]] = defaultdict(set)  # texts of the same sentence are never negatives
    for _, *row in pairs:
        own[row[0]].update(number for text in row if (number := numbers.get(text, len(texts))) < len(texts))
    size = max(1, BLOCK_SCORES // len(texts))
    drawn: list[str | None] = []
    with progress("negatives", len(wanting)) as advance, torch.inference_mode():
        for start in range(0, len(wanting), size):
            block = wanting[start : start + size]
            anchors, positives = (vectors[[numbers[row[side]] for row in block]] for side in (2, 3))
            scores = anchors @ vectors[: len(texts)].T
            scores[scores > ((anchors * positives).sum(dim=1) - options.margin)[:, None]] = -torch.inf
            for number, (_, sentence, *_) in enumerate(block):
                scores[number, list(own[sentence])] = -torch.inf
            best, closest = scores.topk(min(options.within, len(texts)))
            counts = torch.isfinite(best).sum(dim=1).tolist()
            for (id, *_), ranks, count in zip(block, closest.tolist(), counts, strict=True):
                left = [texts[place] for place in ranks[options.skip : count]]
                draw = xxhash.xxh64_intdigest(f"{options.seed}|{id}".encode())
                drawn.append(left[draw % len(left)] if left else None)
            advance(len(block))
    return drawn
