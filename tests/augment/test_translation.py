"""MarianMT and the views made with it: batches, models, kept pivots, hops, draws, n-best, long texts, second tries."""

from __future__ import annotations

import json
import random
import shutil
from itertools import product
from pathlib import Path
from typing import Any, cast

import pytest
import torch
from learnt import COPIED, DOGS, EMPTY, ENGLISH, FRENCH, GERMAN, GUITAR, LOOPING, MARIAN_POSITIONS, PARAPHRASE

from augment.errors import InputError
from augment.translate.decoding import parse_decoding
from augment.translate.marian import MarianTranslator, Translation
from augment.translate.models import resolve_models
from augment.translate.stages import TranslationView
from augment.view import Viewed, ViewSpec, make_view, row_seed

SENTENCES = [
    "A man is riding a bicycle down the street.",
    "Two children are playing with a dog in the garden.",
    "Where did you buy this book?",
    "The weather is very nice today.",
]


def staged(models: Path | str, batch_tokens: int | None = None, **params: Any) -> TranslationView:  # noqa: ANN401
    given = {"pivot": "de", "models": str(models), "precision": "fp32", **params}
    return cast(TranslationView, make_view(ViewSpec("backtranslate", given), batch_tokens=batch_tokens))


def through(view: TranslationView) -> TranslationView:
    """The view that comes first."""
    assert view.through is not None
    return view.through


def translation(models: Path | str, **params: Any) -> TranslationView:  # noqa: ANN401
    given = {"models": str(models), "precision": "fp32", **params}
    return cast(TranslationView, make_view(ViewSpec("translate", given)))


def test_the_pivot_is_a_translate_view_with_its_whole_recipe(translation_models: Path) -> None:
    view = staged(translation_models, decode="beam:2", hypotheses=2)
    alone = translation(translation_models, to="de", decode="beam:2")
    assert through(view).spec == alone.spec
    assert through(view).through is None
    assert through(view).spec.params["revision"] == str(view.spec.params["revision"]).partition("+")[0]


def test_another_return_takes_the_same_pivots(translation_models: Path) -> None:
    greedy = staged(translation_models)
    for other in ({"return_decode": "beam:4"}, {"return_decode": "beam:4", "hypotheses": 3}):
        assert through(staged(translation_models, **other)).spec.signature() == through(greedy).spec.signature()
        assert staged(translation_models, **other).spec.signature() != greedy.spec.signature()
    assert through(staged(translation_models, decode="beam:4")).spec.signature() != through(greedy).spec.signature()


def test_a_view_is_made_from_the_pivots_that_are_given(translation_models: Path) -> None:
    view = staged(translation_models)
    texts, seeds = [GUITAR, DOGS, COPIED], [0, 1, 2]
    assert view(texts, seeds) == view.complete(texts, seeds, through(view)(texts, seeds))
    given = [Viewed(GERMAN[DOGS]), Viewed(GERMAN[DOGS], "ok", "retried"), Viewed(None, "failed", "too-long")]
    made = view.complete(texts, seeds, given)
    assert [(row.text, row.status, row.reason, row.pivot) for row in made] == [
        (DOGS, "ok", None, GERMAN[DOGS]),
        (DOGS, "unchanged", "pivot-retried", GERMAN[DOGS]),
        (None, "failed", "pivot-too-long", None),
    ]


def test_several_hops_go_one_after_another(translation_models: Path) -> None:
    view = staged(translation_models, pivot="de+en+fr")
    (row,) = view([DOGS, GUITAR], [0, 1])[:1]
    assert (row.text, row.pivot) == (ENGLISH[FRENCH[DOGS]], FRENCH[DOGS])
    second = through(view)
    assert second.spec.params["to"] == "de+en+fr"
    assert [viewed.pivot for viewed in second([DOGS], [0])] == [DOGS]
    third = through(second)
    assert through(third).spec.signature() == translation(translation_models, to="de").spec.signature()
    revisions = str(view.spec.params["revision"]).split("+")
    there, back = revisions[0], revisions[1]
    assert revisions == [there, back, there, back]


def test_draws_depend_on_the_seed_in_every_hop() -> None:
    view = staged("starter", decode="top-p:0.9", temperature=1.2)
    first, second = view(SENTENCES[:1] * 2, [row_seed(7, row, "") for row in "01"])
    assert first != second
    assert first.pivot != second.pivot
    assert (view.draws, through(view).draws) == (True, True)


@pytest.mark.parametrize("decode", ["beam:4", "top-k:20"])
def test_strict_texts_depend_on_neither_batch_nor_threads(decode: str) -> None:
    texts, seeds = SENTENCES[:3], [0, 1, 2]
    threads = torch.get_num_threads()
    made = []
    try:
        for count, batch_tokens in ((1, 1), (1, 100_000), (2, 1), (2, 100_000)):
            torch.set_num_threads(count)
            view = staged("starter", batch_tokens, decode=decode, precision="fp64", hypotheses=2)
            made.append(view(texts, seeds))
    finally:
        torch.set_num_threads(threads)
    assert made[1:] == made[:1] * 3


@pytest.mark.parametrize("params", [{"return_decode": "beam:4"}, {"return_decode": "sample", "temperature": 1.3}])
def test_further_hypotheses_are_alternatives(params: dict[str, Any]) -> None:
    one = staged("starter", **params)
    four = staged("starter", hypotheses=4, **params)
    seeds = list(range(len(SENTENCES)))
    made = four(SENTENCES, seeds)
    assert [row.text for row in made] == [row.text for row in one(SENTENCES, seeds)], "the best one stays the best"
    assert any(len(row.alternatives) == 3 for row in made)
    for row in made:
        assert len({row.text, *row.alternatives}) == 1 + len(row.alternatives) <= 4


def test_a_second_try_is_marked_and_never_the_source() -> None:
    texts = [
        "Top Asian News at 4:00 p.m. GMT",
        "The Cleveland Cavaliers won the right to draft James by winning the NBA's annual lottery Thursday night.",
        "California wildfire: 1,900 on the lines as firefighters labor to limit damage (+video)",
        "Two Kenyan ministers among 6 killed in plane crash",
        "Syria Loads Chemical Weapons into Bombs, Awaiting Assad Order",
        *SENTENCES,
    ]
    seeds = list(range(len(texts)))
    once, twice = staged("starter", retry=False)(texts, seeds), staged("starter")(texts, seeds)
    rescued = 0
    for text, first, second in zip(texts, once, twice, strict=True):
        if first.text is not None:
            assert second == first
        elif second.text is not None:
            rescued += 1
            assert (second.status, second.text != text) == ("ok", True)
            assert second.reason in ("retried", "pivot-retried")
        else:
            assert (second.status, first.reason is not None) == ("failed", True)
    assert rescued


def test_what_stays_bad_fails_with_its_first_reason(translation_models: Path) -> None:
    (row,) = translation(translation_models, to="de")([COPIED], [0])
    assert (row.text, row.status, row.reason) == (None, "failed", "copied")


def test_long_texts_are_translated_sentence_by_sentence(translation_models: Path) -> None:
    view = staged(translation_models)
    (row,) = view([" ".join([GUITAR, DOGS] * 10)], [0])
    assert row.pivot == " ".join([GERMAN[GUITAR], GERMAN[DOGS]] * 10)
    assert row.text == " ".join([PARAPHRASE, DOGS] * 10)
    short = staged(translation_models, long="fail")
    (failed,) = short([" ".join([GUITAR, DOGS] * 10)], [0])
    assert (failed.text, failed.status, failed.reason) == (None, "failed", "pivot-too-long")


def test_a_line_of_100_000_characters_is_no_crash() -> None:
    view = translation("starter", to="de", retry=False)
    spaced, solid = view([" ".join(SENTENCES * 600)[:100_000], "y" * 100_000], [0, 1])
    assert spaced.status == "ok"
    assert len(spaced.text or "") > 50_000
    assert solid.status in ("ok", "failed")


@pytest.mark.parametrize("decode", ["greedy", "beam:4", "beam:8"])
@pytest.mark.parametrize(("code", "expected"), [("de", GERMAN), ("fr", FRENCH)])
def test_the_code_before_the_source_chooses_the_language(
    translation_models: Path, decode: str, code: str, expected: dict[str, str]
) -> None:
    translator = MarianTranslator(translation_models / "en-xx", f">>{code}<<", parse_decoding(decode), precision="fp32")
    assert translator.translate([GUITAR, DOGS]) == [Translation(expected[GUITAR]), Translation(expected[DOGS])]


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
    translator = MarianTranslator(translation_models / "xx-en", engine=engine, precision="fp32", splits=False)
    texts = ["Hun" + "d" * count for count in range(1, 500)]
    lengths = [len(ids) for ids in translator.vocabulary.encode(texts)]
    fitting = texts[lengths.index(MARIAN_POSITIONS)]
    at, *others = translator.translate([fitting, fitting + "d" * 9, "  "])
    assert at.reason != "too-long"
    assert others == [Translation(None, "too-long"), Translation("", "empty")]


def test_a_code_in_the_text_is_text(translation_models: Path) -> None:
    translator = MarianTranslator(translation_models / "en-xx", ">>de<<", precision="fp32")
    (translation,) = translator.translate([">>fr<< " + GUITAR])
    assert translation.text != FRENCH[GUITAR]
    assert ">>" not in (translation.text or "")


def test_back_translation_tells_what_became_of_every_sentence(translation_models: Path) -> None:
    views = staged(translation_models, retry=False)([GUITAR, DOGS, COPIED, LOOPING, EMPTY], range(5))
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
    here = staged(translation_models).spec
    assert here.signature() == staged(moved).spec.signature()
    middle = "decode:greedy|hypotheses:1|long:split|pivot:de|precision:fp32|retry:true|source:en|translator:ctranslate2"
    assert here.signature().startswith(f"view:backtranslate|{middle}|rev:")
    settings = json.loads((moved / "xx-en" / "config.json").read_text(encoding="utf-8"))
    (moved / "xx-en" / "config.json").write_text(json.dumps({**settings, "scale_embedding": False}), encoding="utf-8")
    assert staged(moved).spec.signature() != here.signature()
    with pytest.raises(InputError, match="revision"):
        make_view(ViewSpec("backtranslate", {**here.params, "models": str(moved)}))


def test_folders_named_by_their_languages_are_found(translation_models: Path, tmp_path: Path) -> None:
    (tmp_path / "en-es").symlink_to(translation_models / "xx-en")
    (tmp_path / "opus-mt-es-en").symlink_to(translation_models / "xx-en")
    assert resolve_models(str(tmp_path), "en", "es").path == tmp_path / "en-es"
    assert resolve_models(str(tmp_path), "es", "en").path == tmp_path / "opus-mt-es-en"
    assert resolve_models(str(tmp_path), "en", "es").prefix is None


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
