"""Terms and patterns that no word view may change: names, product codes, the vocabulary of a field."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import regex
from pydantic import Field, PrivateAttr

from augment.errors import InputError
from augment.view import Edit, View

Span = tuple[int, int]

_PIECE = regex.compile(r"\w+|[^\w\s]")


@dataclass(frozen=True, slots=True)
class Keep:
    """Finds what must stay; terms match whole words, whatever their case and the white space between them."""

    terms: dict[str, list[tuple[str, ...]]]
    pattern: regex.Pattern[str] | None

    def spans(self, text: str) -> list[Span]:
        """Start and end of every term and match in `text`; they may overlap."""
        found = [match.span() for match in self.pattern.finditer(text, overlapped=True)] if self.pattern else []
        if self.terms:
            matches = list(_PIECE.finditer(text))
            pieces = [match.group().casefold() for match in matches]
            for first, piece in enumerate(pieces):
                for term in self.terms.get(piece, ()):
                    last = first + len(term) - 1
                    if tuple(pieces[first : last + 1]) == term:
                        found.append((matches[first].start(), matches[last].end()))
        return [(start, end) for start, end in found if end > start]


class WordView(View):
    """A view that changes some words or characters and can be told which ones to leave alone."""

    keep: str | None = Field(default=None, description="file of terms, one a line, in which nothing is changed")
    keep_pattern: str | None = Field(
        default=None, description="regular expression; nothing is changed where it matches, as in '[A-Z]+-[0-9]+'"
    )
    keep_revision: str | None = Field(default=None, description="hold the terms to this revision")

    _keep: Keep | None = PrivateAttr(default=None)

    def keeping(self) -> Self:
        """A copy of the view that knows its terms, with their revision.

        Raises:
            InputError: The file is missing, empty, no UTF-8 or of another revision, or the pattern is none.
        """
        terms, revision = (None, None) if self.keep is None else _read_terms(self.keep)
        if self.keep_revision not in (None, revision):
            raise InputError(f"keep={self.keep}: the terms have revision {revision}, not {self.keep_revision}")
        view = self.model_copy(update={"keep_revision": revision})
        if terms or self.keep_pattern:
            view._keep = Keep(terms or {}, _compiled(self.keep_pattern))
        return view

    def kept(self, text: str) -> list[Span]:
        """Start and end of what must stay in `text`."""
        # Pydantic takes longer to find a private attribute than most views to make a row.
        return self._keep.spans(text) if (self.keep or self.keep_pattern) and self._keep else []


def touches(spans: Sequence[Span], start: int, end: int) -> bool:
    """Whether a change of `text[start:end]`, or an insertion where these are equal, is within one of the spans."""
    return any(start < stop and end > first for first, stop in spans)


def untouching(edits: Iterable[Edit], spans: Sequence[Span]) -> tuple[Edit, ...]:
    """The edits outside all spans."""
    return tuple(edit for edit in edits if not touches(spans, edit.start, edit.end))


def _read_terms(path: str) -> tuple[dict[str, list[tuple[str, ...]]], str]:
    """Terms by their first piece, and twelve hex digits that tell them from others."""
    try:
        lines = Path(path).read_text(encoding="utf-8-sig").splitlines()
    except OSError as error:
        raise InputError(f"keep={path}: {error.strerror}; give a file with one term a line") from None
    except UnicodeDecodeError as error:
        raise InputError(f"keep={path} is not UTF-8 (byte {error.start}); save it as UTF-8") from None
    pieces = {tuple(_PIECE.findall(line.casefold())) for line in lines} - {()}
    if not pieces:
        raise InputError(f"keep={path} has no terms; write one a line")
    terms: dict[str, list[tuple[str, ...]]] = defaultdict(list)
    for term in sorted(pieces):
        terms[term[0]].append(term)
    return dict(terms), hashlib.sha256("\n".join(map(" ".join, sorted(pieces))).encode()).hexdigest()[:12]


def _compiled(pattern: str | None) -> regex.Pattern[str] | None:
    try:
        return None if pattern is None else regex.compile(pattern)
    except regex.error as error:
        raise InputError(f"keep_pattern={pattern!r} is not a regular expression: {error}") from None
