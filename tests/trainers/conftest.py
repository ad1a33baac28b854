"""A tiny BERT with a real WordPiece vocabulary, and sentences to train it on."""

import gc
import random
from pathlib import Path

import pytest

SENTENCE = """
    a the man woman dog cat child horse bird plays eats sees holds rides reads guitar apple ball book river
    house tree red blue small old young big in on near under with and quickly slowly street garden
"""
WORDS = SENTENCE.split()


@pytest.fixture(scope="module", autouse=True)
def frozen() -> None:
    """Keep what is imported out of the garbage collections that Trainer ends with: they are half of a tiny training."""
    gc.freeze()


@pytest.fixture(scope="session")
def sentences() -> list[str]:
    draw = random.Random(7)
    made = dict.fromkeys(" ".join(draw.choices(WORDS, k=draw.randint(4, 9))) for _ in range(60))
    return list(made)[:48]


@pytest.fixture(scope="session")
def text_file(sentences: list[str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("text") / "sentences.txt"
    path.write_text("\n".join(sentences) + "\n", encoding="utf-8")
    return path


def make_bert(folder: Path, *, masked_lm: bool = True, dtype: str = "float32") -> Path:
    import torch
    from transformers import BertConfig, BertForMaskedLM, BertModel, BertTokenizerFast

    folder.mkdir(parents=True, exist_ok=True)
    letters = [chr(code) for code in range(ord("a"), ord("z") + 1)]
    vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *letters, *(f"##{c}" for c in letters), *WORDS[1:]]
    # transformers 5 takes the vocabulary itself; an unknown argument would leave the special tokens alone.
    tokenizer = BertTokenizerFast(vocab={token: index for index, token in enumerate(vocabulary)}, model_max_length=32)
    assert len(tokenizer) == len(vocabulary)
    torch.manual_seed(3)
    config = BertConfig(
        vocab_size=len(vocabulary),
        hidden_size=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=32,
        initializer_range=0.2,
    )
    model = (BertForMaskedLM if masked_lm else BertModel)(config).to(getattr(torch, dtype))
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


@pytest.fixture(scope="session")
def tiny_bert(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A BertForMaskedLM of 16 dimensions, 2 layers and 32 positions."""
    return make_bert(tmp_path_factory.mktemp("bert"))


@pytest.fixture(scope="session")
def bare_bert(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same without a masked-LM head, stored in half precision."""
    return make_bert(tmp_path_factory.mktemp("bare"), masked_lm=False, dtype="float16")
