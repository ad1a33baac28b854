"""`augment mine-negatives`: pairs with hard negatives, texts of other sentences that an encoder finds close."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
import xxhash

from augment.errors import InputError
from augment.view import Runtime
from augment.weights import find_encoder
from pipelines.console import note, progress
from pipelines.files import sha256_of
from pipelines.filters.semantic import sentence_encoder
from pipelines.pairing.source import TASK_ROWS, Candidates, PairSource, whole_reasons
from pipelines.pairing.write import PairsJob, check_job, write_pairs
from pipelines.pairs import NEGATIVE, PAIR_COLUMNS, PairFile, pair_files
from pipelines.plan import Input
from pipelines.shards import read_table

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

BLOCK_SCORES = 1 << 25
"""Similarities that are in memory at a time, 128 MiB of them."""


@dataclass(frozen=True, slots=True)
class Mining:
    """What decides the negatives.

    Attributes:
        encoder: "starter", or the folder or Hub name of an encoder.
        skip: How many of the closest texts are passed over.
        within: Rank of the last text that may be drawn; one of the ranks skip + 1 to within is drawn by the seed.
        margin: By how much the cosine to `view_a` must be below that of `view_b`.
        seed: What is drawn by.
        limit: Pairs that count, from the first; None for all.
    """

    encoder: str = "starter"
    skip: int = 0
    within: int = 10
    margin: float = 0.05
    seed: int = 0
    limit: int | None = None


def mine_negatives(
    path: Path, wanted: Mining, out: Path, runtime: Runtime, batch_size: int = 64, *, overwrite: bool = False
) -> tuple[Mapping[str, Any], bool]:
    """Write the pairs again with a column `negative`; what was counted, and whether they were made now.

    A negative that is there already stays.

    Raises:
        InputError: No pairs or no encoder there, or something else at `out`.
    """
    job = _job(path, wanted, out, runtime, batch_size, overwrite=overwrite)
    if wanted.encoder == "starter":
        note("the bundled starter encoder (small, for trying out); --encoder takes a real one")
    return write_pairs(job)


def _job(path: Path, wanted: Mining, out: Path, runtime: Runtime, batch_size: int, *, overwrite: bool) -> PairsJob:
    options = {"pairs": str(path), **asdict(wanted)}
    source = mined(path, wanted, runtime.device, batch_size)
    return PairsJob(source, (), out, options=options, overwrite=overwrite, command="mine-negatives")


def preview_mining(path: Path, wanted: Mining, out: Path, *, overwrite: bool = False) -> dict[str, Any]:
    """What `mine_negatives` would do; nothing is written.

    Raises:
        InputError: As for `mine_negatives`.
    """
    job = _job(path, wanted, out, Runtime(), 1, overwrite=overwrite)
    check_job(job)
    rows = sum(each.rows or 0 for each in job.source.inputs)
    return {"out": str(out), "pairs": min(rows, wanted.limit or rows), "revision": job.source.params["revision"]}


def mined(path: Path, wanted: Mining, device: str, batch_size: int) -> PairSource:
    """Pairs as they are, but for their negatives.

    Raises:
        InputError: There are no pairs or no encoder, or files have columns of one name that hold different things.
    """
    files, weights = pair_files(path), find_encoder(wanted.encoder)
    try:
        schema = pa.unify_schemas([read_table(file.path, file.sha256).schema for file in files])
    except pa.ArrowException as error:
        raise InputError(f"{path} holds files of different columns ({error}): give one of them") from None
    more = {field.name: field.type for field in schema if field.name not in (*PAIR_COLUMNS, NEGATIVE)}
    inputs = [Input(name=str(each.path), sha256=each.sha256 or sha256_of(each.path), rows=each.rows) for each in files]
    how = f"rank {wanted.skip + 1} to {wanted.within} by {wanted.encoder}, {wanted.margin:g} below the positive"
    return PairSource(
        policy="mined",
        unit="read",
        inputs=inputs,
        tasks=_candidates(files, more, wanted, weights.path, device, batch_size),
        params={**asdict(wanted), "revision": weights.revision, "seed": None, "limit": None},
        made_by={NEGATIVE: how},
        columns={**more, NEGATIVE: pa.string()},
        seed=wanted.seed,
        limit=wanted.limit,
    )


def _candidates(
    files: Sequence[PairFile], more: dict[str, pa.DataType], wanted: Mining, weights: Path, device: str, batch_size: int
) -> Iterator[Candidates]:
    """All pairs; their negatives are found first."""
    tables = [read_table(file.path, file.sha256) for file in files]
    table = pa.concat_tables(tables, promote_options="permissive").slice(0, wanted.limit)
    found = pa.nulls(len(table), pa.string())
    if NEGATIVE in table.schema.names:
        found = table[NEGATIVE].combine_chunks().cast(pa.string())
    reasons = whole_reasons(table).combine_chunks()
    wanting = pc.and_(found.is_null(), reasons.is_null())
    if wanting.true_count:
        model = sentence_encoder(weights, device)
        sentences, anchors = _rows(table.filter(reasons.is_null())), _rows(table.filter(wanting))
        found = pc.replace_with_mask(
            found, wanting, pa.array(_mine(sentences, anchors, wanted, model, batch_size), pa.string())
        )
    schema = pa.schema([*((name, pa.string()) for name in PAIR_COLUMNS), *more.items()])
    for start in range(0, len(table), TASK_ROWS):
        part = table.slice(start, TASK_ROWS)
        pairs = pa.concat_batches(part.select(schema.names).cast(schema).to_batches())
        none = pa.nulls(len(part), pa.string())
        yield Candidates(pairs, reasons.slice(start, TASK_ROWS), none).with_negatives(found.slice(start, TASK_ROWS))


class _Row(NamedTuple):
    """A pair by its id, its sentence (`view_a` where there is none) and its sides."""

    id: str
    sentence: str
    one: str
    two: str


def _rows(table: pa.Table) -> list[_Row]:
    columns = (table[name].to_pylist() for name in ("id", "text", "view_a", "view_b"))
    return [_Row(id, text or one, one, two) for id, text, one, two in zip(*columns, strict=True)]


def _mine(
    sentences: Sequence[_Row], rows: Sequence[_Row], wanted: Mining, model: "SentenceTransformer", batch_size: int
) -> list[str | None]:
    """A negative for each of `rows`, out of the texts of `view_b` in `sentences`."""
    import torch

    places = {text: place for place, text in enumerate(dict.fromkeys(row.two for row in sentences))}
    texts = list(places)
    numbers = {text: number for number, text in enumerate(dict.fromkeys([*texts, *(row.one for row in rows)]))}
    vectors = model.encode(
        list(numbers), batch_size=batch_size, normalize_embeddings=True, show_progress_bar=False, convert_to_tensor=True
    )
    own: defaultdict[str, set[int]] = defaultdict(set)  # what no pair of the sentence may have as its negative
    for row in sentences:
        own[row.sentence].update(places[text] for text in row[1:] if text in places)
    size = max(1, BLOCK_SCORES // len(texts))
    drawn: list[str | None] = []
    with progress("negatives", len(rows)) as advance, torch.inference_mode():
        for start in range(0, len(rows), size):
            block = rows[start : start + size]
            anchors = vectors[[numbers[row.one] for row in block]]
            positives = vectors[[numbers[row.two] for row in block]]
            scores = anchors @ vectors[: len(texts)].T
            scores[scores > ((anchors * positives).sum(dim=1) - wanted.margin)[:, None]] = -torch.inf
            for number, row in enumerate(block):
                scores[number, list(own[row.sentence])] = -torch.inf
            best, closest = scores.topk(min(wanted.within, len(texts)))
            counts = torch.isfinite(best).sum(dim=1).tolist()
            for row, ranks, count in zip(block, closest.tolist(), counts, strict=True):
                left = [texts[place] for place in ranks[wanted.skip : count]]
                draw = xxhash.xxh64_intdigest(f"{wanted.seed}|{row.id}".encode())
                drawn.append(left[draw % len(left)] if left else None)
            advance(len(block))
    return drawn
