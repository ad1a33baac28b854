import pytest
from sacrebleu import corpus_chrf
from transformers import pipeline

from augment.view import ViewSpec, make_view
from augment.weights import STARTER_ENCODER

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
    fill = pipeline("fill-mask", model=str(STARTER_ENCODER), top_k=20)
    expected = {
        "A man is riding a [MASK] down the street.": "bike bicycle motorcycle skateboard horse scooter",
        "She drank a cup of [MASK] before work.": "coffee tea milk water",
        "Two dogs are [MASK] in the snow.": "playing running walking fighting",
    }
    for sentence, words in expected.items():
        assert set(words.split()) & {found["token_str"] for found in fill(sentence)}
