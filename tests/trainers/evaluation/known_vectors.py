"""An encoder whose vectors are given, and a tiny one of the shape of the bundled starter."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from pipelines.console import call
from trainers.cli import app
from trainers.evaluation.task import Missing, Task

# fmt: off
WORDS = [
    "the", "a", "cat", "dog", "man", "woman", "runs", "sleeps", "eats", "sings", "fast", "slowly",
    "here", "there", "red", "old", "young", "train", "plays", "stops",
]
# fmt: on


class Known:
    """An encoder that knows its texts' vectors, the rows of an array or of a sparse matrix."""

    name = title = "known"

    def __init__(self, texts: list[str], matrix: Any) -> None:  # noqa: ANN401 - either kind
        self.rows = {text: row for row, text in enumerate(texts)}
        self.matrix = matrix

    def encode(self, texts: Any, advance: Any = None) -> Any:  # noqa: ANN401 - any list, no bar
        return self.matrix[[self.rows[text] for text in texts]]

    def card(self) -> dict[str, Any]:
        return {}


def write_bert(directory: Path, positions: int = 32) -> Path:
    """Write a plain transformers directory with an MLM head and fp16 weights, the shape of the bundled starter."""
    import torch
    from transformers import BertConfig, BertForMaskedLM, BertTokenizerFast

    tokens = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS]
    vocabulary = {token: index for index, token in enumerate(tokens)}
    tokenizer = BertTokenizerFast(vocab=vocabulary, model_max_length=positions)
    assert len(tokenizer) == len(tokens)
    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=len(tokens), hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=32,
        max_position_embeddings=positions, initializer_range=0.5,
    )  # fmt: skip
    BertForMaskedLM(config).half().save_pretrained(directory)
    tokenizer.save_pretrained(directory)
    return directory


def evaluate(arguments: list[str]) -> int:
    """Run `train evaluate` and return its exit status."""
    return call(app, ["evaluate", *arguments])


def parted(read: Iterable[Task | Missing]) -> tuple[list[Any], list[Missing]]:
    """Return the sets of a suite that were found, and those that are missing."""
    items = list(read)
    return [item for item in items if isinstance(item, Task)], [item for item in items if isinstance(item, Missing)]
