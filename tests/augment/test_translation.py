"""MarianMT and the views made with it: batches, models, hops, draws, long texts, second tries."""

import json
import random
import shutil
from itertools import product
from pathlib import Path
from typing import Any

import pytest
import torch
from models import COPIED, DOGS, EMPTY, ENGLISH, FRENCH, GERMAN, GUITAR, LOOPING, PARAPHRASE, POSITIONS

from augment.errors import InputError
from augment.translate.decoding import parse_decoding
from augment.translate.marian import MarianTranslator, Translation
from augment.translate.models import resolve_models
from augment.view import View, ViewSpec, make_view, row_seed

SENTENCES = ["A man is riding a bicycle down the street.", "Where did you buy this book?", "The weather is nice today."]


def view(name: str, models: Path | str, batch_tokens: int | None = None, **params: Any) -> View:  # noqa: ANN401
    given = {"models": str(models), "precision": "fp32", **params}
    return make_view(ViewSpec(name, given), batch_tokens=batch_tokens)


def back(models: Path | str, batch_tokens: int | None = None, **params: Any) -> View:  # noqa: ANN401
    return view("backtranslate", models, batch_tokens, **{"pivot": "de", **params})


def test_several_hops_go_one_after_another(translation_models: Path) -> None:
    there_and_back = back(translation_models, pivot="de+en+fr")
    (row,) = there_and_back([DOGS, GUITAR], [0, 1])[:1]
    assert (row.text, row.pivot) == (ENGLISH[FRENCH[DOGS]], FRENCH[DOGS])
    assert [one.pivot for one in view("translate", translation_models, to="de+en+fr")([DOGS], [0])] == [DOGS]
    revisions = str(there_and_back.spec.params["revision"]).split("+")
    assert revisions == revisions[:2] * 2


def test_draws_depend_on_the_seed_in_every_leg() -> None:
    drawn = back("starter", decode="top-p:0.9", temperature=1.2)
    first, second = drawn(SENTENCES[:1] * 2, [row_seed(7, row, "") for row in "01"])
    assert first != second
    assert first.pivot != second.pivot
    (same_pivot,) = {one.pivot for one in back("starter", return_decode="sample")(SENTENCES[:1] * 9, range(9))}
    (greedy,) = view("translate", "starter", to="de", translator="transformers")(SENTENCES[:1], [0])
    assert same_pivot == greedy.text


@pytest.mark.parametrize("decode", ["beam:4", "top-k:20"])
def test_strict_texts_depend_on_neither_batch_nor_threads(decode: str) -> None:
    texts, seeds = SENTENCES, [0, 1, 2]
    threads, made = torch.get_num_threads(), []
    try:
        for count, batch_tokens in product((1, 2), (1, 100_000)):
            torch.set_num_threads(count)
            made.append(back("starter", batch_tokens, decode=decode, precision="fp64")(texts, seeds))
    finally:
        torch.set_num_threads(threads)
    assert made[1:] == made[:1] * 3


def test_a_second_try_is_marked_and_never_the_source() -> None:
    texts = [
        "Top Asian News at 4:00 p.m. GMT",
        "The Cleveland Cavaliers won the right to draft James by winning the NBA's annual lottery Thursday night.",
        "California wildfire: 1,900 on the lines as firefighters labor to limit damage (+video)",
        "Two Kenyan ministers among 6 killed in plane crash",
        "Syria Loads Chemical Weapons into Bombs, Awaiting Assad Order",
        *SENTENCES,
    ]
    once, twice = (back("starter", retry=retry)(texts, range(len(texts))) for retry in (False, True))
    rescued = 0
    for text, first, second in zip(texts, once, twice, strict=True):
        assert first.text is None or second == first
        if first.text is None and second.text is not None:
            rescued += 1
            assert (second.status, second.text != text) == ("ok", True)
            assert second.reason in ("retried", "pivot-retried")
    assert rescued


def test_long_texts_are_translated_sentence_by_sentence(translation_models: Path) -> None:
    (row,) = back(translation_models)([" ".join([GUITAR, DOGS] * 2_500)], [0])  # 100,000 characters
    assert row.pivot == " ".join([GERMAN[GUITAR], GERMAN[DOGS]] * 2_500)
    assert row.text == " ".join([PARAPHRASE, DOGS] * 2_500)


@pytest.mark.parametrize(
    ("engine", "precision", "decode"),
    [
        *product(["transformers"], ["fp64", "fp32", "bf16"], ["greedy", "beam:3", "top-k:5"]),
        *product(["ctranslate2"], ["fp32", "int8"], ["greedy", "beam:3"]),
    ],
)
def test_a_translation_ignores_its_batch(translation_models: Path, engine: str, precision: str, decode: str) -> None:
    words, draw = " ".join([*GERMAN, *FRENCH.values()]).split(), random.Random(7)
    texts = [" ".join(draw.choices(words, k=draw.randint(1, 14))) for _ in range(40)]
    alone, together = (
        MarianTranslator(
            translation_models / "en-xx", ">>de<<", parse_decoding(decode), engine, precision, batch_tokens=batch_tokens
        )
        for batch_tokens in (1, 100_000)
    )
    seeds = list(range(len(texts)))
    expected = alone.translate(texts, seeds)
    assert len({translation.text for translation in expected}) > 10
    assert together.translate(texts, seeds) == expected
    assert together.translate(texts[::-1], seeds[::-1]) == expected[::-1]


@pytest.mark.parametrize("engine", ["ctranslate2", "transformers"])
def test_sources_as_long_as_the_model_and_longer_are_translated(translation_models: Path, engine: str) -> None:
    translator = MarianTranslator(translation_models / "xx-en", engine=engine, precision="fp32")
    texts = ["Hun" + "d" * count for count in range(1, 500)]
    lengths = [len(ids) for ids in translator.vocabulary.encode(texts)]
    at, longer, empty = translator.translate([texts[lengths.index(POSITIONS)], texts[-1], "  "])
    assert at.text
    assert longer.text
    assert empty == Translation("", "empty")


def test_a_code_in_the_text_is_text(translation_models: Path) -> None:
    translator = MarianTranslator(translation_models / "en-xx", ">>de<<", precision="fp32")
    (translation,) = translator.translate([">>fr<< " + GUITAR])
    assert translation.text != FRENCH[GUITAR]
    assert ">>" not in translation.text


def test_back_translation_tells_what_became_of_every_sentence(translation_models: Path) -> None:
    views = back(translation_models, retry=False)([GUITAR, DOGS, COPIED, LOOPING, EMPTY], range(5))
    (copied,) = view("translate", translation_models, to="de")([COPIED], [0])
    assert (copied.text, copied.status, copied.reason) == (None, "failed", "copied")
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
    here = back(translation_models).spec
    assert here.signature() == back(moved).spec.signature()
    middle = "decode:greedy|hypotheses:1|long:split|pivot:de|precision:fp32|retry:true|source:en|translator:ctranslate2"
    assert here.signature().startswith(f"view:backtranslate|{middle}|rev:")
    settings = json.loads((moved / "xx-en" / "config.json").read_text(encoding="utf-8"))
    (moved / "xx-en" / "config.json").write_text(json.dumps({**settings, "scale_embedding": False}), encoding="utf-8")
    assert back(moved).spec.signature() != here.signature()
    with pytest.raises(InputError, match="revision"):
        make_view(ViewSpec("backtranslate", {**here.params, "models": str(moved)}))


def test_folders_named_by_their_languages_are_found(translation_models: Path, tmp_path: Path) -> None:
    for name, source, target in (("en-es", "en", "es"), ("opus-mt-es-en", "es", "en")):
        (tmp_path / name).symlink_to(translation_models / "xx-en")
        assert resolve_models(str(tmp_path), source, target)[:2] == (tmp_path / name, None)
