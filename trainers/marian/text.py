"""Parallel text: read, given a joint SentencePiece vocabulary in Marian's layout, and packed into batches of tokens."""

import io
import json
import math
import re
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from sentencepiece import SentencePieceProcessor, SentencePieceTrainer
from torch.utils.data import Dataset
from transformers import MarianTokenizer

from pipelines.terminal.console import InputError
from trainers.data.rows import Ragged
from trainers.files import file_lines

Pairs = Sequence[tuple[str, str]]
CODE = re.compile(r">>[^<>\s]+<< ?")  # a target language code at the start of a source
POOL = 100  # batches are sorted by length within pools of about this many, so that their content stays random


def read_parallel(path: Path) -> list[tuple[str, str]]:
    """Read `source<TAB>target` lines; further fields are ignored, blank lines and empty sides skipped.

    Raises InputError for a file (.gz too) that is missing or not UTF-8, for a line without a tab, and for no pair.
    """
    pairs = []
    for number, line in enumerate(file_lines(path), start=1):
        source, *rest = (field.strip() for field in line.split("\t"))
        if source and not rest:
            raise InputError(f"{path} line {number} has no tab: {line[:60]!r}; expected source<TAB>target")
        if source and rest[0]:
            pairs.append((source, rest[0]))
    if not pairs:
        raise InputError(f"{path} holds no sentence pair; expected lines of source<TAB>target")
    return pairs


def build_tokenizer(pairs: Pairs, size: int) -> MarianTokenizer:
    """Return a tokenizer with a unigram vocabulary trained on both sides of the pairs.

    It has `size` ids in all, special tokens and target language codes (such as ">>de<<") included, in Marian's layout
    (end 0, unknown 1, padding last), which CTranslate2 insists on. Raises InputError for too little text.
    """
    codes = sorted({code[0].strip() for source, _ in pairs if (code := CODE.match(source))})
    model = io.BytesIO()
    try:
        SentencePieceTrainer.train(
            sentence_iterator=(CODE.sub("", side) for pair in pairs for side in pair),
            model_writer=model,
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
        problem = f"no vocabulary of {size} ids can be built from this text ({str(error).rpartition('] ')[2]})"
        raise InputError(f"{problem}: give more text or a smaller --vocabulary") from error
    processor = SentencePieceProcessor(model_proto=model.getvalue())
    pieces = [*map(processor.id_to_piece, range(len(processor))), *codes, "<pad>"]
    with TemporaryDirectory() as scratch:
        files = [Path(scratch, name) for name in ("source.spm", "target.spm", "vocab.json")]
        for file in files[:2]:
            file.write_bytes(model.getvalue())
        files[2].write_text(json.dumps({piece: number for number, piece in enumerate(pieces)}), "utf-8")
        MarianTokenizer(*map(str, files), model_max_length=512).save_pretrained(scratch)
        return MarianTokenizer.from_pretrained(scratch)


class ParallelIds(Dataset[dict[str, list[int]]]):
    """Sentence pairs as token ids, both ending in the end symbol."""

    def __init__(self, pairs: Pairs, tokenizer: MarianTokenizer, max_tokens: int) -> None:
        limits = {"truncation": True, "max_length": max_tokens}
        self.sources = Ragged(tokenizer([source for source, _ in pairs], **limits)["input_ids"])
        self.targets = Ragged(tokenizer(text_target=[target for _, target in pairs], **limits)["input_ids"])

    def __len__(self) -> int:
        return len(self.sources)

    def __getitem__(self, index: int) -> dict[str, list[int]]:
        return {"input_ids": self.sources[index], "labels": self.targets[index]}


def token_batches(rows: ParallelIds, *, budget: int, epochs: float, seed: int) -> list[list[int]]:
    """Return batches of row numbers: sentences of similar length, up to `budget` target tokens with padding.

    Every row comes once an epoch; the last epoch may be partial. A resumed run finds its place in this sequence.
    """
    sources, targets = rows.sources.lengths, rows.targets.lengths
    pool = int(POOL * budget / max(targets.mean(), 1)) + 1
    batches: list[list[int]] = []
    for epoch in range(math.ceil(epochs)):
        random = np.random.default_rng((seed, epoch))
        order = random.permutation(len(targets))
        epoch_batches: list[list[int]] = []
        for start in range(0, len(order), pool):
            pool_rows = order[start : start + pool]
            batch: list[int] = []
            for row in pool_rows[np.lexsort((sources[pool_rows], targets[pool_rows]))].tolist():
                # Rows are sorted by length, so the newest is the longest of its batch.
                if batch and (len(batch) + 1) * targets[row] > budget:
                    epoch_batches.append(batch)
                    batch = []
                batch.append(row)
            epoch_batches.append(batch)
        batches += [epoch_batches[index] for index in random.permutation(len(epoch_batches))]
    return batches[: max(1, round(len(batches) * epochs / math.ceil(epochs)))]
