"""The edits between a text and a view of it that was made elsewhere, by a diff of their words."""

from __future__ import annotations

from difflib import SequenceMatcher

from augment.edits import tokens
from augment.view import Edit


def word_edits(text: str, view: str) -> tuple[Edit, ...]:
    """The edits, in whole tokens and the white space between them, that turn `text` into `view`; none if equal."""
    before, after = _pieces(text), _pieces(view)
    starts = [0]
    for piece in before:
        starts.append(starts[-1] + len(piece))
    edits = []
    for kind, i, j, k, m in SequenceMatcher(_is_no_word, before, after, autojunk=False).get_opcodes():
        if kind == "equal":
            continue
        while i < j and k < m and before[j - 1] == after[m - 1]:  # the full stop after a changed word
            j, m = j - 1, m - 1
        edits.append(_trimmed(starts[i], text[starts[i] : starts[j]], "".join(after[k:m])))
    return tuple(edits)


def _is_no_word(piece: str) -> bool:
    """Whether a piece is but punctuation: a comma alone is no place where two texts meet."""
    return not any(character.isalnum() for character in piece)


def _pieces(text: str) -> list[str]:
    """Tokens, each with the white space before it, so that a space alone never counts as what both texts share."""
    pieces, end = [], 0
    for token in tokens(text):
        pieces.append(text[end : token.end])
        end = token.end
    return [*pieces, text[end:]] if end < len(text) else pieces


def _trimmed(start: int, old: str, new: str) -> Edit:
    """An edit without the white space that both sides begin with."""
    spaces = 0
    while spaces < min(len(old), len(new)) and old[spaces] == new[spaces] and old[spaces].isspace():
        spaces += 1
    return Edit(start + spaces, start + len(old), old[spaces:], new[spaces:])
