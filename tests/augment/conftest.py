"""Small real models, an empty user's cache, and this machine's WordNet."""

import os
from pathlib import Path

os.environ.setdefault("HF_HUB_OFFLINE", "1")  # before anything imports the Hub's client

import pytest
from samples import ENGLISH, ENGLISH_LINES, FRENCH, GERMAN, build_marian, wordpiece

from augment.errors import InputError
from augment.lexicon import wordnet


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
    """Our folder in an empty user's cache."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "twinviews"


@pytest.fixture(scope="session")
def real_wordnet() -> Path:
    """The WordNet of this machine."""
    try:
        return wordnet.find()
    except InputError as error:
        pytest.skip(str(error))
