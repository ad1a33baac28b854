"""Parallel text: reading it, holding it as token ids, and packing it into batches of a token budget."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import Dataset, Sampler

from pipelines.console import InputError
from trainers.data.ragged import Ragged

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from transformers import MarianTokenizer

Row = tuple[list[int], list[int]]

POOL = 100
"""Batches are sorted by length within pools of about this many, so that their content stays random."""


def read_parallel(path: Path) -> list[tuple[str, str]]:
    """Read `source<TAB>target` lines; further fields are ignored, empty sides and blank lines skipped.

    Raises:
        InputError: The file is missing, is no UTF-8, or a line has no tab, with the line's number.
    """
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise InputError(f"cannot read parallel text {path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is no UTF-8 text: byte {error.start} is {error.object[error.start]:#04x}") from error
    pairs = []
    for number, line in enumerate(text.split("\n"), start=1):
        fields = [field.strip() for field in line.split("\t")]
        if len(fields) < 2 and fields[0]:
            raise InputError(f"{path} line {number} has no tab: {line[:60]!r}; expected source<TAB>target")
        if len(fields) > 1 and fields[0] and fields[1]:
            pairs.append((fields[0], fields[1]))
    if not pairs:
        raise InputError(f"{path} holds no sentence pair; expected lines of source<TAB>target")
    return pairs


class ParallelIds(Dataset[Row]):
    """Sentence pairs as token ids, both ending in the end symbol."""

    def __init__(self, pairs: Sequence[tuple[str, str]], tokenizer: MarianTokenizer, max_tokens: int) -> None:
        limits = {"truncation": True, "max_length": max_tokens}
        self.sources = Ragged.of(tokenizer([source for source, _ in pairs], **limits)["input_ids"])
        self.targets = Ragged.of(tokenizer(text_target=[target for _, target in pairs], **limits)["input_ids"])

    def __len__(self) -> int:
        return len(self.sources)

    def __getitem__(self, index: int) -> Row:
        return self.sources[index], self.targets[index]


class TokenBatches(Sampler[list[int]]):
    """Every row once an epoch, in batches of sentences of like length that hold about `budget` target tokens.

    All epochs are one sequence, so that a resumed run skips to its place in it; the last may be a part of one.
    """

    def __init__(self, rows: ParallelIds, *, budget: int, epochs: float, seed: int) -> None:
        self.batches: list[list[int]] = []
        for epoch in range(math.ceil(epochs)):
            self.batches += _epoch(np.diff(rows.sources.starts), np.diff(rows.targets.starts), budget, (seed, epoch))
        del self.batches[max(1, round(len(self.batches) * epochs / math.ceil(epochs))) :]

    def __len__(self) -> int:
        return len(self.batches)

    def __iter__(self) -> Iterator[list[int]]:
        return iter(self.batches)


def _epoch(
    sources: NDArray[np.int64], targets: NDArray[np.int64], budget: int, seed: tuple[int, int]
) -> list[list[int]]:
    random = np.random.default_rng(seed)
    order = random.permutation(len(targets))
    pool = int(POOL * budget / max(targets.mean(), 1)) + 1
    batches: list[list[int]] = []
    for start in range(0, len(order), pool):
        rows = order[start : start + pool]
        rows = rows[np.lexsort((sources[rows], targets[rows]))]
        batch: list[int] = []
        for row in rows.tolist():
            # Rows come in order of length, so the newest is the widest of its batch.
            if batch and (len(batch) + 1) * targets[row] > budget:
                batches.append(batch)
                batch = []
            batch.append(row)
        batches.append(batch)
    return [batches[index] for index in random.permutation(len(batches))]


@dataclass(frozen=True, slots=True)
class Padded:
    """Collates rows into the arguments of `Translation.forward`."""

    padding: int

    def __call__(self, rows: Sequence[Row]) -> dict[str, Tensor]:
        """Return input_ids and attention_mask (sentences, source tokens), labels (sentences, target tokens)."""
        sources, targets = ([torch.tensor(side) for side in sides] for sides in zip(*rows, strict=True))
        input_ids = pad_sequence(sources, batch_first=True, padding_value=self.padding)
        labels = pad_sequence(targets, batch_first=True, padding_value=-100)
        return {"input_ids": input_ids, "attention_mask": (input_ids != self.padding).long(), "labels": labels}
