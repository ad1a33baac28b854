"""Translators: many sentences in, as many translations out, each with a reason where it failed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol


class Translation(NamedTuple):
    """What became of one sentence: its translation, and why it cannot be used, if so.

    Reasons: "too-long" (no text: the source does not fit the model), "no-end" (cut at the length limit),
    "repetition" (the same three tokens again and again), "empty".
    """

    text: str | None
    reason: str | None = None


class Translator(Protocol):
    """Translates from one language to another."""

    def translate(self, texts: Sequence[str]) -> list[Translation]:
        """One translation a text, in order."""
        ...
