"""Translators: many sentences in, as many translations out, each with a reason where it failed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol


class Translation(NamedTuple):
    """What became of one sentence.

    Attributes:
        text: Its translation; None where there is none.
        reason: Why it cannot be used: "too-long" (no text: the source does not fit the model), "no-end" (cut at the
            length limit), "repetition" (the same three tokens again and again), "copied" (the source itself), "empty";
            None if it is good.
        others: Further good translations, the best first; none equal to `text` or another.
        retried: The first try was no good, and `text` is the second.
    """

    text: str | None
    reason: str | None = None
    others: tuple[str, ...] = ()
    retried: bool = False


class Translator(Protocol):
    """Translates from one language to another."""

    def translate(self, texts: Sequence[str], seeds: Sequence[int] | None = None) -> list[Translation]:
        """One translation a text, in order; seeds matter where tokens are drawn."""
        ...
