"""Labelled spans in a cell of a source, as JSON, to offsets in the normalised text."""

import json
import unicodedata
from functools import partial

from augment.edits import LabelledSpan
from augment.errors import InputError

KEYS = ("start", "end", "label")


def read_spans(where: str, cell: str | None, raw: str, text: str) -> list[LabelledSpan] | None:
    """The spans that a cell lists as `[start, end, label]` or as objects with these keys; None if it is blank.

    Offsets are in characters of `raw`, the text as the source has it; `text` is the same in NFC, without outer white
    space. Raises InputError, which names `where`, for anything else, and for a span that is empty, outside the text or
    cuts a character.
    """
    if not cell or not cell.strip():
        return None
    normal = partial(unicodedata.normalize, "NFC")
    margin = len(normal(raw)) - len(normal(raw).lstrip())
    try:
        listed, spans = json.loads(cell), []
        if isinstance(listed, dict):  # three lists, as `datasets` has them
            listed = zip(*(listed[key] for key in KEYS), strict=True)
        for each in listed:
            start, end, label = (each[key] for key in KEYS) if isinstance(each, dict) else each
            if type(start) is not int or type(end) is not int or type(label) not in (str, int):
                raise TypeError
            first, last = (min(max(len(normal(raw[:place])) - margin, 0), len(text)) for place in (start, end))
            covered = text[first:last].strip()
            if not 0 <= start < end <= len(raw) or not covered or covered != normal(raw[start:end]).strip():
                raise ValueError
            spans.append(LabelledSpan(first, last, str(label)))
    except (ValueError, TypeError, KeyError, RecursionError):
        said = f"{where}: {cell[:60]!r} does not list spans of {text[:40]!r}"
        raise InputError(f"{said}: write [[start, end, label], ...], in characters from 0") from None
    return spans
