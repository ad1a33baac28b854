import json
from pathlib import Path

import pytest
from sacrebleu import corpus_chrf

from augment.translate.marian import MarianTranslator
from augment.translate.models import resolve_models
from augment.view import ViewSpec, make_view
from augment.weights import starter_encoder, starter_translation

SENTENCES = [
    "A man is riding a bicycle down the street.",
    "I have to go to the doctor tomorrow.",
    "Two children are playing with a dog in the garden.",
    "Where did you buy this book?",
    "She does not want to talk about it.",
    "The weather is very nice today.",
    "My brother works in a big city.",
    "A young woman in a red shirt is reading a newspaper.",
]
GERMAN = {"ein", "eine", "der", "die", "das", "ist", "ich", "mit", "sie", "nicht", "in", "zwei", "hast", "du", "wo"}
FRENCH = {"un", "une", "le", "la", "les", "est", "je", "avec", "elle", "ne", "dans", "deux", "tu", "où", "à", "mon"}


def translator(source: str, target: str, **options: object) -> MarianTranslator:
    model = resolve_models("starter", source, target)
    return MarianTranslator(model.path, model.prefix, **{"precision": "fp32", **options})  # type: ignore[arg-type]


@pytest.mark.parametrize("folder", ["en-xx", "xx-en"])
def test_the_models_have_marians_layout_and_stay_small(folder: str) -> None:
    path = starter_translation() / folder
    config = json.loads((path / "config.json").read_text(encoding="utf-8"))
    assert (config["eos_token_id"], config["pad_token_id"]) == (0, config["vocab_size"] - 1)
    assert sum(file.stat().st_size for file in path.iterdir()) <= 15_000_000


def test_all_starter_models_together_stay_below_80_megabytes() -> None:
    root = starter_encoder().parent
    assert sum(file.stat().st_size for file in Path(root).rglob("*") if file.is_file()) <= 80_000_000


@pytest.mark.parametrize(("pivot", "common"), [("de", GERMAN), ("fr", FRENCH)])
def test_translations_are_in_the_language_that_was_asked_for(pivot: str, common: set[str]) -> None:
    for translation in translator("en", pivot).translate(SENTENCES):
        assert translation.reason is None
        assert common & set((translation.text or "").lower().replace("'", " ").split())


@pytest.mark.parametrize("pair", [("en", "de"), ("en", "fr")])
def test_other_input_gives_other_output(pair: tuple[str, str]) -> None:
    texts = [translation.text for translation in translator(*pair).translate(SENTENCES)]
    assert len(set(texts)) == len(SENTENCES)


@pytest.mark.parametrize("pivot", ["de", "fr"])
def test_round_trips_keep_the_words(pivot: str) -> None:
    view = make_view(ViewSpec("backtranslate", {"pivot": pivot, "precision": "fp32"}))
    viewed = view(SENTENCES, list(range(len(SENTENCES))))
    back = [row.text or "" for row in viewed]
    kept = corpus_chrf(back, [SENTENCES]).score
    mixed = corpus_chrf(back, [[*SENTENCES[1:], SENTENCES[0]]]).score
    assert kept >= 50
    assert kept > mixed + 25


def test_masks_are_filled_with_words_that_fit() -> None:
    from transformers import pipeline

    fill = pipeline("fill-mask", model=str(starter_encoder()), top_k=20)
    expected = {
        "A man is riding a [MASK] down the street.": "bike bicycle motorcycle skateboard horse scooter",
        "She drank a cup of [MASK] before work.": "coffee tea milk water",
        "Two dogs are [MASK] in the snow.": "playing running walking fighting",
    }
    for sentence, words in expected.items():
        assert set(words.split()) & {found["token_str"] for found in fill(sentence)}
