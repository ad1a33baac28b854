from __future__ import annotations

import pytest

from augment.inflect import Inflector, wants_an

IRREGULAR = {
    "n": {"bus": ["busses"], "child": ["children"], "man": ["men"], "foot": ["feet"]},
    "v": {
        "take": ["taken", "took"],
        "begin": ["began", "beginning", "begun"],
        "run": ["ran", "running"],
        "buy": ["bought"],
        "beat": ["beaten"],
        "show": ["shown"],
        "stop": ["stopped", "stopping"],
        "learn": ["learnt"],
        "cut": ["cutting"],
        "work": ["wrought"],
        "address": ["addrest"],
        "keep": ["kept"],
        "coordinate": ["co-ordinate"],
    },
    "a": {"good": ["best", "better"], "bad": ["worse", "worst"]},
}


@pytest.mark.parametrize(
    ("lemma", "forms"),
    [
        ("take", "takes taking took taken"),
        ("begin", "begins beginning began begun"),
        ("run", "runs running ran run"),
        ("buy", "buys buying bought bought"),
        ("beat", "beats beating beat beaten"),
        ("show", "shows showing showed shown"),
        ("stop", "stops stopping stopped stopped"),
        ("learn", "learns learning learned learned"),
        ("cut", "cuts cutting cut cut"),
        ("be", "is being was been"),
        ("visit", "visits visiting visited visited"),
        ("refer", "refers referring referred referred"),
        ("carry", "carries carrying carried carried"),
        ("play", "plays playing played played"),
        ("lie", "lies lying lied lied"),
        ("see", "sees seeing seed seed"),
        ("picnic", "picnics picnicking picnicked picnicked"),
        ("fix", "fixes fixing fixed fixed"),
        ("work", "works working worked worked"),
        ("win", "wins winning won won"),
        ("address", "addresses addressing addressed addressed"),
        ("keep", "keeps keeping kept kept"),
        ("coordinate", "coordinates coordinating coordinated coordinated"),
        ("offset", "offsets offsetting offset offset"),
        ("singe", "singes singeing singed singed"),
    ],
)
def test_verbs(lemma: str, forms: str) -> None:
    inflector = Inflector(IRREGULAR)
    assert " ".join(inflector.inflect(lemma, tag) or "" for tag in ("VBZ", "VBG", "VBD", "VBN")) == forms


@pytest.mark.parametrize(
    ("lemma", "plural"),
    [
        ("child", "children"),
        ("fireman", "firemen"),
        ("human", "humans"),
        ("city", "cities"),
        ("day", "days"),
        ("box", "boxes"),
        ("church", "churches"),
        ("potato", "potatoes"),
        ("photo", "photos"),
        ("sheep", "sheep"),
        ("quiz", "quizzes"),
        ("bus", "buses"),
        ("lens", "lenses"),
        ("glass", "glasses"),
        ("scissors", "scissors"),
        ("eyeglasses", "eyeglasses"),
    ],
)
def test_plurals(lemma: str, plural: str) -> None:
    assert Inflector(IRREGULAR).inflect(lemma, "NNS") == plural


@pytest.mark.parametrize(
    ("lemma", "comparative", "superlative"),
    [
        ("big", "bigger", "biggest"),
        ("nice", "nicer", "nicest"),
        ("happy", "happier", "happiest"),
        ("good", "better", "best"),
        ("bad", "worse", "worst"),
        ("simple", "simpler", "simplest"),
        ("wooden", None, None),
        ("elder", None, None),
        ("beautiful", None, None),
    ],
)
def test_comparison(lemma: str, comparative: str | None, superlative: str | None) -> None:
    inflector = Inflector(IRREGULAR)
    assert (inflector.inflect(lemma, "JJR"), inflector.inflect(lemma, "JJS")) == (comparative, superlative)


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("apple", True),
        ("hour", True),
        ("honest", True),
        ("uncle", True),
        ("unimportant", True),
        ("university", False),
        ("user", False),
        ("European", False),
        ("one", False),
        ("house", False),
        ("unit", False),
        ("uninteresting", True),
        ("utopia", False),
        ("ukulele", False),
        ("urgent", True),
        ("urine", False),
    ],
)
def test_articles_follow_the_sound(word: str, expected: bool) -> None:
    assert wants_an(word) is expected
