"""Tiny BERTs whose vocabulary is a list of words."""

from pathlib import Path

import torch
from transformers import BertConfig, BertForMaskedLM, BertModel, BertTokenizerFast


def write_bert(
    folder: Path,
    words: list[str],
    *,
    masked_lm: bool = True,
    half: bool = False,
    positions: int = 32,
    spread: float = 0.2,
) -> Path:
    """Write a plain transformers directory of 16 dimensions and 2 layers; with half, in float16."""
    tokens = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *words]
    # transformers 5 takes the vocabulary itself; an unknown argument would leave the special tokens alone.
    vocabulary = {token: index for index, token in enumerate(tokens)}
    tokenizer = BertTokenizerFast(vocab=vocabulary, model_max_length=positions)
    assert len(tokenizer) == len(tokens)
    torch.manual_seed(3)
    config = BertConfig(
        vocab_size=len(tokens), hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=32,
        max_position_embeddings=positions, initializer_range=spread,
    )  # fmt: skip
    model = (BertForMaskedLM if masked_lm else BertModel)(config)
    (model.half() if half else model).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder
