"""Labelled character spans of a sentence, such as its named entities, carried through the edits of a view."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from augment.view import Edit


class LabelledSpan(NamedTuple):
    """`text[start:end]`, at least one character, is a `label`; offsets in characters."""

    start: int
    end: int
    label: str


def carry_spans(spans: Sequence[LabelledSpan], edits: Iterable[Edit]) -> tuple[list[LabelledSpan], int]:
    """Where spans of a sentence lie in the view that edits make of it, and how many lie nowhere.

    A span moves with what is before it, and grows or shrinks with an edit that lies within it or covers it exactly;
    what is inserted at its very start or end stays outside. It is lost where an edit reaches over one of its ends or
    leaves nothing of it.

    Args:
        spans: Of the sentence; they may overlap.
        edits: None overlapping another, in any order.
    """
    ordered = sorted(edits)
    carried = (_carried(span, ordered) for span in spans)
    found = [span for span in carried if span is not None]
    return found, len(spans) - len(found)


def _carried(span: LabelledSpan, edits: Sequence[Edit]) -> LabelledSpan | None:
    before = within = 0
    for start, end, _, new in edits:
        if end <= span.start:
            before += len(new) - (end - start)
        elif span.start <= start and end <= span.end and start < span.end:
            within += len(new) - (end - start)
        elif start < span.end:
            return None
    first, last = span.start + before, span.end + before + within
    return LabelledSpan(first, last, span.label) if first < last else None
