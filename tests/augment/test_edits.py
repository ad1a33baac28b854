from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from augment.edits import apply_edits, matching_case, tokens, words
from augment.view import Edit


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Don't  stop", ["Don't", "stop"]),
        ("the well-known “plan”", ["the", "well-known", "plan"]),
        ("the U.S. rose 3.5% at 10:30", ["the", "U.S.", "rose", "3.5%", "at", "10:30"]),
        ("$1,000.50 for a 3D 4th", ["$1,000.50", "for", "a", "3D", "4th"]),
        ("café’s naïve 猫が好き 👩‍👩‍👧!", ["café’s", "naïve", "猫が好き"]),
        ("AT&T (example.org)", ["AT&T", "example.org"]),
        ("e\u0301te\u0301 \u2014 sic", ["e\u0301te\u0301", "sic"]),
        ("", []),
    ],
)
def test_words_survive_whole(text: str, expected: list[str]) -> None:
    assert [word.text for word in words(text)] == expected


@given(st.text())
def test_tokens_cover_everything_but_white_space_in_order(text: str) -> None:
    found = tokens(text)
    assert all(text[token.start : token.end] == token.text for token in found)
    assert all(first.end <= second.start for first, second in pairwise(found))
    assert "".join(token.text for token in found) == "".join(text.split())


@given(st.text())
def test_no_edit_leaves_the_text_as_it_is(text: str) -> None:
    assert apply_edits(text, []) == text


@given(st.data())
def test_edits_rewrite_exactly_their_spans(data: st.DataObject) -> None:
    parts = data.draw(st.lists(st.tuples(st.text(), st.text(min_size=1), st.text()), max_size=5))
    tail = data.draw(st.text())
    text, expected, edits = "", "", []
    for kept, old, new in parts:
        text, expected = text + kept, expected + kept + new
        edits.append(Edit(len(text), len(text) + len(old), old, new))
        text += old
    shuffled = data.draw(st.permutations(edits))
    assert apply_edits(text + tail, shuffled) == expected + tail


@pytest.mark.parametrize(
    ("edits", "complaint"),
    [
        ([Edit(0, 3, "cat", "x")], "does not fit"),
        ([Edit(-1, 2, "a", "x")], "does not fit"),
        ([Edit(4, 9, "dog", "x")], "does not fit"),
        ([Edit(0, 5, "the d", "x"), Edit(4, 7, "dog", "y")], "overlaps"),
    ],
)
def test_edits_that_do_not_fit_are_refused(edits: list[Edit], complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        apply_edits("the dog", edits)


@pytest.mark.parametrize(
    ("word", "new", "expected"),
    [("Car", "auto", "Auto"), ("car", "auto", "auto"), ("CAR", "auto", "AUTO"), ("A", "an", "An")],
)
def test_a_replacement_keeps_the_case(word: str, new: str, expected: str) -> None:
    assert matching_case(word, new) == expected
