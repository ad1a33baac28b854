"""CTranslate2 against transformers, which is the reference, and what the bundled models do."""

import json
import shutil
import subprocess
import sys
from functools import cache
from itertools import product
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file
from samples import DOGS, GERMAN, GUITAR, refused
from transformers import MarianTokenizer

from augment.models.device import padded
from augment.translate import marian
from augment.translate.decoding import Decoding, Vocabulary, parse_decoding
from augment.translate.marian import MarianTranslator, Translation
from augment.translate.model_names import resolve_models

SENTENCES = [
    "A man is riding a bicycle down the street.",
    "Two children are playing with a dog in the garden.",
    "Where did you buy this book?",
    "The weather is very nice today.",
    "She bought three apples, two oranges and a bottle of milk at the market.",
    "A group of people are standing in front of a large building, waiting for the bus to arrive.",
    "No!",
    "My brother's friend works in a hospital in the north of the country.",
    "A woman in a red dress is taking a picture of a man who is holding a little girl's hand by the river.",
    "He didn't know what to say.",
    "The train leaves at half past seven.",
]
ENGINES = ("ctranslate2", "transformers")
ODD = [
    "",
    "  ",
    "我喜欢狗。",
    "a\0b",
    "naïve café ☕ 🙂",
    ">>fr<< Where is he?",
    "</s> A man. <pad>",
    "x" * 300,
]


@cache
def starter(engine: str, decode: str = "greedy", precision: str = "fp32") -> MarianTranslator:
    model = resolve_models("starter", "en", "de")
    decoding = parse_decoding(decode)
    return MarianTranslator(model.path, model.prefix, decoding, engine=engine, precision=precision)


def comparable(found: Translation) -> Translation:
    """Without the text of a bad one: transformers leaves a loop that CTranslate2 writes to the end."""
    return found if found.reason is None else found._replace(text=None)


@pytest.mark.parametrize("decode", ["greedy", "beam:4", "beam:3"])
def test_both_engines_write_the_same_texts(decode: str) -> None:
    texts = SENTENCES + ODD
    ours, theirs = (starter(name, decode).translate(texts) for name in ENGINES)
    assert [*map(comparable, ours)] == [*map(comparable, theirs)]
    assert sum(found.reason is None for found in ours) >= len(SENTENCES)


@pytest.mark.parametrize(
    "decoding",
    [Decoding(), Decoding(num_beams=4, hypotheses=4), Decoding(repetition_penalty=1.3), Decoding().retry()],
)
def test_both_engines_search_alike(decoding: Decoding) -> None:
    model = resolve_models("starter", "en", "de")
    vocabulary = Vocabulary(model.path)
    sources = vocabulary.encode(SENTENCES, model.prefix)
    width = padded(len(sources[0]), vocabulary.limit)
    equal = sorted(
        (ids for ids in sources if padded(len(ids), vocabulary.limit) == width), key=len, reverse=True
    )
    assert len(equal) > 4
    made = (MarianTranslator(model.path, None, decoding, name, "fp32")._engine for name in ENGINES)
    ours, theirs = (engine.search(equal, decoding, []) for engine in made)
    assert ours == theirs


@pytest.mark.exhaustive_after(1)
@pytest.mark.parametrize(
    ("engine", "decode"), [("ctranslate2", "greedy"), *product(ENGINES[1:], ["greedy", "top-p:.9"])]
)
def test_a_shorter_search_first_changes_nothing(
    engine: str, decode: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = [*SENTENCES, *ODD, "Hahahahahahahahahahahahahahahaha!"]
    runs = []
    for length in (2.0, 0.0):  # at 0, sentences of more than 16 tokens need the second search
        monkeypatch.setattr(marian, "USUAL_LENGTH", length)
        runs.append([*map(comparable, starter(engine, decode).translate(texts, range(len(texts))))])
    assert runs[0] == runs[1]
    assert runs[0][-1].retried == (decode == "greedy")


@pytest.mark.parametrize("precision", ["int8", "fp32"])
def test_a_longer_neighbour_changes_no_rounding(precision: str) -> None:
    """In int8, both gave another text in a batch with one of 16 tokens: attention sums in the order of the width."""
    translator = starter("ctranslate2", precision=precision)
    neighbour = "A man in a black jacket is standing on a snowy mountain today."
    for text in (
        "But even official events have political overtones.",
        "How can you experiment freely on your own?",
    ):
        assert translator.translate([text, neighbour])[0] == translator.translate([text])[0]


@pytest.fixture
def copied(translation_models: Path, user_cache: Path, tmp_path: Path) -> Path:
    """A copy of the model from English."""
    return Path(shutil.copytree(translation_models / "en-xx", tmp_path / "en-xx"))


def test_neither_language_codes_nor_padding_are_written(copied: Path) -> None:
    vocabulary, state = Vocabulary(copied), load_file(copied / "model.safetensors")
    bias = torch.zeros(1, len(vocabulary.source))
    bias[0, vocabulary.suppress_tokens] = 100.0
    save_file({**state, "final_logits_bias": bias}, copied / "model.safetensors", {"format": "pt"})
    for engine, decode in product(ENGINES, ("greedy", "beam:3")):
        translator = MarianTranslator(copied, ">>de<<", parse_decoding(decode), engine, "fp32")
        assert [found.text for found in translator.translate([DOGS])] == [GERMAN[DOGS]]


def test_any_token_may_be_the_padding(copied: Path) -> None:
    ids = json.loads((copied / "vocab.json").read_text(encoding="utf-8"))
    pad = ids["<pad>"]
    moved = {token: 2 if token == "<pad>" else number + (number >= 2) for token, number in ids.items()}
    (copied / "vocab.json").write_text(json.dumps(moved), encoding="utf-8")
    state, order = load_file(copied / "model.safetensors"), torch.tensor([0, 1, pad, *range(2, pad)])
    for name, value in state.items():
        if pad + 1 in value.shape:
            state[name] = value.index_select(value.shape.index(pad + 1), order)
    save_file(state, copied / "model.safetensors", {"format": "pt"})
    config = json.loads((copied / "config.json").read_text()) | {
        "pad_token_id": 2,
        "decoder_start_token_id": 2,
    }
    (copied / "config.json").write_text(json.dumps(config), encoding="utf-8")
    for engine in ENGINES:
        translator = MarianTranslator(copied, ">>de<<", engine=engine, precision="fp32")
        assert [found.text for found in translator.translate([GUITAR, DOGS])] == [GERMAN[GUITAR], GERMAN[DOGS]]


def test_token_ids_and_texts_are_those_of_the_tokenizer() -> None:
    path = resolve_models("starter", "en", "de").path
    vocabulary, tokenizer = Vocabulary(path), MarianTokenizer.from_pretrained(path)
    texts = [
        *SENTENCES,
        *GERMAN.values(),
        "我喜欢狗。",
        "naïve café ☕ 🙂",
        "a\0b",
        "x" * 300,
        "1,900  on (the) lines",
    ]
    for prefix in (">>de<<", None):
        sources = [f"{prefix} {text}" if prefix else text for text in texts]
        expected = [tuple(tokenizer(source)["input_ids"]) for source in sources]
        assert vocabulary.encode(texts, prefix) == expected
    ids = vocabulary.encode(texts)
    assert vocabulary.decode(ids) == [tokenizer.decode(row, skip_special_tokens=True).strip() for row in ids]
    assert (vocabulary.end, vocabulary.pad) == (tokenizer.eos_token_id, tokenizer.pad_token_id)
    codes = tokenizer.convert_tokens_to_ids([">>de<<", ">>fr<<"])
    assert vocabulary.suppress_tokens == sorted([*codes, vocabulary.pad])


def kept_in(cache: Path) -> Path:
    """The one finished conversion."""
    (folder,) = (cache / "ctranslate2").glob("[!.]*")
    return folder


def translated(models: Path) -> str | None:
    translator = MarianTranslator(models / "en-xx", ">>de<<", engine="ctranslate2", precision="fp32")
    return translator.translate([DOGS])[0].text


def test_a_model_is_converted_once_and_again_if_it_is_damaged(
    translation_models: Path, user_cache: Path
) -> None:
    before = sorted(translation_models.rglob("*"))
    assert translated(translation_models) == GERMAN[DOGS]
    first = kept_in(user_cache).stat().st_ino
    assert translated(translation_models) == GERMAN[DOGS]
    assert kept_in(user_cache).stat().st_ino == first
    assert sorted(translation_models.rglob("*")) == before
    files = {path: path.read_bytes() for path in kept_in(user_cache).iterdir()}
    assert len(files) > 2
    for path, content in files.items():
        for place in range(0, len(content), len(content) // 3 + 1):
            path.write_bytes(content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :])
            assert translated(translation_models) == GERMAN[DOGS]
            assert path.read_bytes() == content, f"byte {place} of {path}"
    (kept_in(user_cache) / "model.bin").write_bytes(b"cut")
    assert translated(translation_models) == GERMAN[DOGS]
    shutil.rmtree(user_cache)
    user_cache.write_text("a file where the folder should be", encoding="utf-8")
    with refused("cannot be stored there"):
        translated(translation_models)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_damaged_model_is_one_line(engine: str, copied: Path) -> None:
    weights = copied / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:1000])
    with refused(f"--models {copied}"):
        MarianTranslator(copied, ">>de<<", engine=engine, precision="fp32").translate([DOGS])


KILLED = """
import os, signal, sys
from pathlib import Path
from ctranslate2.specs import TransformerSpec
from augment.translate.marian import MarianTranslator
save = TransformerSpec.save
def cut(self, folder):
    save(self, folder)
    os.kill(os.getpid(), signal.SIGKILL)
TransformerSpec.save = cut
MarianTranslator(Path(sys.argv[1]), ">>de<<", engine="ctranslate2", precision="fp32").translate(["Two dogs run."])
"""


@pytest.mark.exhaustive
def test_a_killed_conversion_does_not_block_the_next_one(translation_models: Path, user_cache: Path) -> None:
    done = subprocess.run([sys.executable, "-c", KILLED, str(translation_models / "en-xx")], check=False)
    assert done.returncode == -9
    assert [*(user_cache / "ctranslate2").glob("[!.]*")] == []
    assert translated(translation_models) == GERMAN[DOGS]
    assert [path for path in (user_cache / "ctranslate2").iterdir() if path.is_dir()] == [kept_in(user_cache)]


WITHOUT_TORCH = """
import sys
from augment.view import ViewSpec, make_view
view = make_view(ViewSpec("backtranslate", {"pivot": "de", "models": sys.argv[1], "precision": "fp32"}), device="cpu")
(row,) = view(["Two dogs run."], [0])
print(row.pivot, *{"torch", "transformers"} & set(sys.modules))
"""


@pytest.mark.exhaustive
def test_a_converted_model_needs_neither_torch_nor_transformers(
    translation_models: Path, user_cache: Path
) -> None:
    command = [sys.executable, "-c", WITHOUT_TORCH, str(translation_models)]
    subprocess.run(command, check=True, capture_output=True)
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    assert done.stdout.strip() == GERMAN[DOGS]
