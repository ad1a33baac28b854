"""Small random masked language models whose tokenizers are real ones of each kind, trained on a few hundred lines."""

import json
import random
from collections.abc import Callable, Sequence
from pathlib import Path

import torch
import transformers
from tokenizers import ByteLevelBPETokenizer, SentencePieceUnigramTokenizer, Tokenizer
from tokenizers.models import WordPiece
from tokenizers.normalizers import BertNormalizer
from tokenizers.pre_tokenizers import BertPreTokenizer
from tokenizers.trainers import WordPieceTrainer
from transformers import BertTokenizer, RobertaTokenizer, XLMRobertaTokenizer

SAMPLE = Path(__file__).parents[2] / "pipelines" / "sample" / "sentences.txt"
ENGLISH = SAMPLE.read_text(encoding="utf-8").splitlines()
RUSSIAN_WORDS = """
мальчик девочка женщина мужчина собака кошка книга река город улица парк дом окно дверь стол вода музыка гитара поезд
читает играет пьёт бежит сидит стоит смотрит говорит поёт спит большой старый красивый холодный новый белый красный
быстро тихо громко сегодня вчера около потом всегда здесь на под над для после вместе утром вечером зимой летом
"""
FRENCH_WORDS = """
garçon élève frère forêt rivière château été côté café fenêtre école église père mère tête fête bière lumière étoile
préfère lève achète répète célèbre légère première dernière derrière après très même être à où déjà là près
"""


def _shuffled(words: str, lines: int) -> list[str]:
    draw = random.Random(0)
    return [" ".join(draw.sample(words.split(), 7)).capitalize() + "." for _ in range(lines)]


RUSSIAN, FRENCH = _shuffled(RUSSIAN_WORDS, 300), _shuffled(FRENCH_WORDS, 200)
TEXT = [*ENGLISH, *RUSSIAN, *FRENCH]
POSITIONS = 64


def wordpiece(folder: Path, *, lowercase: bool = True, lines: Sequence[str] = TEXT) -> Path:
    """BERT's: pieces that go on have ##."""
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    trained = Tokenizer(WordPiece(unk_token="[UNK]"))
    trained.normalizer = BertNormalizer(lowercase=lowercase)
    trained.pre_tokenizer = BertPreTokenizer()
    trained.train_from_iterator(lines, WordPieceTrainer(vocab_size=1600, special_tokens=special))
    tokenizer = BertTokenizer(vocab=trained.get_vocab(), do_lower_case=lowercase, model_max_length=POSITIONS)
    return _saved(folder, tokenizer, "Bert")


def byte_level(folder: Path) -> Path:
    """RoBERTa's: bytes, and Ġ for the space before a word."""
    trained = ByteLevelBPETokenizer()
    special = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    trained.train_from_iterator(TEXT, vocab_size=2000, special_tokens=special, show_progress=False)
    trained.save_model(str(folder))
    tokenizer = RobertaTokenizer(
        vocab=str(folder / "vocab.json"), merges=str(folder / "merges.txt"), model_max_length=POSITIONS
    )
    return _saved(folder, tokenizer, "Roberta")


def sentencepiece(folder: Path) -> Path:
    """XLM-R's: a unigram model, and ▁ for the space before a word."""
    trained = SentencePieceUnigramTokenizer()
    special = ["<s>", "<pad>", "</s>", "<unk>"]
    trained.train_from_iterator(TEXT, vocab_size=1600, special_tokens=special, unk_token="<unk>", show_progress=False)
    pieces = json.loads(trained.to_str())["model"]["vocab"]
    tokenizer = XLMRobertaTokenizer(vocab=[*map(tuple, pieces), ("<mask>", 0.0)], model_max_length=POSITIONS)
    return _saved(folder, tokenizer, "XLMRoberta")


KINDS: dict[str, Callable[[Path], Path]] = {
    "wordpiece": wordpiece,
    "wordpiece-cased": lambda folder: wordpiece(folder, lowercase=False),
    "byte-level": byte_level,
    "sentencepiece": sentencepiece,
}


def _saved(folder: Path, tokenizer: object, kind: str) -> Path:
    tokenizer.save_pretrained(folder)  # type: ignore[attr-defined]
    torch.manual_seed(5)
    settings = getattr(transformers, f"{kind}Config")(
        vocab_size=len(tokenizer),  # type: ignore[arg-type]
        hidden_size=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=POSITIONS,
        pad_token_id=tokenizer.pad_token_id,  # type: ignore[attr-defined]
        initializer_range=0.5,
    )
    getattr(transformers, f"{kind}ForMaskedLM")(settings).save_pretrained(folder)
    return folder
