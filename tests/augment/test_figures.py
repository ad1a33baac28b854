"""Numbers are read alike in digits, in words and mixed, in three languages: a generator knows the right answers."""

import csv
import random
import re
from fractions import Fraction
from itertools import combinations, permutations, product
from pathlib import Path

import pytest
import regex
from hypothesis import given, settings
from hypothesis import strategies as st
from num2words import num2words

from augment.meaning.figures import _REWRITABLE, _REWRITES, fault, figures

THINGS = {
    "en": "In the whole of this old city, as far as anybody can say, there are {} houses with a garden of their own.",
    "de": "In dieser ganzen alten Stadt gibt es, soweit das jemand sagen kann, {} Häuser mit einem eigenen Garten.",
    "fr": "Dans toute cette vieille ville, autant que je sache, il y a {} maisons avec leur propre jardin.",
}


def drawn(rng: random.Random) -> int:
    return rng.randrange(2, 10 ** rng.randrange(1, 10) + 2)


def spelled(number: int, language: str, rng: random.Random) -> str:
    """A number in one of the ways in which it can be written."""
    separator = {"en": ",", "de": ".", "fr": "\u202f"}[language]
    words = num2words(number, lang=language).replace("einstausend", "eintausend")  # German that is none
    forms = [str(number), f"{number:,}".replace(",", separator), words, words.replace("-", " ")]
    if language == "en":
        forms += [words.replace(" and ", " ").replace(",", ""), words.capitalize()]
        forms += [f"{number / 10**6:g} million"] if number >= 10**6 and not number % 10**5 else []
    return rng.choice(forms)


def generated(count: int, language: str) -> list[tuple[int, str, int, str]]:
    """Numbers, a sentence with each, another number, and a sentence with that."""
    rng, rows = random.Random(language), []
    for _ in range(count):
        number = drawn(rng)
        nearby = [number + 1, number * 10, number - number % 10 + 2, number + 100, drawn(rng)]
        other = rng.choice([near for near in nearby if near != number])
        sentences = [THINGS[language].format(spelled(each, language, rng)) for each in (number, other)]
        rows.append((number, sentences[0], other, sentences[1]))
    return rows


def check(count: int, language: str) -> None:
    rng = random.Random(count)
    for number, sentence, other, changed in generated(count, language):
        assert dict(figures(sentence, language, language)) == {Fraction(number): [""]}, sentence
        same = THINGS[language].format(spelled(number, language, rng))
        assert fault(sentence, same, language, language) != "figures", (sentence, same)
        assert fault(sentence, changed, language, language) == "figures", (number, other, sentence, changed)


@pytest.mark.parametrize("language", THINGS)
def test_a_number_is_the_same_in_whatever_way_it_is_written(language: str) -> None:
    check(300, language)


@pytest.mark.exhaustive
@pytest.mark.parametrize("language", THINGS)
def test_thousands_of_numbers_are_the_same_in_whatever_way_they_are_written(language: str) -> None:
    check(5_000, language)


@pytest.mark.parametrize("target", ["de", "fr"])
def test_a_translated_number_is_the_same(target: str) -> None:
    rng = random.Random(target)
    for _ in range(300):
        number = drawn(rng) + 10
        sentence = THINGS["en"].format(spelled(number, "en", rng))
        translation = THINGS[target].format(spelled(number, target, rng))
        assert fault(sentence, translation, "en", target) != "figures", (sentence, translation)
        wrong = THINGS[target].format(spelled(number + 1, target, rng))
        assert fault(sentence, wrong, "en", target) == "figures", (sentence, wrong)


def test_ordinals_are_the_same_in_words_and_digits() -> None:
    for number in range(1, 200):
        word, digits = (num2words(number, to=form) for form in ("ordinal", "ordinal_num"))
        other = num2words(number + 1, to="ordinal")
        assert fault(f"The {word} man left.", f"The {digits} man left.") != "figures"
        assert fault(f"The {word} man left.", f"The {other} man left.") == "figures"


TABLE = [
    *csv.reader(
        (Path(__file__).parent / "data" / "figures.tsv").open(encoding="utf-8"),
        delimiter="\t",
        quoting=csv.QUOTE_NONE,
    )
]
"""A language, a sentence, and groups of spellings: those of a group are of one value, those of two groups are not."""


@pytest.mark.parametrize("language", THINGS)
def test_spellings_of_one_value_are_the_same_and_others_are_not(language: str) -> None:
    wrong = []
    for _, sentence, *cells in (row for row in TABLE if row[0] == language):
        groups = [[sentence.format(spelling) for spelling in cell.split(" | ")] for cell in cells]
        pairs = [(pair, True) for group in groups for pair in permutations(group, 2)]
        pairs += [(pair, False) for left, right in combinations(groups, 2) for pair in product(left, right)]
        wrong += [
            pair for pair, is_same in pairs if (fault(*pair, language, language) != "figures") is not is_same
        ]
    assert wrong == []


@pytest.mark.parametrize("old", [old.pattern for old, _ in _REWRITES])
@settings(max_examples=5)
@given(data=st.data())
def test_whatever_a_rule_rewrites_is_looked_through(old: str, data: st.DataObject) -> None:
    plain = re.sub(r"\(\?<[!=](?:[^()]|\([^()]*\))*\)", "", old).replace(r"\p{L}", "[a-zäöüé]")
    text = data.draw(st.from_regex(plain))  # by `re`, whose words end elsewhere beside unassigned characters
    assert _REWRITABLE.search(text) or not regex.search(old, text)


def test_figures_of_a_long_text_take_no_longer_for_each_word() -> None:
    assert len(figures("twenty-one dogs and half of the cats " * 4_000)) == 2
