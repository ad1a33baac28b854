"""Several files of pairs mixed into one by weight: which share of each, and in which order."""

import hashlib
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, Literal

import xxhash

from augment.errors import InputError
from pipelines.files import sha256_of
from pipelines.filter import about_name
from pipelines.pairing.candidates import Candidate, PairCounts
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

    def candidates(self, counts: PairCounts) -> Iterator[Candidate]:
        """A candidate a pair that is drawn; which part comes next is drawn by what is left of each."""
        names = [name for name in (*PAIR_COLUMNS, *self.columns()) if name != SOURCE]
        left = self.shares
        draw = _generator(self.seed, "order")
        drawn = [
            _drawn(part, count, names, _generator(self.seed, str(number)))
            for number, (part, count) in enumerate(zip(self.parts, left, strict=True))
        ]
        about = lru_cache(maxsize=1_000)(about_name)
        while total := sum(left):
            place, number = int(draw.random() * total), 0
            while place >= left[number]:
                place -= left[number]
                number += 1
            left[number] -= 1
            counts.read += 1
            row = {**next(drawn[number]), SOURCE: self.parts[number].name}
            sides = about(row["view_a_name"]), about(row["view_b_name"])
            reason = "a view is missing" if row["view_a"] is None or row["view_b"] is None else None
            yield Candidate(row, sides, reason, part=row[SOURCE])


def _generator(seed: int, name: str) -> random.Random:
    return random.Random(xxhash.xxh64_intdigest(f"{seed}|{name}".encode()))


def _drawn(part: Ingredient, count: int, names: Sequence[str], draw: random.Random) -> Iterator[dict[str, Any]]:
    """`count` pairs in their order: all of them as often as that goes, then a random part (Knuth's algorithm S)."""
    while count >= part.rows:
        yield from _rows(part, names)
        count -= part.rows
    unseen = part.rows
    for row in _rows(part, names) if count else ():
        # random() alone draws the same numbers under every version of Python.
        if draw.random() * unseen < count:
            yield row
            count -= 1
            if not count:
                return
        unseen -= 1


def _rows(part: Ingredient, names: Sequence[str]) -> Iterator[dict[str, Any]]:
    for file in part.files:
        for batch in read_table(file.path, file.sha256).select(list(names)).to_batches():
            for start in range(0, batch.num_rows, BATCH_ROWS):
                yield from batch.slice(start, BATCH_ROWS).to_pylist()


def _has(schema: Any, field: Any) -> bool:  # noqa: ANN401 - a pyarrow schema and field
    return field.name in schema.names and schema.field(field.name).type == field.type
