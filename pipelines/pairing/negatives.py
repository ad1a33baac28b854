"""`augment mine-negatives`: pairs with hard negatives, texts of other sentences that an encoder finds close."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import xxhash

from augment.errors import InputError
from augment.view import Runtime
from augment.weights import find_encoder
from pipelines.console import note, progress
from pipelines.files import sha256_of
from pipelines.filters.semantic import sentence_encoder
from pipelines.pairing.source import TASK_ROWS, Candidates, PairSource, whole_reasons
from pipelines.pairing.write import Pairs, PairsJob, is_there, write_pairs
from pipelines.pairs import NEGATIVE, PAIR_COLUMNS, PairFile, pair_files
from pipelines.plan import Input
from pipelines.shards import read_table

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
) -> Pairs:
    """Write the pairs again with a column `negative`; a negative that is there already stays.

    Raises:
        InputError: No pairs or no encoder there, or something else at `out`.
    """
    job = _job(path, wanted, out, runtime, batch_size, overwrite=overwrite)
    if wanted.encoder == "starter":
        note("the bundled starter encoder (small, for trying out); --encoder takes a real one")
    return write_pairs(job)


def preview_mining(path: Path, wanted: Mining, out: Path, *, overwrite: bool = False) -> dict[str, Any]:
    """What `mine_negatives` would do; nothing is written.

    Raises:
        InputError: As for `mine_negatives`.
    """
    job = _job(path, wanted, out, Runtime(), overwrite=overwrite)
    rows = sum(each.rows or 0 for each in job.source.inputs)
    return {
        "out": str(out),
        "pairs": min(rows, wanted.limit or rows),
        "revision": job.source.params["revision"],
        "made_now": not is_there(job),
    }


def _job(
    path: Path, wanted: Mining, out: Path, runtime: Runtime, batch_size: int = 64, *, overwrite: bool = False
) -> PairsJob:
    files, weights = tuple(pair_files(path)), find_encoder(wanted.encoder)
    source = mined(files, wanted, weights.path, weights.revision, runtime.device, batch_size)
    options = {"pairs": str(path), **asdict(wanted)}
    return PairsJob(source, (), out, options=options, overwrite=overwrite, command="mine-negatives")


@dataclass(frozen=True)
class Mined(PairSource):
    """Pairs as they are, but for their negatives."""

    files: tuple[PairFile, ...] = ()
    wanted: Mining = Mining()
    weights: Path = Path()
    device: str = "auto"
    batch_size: int = 64

    def tasks(self) -> Iterator[Candidates]:
        """All pairs; their negatives are found first."""
        import pyarrow as pa
        import pyarrow.compute as pc

        names = [*PAIR_COLUMNS, *(name for name in self.columns if name != NEGATIVE)]
        tables = [read_table(file.path, file.sha256) for file in self.files]
        table = pa.concat_tables(tables, promote_options="permissive").slice(0, self.limit)
        found: Any = pa.nulls(len(table), pa.string())
        if NEGATIVE in table.schema.names:
            found = table[NEGATIVE].combine_chunks().cast(pa.string())
        reasons = whole_reasons(table)
        wanting = pc.and_(found.is_null(), reasons.is_null()).combine_chunks()
        made = pa.array(self._mine(table.filter(reasons.is_null()), table.filter(wanting)), pa.string())
        found = pc.replace_with_mask(found, wanting, made)
        schema = pa.schema([(name, self.columns.get(name, pa.string())) for name in names])
        for start in range(0, len(table), TASK_ROWS):
            part = table.slice(start, TASK_ROWS)
            rows = pa.concat_batches(part.select(names).cast(schema).to_batches())
            none = pa.nulls(len(part), pa.string())
            because = pa.concat_arrays(reasons.slice(start, TASK_ROWS).chunks)
            yield Candidates(rows, because, none).with_negatives(found.slice(start, TASK_ROWS))

    def _mine(self, corpus: Any, table: Any) -> list[str | None]:  # noqa: ANN401 - tables
        """A negative for each row of `table`, out of the texts of `view_b` in `corpus`."""
        import numpy as np
        import torch

        if not len(table):
            return []
        rows, sentences = _texts(table), _texts(corpus)
        places = {text: place for place, text in enumerate(dict.fromkeys(two for _, _, two in sentences))}
        found: defaultdict[str, set[int]] = defaultdict(set)
        for sentence in sentences:
            found[sentence[0]].update(places[text] for text in sentence if text in places)
        # What no pair of the sentence may have as its negative.
        own = {sentence: np.fromiter(each, np.int64) for sentence, each in found.items()}
        texts = list(places)
        numbers = {text: number for number, text in enumerate(dict.fromkeys([*texts, *(row[1] for row in rows)]))}
        model = sentence_encoder(self.weights, self.device)
        vectors = model.encode(
            list(numbers), batch_size=self.batch_size, normalize_embeddings=True, show_progress_bar=False,
            convert_to_tensor=True,
        )  # fmt: skip
        size = max(1, BLOCK_SCORES // len(texts))
        drawn: list[str | None] = []
        with progress("negatives", len(rows)) as advance, torch.inference_mode():
            for start in range(0, len(rows), size):
                block = rows[start : start + size]
                anchors, positives = (vectors[[numbers[row[side]] for row in block]] for side in (1, 2))
                scores = anchors @ vectors[: len(texts)].T
                scores[scores > ((anchors * positives).sum(dim=1) - self.wanted.margin)[:, None]] = -torch.inf
                hidden = [own[row[0]] for row in block]
                numbered = np.repeat(np.arange(len(block)), [len(each) for each in hidden])
                scores[torch.from_numpy(numbered), torch.from_numpy(np.concatenate(hidden))] = -torch.inf
                best, closest = scores.topk(min(self.wanted.within, len(texts)))
                counts = torch.isfinite(best).sum(dim=1).tolist()
                ids = table["id"].slice(start, len(block)).to_pylist()
                for id, ranks, count in zip(ids, closest.tolist(), counts, strict=True):
                    drawn.append(self._drawn(id, [texts[place] for place in ranks[self.wanted.skip : count]]))
                advance(len(block))
        return drawn

    def _drawn(self, id: str, candidates: Sequence[str]) -> str | None:
        """One of the candidates, by the seed and the pair's id."""
        draw = xxhash.xxh64_intdigest(f"{self.seed}|{id}".encode())
        return candidates[draw % len(candidates)] if candidates else None


def _texts(table: Any) -> list[tuple[str, str, str]]:  # noqa: ANN401 - a table
    """The sentence and both views of pairs; of pairs without a sentence, `view_a` stands for it."""
    columns = (table[name].to_pylist() for name in ("text", "view_a", "view_b"))
    return [(text or one, one, two) for text, one, two in zip(*columns, strict=True)]


def mined(
    files: tuple[PairFile, ...], wanted: Mining, weights: Path, revision: str, device: str, batch_size: int
) -> Mined:
    """The pairs of some files, to be given negatives by an encoder at a revision.

    Raises:
        InputError: The files have columns of one name that hold different things.
    """
    import pyarrow as pa

    try:
        schema = pa.unify_schemas([read_table(file.path, file.sha256).schema for file in files])
    except pa.ArrowException as error:
        raise InputError(
            f"{files[0].path.parent} holds files of different columns ({error}): give one of them"
        ) from None
    more = {field.name: field.type for field in schema if field.name not in (*PAIR_COLUMNS, NEGATIVE)}
    inputs = [Input(name=str(each.path), sha256=each.sha256 or sha256_of(each.path), rows=each.rows) for each in files]
    how = f"rank {wanted.skip + 1} to {wanted.within} by {wanted.encoder}, {wanted.margin:g} below the positive"
    return Mined(
        policy="mined",
        unit="read",
        inputs=inputs,
        params={**asdict(wanted), "revision": revision, "seed": None, "limit": None},
        made_by={NEGATIVE: how},
        columns={**more, NEGATIVE: pa.string()},
        seed=wanted.seed,
        limit=wanted.limit,
        files=files,
        wanted=wanted,
        weights=weights,
        device=device,
        batch_size=batch_size,
    )
