"""Parallel text: read, given a joint SentencePiece vocabulary in Marian's layout, and packed into batches of tokens."""

import json
import math
import re
import shutil
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from sentencepiece import SentencePieceTrainer
from torch.utils.data import Dataset
from transformers import MarianTokenizer

from pipelines.console import InputError
from trainers.data.rows import Ragged

PADDING = "<pad>"
CODE = re.compile(r">>[^<>\s]+<< ?")
"""A target language code at the start of a source."""
POOL = 100
"""Batches are sorted by length within pools of about this many, so that their content stays random."""


def read_parallel(path: Path) -> list[tuple[str, str]]:
    """Read `source<TAB>target` lines; further fields are ignored, empty sides and blank lines skipped.

    Raises:
        InputError: The file is missing, is no UTF-8, or a line has no tab, with the line's number.
    """
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"cannot read parallel text {path} ({error}): give a file of UTF-8 text") from None
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


def build_tokenizer(texts: Iterable[str], folder: Path, *, size: int, codes: Sequence[str] = ()) -> MarianTokenizer:
    """Train a unigram vocabulary on sentences of both sides and write it to `folder` as a MarianTokenizer.

    It has `size` ids in all, special tokens and target language codes (such as ">>de<<") included, in Marian's own
    layout: end 0, unknown 1, padding last; CTranslate2 refuses a model whose padding is not the last. Raises InputError
    where the text is too little for so large a vocabulary.
    """
    folder.mkdir(parents=True, exist_ok=True)
    try:
        SentencePieceTrainer.train(
            sentence_iterator=iter(texts),
            model_prefix=str(folder / "source"),
            vocab_size=size - len(codes) - 1,
            character_coverage=0.9998,
            bos_id=-1,
            eos_id=0,
            unk_id=1,
            num_threads=1,
            input_sentence_size=500_000,
            shuffle_input_sentence=True,
            minloglevel=2,
        )
    except RuntimeError as error:
        raise InputError(
            f"no vocabulary of {size} ids can be built from this text ({str(error).rpartition('] ')[2]}): "
            "give more text or a smaller --vocabulary"
        ) from error
    source, target, vocabulary = (folder / name for name in ("source.spm", "target.spm", "vocab.json"))
    (folder / "source.model").rename(source)
    shutil.copyfile(source, target)
    pieces = [line.partition("\t")[0] for line in (folder / "source.vocab").read_text(encoding="utf-8").splitlines()]
    (folder / "source.vocab").unlink()
    ids = {piece: number for number, piece in enumerate([*pieces, *codes, PADDING])}
    vocabulary.write_text(json.dumps(ids, ensure_ascii=False), encoding="utf-8")
    tokenizer = MarianTokenizer(str(source), str(target), str(vocabulary), model_max_length=512)
    if len(tokenizer) != size:  # transformers ignores arguments that it does not know
        raise ValueError(f"vocabulary of {len(tokenizer)} ids instead of {size}")
    tokenizer.save_pretrained(folder)
    return tokenizer


def make_tokenizer(pairs: Sequence[tuple[str, str]], folder: Path, *, given: Path | None, size: int) -> MarianTokenizer:
    """Return a copy of a given tokenizer, or a new one of `size` ids for these pairs, written to `folder`.

    Raises:
        InputError: `given` holds none, or none can be built from so little text.
    """
    if given is None:
        texts = (CODE.sub("", side) for pair in pairs for side in pair)
        build_tokenizer(texts, folder, size=size, codes=language_codes(pairs))
    elif given.is_dir():
        shutil.copytree(given, folder, dirs_exist_ok=True)
    else:
        raise InputError(f"no tokenizer at {str(given)!r}: give --tokenizer a folder that has one")
    return load_tokenizer(str(folder))


def language_codes(pairs: Sequence[tuple[str, str]]) -> list[str]:
    """Return the target language codes that sources begin with, such as [">>de<<", ">>fr<<"], sorted."""
    found = (CODE.match(source) for source, _ in pairs)
    return sorted({match.group(0).strip() for match in found if match})


def load_tokenizer(start: str) -> MarianTokenizer:
    """Return the tokenizer of a MarianMT directory or Hub name; raises InputError where there is none."""
    try:
        return MarianTokenizer.from_pretrained(start)
    except (OSError, ValueError, TypeError) as error:
        raise InputError(f"{start!r} holds no MarianMT model: give a directory of one, or a name on the Hub") from error


class ParallelIds(Dataset[dict[str, list[int]]]):
    """Sentence pairs as token ids, both ending in the end symbol."""

    def __init__(self, pairs: Sequence[tuple[str, str]], tokenizer: MarianTokenizer, max_tokens: int) -> None:
        limits = {"truncation": True, "max_length": max_tokens}
        self.sources = Ragged.of(tokenizer([source for source, _ in pairs], **limits)["input_ids"])
        self.targets = Ragged.of(tokenizer(text_target=[target for _, target in pairs], **limits)["input_ids"])

    def __len__(self) -> int:
        return len(self.sources)

    def __getitem__(self, index: int) -> dict[str, list[int]]:
        return {"input_ids": self.sources[index], "labels": self.targets[index]}


def token_batches(rows: ParallelIds, *, budget: int, epochs: float, seed: int) -> list[list[int]]:
    """Return every row once an epoch, in batches of sentences of like length that hold about `budget` target tokens.

    All epochs are one sequence, so that a resumed run skips to its place in it; the last may be a part of one.
    """
    batches: list[list[int]] = []
    for epoch in range(math.ceil(epochs)):
        batches += _epoch(rows.sources.lengths, rows.targets.lengths, budget, (seed, epoch))
    return batches[: max(1, round(len(batches) * epochs / math.ceil(epochs)))]


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
