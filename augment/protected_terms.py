"""Terms and patterns that no word view may change: names, product codes, specialist vocabulary."""

from collections.abc import Sequence
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Self
from unicodedata import normalize

import regex
from pydantic import Field, PrivateAttr

from augment.errors import InputError, describe
from augment.files import read_bounded
from augment.models.weights import check_revision, revision_of
from augment.text.words import STRAIGHT_QUOTES
from augment.view import Runtime, View

PATTERN_SECONDS = 10.0
"""What a pattern may take on one text; none but one that backtracks without end needs so long."""
_PIECE = regex.compile(r"\w+|[^\w\s]")


class ProtectedTermsView(View):
    """A view that changes no listed terms and no given pattern.

    Terms match whole words in any case and spacing, with straight or curly apostrophes. A subclass asks
    `protected_spans` before it edits.
    """

    keep: str | None = Field(default=None, description="file of terms, one a line, in which nothing is changed")
    keep_pattern: str | None = Field(default=None, description="regular expression; its matches are not changed")
    keep_revision: str | None = Field(default=None, description="hold the terms to this revision")

    _terms: dict[str, list[tuple[str, ...]]] = PrivateAttr(default_factory=dict)  # by their first piece
    _pattern: regex.Pattern[str] | None = PrivateAttr(default=None)

    def build(self, runtime: Runtime) -> Self:
        """A copy with the terms; raises InputError for a wrong pattern, or a file without terms or of other ones."""
        terms: list[tuple[str, ...]] = []
        revision = None
        if self.keep is not None:
            try:
                lines = read_bounded(Path(self.keep)).decode("utf-8-sig").splitlines()
            except (OSError, UnicodeDecodeError) as error:
                raise InputError(f"keep={self.keep} cannot be read ({error}); write one term a line in UTF-8") from None
            terms = sorted({tuple(_PIECE.findall(_folded(normalize("NFC", line)))) for line in lines} - {()})
            if not terms:
                raise InputError(f"keep={self.keep} has no terms; write one a line")
            revision = revision_of("\n".join(map(" ".join, terms)).encode())
        check_revision(f"keep={self.keep}: the terms have revision", revision, self.keep_revision)
        view = self.model_copy(update={"keep_revision": revision})
        view._terms = {first: list(group) for first, group in groupby(terms, key=itemgetter(0))}
        try:
            view._pattern = None if self.keep_pattern is None else regex.compile(self.keep_pattern)
        except (regex.error, RecursionError, MemoryError, OverflowError) as error:
            shown = (self.keep_pattern or "")[:60]
            raise InputError(f"keep_pattern={shown!r} is not a regular expression: {describe(error)}") from None
        return view

    def protected_spans(self, text: str) -> list[tuple[int, int]]:
        """Start and end, in characters, of each span of `text` that must not change; spans may overlap.

        Example:
            >>> from augment.view import ViewSpec, make_view
            >>> make_view(ViewSpec("repeat", {"keep_pattern": "AB-[0-9]+"})).protected_spans("Fix AB-12 soon.")
            [(4, 9)]
        """
        # Looking up a private attribute of a pydantic model takes longer than most views of a row.
        if not (self.keep or self.keep_pattern):
            return []
        spans = []
        if self._pattern is not None:
            try:
                matches = self._pattern.finditer(text, overlapped=True, timeout=PATTERN_SECONDS)
                spans = [match.span() for match in matches]
            except TimeoutError:
                problem = f"keep_pattern={self.keep_pattern!r} takes more than {PATTERN_SECONDS:g} s on {text[:60]!r}"
                raise InputError(f"{problem}: write it without repetitions inside repetitions") from None
        terms, matches = self._terms, [*_PIECE.finditer(text)]
        pieces = [_folded(match.group()) for match in matches]
        for first, piece in enumerate(pieces):
            for term in terms.get(piece, ()):
                if tuple(pieces[first : first + len(term)]) == term:
                    spans.append((matches[first].start(), matches[first + len(term) - 1].end()))
        return [(start, end) for start, end in spans if end > start]


def _folded(text: str) -> str:
    """A text without case, its apostrophes and quotation marks straight."""
    return text.casefold().translate(STRAIGHT_QUOTES)


def touches(spans: Sequence[tuple[int, int]], start: int, end: int) -> bool:
    """Whether a change of `text[start:end]`, or an insertion where these are equal, affects one of the spans."""
    return any(start < span_end and end > span_start for span_start, span_end in spans)
