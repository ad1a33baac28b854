"""What the parts of `gpu.py` share: the device, costs, the table, and models of random weights with their texts."""

from __future__ import annotations

import gc
import random
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple, TypeVar

import torch
from opus_sized import OPUS_MT
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors
from transformers import BertConfig, BertForMaskedLM, PreTrainedTokenizerFast

T = TypeVar("T")
SAMPLE = Path(__file__).parent.parent / "pipelines" / "sample" / "sentences.txt"
CUDA = torch.cuda.is_available()
DEVICE = torch.device("cuda" if CUDA else "cpu")
SPECIAL = {
    "pad_token": "[PAD]",
    "unk_token": "[UNK]",
    "cls_token": "[CLS]",
    "sep_token": "[SEP]",
    "mask_token": "[MASK]",
}
COLUMNS = ("what", "ours", "peer", "ratio", "our GiB", "peer's GiB", "loss off by")


@dataclass(frozen=True)
class Sizes:
    """How much each part does; `bert` are BertConfig's sizes, by default BERT-base's."""

    opus: Mapping[str, int] = field(default_factory=lambda: OPUS_MT)
    bert: Mapping[str, int] = field(default_factory=dict)
    translated: int = 2_048
    filled: int = 8_192
    encoded: int = 1_000_000
    peer_encoded: int = 50_000
    queries: int = 2_000
    pairs: int = 256
    most_pairs: int = 32_768
    tokens: int = 32
    steps: int = 5
    trained: int = 1_000_000
    scored: int = 1_000


SMALL = Sizes(
    opus={"d_model": 64, "ffn": 128, "heads": 4, "layers": 1, "vocabulary": 8_100},
    bert={
        "num_hidden_layers": 1,
        "hidden_size": 64,
        "num_attention_heads": 4,
        "intermediate_size": 128,
        "vocab_size": 4_000,
    },
    translated=8,
    filled=16,
    encoded=500,
    peer_encoded=100,
    queries=8,
    pairs=6,
    most_pairs=16,
    tokens=16,
    steps=1,
    trained=32,
    scored=8,
)


class Cost(NamedTuple):
    """Seconds, and the most memory that tensors took on the GPU, in GiB, if there is one."""

    seconds: float
    memory: float | None

    @property
    def cell(self) -> str:
        """The memory as the table has it."""
        return "–" if self.memory is None else f"{self.memory:.2f}"


def measured(work: Callable[[], object], times: int = 1) -> Cost:
    """What one of `times` runs of `work` takes."""
    if CUDA:
        torch.cuda.synchronize()
        torch.cuda.reset_peak_memory_stats()
    start = time.perf_counter()
    for _ in range(times):
        work()
    if CUDA:
        torch.cuda.synchronize()
    seconds = (time.perf_counter() - start) / times
    return Cost(seconds, torch.cuda.max_memory_allocated() / 2**30 if CUDA else None)


def free() -> None:
    """Give back the memory of what is no longer used."""
    gc.collect()
    if CUDA:
        torch.cuda.empty_cache()


def fitting(what: str, size: int, run: Callable[[int], T]) -> tuple[int, T]:
    """The largest of `size`, its half and so on that the memory holds, and its outcome; a line says if it is less."""
    tried = size
    while True:
        free()
        try:
            outcome = run(tried)
            break
        except torch.OutOfMemoryError:
            if tried == 1:
                raise
        tried //= 2  # outside of `except`: the error holds tensors
    free()
    if tried < size:
        print(f"{what}: out of memory with a batch of {size:,}; {tried:,} fits", file=sys.stderr)
    return tried, outcome


@dataclass
class Table:
    """The rows, printed as they come."""

    lines: list[str] = field(default_factory=list)

    def show(self, line: str) -> None:
        """Add a line."""
        self.lines.append(line)
        print(line, flush=True)

    def row(self, *cells: str) -> None:
        """Add a row; cells at the end may be missing."""
        self.show(f"| {' | '.join([*cells, *[''] * (len(COLUMNS) - len(cells))])} |")

    def rates(self, what: str, count: int, ours: Cost, theirs: Cost, their_count: int | None = None) -> None:
        """Add how many of `what` are done a second."""
        rates = count / ours.seconds, (their_count or count) / theirs.seconds
        cells = [f"{rate:,.0f}/s" if rate >= 10 else f"{rate:.2g}/s" for rate in rates]
        self.row(what, *cells, f"{rates[0] / rates[1]:.2f}", ours.cell, theirs.cell)


def words() -> list[str]:
    """The distinct plain words of the sample corpus."""
    corpus = set(SAMPLE.read_text("utf-8").split())
    return sorted(
        word for word in corpus if word.isascii() and word.isalpha() and word.islower() and len(word) > 1
    )


def sentences(count: int, least: int, most: int) -> list[str]:
    """So many rows of random words, the same in every run."""
    draws, vocabulary = random.Random(0), words()
    return [" ".join(draws.choices(vocabulary, k=draws.randint(least, most))) for _ in range(count)]


def write_bert(folder: Path, sizes: Mapping[str, int]) -> None:
    """Write a masked language model of random weights; dropout is 0, so that its losses can be compared.

    Its vocabulary has the words of the sample, each as one token.
    """
    torch.manual_seed(0)
    config = BertConfig(**sizes, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)
    letters = [chr(number) for number in range(ord("a"), ord("z") + 1)]
    names = [*SPECIAL.values(), *letters, *(f"##{letter}" for letter in letters), *words()]
    names += [f"[unused{number}]" for number in range(config.vocab_size - len(names))]
    ids = {name: number for number, name in enumerate(names)}
    tokenizer = Tokenizer(models.WordPiece(ids, unk_token="[UNK]"))
    tokenizer.normalizer, tokenizer.pre_tokenizer = (
        normalizers.BertNormalizer(),
        pre_tokenizers.BertPreTokenizer(),
    )
    tokenizer.decoder = decoders.WordPiece()
    tokenizer.post_processor = processors.BertProcessing(("[SEP]", ids["[SEP]"]), ("[CLS]", ids["[CLS]"]))
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, model_max_length=512, **SPECIAL).save_pretrained(
        folder
    )
    BertForMaskedLM(config).save_pretrained(folder)
