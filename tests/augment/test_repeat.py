from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from augment.edits import apply_edits, words
from augment.view import Viewed
from augment.views.repeat import Repeat

SENTENCE = "Two dogs don't sleep; run!"


def viewed(text: str, seed: int, **params: float) -> Viewed:
    return Repeat(**params)([text], [seed])[0]


@given(st.text(max_size=60), st.integers(0, 2**63 - 1), st.floats(0, 1))
def test_the_view_is_the_text_with_some_of_its_words_written_twice(text: str, seed: int, rate: float) -> None:
    found = words(text)
    made = viewed(text, seed, rate=rate)
    assert apply_edits(text, made.edits) == made.text
    assert all(edit.start == edit.end and not edit.old for edit in made.edits)
    by_end = {word.end: word.text for word in found}
    assert [edit.new for edit in made.edits] == [f" {by_end[edit.start]}" for edit in made.edits]
    assert len({edit.start for edit in made.edits}) == len(made.edits)
    assert len(made.edits) <= min(len(found), max(2, int(rate * len(found))))
    assert (made.status == "unchanged") is (made.text == text)


@pytest.mark.parametrize(("copies", "most"), [(1, 2), (5, 8)])
def test_number_of_repeated_words_is_even_from_none_to_the_most(copies: int, most: int) -> None:
    text = " ".join([SENTENCE] * copies)
    counts = Counter(len(viewed(text, seed).edits) for seed in range(3000))
    assert len(words(text)) == 5 * copies
    assert most == max(2, int(0.32 * 5 * copies))
    assert set(counts) == set(range(most + 1))
    assert all(abs(count / 3000 - 1 / (most + 1)) < 0.03 for count in counts.values())


def test_a_row_says_why_nothing_changed_and_what_share_did() -> None:
    assert viewed("?!", 1) == Viewed("?!", "unchanged", "no-eligible-word")
    made = [viewed(SENTENCE, seed) for seed in range(20)]
    assert {one.reason for one in made if one.status == "unchanged"} == {"none-drawn"}
    assert {one.achieved_fraction for one in made} == {0, 0.2, 0.4}
