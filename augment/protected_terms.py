"""What no word view may change: slots, code, and the terms and patterns that a user gives."""

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Self
from unicodedata import normalize

import regex

from augment.errors import InputError, describe
from augment.files import read_bounded
from augment.lexicon.synonyms import edits_of
from augment.models.weights import revision_of
from augment.text.edits import Token
from augment.text.facts import Change
from augment.text.words import STRAIGHT_QUOTES
from augment.view import JSON, Edit, Runtime, View

PATTERN_SECONDS = 10.0
"""What a pattern may take on one text; none but one that backtracks without end needs so long."""
SLOTS_AND_CODE = regex.compile(
    r"""
    `+[^`\n]+`+
    | \{[\w ]++,[^{}\n]*+(?:\{[^{}\n]*+\}[^{}\n]*+)*+\}      # {n, plural, one {# dog} other {# dogs}}
    | (?:[$#%@]|\b\w++)?\{++[^{}\n]*+\}++           # {start}, {{ price }}, ${photo}, %{name}, f{x}
    | \[\[?[\w .:^@-]++\]\]?(?:\([^()\s]*+\))?       # [NAME], [[name]], [^1], [link](address)
    | [$@]\([^()\n]*+\)
    | </?[A-Za-z][^<>\n]*+> | <[!?%=@#:][^<>\n]*+> | </?\d++>   # <b>, <name>, <!-- note -->
    | (?<!\w)%[A-Za-z][\w ]{0,30}(?<! )%(?!\w)
    | %\([^()\n]*+\)[a-z] | %(?:\d++\$)?[-+0-9.]*+(?:ll?|z)?[sdifgxu@]\b | %\w++(?:\$s|%)?
    | \$[A-Za-z_]\w*+ | (?<![\w:)\]]):[a-z_]\w*+ | __\w++ | (?<!\w)[#@]++\w[\w./-]*+
    | \\\w++(?:\[[^\]\n]*+\])?(?:\{[^{}\n]*+\})*+  # LaTeX
    | &\#?\w++;
    | (?<![^\s(\["'“‘|])--?[A-Za-z][\w-]*+(?:=\S++)?          # flags
    | \b\w++://\S++ | \bwww\.\S++ | \b(?:mailto|tel|data|urn):\S++ | (?<![\w.+-])[\w.+-]++@[\w-]++\.\S++
    | (?<![\w./-])[~.]{0,2}/?(?:[\w.-]++[/\\]){2,}(?:[\w*-]|\.(?=\w))*+
    | (?<!\w)[A-Za-z]:\\\S++ | (?<![\w.])[~.]{0,2}/[\w.-]++(?:/[\w.*-]++)*+
    | \b[\w-]++(?:\.[\w-]++)*\.[a-z]\w{0,4}\b(?:/[\w./?=&%~-]*+)? | \*\.\w++ | \b[\w-]++[/.]\*  # file names
    | (?<!\S)\.[a-z][\w-]*+ | \b\w++(?:[+|&]{1,2}\w++)+ | (?<![\w:])\w*+::\w*+
    | \b[A-Za-z_]\w*+\[[^\[\]\s]*+\] | \b[A-Za-z\d]++_\w++ | \b[a-z]++[A-Z]\w*+
    | \b[A-Za-z_]\w*+(?:(?:\.|::|->)[A-Za-z_]\w*+)*+\((?!s\))[^()\n]*+\)  # calls
    | \([^()\n]*?[<>=][^()\n]*+\)
    | \b[\w.]++\s?(?:[=!<>]=|[-+*/%|]=|->|=>|::|=)\s?[\w."'-]++(?:\([^()\n]*+\))?
    """,
    regex.VERBOSE,
)
"""What stands for other text, or is read by programs."""
_PIECE = regex.compile(r"\w+|[^\w\s]")


class ProtectedTermsView(View):
    """A view that changes no slots, no code, no listed terms and no given pattern.

    Terms match whole words in any case and spacing, with straight or curly apostrophes. A subclass asks
    `protected_spans` before it edits.
    """

    keep: str | None = None
    """file of terms, one a line, in which nothing is changed"""
    keep_pattern: str | None = None
    """regular expression; its matches are not changed"""

    _terms: dict[str, list[tuple[str, ...]]]  # by their first piece
    _pattern: regex.Pattern[str] | None = None
    _keep_revision: str | None = None

    @property
    def versions(self) -> dict[str, JSON]:
        """The versions of its libraries, and the revision of the terms."""
        return {**super().versions, **({"keep": self._keep_revision} if self._keep_revision else {})}

    def build(self, runtime: Runtime) -> Self:
        """A copy with the terms; raises InputError for a wrong pattern, or a file without terms or of other ones."""
        terms: list[tuple[str, ...]] = []
        revision = None
        if self.keep is not None:
            try:
                lines = read_bounded(Path(self.keep)).decode("utf-8-sig").splitlines()
            except (OSError, UnicodeDecodeError) as error:
                raise InputError(
                    f"keep={self.keep} cannot be read ({error}); write one term a line in UTF-8"
                ) from None
            terms = sorted({tuple(_PIECE.findall(_folded(normalize("NFC", line)))) for line in lines} - {()})
            if not terms:
                raise InputError(f"keep={self.keep} has no terms; write one a line")
            revision = revision_of("\n".join(map(" ".join, terms)).encode())
        view = self.model_copy()
        view._keep_revision = revision
        view._terms = {first: list(group) for first, group in groupby(terms, key=itemgetter(0))}
        try:
            view._pattern = None if self.keep_pattern is None else regex.compile(self.keep_pattern)
        except (regex.error, RecursionError, MemoryError, OverflowError) as error:
            shown = (self.keep_pattern or "")[:60]
            raise InputError(
                f"keep_pattern={shown!r} is not a regular expression: {describe(error)}"
            ) from None
        return view

    def protected_spans(self, text: str) -> list[tuple[int, int]]:
        """Start and end, in characters, of each span of `text` that must not change, in order and disjoint.

        Example:
            >>> from augment.views.repeat import Repeat
            >>> view = Repeat(keep_pattern="AB-[0-9]+").build(Runtime())
            >>> view.protected_spans("Fix AB-12 in {place} soon.")
            [(4, 9), (13, 20)]
        """
        spans = [match.span() for match in SLOTS_AND_CODE.finditer(text)]
        # Looking up a private attribute of a pydantic model takes longer than most views of a row.
        if self.keep or self.keep_pattern:
            spans += [*self._pattern_spans(text), *self._term_spans(text)]
        disjoint = list[tuple[int, int]]()
        for start, end in sorted(spans):
            if disjoint and start < disjoint[-1][1]:
                start, last_end = disjoint.pop()
                end = max(end, last_end)
            disjoint += [(start, end)] if start < end else []
        return disjoint

    def free_edits(
        self, text: str, words: Sequence[Token], changes: Iterable[tuple[Change, ...]]
    ) -> list[list[Edit]]:
        """The edits of changes that touch no protected term and none of the changes before them."""
        spans, taken, free = self.protected_spans(text), set[int](), list[list[Edit]]()
        for parts in changes:
            rows = [edits_of(text, words, part) for part in parts]
            edits = [edit for row in rows for edit in row if not touches(spans, edit.start, edit.end)]
            offsets = {offset for edit in edits for offset in range(edit.start, edit.end)}
            if {row[0] for row in rows} <= {*edits} and taken.isdisjoint(offsets):
                taken |= offsets
                free.append(edits)
        return free

    def _pattern_spans(self, text: str) -> list[tuple[int, int]]:
        if self._pattern is None:
            return []
        try:
            return [
                match.span()
                for match in self._pattern.finditer(text, overlapped=True, timeout=PATTERN_SECONDS)
            ]
        except TimeoutError:
            raise InputError(
                f"keep_pattern={self.keep_pattern!r} takes more than {PATTERN_SECONDS:g} s on {text[:60]!r}: "
                "write it without repetitions inside repetitions"
            ) from None

    def _term_spans(self, text: str) -> list[tuple[int, int]]:
        matches = [*_PIECE.finditer(text)]
        pieces = [_folded(match.group()) for match in matches]
        return [
            (matches[first].start(), matches[first + len(term) - 1].end())
            for first, piece in enumerate(pieces)
            for term in self._terms.get(piece, ())
            if tuple(pieces[first : first + len(term)]) == term
        ]


def _folded(text: str) -> str:
    """A text without case, its apostrophes and quotation marks straight."""
    return text.casefold().translate(STRAIGHT_QUOTES)


def touches(spans: Sequence[tuple[int, int]], start: int, end: int) -> bool:
    """Whether a change of `text[start:end]`, or an insertion where these are equal, affects a span of them."""
    place = bisect_right(spans, start, key=itemgetter(1))
    return place < len(spans) and spans[place][0] < end
