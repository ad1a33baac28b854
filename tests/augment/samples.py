"""What tests of views share: sentences, small real models in the files of the big ones, and what a mistake gives."""

import gzip
import json
import os
import random
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from sentencepiece import SentencePieceTrainer
from tokenizers import ByteLevelBPETokenizer, SentencePieceUnigramTokenizer, Tokenizer
from tokenizers.models import WordPiece
from tokenizers.normalizers import BertNormalizer
from tokenizers.pre_tokenizers import BertPreTokenizer
from tokenizers.trainers import WordPieceTrainer
from transformers import BertTokenizer, MarianConfig, MarianMTModel, MarianTokenizer, RobertaTokenizer
from transformers import XLMRobertaTokenizer as XlmTokenizer

from augment.errors import InputError
from augment.view import View, ViewSpec, make_view

TEXTS = [
    "A man is playing the guitar on stage.",
    "Two dogs run through “green” grass, isn't it?",
    "The  U.S. bought 3.5% unbelievable things for their children because of the happy weather.",
    "Children like ice cream (boys mostly), of course.",
    "Cars were quickly repaired near the enormous house while the people were talking about their large boat. "
    * 2,
    "NASA",
]
DATA = Path(os.environ.get("TWINVIEWS_TEST_DATA", Path(__file__).parents[2].parent / "shared" / "data"))


@contextmanager
def refused(*said: str) -> Iterator[None]:
    """Check that the block raises an InputError of one line that contains what is `said`."""
    with pytest.raises(InputError) as caught:
        yield
    assert all(part in str(caught.value) for part in said)
    assert "\n" not in str(caught.value)


@cache
def real_sentences(count: int) -> list[str]:
    """A seeded sample, equally from captions, STS-B's training set and Mirror-BERT's 10,000 sentences of it."""
    captions = DATA / "corpora" / "multi30k-task2" / "train.1.en.gz"
    pairs = DATA / "sts" / "stsbenchmark" / "sts-train.csv"
    sample = DATA / "corpora" / "stsbenchmark_train_10k_sents_random_sampled.txt"
    if not all(path.is_file() for path in (captions, pairs, sample)):
        pytest.skip("no research data: set TWINVIEWS_TEST_DATA")
    with gzip.open(captions, "rt", encoding="utf-8") as lines:
        texts = [[line.rstrip("\n") for line in lines]]
    texts.append(
        [cell for line in pairs.open(encoding="utf-8") for cell in line.rstrip("\n").split("\t")[5:7]]
    )
    texts.append(sample.read_text(encoding="utf-8").splitlines())
    return [text for part in texts for text in random.Random(0).sample(part, count // 3)]


def built(name: str, **params: Any) -> View:  # noqa: ANN401
    """A view; the test is skipped if it needs a WordNet that is not installed."""
    try:
        return make_view(ViewSpec(name, params), device="cpu")
    except InputError as error:
        if "WordNet was not found" in str(error):
            pytest.skip(str(error))
        raise


GUITAR, DOGS, COPIED, LOOPING, EMPTY = (
    "A man is playing a guitar.",
    "Two dogs run.",
    "The old woman bought a car.",
    "Stop that now.",
    "The child eats.",
)
GERMAN = {
    GUITAR: "Ein Mann spielt Gitarre.",
    DOGS: "Zwei Hunde rennen.",
    COPIED: COPIED,
    LOOPING: "ja ja ja ja ja ja ja ja ja ja ja ja",
    EMPTY: "",
}
FRENCH = {GUITAR: "Un homme joue de la guitare.", DOGS: "Deux chiens courent."}
PARAPHRASE = "A man plays the guitar."
ENGLISH = {
    GERMAN[GUITAR]: PARAPHRASE,
    GERMAN[DOGS]: DOGS,
    FRENCH[GUITAR]: PARAPHRASE,
    FRENCH[DOGS]: "Two dogs.",
}
POSITIONS = 64


def random_marian(size: int, layers: int = 1, **settings: Any) -> MarianMTModel:  # noqa: ANN401
    """An untrained MarianMT in Marian's own layout: end 0, unknown 1, padding last of `size` tokens."""
    sizes = {"layers": layers, "ffn_dim": 64, "attention_heads": 2 * layers}
    config = {f"{half}_{name}": value for half in ("encoder", "decoder") for name, value in sizes.items()}
    config |= {
        "eos_token_id": 0,
        "forced_eos_token_id": None,
        "d_model": 32,
        "dropout": 0.0,
        "scale_embedding": True,
    }
    config |= {"vocab_size": size, "pad_token_id": size - 1, "decoder_start_token_id": size - 1, **settings}
    return MarianMTModel(MarianConfig(max_position_embeddings=POSITIONS, **config))


def build_marian(folder: Path, pairs: Sequence[tuple[str, str]], codes: Sequence[str] = ()) -> None:
    """Write a MarianMT that has learnt `pairs` by heart, with its own vocabulary."""
    folder.mkdir(parents=True)
    text = [line for line in (*GERMAN, *GERMAN.values(), *FRENCH.values(), *ENGLISH.values()) if line]
    settings = {
        "model_prefix": str(folder / "source"),
        "bos_id": -1,
        "eos_id": 0,
        "unk_id": 1,
        "minloglevel": 2,
    }
    SentencePieceTrainer.train(sentence_iterator=iter(text * 20), vocab_size=55, **settings)
    (folder / "source.model").rename(folder / "source.spm")
    shutil.copyfile(folder / "source.spm", folder / "target.spm")
    pieces = [
        line.partition("\t")[0] for line in (folder / "source.vocab").read_text(encoding="utf-8").splitlines()
    ]
    ids = {
        piece: number for number, piece in enumerate([*pieces, *(f">>{code}<<" for code in codes), "<pad>"])
    }
    (folder / "vocab.json").write_text(json.dumps(ids), encoding="utf-8")
    files = (str(folder / name) for name in ("source.spm", "target.spm", "vocab.json"))
    tokenizer = MarianTokenizer(*files, model_max_length=512)
    assert len(tokenizer) == len(ids)
    tokenizer.save_pretrained(folder)
    torch.manual_seed(1)
    model = random_marian(len(ids))
    batch = tokenizer([source for source, _ in pairs], padding=True, return_tensors="pt")
    targets = tokenizer(text_target=[target for _, target in pairs], padding=True, return_tensors="pt")
    labels = targets["input_ids"].masked_fill(targets["attention_mask"] == 0, -100)
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    for _ in range(400):
        loss = model(**batch, labels=labels).loss
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        if loss.item() < 0.005:
            break
    assert loss.item() < 0.05
    model.save_pretrained(folder)


SAMPLE = Path(__file__).parents[2] / "pipelines" / "sample" / "sentences.txt"
ENGLISH_LINES = SAMPLE.read_text(encoding="utf-8").splitlines()
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


RUSSIAN_LINES, FRENCH_LINES = _shuffled(RUSSIAN_WORDS, 300), _shuffled(FRENCH_WORDS, 200)
TEXT = [*ENGLISH_LINES, *RUSSIAN_LINES, *FRENCH_LINES]
MARKS = ["<s>", "<pad>", "</s>", "<unk>"]


def wordpiece(folder: Path, *, lowercase: bool = True, lines: Sequence[str] = TEXT) -> Path:
    """Like BERT: pieces inside a word have ##."""
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    trained = Tokenizer(WordPiece(unk_token="[UNK]"))
    trained.normalizer, trained.pre_tokenizer = BertNormalizer(lowercase=lowercase), BertPreTokenizer()
    trained.train_from_iterator(lines, WordPieceTrainer(vocab_size=1600, special_tokens=special))
    tokenizer = BertTokenizer(vocab=trained.get_vocab(), do_lower_case=lowercase, model_max_length=POSITIONS)
    return _saved(folder, tokenizer, "Bert")


def byte_level(folder: Path) -> Path:
    """Like RoBERTa: bytes, and Ġ for the space before a word."""
    trained = ByteLevelBPETokenizer()
    trained.train_from_iterator(TEXT, 2000, special_tokens=[*MARKS, "<mask>"], show_progress=False)
    vocab, merges = trained.save_model(str(folder))
    return _saved(folder, RobertaTokenizer(vocab=vocab, merges=merges, model_max_length=POSITIONS), "Roberta")


def sentencepiece(folder: Path) -> Path:
    """Like XLM-R: a unigram model, and ▁ for the space before a word."""
    trained = SentencePieceUnigramTokenizer()
    trained.train_from_iterator(TEXT, 1600, special_tokens=MARKS, unk_token="<unk>", show_progress=False)
    pieces = json.loads(trained.to_str())["model"]["vocab"]
    tokenizer = XlmTokenizer(vocab=[*map(tuple, pieces), ("<mask>", 0.0)], model_max_length=POSITIONS)
    return _saved(folder, tokenizer, "XLMRoberta")


KINDS: dict[str, Callable[[Path], Path]] = {
    "wordpiece": wordpiece,
    "wordpiece-cased": lambda folder: wordpiece(folder, lowercase=False),
    "byte-level": byte_level,
    "sentencepiece": sentencepiece,
}


def _saved(folder: Path, tokenizer: Any, kind: str) -> Path:  # noqa: ANN401
    tokenizer.save_pretrained(folder)
    torch.manual_seed(5)
    shape = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32}
    sizes = {
        "vocab_size": len(tokenizer),
        "max_position_embeddings": POSITIONS,
        "pad_token_id": tokenizer.pad_token_id,
    }
    config = getattr(transformers, f"{kind}Config")(**shape, **sizes, initializer_range=0.5)
    getattr(transformers, f"{kind}ForMaskedLM")(config).save_pretrained(folder)
    return folder
