from __future__ import annotations

import pytest
from realtext import real_sentences

from augment.edits import tokens
from augment.tagging import Tagger, load_data, tagger

SENTENCES = [
    "The old woman bought a big car.",
    "They want to run fast because running is good.",
    "Two men stand near the stolen boat.",
    "His looks were often seen in the show.",
    "In 1999 U.S.-led x-ray 3rd ?! 42",
    "",
]


def check_tags(texts: list[str]) -> None:
    """Hold the tagger's tags to those of NLTK's own on the same weights."""
    from nltk.tag.perceptron import PerceptronTagger

    nltks = PerceptronTagger(load=False)
    nltks.model.weights, nltks.tagdict = load_data("weights"), load_data("tagdict")
    nltks.classes = nltks.model.classes = set(load_data("classes"))
    for text in texts:
        words = [token.text for token in tokens(text)]
        assert tagger().tag(words) == [tag for _, tag in nltks.tag(words)]


def test_the_tags_are_those_of_nltk() -> None:
    check_tags(SENTENCES)


def test_the_tags_of_real_text_are_those_of_nltk() -> None:
    check_tags(real_sentences(900))


@pytest.mark.parametrize(
    ("text", "word", "tag"),
    [
        ("They want to run.", "run", "VB"),
        ("He looks happy.", "looks", "VBZ"),
        ("His looks were often seen.", "looks", "NNS"),
        ("He has often walked.", "walked", "VBN"),
        ("He walked home.", "walked", "VBD"),
    ],
)
def test_context_decides_between_parts_of_speech(text: str, word: str, tag: str) -> None:
    words = [token.text for token in tokens(text)]
    assert Tagger().tag(words)[words.index(word)] == tag
