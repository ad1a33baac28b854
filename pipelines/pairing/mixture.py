"""Several files of pairs mixed into one by weight: which share of each, and in which order."""

import hashlib
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import islice
from typing import Any, Literal

import xxhash

from augment.errors import InputError
from pipelines.files import sha256_of
from pipelines.filter import About, about_name
from pipelines.pairing.candidates import Rows, candidates
from pipelines.pairs import PAIR_COLUMNS, PairFile, pair_files
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
    found = [_ingredient(each) for each in mix]
    names = [each.name for each in found]
    double = next((name for name in names if names.count(name) > 1), None)
    if double is not None:
        raise InputError(f"--mix {double} is given twice: give it once, with the sum of the weights")
    return found


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
    files = tuple(PairFile(file.path, sha256_of(file.path)) for file in pair_files(name))
    rows = sum(read_table(file.path, file.sha256).num_rows for file in files)
    if not rows:
        raise InputError(f"--mix {name} holds no pairs: leave it out, or make it again")
    hashes = "".join(file.sha256 or "" for file in files)
    digest = hashes if len(files) == 1 else hashlib.sha256(hashes.encode()).hexdigest()
    return Ingredient(name, weight, files, rows, digest)


def shares(parts: Sequence[Ingredient], limit: int | None, *, repeat: bool) -> list[int]:
    """How many pairs each part gives: proportional to the weights, to within one pair, and as many as there can be.

    Without `repeat` the part that is smallest for its weight is used up and none gives a pair twice. With it, the part
    that is largest for its weight is used up and the others start again.

    Args:
        parts: The parts.
        limit: The most pairs in all; with `repeat` as many as that, if given.
        repeat: Whether pairs may stand in the mixture more than once.
    """
    whole = sum((part.weight for part in parts), Fraction(0))
    sizes = [part.rows * whole / part.weight for part in parts]
    total = -(-max(sizes) // 1) if repeat else min(sizes) // 1
    if limit is not None:
        total = limit if repeat else min(total, limit)
    exact = [total * part.weight / whole for part in parts]
    counts = [int(share) for share in exact]
    by_remainder = sorted(range(len(parts)), key=lambda i: (counts[i] - exact[i], i))
    for i in by_remainder[: int(total) - sum(counts)]:
        counts[i] += 1
    return counts


@dataclass(frozen=True, slots=True)
class Mixture:
    """A mixture: pairs of every part, drawn and interleaved by a seed; each part keeps its own order.

    Nothing is held in memory but a batch of each part.
    """

    parts: Sequence[Ingredient]
    seed: int = 0
    limit: int | None = None
    repeat: bool = False
    policy: Literal["mixture"] = "mixture"
    unit: str = "drawn"
    ways: int = 1

    @property
    def shares(self) -> list[int]:
        """How many pairs of each part are drawn."""
        return shares(self.parts, self.limit, repeat=self.repeat)

    def params(self) -> Mapping[str, Any]:
        """The parts' names, which stand in the rows, their weights, and whether pairs are repeated."""
        return {"mix": {part.name: str(part.weight) for part in self.parts}, "repeat": self.repeat}

    def inputs(self) -> list[Input]:
        """The files of pairs."""
        return [Input(name=part.name, sha256=part.sha256, rows=part.rows) for part in self.parts]

    def made_by(self) -> dict[str, str]:
        """The parts, their weights, and how much of each is drawn."""
        return {
            part.name: f"weight {part.weight}, {count:,} drawn of {part.rows:,}"
            for part, count in zip(self.parts, self.shares, strict=True)
        }

    def columns(self) -> Mapping[str, Any]:
        """`source`, the name of the part, and what all parts have beyond the columns of pairs."""
        import pyarrow as pa

        schemas = [read_table(file.path, file.sha256).schema for part in self.parts for file in part.files]
        common = {field.name: field.type for field in schemas[0] if all(_has(schema, field) for schema in schemas)}
        extra = {name: kind for name, kind in common.items() if name not in (*PAIR_COLUMNS, SOURCE)}
        return {SOURCE: pa.string(), **extra}

    def about(self, name: str) -> About:
        """What the name of a side says of it."""
        return about_name(name)

    def candidates(self) -> Iterator[Any]:
        """A candidate a pair that is drawn; which part comes next is drawn by what is left of each."""
        import numpy as np
        import pyarrow as pa
        import pyarrow.compute as pc

        schema = pa.schema([*((name, pa.string()) for name in PAIR_COLUMNS), *self.columns().items()])
        schema = schema.remove(schema.get_field_index(SOURCE))
        drawn = [
            Rows(_drawn(part, count, schema, _generator(self.seed, str(number))))
            for number, (part, count) in enumerate(zip(self.parts, self.shares, strict=True))
        ]
        order = self._order()
        while numbers := list(islice(order, BATCH_ROWS)):
            counts = np.bincount(numbers, minlength=len(drawn))
            taken = [rows.take(count) for rows, count in zip(drawn, counts.tolist(), strict=True) if count]
            # Row k of a part goes where its number stands for the k-th time.
            places = np.argsort(np.argsort(numbers, kind="stable"))
            pairs = pa.concat_batches(taken).take(pa.array(places))
            source = pa.array([self.parts[number].name for number in numbers])
            whole = pc.and_(pairs["view_a"].is_valid(), pairs["view_b"].is_valid())
            reason = pc.if_else(whole, None, "a view is missing")
            yield candidates(dict(zip(schema.names, pairs.columns, strict=True)) | {SOURCE: source}, reason, source)

    def _order(self) -> Iterator[int]:
        """The number of the part that each pair comes from."""
        left = self.shares
        draw = _generator(self.seed, "order")
        for total in range(sum(left), 0, -1):
            place, number = int(draw.random() * total), 0
            while place >= left[number]:
                place -= left[number]
                number += 1
            left[number] -= 1
            yield number


def _generator(seed: int, name: str) -> random.Random:
    return random.Random(xxhash.xxh64_intdigest(f"{seed}|{name}".encode()))


def _drawn(part: Ingredient, count: int, schema: Any, draw: random.Random) -> Iterator[Any]:  # noqa: ANN401 - as above
    """`count` pairs in their order: all of them as often as that goes, then a random part (Knuth's algorithm S)."""
    import pyarrow as pa

    while count >= part.rows:
        yield from _batches(part, schema)
        count -= part.rows
    unseen = part.rows
    for batch in _batches(part, schema) if count else ():
        taken = []
        for row in range(batch.num_rows):
            # random() alone draws the same numbers under every version of Python.
            if count and draw.random() * unseen < count:
                taken.append(row)
                count -= 1
            unseen -= 1
        yield batch.take(pa.array(taken, pa.int64()))
        if not count:
            return


def _batches(part: Ingredient, schema: Any) -> Iterator[Any]:  # noqa: ANN401 - a pyarrow schema, and record batches
    for file in part.files:
        for batch in read_table(file.path, file.sha256).select(schema.names).to_batches(max_chunksize=BATCH_ROWS):
            yield batch.cast(schema)


def _has(schema: Any, field: Any) -> bool:  # noqa: ANN401 - a pyarrow schema and field
    return field.name in schema.names and schema.field(field.name).type == field.type
