"""What became of a text, word by word."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from augment.edits import apply_edits
from augment.view import Edit
from pipelines.look.inspect import LONGEST, Piece, pieces, wdiff


def joined(parts: list[Piece], side: str) -> str:
    return "".join(piece.text for piece in parts if piece.change in ("same", side))


SCRAPS = ["a", "dog", "dogs", "don't", "狗", "跑", "👩‍👩‍👧", "🇩🇪", ".", " ", "  ", "\t"]
TEXTS = st.one_of(st.text(max_size=40), st.lists(st.sampled_from(SCRAPS), max_size=30).map("".join))


@given(TEXTS, TEXTS)
def test_the_pieces_make_both_texts(old: str, new: str) -> None:
    parts = pieces(old, new)
    assert (joined(parts, "removed"), joined(parts, "added")) == (old, new)
    assert all(piece.text for piece in parts)
    assert all(one.change != two.change for one, two in pairwise(parts))


@pytest.mark.parametrize(
    ("old", "new", "shown"),
    [
        ("a big dog", "a large dog", "a [-big-]{+large+} dog"),
        ("a big red dog", "a small blue dog", "a [-big red-]{+small blue+} dog"),
        ("a big dog", "a dog", "a[- big-] dog"),
        ("a dog", "a dog.", "a dog{+.+}"),
        ("a  dog", "a dog", "a [- dog-]{+dog+}"),
        ("I don't know", "I do not know", "I [-don't-]{+do not+} know"),
        ("他快速地跑步。", "他慢慢地跑步！", "他[-快速-]{+慢慢+}地跑步[-。-]{+！+}"),
        ("الرجل يأكل تفاحة", "الرجل يأكل برتقالة", "الرجل يأكل [-تفاحة-]{+برتقالة+}"),
        ("went 👍🏽 home", "went 👍🏿 home", "went [-👍🏽-]{+👍🏿+} home"),
        ("ab 👩‍👩‍👧", "ab 👨‍👩‍👧", "ab [-👩‍👩‍👧-]{+👨‍👩‍👧+}"),
        ("🇩🇪🇫🇷", "🇩🇪🇮🇹", "🇩🇪[-🇫🇷-]{+🇮🇹+}"),
        ("हिन्दी में", "हिन्दू में", "[-हिन्दी-]{+हिन्दू+} में"),
        ("e\u0301te\u0301", "e\u0301te", "[-e\u0301te\u0301-]{+e\u0301te+}"),
        ("", "new", "{+new+}"),
        ("old", "", "[-old-]"),
    ],
)
def test_changes_are_marked_word_by_word(old: str, new: str, shown: str) -> None:
    assert wdiff(pieces(old, new)) == shown


def test_recorded_edits_are_shown_as_they_were_made() -> None:
    text = "A plane is taking off."
    edits = [Edit(1, 6, " plan", "[MASK]")]
    parts = pieces(text, apply_edits(text, edits), [edit._asdict() for edit in edits])
    assert wdiff(parts) == "A[- plan-]{+[MASK]+}e is taking off."


@pytest.mark.parametrize(
    "edits",
    [
        [],
        [{"start": 0, "end": 1, "old": "x", "new": "The"}],
        [{"start": 0, "end": 1, "old": "a", "new": "One"}],
        [{"start": 0, "end": 3, "old": "a b", "new": "The"}, {"start": 2, "end": 4, "old": "bi", "new": ""}],
    ],
)
def test_edits_that_do_not_lead_to_the_view_are_not_believed(edits: list[dict[str, object]]) -> None:
    assert wdiff(pieces("a big dog", "The big dog", edits)) == "[-a-]{+The+} big dog"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("word " * 20_000, "word " * 9_000 + "other " + "word " * 9_000),
        ("的" * 50_000, "了" + "的" * 40_000 + "了"),
    ],
)
def test_of_very_long_texts_only_the_beginnings_are_compared(old: str, new: str) -> None:
    *parts, more = pieces(old, new)
    assert (joined(parts, "removed"), joined(parts, "added")) == (old[:LONGEST], new[:LONGEST])
    assert more == Piece("same", f" … {max(len(old), len(new)) - LONGEST:,} more characters")
