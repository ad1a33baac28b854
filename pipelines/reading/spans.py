"""Labelled spans in a cell of a source, as JSON, to offsets in the normalised text."""

import json
import unicodedata
from collections.abc import Iterator
from typing import Any

from augment.edits import LabelledSpan
from augment.errors import InputError

KEYS = ("start", "end", "label")


def read_spans(where: str, cell: str | None, raw: str, text: str) -> list[LabelledSpan] | None:
    """The spans that a cell lists as `[start, end, label]` or as objects with these keys; None if it is blank.

    Args:
        where: What an error calls the row.
        cell: JSON; offsets are in characters of `raw`.
        raw: The text as the source has it.
        text: The same, normalised: NFC, without outer white space.

    Raises InputError for anything else, and for a span that is empty, outside the text or cuts a character.
    """
    if not cell or not cell.strip():
        return None
    margin = len(_normal(raw)) - len(_normal(raw).lstrip())
    try:
        spans = []
        for start, end, label in _triples(json.loads(cell)):
            first, last = (min(max(len(_normal(raw[:place])) - margin, 0), len(text)) for place in (start, end))
            covered = text[first:last].strip()
            if not 0 <= start < end <= len(raw) or not covered or covered != _normal(raw[start:end]).strip():
                raise ValueError
            spans.append(LabelledSpan(first, last, label))
    except (ValueError, TypeError, KeyError, RecursionError):
        raise InputError(
            f"{where}: {cell[:60]!r} does not list spans of {text[:40]!r}: "
            "write [[start, end, label], ...], in characters from 0"
        ) from None
    return spans


def _normal(text: str) -> str:
    return unicodedata.normalize("NFC", text)


def _triples(value: Any) -> Iterator[tuple[int, int, str]]:  # noqa: ANN401 - JSON
    """Start, end and label of a list of lists or objects, or of an object of three lists, as `datasets` has them."""
    listed = zip(*(value[key] for key in KEYS), strict=True) if isinstance(value, dict) else value
    for each in listed:
        start, end, label = (each[key] for key in KEYS) if isinstance(each, dict) else each
        if type(start) is not int or type(end) is not int or type(label) not in (str, int):
            raise TypeError
        yield start, end, str(label)
