"""Pairs to train on, from one file or several: all of their rows, or as many of each as its weight says."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from operator import itemgetter
from pathlib import Path
from random import Random

import xxhash
from datasets import Dataset, concatenate_datasets

from pipelines.console import InputError
from trainers.data.examples import Examples, Texts, text_columns

PAIRS = Path("data/pairs.arrow")
NEGATIVE = "negative"
"""The column of hard negatives, null where a row has none; pairs may lack it."""


@dataclass(frozen=True, slots=True)
class Part:
    """One file or folder of pairs and its weight, None where none was given."""

    path: Path
    weight: Fraction | None = None

    def __str__(self) -> str:
        return self.path.as_posix() + (f"={self.weight}" if self.weight is not None else "")


def read_parts(written: Sequence[str]) -> list[Part]:
    """Understand `FILE` and `FILE=WEIGHT`; a file whose own name holds a `=` is that file.

    Raises:
        InputError: A weight that is no number above 0, no such file, or a file given twice.
    """
    parts = [_part(each) for each in written]
    for number, part in enumerate(parts):
        if any(part.path == other.path for other in parts[:number]):
            raise InputError(f"--views {part.path} is given twice: give it once, with the sum of the weights")
    return parts


def _part(written: str) -> Part:
    name, equals, number = written.rpartition("=")
    weight = None
    if not equals or Path(written).exists():
        name = written
    else:
        try:
            weight = Fraction(number.strip())
        except (ValueError, ZeroDivisionError):
            weight = Fraction(0)
        if weight <= 0:
            raise InputError(f"--views {written}: the weight {number!r} is no number above 0: write FILE=WEIGHT")
    if not Path(name).exists():
        raise InputError(f"no pairs at {name!r}: run `augment build-pairs`, or give --views FILE")
    return Part(Path(name), weight)


def from_pairs(parts: Sequence[Part], limit: int | None = None, seed: int = 1) -> Examples:
    """Read files or folders of pairs, one after the other; rows with a missing or blank view are left out and counted.

    Of one file the first `limit` rows are taken. Of several without any weight all rows are taken, or their even share
    of `limit`. With weights (1 where a part has none) the parts stand in that proportion, as `augment build-pairs
    --mix` has it: the part that is smallest for its weight is used up and no row comes twice. Which rows of a part are
    left out is drawn by `seed`.

    Raises:
        InputError: Not a pairs dataset, or nothing usable in it.
    """
    found = [_read(part.path, limit if len(parts) == 1 else None) for part in parts]
    usable = [rows for rows, _ in found]
    if len(parts) > 1:
        sizes = [len(rows) for rows in usable]
        weighted = any(part.weight is not None for part in parts)
        weights = [part.weight or Fraction(1) for part in parts] if weighted else [Fraction(size) for size in sizes]
        counts = shares(sizes, weights, limit)
        usable = [
            _draw(rows, count, seed, number) for number, (rows, count) in enumerate(zip(usable, counts, strict=True))
        ]
    rows = concatenate_datasets(usable)
    return Examples(
        texts=Texts(
            rows, lambda block: [text or left for text, left in zip(block["text"], block["view_a"], strict=True)]
        ),
        left=Texts(rows.select_columns(["view_a"]), itemgetter("view_a")),
        right=Texts(rows.select_columns(["view_b"]), itemgetter("view_b")),
        dropped=sum(dropped for _, dropped in found),
        negatives=_negatives(rows),
    )


def _negatives(rows: Dataset) -> Texts | None:
    if NEGATIVE not in rows.column_names:
        return None
    return Texts(
        rows.select_columns([NEGATIVE]), lambda block: [(negative or "").strip() for negative in block[NEGATIVE]]
    )


def _read(path: Path, limit: int | None) -> tuple[Dataset, int]:
    """Return the rows of a file that have both views, and how many have not."""
    from pipelines.pairs import read_pairs

    rows = read_pairs(path)
    rows = text_columns(rows, path, ["text", "view_a", "view_b", *{NEGATIVE}.intersection(rows.column_names)])
    if limit is not None:
        rows = rows.select(range(min(limit, len(rows))))
    views = (Texts(rows.select_columns([side]), itemgetter(side)) for side in ("view_a", "view_b"))
    kept = [
        row for row, pair in enumerate(zip(*views, strict=True)) if all(view and not view.isspace() for view in pair)
    ]
    if not kept:
        raise InputError(f"{path} has no row with two views: build pairs with `augment build-pairs`")
    dropped = len(rows) - len(kept)
    return rows.select(kept, keep_in_memory=True) if dropped else rows, dropped


def shares(rows: Sequence[int], weights: Sequence[Fraction], limit: int | None) -> list[int]:
    """Return how many rows each part gives: in proportion to the weights to within one row, as many as there can be.

    Args:
        rows: Rows of each part; none gives a row twice.
        weights: Its weight, above 0.
        limit: The most rows in all.
    """
    whole = sum(weights, Fraction(0))
    total = int(min(count * whole / weight for count, weight in zip(rows, weights, strict=True)))
    if limit is not None:
        total = min(total, limit)
    exact = [total * weight / whole for weight in weights]
    counts = [int(share) for share in exact]
    by_remainder = sorted(range(len(rows)), key=lambda i: (counts[i] - exact[i], i))
    for i in by_remainder[: total - sum(counts)]:
        counts[i] += 1
    return counts


def _draw(rows: Dataset, count: int, seed: int, part: int) -> Dataset:
    if count == len(rows):
        return rows
    draw = Random(xxhash.xxh64_intdigest(f"{seed}|mixture|{part}".encode()))
    return rows.select(sorted(draw.sample(range(len(rows)), count)), keep_in_memory=True)
