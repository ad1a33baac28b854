from __future__ import annotations

import random
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from realtext import real_sentences

from augment.edits import LabelledSpan, apply_edits, carry_spans, words
from augment.view import Edit, ViewSpec, make_view

TEXT = "Anna Lee met Bo in New York."
ANNA, YORK = LabelledSpan(0, 8, "PER"), LabelledSpan(19, 27, "LOC")


@pytest.mark.parametrize(
    ("edits", "expected"),
    [
        ([], ["Anna Lee", "New York"]),
        ([Edit(9, 12, "met", "encountered")], ["Anna Lee", "New York"]),
        ([Edit(23, 27, "York", "Jersey City")], ["Anna Lee", "New Jersey City"]),
        ([Edit(0, 8, "Anna Lee", "Ann")], ["Ann", "New York"]),
        ([Edit(4, 4, "", " Anna"), Edit(8, 8, "", " Lee")], ["Anna Anna Lee", "New York"]),
        ([Edit(19, 19, "", "old ")], ["Anna Lee", "New York"]),
        ([Edit(16, 22, "in New", "x")], ["Anna Lee"]),
        ([Edit(5, 12, "Lee met", "x"), Edit(23, 28, "York.", "x")], []),
        ([Edit(18, 28, " New York.", "x")], ["Anna Lee"]),
        ([Edit(0, 5, "Anna ", ""), Edit(5, 8, "Lee", "")], ["New York"]),
    ],
)
def test_a_span_moves_grows_and_shrinks_or_is_lost(edits: list[Edit], expected: list[str]) -> None:
    view = apply_edits(TEXT, edits)
    found, lost = carry_spans([ANNA, YORK], reversed(edits))
    assert [view[start:end] for start, end, _ in found] == expected
    assert lost == 2 - len(expected)


def check(text: str, spans: list[LabelledSpan], edits: tuple[Edit, ...]) -> int:
    """Carry spans, and compare with what the parts of the text before and in each become by themselves."""

    def becomes(start: int, end: int) -> str:
        """The view of a part; an insertion at a span's ends belongs to what is around it."""
        inside = [
            edit._replace(start=edit.start - start, end=edit.end - start)
            for edit in edits
            if start <= edit.start and edit.end <= end and (edit.end > edit.start or start < edit.start < end)
        ]
        return apply_edits(text[start:end], inside)

    view = apply_edits(text, edits)
    expected = []
    for start, end, label in spans:
        cut = any(edit.start < place < edit.end for edit in edits for place in (start, end))
        covered = any(edit.start <= start and end <= edit.end and edit[:2] != (start, end) for edit in edits)
        if not cut and not covered and becomes(start, end):
            after = [edit._replace(start=edit.start - end, end=edit.end - end) for edit in edits if edit.start >= end]
            tail = apply_edits(text[end:], after)
            last = len(view) - len(tail)
            expected.append(LabelledSpan(last - len(becomes(start, end)), last, label))
    assert carry_spans(spans, edits) == (expected, len(spans) - len(expected))
    return len(expected)


@st.composite
def edited(draw: st.DrawFn) -> tuple[str, list[LabelledSpan], tuple[Edit, ...]]:
    text = draw(st.text("ab ", min_size=1, max_size=12))
    places = st.integers(0, len(text))
    bounds = draw(st.lists(st.tuples(places, places).map(sorted).filter(lambda pair: pair[0] < pair[1]), max_size=3))
    cuts = sorted(draw(st.sets(places, max_size=6)))
    parts = [pair for pair in pairwise(cuts) if draw(st.booleans())]
    inserted = [(cut, cut) for cut in cuts if draw(st.booleans())]
    edits = [Edit(start, end, text[start:end], draw(st.text("xy", max_size=3))) for start, end in [*parts, *inserted]]
    return text, [LabelledSpan(start, end, "X") for start, end in bounds], tuple(edits)


@settings(max_examples=2000)
@given(edited())
def test_spans_lie_where_their_parts_of_the_view_lie(case: tuple[str, list[LabelledSpan], tuple[Edit, ...]]) -> None:
    check(*case)


@pytest.mark.parametrize(
    ("name", "params"),
    [
        ("repeat", {"rate": 0.5}),
        ("span-mask", {"rate": 0.2}),
        ("synonym", {"fraction": 0.5}),
        ("mlm-fill", {}),
        ("nlpaug", {"augmenter": "KeyboardAug"}),
    ],
)
def test_spans_planted_in_real_sentences_are_carried_by_every_view_of_words(name: str, params: dict[str, Any]) -> None:
    draw = random.Random(1)
    texts = [text for text in real_sentences(1200) if len(words(text)) > 3][:1000]
    planted = []
    for text in texts:
        found = words(text)
        first = draw.randrange(len(found))
        last = min(first + draw.randrange(3), len(found) - 1)
        planted.append(LabelledSpan(found[first].start, found[last].end, "X"))
    made = make_view(ViewSpec(name, params))(texts, range(len(texts)))
    kept = sum(check(text, [span], one.edits) for text, span, one in zip(texts, planted, made, strict=True))
    assert len(texts) == 1000
    assert 0.6 * len(texts) < kept <= len(texts)
    assert sum(one.text != text for text, one in zip(texts, made, strict=True)) > 500
