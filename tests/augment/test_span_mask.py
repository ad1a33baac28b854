"""The views `span-mask` and `repeat`."""

from collections import Counter

import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

from augment.text.edits import words
from augment.view import ViewResult, ViewSpec, make_view
from augment.views.repeat import Repeat


def characters(text: str) -> list[str]:
    """What a reader takes for one character each: grapheme clusters."""
    return regex.findall(r"\X", text)


def test_every_position_is_drawn() -> None:
    made = make_view(ViewSpec("span-mask", {"length": 5}))(["ab" * 16] * 600, range(600))
    assert {viewed.edits[0].start for viewed in made} == set(range(28))


GRAPHEMES = ["e\u0301", "👩‍👩‍👧", "🇩🇪", "👍🏽", "क्षि", "각", "\r\n", "a", " ", "1️⃣"]


@given(st.lists(st.sampled_from(GRAPHEMES), max_size=20), st.integers(0, 99), st.integers(1, 6))
def test_no_grapheme_cluster_is_cut(parts: list[str], seed: int, length: int) -> None:
    text = "".join(parts)
    (viewed,) = make_view(ViewSpec("span-mask", {"length": length}))([text], [seed])
    if viewed.status == "ok":
        (edit,) = viewed.edits
        whole = characters(text)
        assert characters(text[: edit.start]) + characters(edit.old) + characters(text[edit.end :]) == whole
        assert (len(characters(edit.old)), edit.new) == (length, "[MASK]")
    else:
        assert (len(characters(text)) <= length, viewed.reason) == (True, "too-short")


def test_words_are_masked_whole_and_one_always_stays() -> None:
    view = make_view(ViewSpec("span-mask", {"unit": "word", "length": 2}))
    (edit,) = view(["one two, three"], [0])[0].edits
    assert edit.old in ("one two", "two, three")
    assert view(["one two."], [0])[0].reason == "too-short"


DOGS = "Two dogs don't sleep; run!"


def repeated(text: str, seed: int, **params: float) -> ViewResult:
    return Repeat(**params)([text], [seed])[0]


@given(st.text(max_size=60), st.integers(0, 2**63 - 1), st.floats(0, 1))
def test_some_words_are_written_twice(text: str, seed: int, rate: float) -> None:
    made = repeated(text, seed, rate=rate)
    by_end = {word.end: word.text for word in words(text)}
    most = min(len(by_end), max(2, int(rate * len(by_end))))
    written = [(edit.end, edit.old, edit.new) for edit in made.edits]
    assert written == [(edit.start, "", f" {by_end[edit.start]}") for edit in made.edits]
    assert len({edit.start for edit in made.edits}) == len(made.edits) <= most


@pytest.mark.parametrize(("copies", "most"), [(1, 2), (5, 8)])
def test_number_of_repeated_words_is_uniform_from_none_to_the_maximum(copies: int, most: int) -> None:
    text = " ".join([DOGS] * copies)
    counts = Counter(len(repeated(text, seed).edits) for seed in range(3000))
    assert set(counts) == set(range(most + 1))
    assert all(abs(count / 3000 - 1 / (most + 1)) < 0.03 for count in counts.values())


def test_a_row_has_the_share_of_changed_words_or_why_none_changed() -> None:
    assert repeated("?!", 1) == ViewResult("?!", "unchanged", "no-eligible-word")
    made = [repeated(DOGS, seed) for seed in range(20)]
    assert {one.reason for one in made if one.status == "unchanged"} == {"none-drawn"}
    assert {one.achieved_fraction for one in made} == {0, 0.2, 0.4}
