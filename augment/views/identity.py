"""The sentence itself: dropout or drophead in the encoder then makes the view (Mirror-BERT, section 2.2)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from pydantic import BaseModel, ConfigDict

from augment.view import Runtime, Viewed, ViewSpec


class PARAMS(BaseModel):
    """The identity view has no parameters."""

    model_config = ConfigDict(extra="forbid")


@dataclass(frozen=True)
class Identity:
    """The view; its status is "ok", as an unchanged text is what it is asked for."""

    spec: ViewSpec = field(default_factory=lambda: ViewSpec("identity"))

    def __call__(self, texts: Sequence[str], seeds: Sequence[int]) -> list[Viewed]:
        """Return every text as it is."""
        return [Viewed(text) for text, _ in zip(texts, seeds, strict=True)]


def build(params: PARAMS, runtime: Runtime) -> Identity:
    """The view."""
    return Identity()
