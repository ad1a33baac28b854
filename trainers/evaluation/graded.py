"""Graded sentence pairs as they were read, with where they came from."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from trainers.evaluation.benchmarks import Benchmark


@dataclass(frozen=True, slots=True)
class Graded:
    """One pair of sentences and the mean of its human grades (0-5 in the STS sets, 1-5 in SICK)."""

    first: str
    second: str
    gold: float


@dataclass(frozen=True, slots=True)
class GradedSet:
    """A benchmark's pairs by subset; without subset names in the source there is one subset, `whole`.

    `source` is a folder or a Hub name; `files` maps what was read to its sha256; `note` is what a reader of the
    scores must know about this copy. `counted`: comparable with papers, so part of the average.
    """

    benchmark: Benchmark
    subsets: Mapping[str, tuple[Graded, ...]]
    source: str
    files: Mapping[str, str] = field(default_factory=dict)
    note: str | None = None
    counted: bool = True
    whole: bool = False

    @property
    def pairs(self) -> int:
        """The number of graded pairs."""
        return sum(len(pairs) for pairs in self.subsets.values())

    def texts(self) -> Iterable[str]:
        """Yield both sides of every pair."""
        for pairs in self.subsets.values():
            for pair in pairs:
                yield pair.first
                yield pair.second

    def sha256(self) -> str:
        """Return a checksum of the pairs themselves, the same for the same pairs in any layout."""
        digest = hashlib.sha256()
        for name, pairs in self.subsets.items():
            for pair in pairs:
                digest.update(f"{name}\t{pair.gold:g}\t{pair.first}\t{pair.second}\n".encode())
        return digest.hexdigest()


@dataclass(frozen=True, slots=True)
class Missing:
    """A benchmark that could not be found: what was looked for, and where it is to be had."""

    benchmark: Benchmark
    reason: str
    where: str

    def __str__(self) -> str:
        return f"{self.benchmark.title}: {self.reason}; to be had from {self.where}"


def file_sha256(path: Path) -> str:
    """Return a file's sha256 in hexadecimal."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
