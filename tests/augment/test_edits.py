from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from augment.edits import apply_edits, find_edits, matching_case, tokens, words
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
        ("U.S.A and U.S.-led", ["U.S.A", "and", "U.S.", "led"]),
        ("हिन्दी में שָׁלוֹם", ["हिन्दी", "में", "שָׁלוֹם"]),
        ("می‌خواهم col·lecció צה״ל", ["می‌خواهم", "col·lecció", "צה״ל"]),
        ("1️⃣ 🇩🇪🇫🇷 👍🏽 ❤️ ok", ["ok"]),
        ("", []),
    ],
)
def test_words_survive_whole(text: str, expected: list[str]) -> None:
    assert [word.text for word in words(text)] == expected
    emoji = ["👩‍👩‍👧", "👍🏽", "1️⃣", "🇩🇪", "❤️", "🏴󠁧󠁢󠁥󠁮󠁧󠁿", "🧑🏾‍🚀"]
    assert [token.text for token in tokens(" ".join(emoji))] == emoji


PIECES = [
    "don't", "o’clock", "well-known", "U.S.", "e.g.", "3.5%", "$1,000.50", "“quoted”", "‘so’", "AT&T", "dog", "Über",
    "e\u0301te\u0301", "naïve", "👩‍👩‍👧", "👍🏽!", "🇫🇷", "1️⃣", "猫が好き", "שָׁלוֹם", "السَّلام", "می‌خواهم", "हिन्दी",
    "—", "...", "(", ")", ",", "\u0301", "\u200d",
]  # fmt: skip
TRICKY = st.lists(st.tuples(st.sampled_from(PIECES), st.sampled_from(["", " ", "  ", "\t", "\u00a0"]))).map(
    lambda pairs: "".join(piece + space for piece, space in pairs)
)


@given(st.one_of(st.text(), TRICKY))
def test_tokens_cover_everything_but_white_space_in_order(text: str) -> None:
    found = tokens(text)
    assert all(text[token.start : token.end] == token.text for token in found)
    assert all(first.end <= second.start for first, second in pairwise(found))
    assert "".join(token.text for token in found) == "".join(text.split())


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


@pytest.mark.parametrize(
    ("text", "view", "expected"),
    [
        ("A man sings.", "A human sings.", [("man", "human")]),
        ("It is a big dog.", "It is a dog.", [("big", "")]),
        ("The U.S. bought 3.5% gold.", "The U. S. sold 3. 5% gold.", [("U.S. bought 3.5%", "U. S. sold 3. 5%")]),
        ("One, two.", "One, three.", [("two", "three")]),
    ],
)
def test_word_edits_are_of_whole_words(text: str, view: str, expected: list[tuple[str, str]]) -> None:
    assert [(edit.old.strip(), edit.new) for edit in find_edits(text, view)] == expected


@given(st.text(alphabet="ab .,'é\t-1", max_size=30), st.text(alphabet="ab .,'é\t-1", max_size=30))
def test_word_edits_turn_one_text_into_the_other(text: str, view: str) -> None:
    edits = find_edits(text, view)
    assert apply_edits(text, edits) == view
    assert (not edits) == (text == view)
