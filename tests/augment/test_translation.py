from __future__ import annotations

import json
import random
import shutil
from itertools import product
from pathlib import Path

import pytest
from learnt import COPIED, DOGS, EMPTY, FRENCH, GERMAN, GUITAR, LOOPING, MARIAN_POSITIONS, PARAPHRASE
from refusals import refused

from augment.errors import InputError
from augment.translate.decoding import parse_decoding
from augment.translate.engines import resolve_precision
from augment.translate.marian import MarianTranslator, Translation
from augment.translate.models import resolve_models
from augment.view import ViewSpec, make_view

LEARNT = [GUITAR, DOGS, COPIED]


@pytest.mark.parametrize("decode", ["greedy", "beam:4", "beam:8"])
@pytest.mark.parametrize(("code", "expected"), [("de", GERMAN), ("fr", FRENCH)])
def test_the_code_before_the_source_chooses_the_language(
    translation_models: Path, decode: str, code: str, expected: dict[str, str]
) -> None:
    translator = MarianTranslator(translation_models / "en-xx", f">>{code}<<", parse_decoding(decode), precision="fp32")
    assert translator.translate([GUITAR, DOGS]) == [Translation(expected[GUITAR]), Translation(expected[DOGS])]


def test_the_output_depends_on_the_input_and_keeps_its_order(translation_models: Path) -> None:
    path = translation_models / "en-xx"
    translator = MarianTranslator(path, ">>de<<", precision="fp32", retries=False)
    texts = [GUITAR, DOGS, COPIED] * 4
    random.Random(0).shuffle(texts)
    assert [translation.text for translation in translator.translate(texts)] == [GERMAN[text] for text in texts]


@pytest.mark.parametrize(
    ("engine", "precision", "decode"),
    [
        *product(["transformers"], ["fp64", "fp32", "bf16"], ["greedy", "beam:3", "top-k:5"]),
        *product(["ctranslate2"], ["fp32", "int8"], ["greedy", "beam:3"]),
    ],
)
def test_a_translation_does_not_depend_on_its_batch(
    translation_models: Path, engine: str, precision: str, decode: str
) -> None:
    words = " ".join([*GERMAN, *FRENCH.values()]).split()
    draw = random.Random(7)
    texts = [" ".join(draw.choices(words, k=draw.randint(1, 14))) for _ in range(40)]
    path = translation_models / "en-xx"
    settings = {"decoding": parse_decoding(decode), "engine": engine, "precision": precision}
    alone = MarianTranslator(path, ">>de<<", **settings, batch_tokens=1)  # type: ignore[arg-type]
    together = MarianTranslator(path, ">>de<<", **settings, batch_tokens=100_000)  # type: ignore[arg-type]
    seeds = list(range(len(texts)))
    expected = alone.translate(texts, seeds)
    assert len({translation.text for translation in expected}) > 10
    assert together.translate(texts, seeds) == expected
    assert together.translate(texts[::-1], seeds[::-1]) == expected[::-1]


@pytest.mark.parametrize("engine", ["ctranslate2", "transformers"])
def test_sources_over_the_position_limit_fail_with_a_reason(translation_models: Path, engine: str) -> None:
    path = translation_models / "en-xx"
    translator = MarianTranslator(path, ">>de<<", engine=engine, precision="fp32", splits=False)
    longest = " ".join(["dogs"] * MARIAN_POSITIONS * 4)
    assert translator.translate([longest, DOGS, "  "]) == [
        Translation(None, "too-long"),
        Translation(GERMAN[DOGS]),
        Translation("", "empty"),
    ]


def test_a_source_exactly_at_the_position_limit_is_translated(translation_models: Path) -> None:
    translator = MarianTranslator(
        translation_models / "xx-en", decoding=parse_decoding("beam:2"), precision="fp32", splits=False
    )
    fitting = "Hund"
    from transformers import MarianTokenizer

    tokenizer = MarianTokenizer.from_pretrained(translation_models / "xx-en")
    while len(tokenizer(fitting + "d")["input_ids"]) <= MARIAN_POSITIONS:
        fitting += "d"
    assert len(tokenizer(fitting)["input_ids"]) == MARIAN_POSITIONS
    (translation,) = translator.translate([fitting])
    assert translation.reason != "too-long"
    (over,) = translator.translate([fitting + "d"])
    assert over == Translation(None, "too-long")


def test_a_code_in_the_text_is_text(translation_models: Path) -> None:
    translator = MarianTranslator(translation_models / "en-xx", ">>de<<", precision="fp32")
    (translation,) = translator.translate([">>fr<< " + GUITAR])
    assert translation.text != FRENCH[GUITAR]
    assert ">>" not in (translation.text or "")


def test_back_translation_tells_what_became_of_every_sentence(translation_models: Path) -> None:
    params = {"pivot": "de", "models": str(translation_models), "precision": "fp32", "retry": False}
    view = make_view(ViewSpec("backtranslate", params))
    texts = [GUITAR, DOGS, COPIED, LOOPING, EMPTY]
    views = view(texts, range(5))
    assert [(viewed.status, viewed.reason, viewed.text, viewed.pivot) for viewed in views] == [
        ("ok", None, PARAPHRASE, GERMAN[GUITAR]),
        ("unchanged", None, DOGS, GERMAN[DOGS]),
        ("failed", "pivot-copied", None, None),
        ("failed", "pivot-repetition", None, None),
        ("failed", "pivot-empty", None, None),
    ]


def test_the_signature_names_the_weights_not_their_place(translation_models: Path, tmp_path: Path) -> None:
    moved = tmp_path / "elsewhere"
    shutil.copytree(translation_models, moved)
    params = {"pivot": "de", "precision": "fp32"}
    here = make_view(ViewSpec("backtranslate", {**params, "models": str(translation_models)})).spec
    there = make_view(ViewSpec("backtranslate", {**params, "models": str(moved)})).spec
    assert here.signature() == there.signature()
    middle = "decode:greedy|hypotheses:1|long:split|pivot:de|precision:fp32|retry:true|source:en|translator:ctranslate2"
    assert here.signature().startswith(f"view:backtranslate|{middle}|rev:")
    settings = json.loads((moved / "xx-en" / "config.json").read_text(encoding="utf-8"))
    (moved / "xx-en" / "config.json").write_text(json.dumps({**settings, "scale_embedding": False}), encoding="utf-8")
    assert make_view(ViewSpec("backtranslate", {**params, "models": str(moved)})).spec.signature() != here.signature()
    with pytest.raises(InputError, match="revision"):
        make_view(ViewSpec("backtranslate", {**here.params, "models": str(moved)}))


@pytest.mark.parametrize(
    ("models", "pivot", "expected"),
    [
        ("{}", "es", "nothing from en to es there (en-de, en-fr, de-en, fr-en); try --models opus-mt"),
        ("{}", "en", "source and target are the same"),
        ("{}", "de|x", "not a language code"),
        ("{}/nowhere", "de", "no such folder"),
        ("{}/xx-en", "de", "nothing from en to de there (no models)"),
    ],
)
def test_models_that_are_not_there_are_one_line(
    translation_models: Path, models: str, pivot: str, expected: str
) -> None:
    with refused(expected):
        resolve_models(models.format(translation_models), "en", pivot)


def test_folders_named_by_their_languages_are_found(translation_models: Path, tmp_path: Path) -> None:
    (tmp_path / "en-es").symlink_to(translation_models / "xx-en")
    (tmp_path / "opus-mt-es-en").symlink_to(translation_models / "xx-en")
    assert resolve_models(str(tmp_path), "en", "es").path == tmp_path / "en-es"
    assert resolve_models(str(tmp_path), "es", "en").path == tmp_path / "opus-mt-es-en"
    assert resolve_models(str(tmp_path), "en", "es").prefix is None


def test_opus_models_without_a_network_are_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    with refused("opus-mt"):
        resolve_models("opus-mt", "en", "de")


def test_opus_models_come_from_the_hub_cache_with_their_commit(
    translation_models: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit = "0123456789abcdef0123456789abcdef01234567"
    cached = tmp_path / "models--Helsinki-NLP--opus-mt-de-en"
    shutil.copytree(translation_models / "xx-en", cached / "snapshots" / commit)
    (cached / "refs").mkdir()
    (cached / "refs" / "main").write_text(commit, encoding="utf-8")
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    model = resolve_models("opus-mt", "de", "en")
    assert (model.path, model.revision) == (cached / "snapshots" / commit, commit)
    assert resolve_models("opus-mt", "de", "en", commit) == model
    with pytest.raises(InputError, match="opus-mt"):
        resolve_models("opus-mt", "de", "en", "f" * 40)


@pytest.mark.parametrize(
    "decode",
    ["beam", "beam:0", "beam:100", "beam:x", "Greedy", "sample:3", "top-k:0", "top-p:0", "top-p:0.0", "top-p:2"],
)
def test_unknown_ways_to_decode_are_refused(decode: str) -> None:
    with pytest.raises(InputError, match="greedy, beam:N, sample, top-k:K or top-p:P"):
        parse_decoding(decode)


@pytest.mark.parametrize(
    ("decode", "temperature", "hypotheses", "expected"),
    [
        ("greedy", 0.7, 1, "temperature 0.7: greedy draws nothing"),
        ("beam:4", 0.7, 1, "temperature 0.7: beam:4 draws nothing"),
        ("greedy", None, 2, "greedy gives 1; use beam:2 or more, or sample"),
        ("beam:3", None, 4, "beam:3 gives 3; use beam:4 or more, or sample"),
    ],
)
def test_ways_to_decode_that_do_not_go_together_are_refused(
    decode: str, temperature: float | None, hypotheses: int, expected: str
) -> None:
    with refused(expected):
        parse_decoding(decode, temperature, hypotheses)


def test_half_precision_on_a_cpu_is_refused() -> None:
    with pytest.raises(InputError, match="not for a CPU"):
        resolve_precision("fp16", "cpu")
    assert resolve_precision("auto", "cpu") in ("fp32", "bf16")
