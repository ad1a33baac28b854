"""Several files of pairs mixed into one by weight: which share of each, and in which order."""

import hashlib
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import islice

import numpy as np
import pyarrow as pa
import xxhash

from augment.errors import InputError
from pipelines.files import sha256_of
from pipelines.filter import about_name
from pipelines.pairing.source import TASK_ROWS, Candidates, PairSource, whole_reasons
from pipelines.pairs import NEGATIVE, PAIR_COLUMNS, PairFile, pair_files
from pipelines.plan import Input
from pipelines.shards import BATCH_ROWS, read_table

SOURCE = "source"


@dataclass(frozen=True, slots=True)
class Ingredient:
    """A file or folder of pairs and its weight in the mixture."""

    name: str
    weight: Fraction
    files: tuple[PairFile, ...]
    rows: int
    sha256: str


def ingredients(mix: Sequence[str]) -> list[Ingredient]:
    """The files of pairs that `PATH=WEIGHT` (or `PATH`, of weight 1) name.

    Raises:
        InputError: None or the same one twice, no pairs there, or a weight that is not above zero.
    """
    if not mix:
        raise InputError("--pairs mixture needs files of pairs: e.g. --mix data/pairs.arrow=2 --mix data/nli.arrow=1")
    parts = [_ingredient(each) for each in mix]
    names = [part.name for part in parts]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise InputError(f"--mix names {twice} twice: name it once, with the sum of the weights")
    return parts


def _ingredient(written: str) -> Ingredient:
    path, equals, number = written.rpartition("=")
    name = path if equals else written
    try:
        weight = Fraction(number.strip()) if equals else Fraction(1)
    except (ValueError, ZeroDivisionError):
        weight = Fraction(0)
    if weight <= 0:
        raise InputError(f"--mix {written}: the weight {number!r} is no number above 0: write PATH=WEIGHT")
    # With a hash each, those too that came without one: another file in its place would not have so many rows.
    files = tuple(replace(file, sha256=sha256_of(file.path)) for file in pair_files(name))
    rows = sum(file.rows for file in files)
    if not rows:
        raise InputError(f"--mix {name} holds no pairs: leave it out, or make it again")
    hashes = "".join(file.sha256 or "" for file in files)
    digest = hashes if len(files) == 1 else hashlib.sha256(hashes.encode()).hexdigest()
    return Ingredient(name, weight, files, rows, digest)


def shares(parts: Sequence[Ingredient], limit: int | None) -> list[int]:
    """How many pairs each part gives: proportional to the weights, to within one pair, and as many as there can be.

    The part that is smallest for its weight is used up, unless `limit`, the most pairs in all, is lower.
    """
    whole = sum((part.weight for part in parts), Fraction(0))
    total = min(part.rows * whole / part.weight for part in parts) // 1
    total = total if limit is None else min(total, limit)
    exact = [total * part.weight / whole for part in parts]
    counts = [int(share) for share in exact]
    by_remainder = sorted(range(len(parts)), key=lambda i: (counts[i] - exact[i], i))
    for i in by_remainder[: int(total) - sum(counts)]:
        counts[i] += 1
    return counts


def mixture(parts: Sequence[Ingredient], seed: int = 0, limit: int | None = None) -> PairSource:
    """Mix pairs: their columns, `source`, which names the part, and what all parts have beyond these.

    Pairs are drawn and interleaved by the seed; each part keeps its own order.
    """
    schemas = [read_table(file.path, file.sha256).schema for part in parts for file in part.files]
    common = {
        field.name: field.type
        for field in schemas[0]
        if field.name not in (*PAIR_COLUMNS, SOURCE, NEGATIVE)
        and all(field.name in each.names and each.field(field.name).type == field.type for each in schemas)
    }
    if any(NEGATIVE in schema.names for schema in schemas):  # a part without has nulls
        common[NEGATIVE] = pa.string()
    counts = shares(parts, limit)
    drawn = zip(parts, counts, strict=True)
    return PairSource(
        policy="mixture",
        unit="drawn",
        inputs=[Input(name=part.name, sha256=part.sha256, rows=part.rows) for part in parts],
        tasks=_mix(parts, counts, pa.schema([*((name, pa.string()) for name in PAIR_COLUMNS), *common.items()]), seed),
        about=about_name,
        params={"mix": {part.name: str(part.weight) for part in parts}},
        made_by={part.name: f"weight {part.weight}, {count:,} drawn of {part.rows:,}" for part, count in drawn},
        columns={SOURCE: pa.string(), **common},
        seed=seed,
        limit=limit,
    )


def _mix(parts: Sequence[Ingredient], counts: Sequence[int], schema: pa.Schema, seed: int) -> Iterator[Candidates]:
    """The pairs that are drawn; nothing is held in memory but some batches of each part."""
    drawn = [
        _draw(part, count, schema, _generator(seed, str(number)))
        for number, (part, count) in enumerate(zip(parts, counts, strict=True))
    ]
    order = _order(counts, _generator(seed, "order"))
    waiting = [schema.empty_table() for _ in drawn]
    while numbers := list(islice(order, TASK_ROWS)):
        taken = []
        for number, count in enumerate(np.bincount(numbers, minlength=len(drawn)).tolist()):
            while len(waiting[number]) < count:
                waiting[number] = pa.concat_tables([waiting[number], next(drawn[number])])
            taken.append(waiting[number].slice(0, count))
            waiting[number] = waiting[number].slice(count)
        # Row k of a part goes where its number stands for the k-th time.
        places = np.argsort(np.argsort(numbers, kind="stable"))
        pairs = pa.concat_batches([pa.concat_tables(taken).take(places).combine_chunks().to_batches()[0]])
        source = pa.array([parts[number].name for number in numbers])
        yield Candidates(pairs.append_column(SOURCE, source), whole_reasons(pairs), source)


def _order(counts: Sequence[int], draw: random.Random) -> Iterator[int]:
    """The number of the part that each pair comes from, drawn by what is left of each."""
    left = list(counts)
    for total in range(sum(left), 0, -1):
        place, number = int(draw.random() * total), 0
        while place >= left[number]:
            place -= left[number]
            number += 1
        left[number] -= 1
        yield number


def _draw(part: Ingredient, count: int, schema: pa.Schema, draw: random.Random) -> Iterator[pa.Table]:
    """`count` pairs in their order, drawn at random (Knuth's algorithm S)."""
    unseen = part.rows
    for file in part.files:
        whole = read_table(file.path, file.sha256)
        if NEGATIVE in schema.names and NEGATIVE not in whole.schema.names:
            whole = whole.append_column(NEGATIVE, pa.nulls(len(whole), pa.string()))
        for start in range(0, len(whole), BATCH_ROWS):
            table, taken = whole.select(schema.names).slice(start, BATCH_ROWS).cast(schema), []
            for row in range(len(table)):
                # random() alone draws the same numbers under every version of Python.
                if count and draw.random() * unseen < count:
                    taken.append(row)
                    count -= 1
                unseen -= 1
            yield table.take(pa.array(taken, pa.int64()))


def _generator(seed: int, name: str) -> random.Random:
    return random.Random(xxhash.xxh64_intdigest(f"{seed}|{name}".encode()))
