"""Small real models in the file layout of the big ones: translators that know a few sentences, a random MLM."""

import json
import os
import shutil
from pathlib import Path

os.environ.setdefault("HF_HUB_OFFLINE", "1")  # before anything imports the Hub's client

import pytest
import torch
from fillmodels import ENGLISH as ENGLISH_LINES
from fillmodels import wordpiece
from learnt import ENGLISH, FRENCH, GERMAN, MARIAN, MARIAN_POSITIONS
from sentencepiece import SentencePieceTrainer
from transformers import MarianConfig, MarianMTModel, MarianTokenizer

from augment import wordnet
from augment.errors import InputError


def build_marian(folder: Path, pairs: list[tuple[str, str]], codes: tuple[str, ...] = ()) -> Path:
    """A MarianMT that has learnt `pairs` by heart, in Marian's own layout: end 0, unknown 1, padding last."""
    folder.mkdir(parents=True)
    text = [*GERMAN, *GERMAN.values(), *FRENCH.values(), *ENGLISH.values()]
    SentencePieceTrainer.train(
        sentence_iterator=iter([line for line in text if line] * 20),
        model_prefix=str(folder / "source"),
        vocab_size=55,
        bos_id=-1,
        eos_id=0,
        unk_id=1,
        minloglevel=2,
    )
    (folder / "source.model").rename(folder / "source.spm")
    shutil.copyfile(folder / "source.spm", folder / "target.spm")
    pieces = [line.partition("\t")[0] for line in (folder / "source.vocab").read_text(encoding="utf-8").splitlines()]
    ids = {piece: number for number, piece in enumerate([*pieces, *(f">>{code}<<" for code in codes), "<pad>"])}
    (folder / "vocab.json").write_text(json.dumps(ids), encoding="utf-8")
    tokenizer = MarianTokenizer(
        str(folder / "source.spm"), str(folder / "target.spm"), str(folder / "vocab.json"), model_max_length=512
    )
    assert len(tokenizer) == len(ids)
    tokenizer.save_pretrained(folder)
    torch.manual_seed(1)
    pad = len(ids) - 1
    config = MarianConfig(
        **MARIAN,
        vocab_size=len(ids),
        max_position_embeddings=MARIAN_POSITIONS,
        pad_token_id=pad,
        decoder_start_token_id=pad,
    )
    model = MarianMTModel(config)
    _learn(model, tokenizer, pairs)
    model.save_pretrained(folder)
    return folder


def _learn(model: object, tokenizer: object, pairs: list[tuple[str, str]]) -> None:
    batch = tokenizer([source for source, _ in pairs], padding=True, return_tensors="pt")  # type: ignore[operator]
    targets = tokenizer(text_target=[target for _, target in pairs], padding=True, return_tensors="pt")  # type: ignore[operator]
    labels = targets["input_ids"].masked_fill(targets["attention_mask"] == 0, -100)
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)  # type: ignore[attr-defined]
    for _ in range(400):
        loss = model(**batch, labels=labels).loss  # type: ignore[operator]
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        if loss.item() < 0.005:
            break
    assert loss.item() < 0.05


@pytest.fixture(scope="session")
def translation_models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of models in the bundled layout: en-xx (to German and French, by a code) and xx-en."""
    base = tmp_path_factory.mktemp("translation")
    there = [(f">>de<< {source}", target) for source, target in GERMAN.items()]
    there += [(f">>fr<< {source}", target) for source, target in FRENCH.items()]
    build_marian(base / "en-xx", there, codes=("de", "fr"))
    build_marian(base / "xx-en", list(ENGLISH.items()))
    return base


@pytest.fixture(scope="session")
def encoder_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A random BertForMaskedLM with an English WordPiece vocabulary."""
    return wordpiece(tmp_path_factory.mktemp("encoder"), lines=ENGLISH_LINES)


@pytest.fixture
def user_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache of the user's: our folder in it."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "twinviews"


@pytest.fixture(scope="session")
def real_wordnet() -> Path:
    """The WordNet of this machine."""
    try:
        return wordnet.find()
    except InputError as error:
        pytest.skip(str(error))
