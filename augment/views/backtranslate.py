"""Translate the sentence to a pivot language and back (BSL, section 3.2); the pivot text is kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from augment.errors import InputError
from augment.translate import Translation, Translator
from augment.translate.marian import MarianTranslator, beams_of, resolve_precision
from augment.translate.models import TranslationModel, resolve_models
from augment.view import Runtime, Viewed, ViewSpec

COPY_LEAST_WORDS = 3
"""A pivot that equals its source was not translated; shorter texts may be names, which are the same everywhere."""


class PARAMS(BaseModel):
    """Parameters of back-translation."""

    model_config = ConfigDict(extra="forbid")

    pivot: str = Field(description="language to go through, such as de")
    source: str = Field(default="en", description="language of the sentences")
    models: str = Field(default="starter", description="starter, opus-mt, or a folder of MarianMT models")
    decode: str = Field(default="greedy", description="greedy or beam:N, both ways; beam:4 is 3 to 4 times slower")
    precision: Literal["auto", "fp32", "bf16", "fp16"] = Field(
        default="auto", description="arithmetic; auto: bf16 where the device has it, else fp32"
    )
    revision: str | None = Field(default=None, description="hold the two models to these revisions, joined by +")


@dataclass(frozen=True)
class Backtranslate:
    """The view; seeds do not matter to it."""

    spec: ViewSpec
    there: Translator = field(repr=False)
    back: Translator = field(repr=False)

    def __call__(self, texts: Sequence[str], seeds: Sequence[int]) -> list[Viewed]:
        """View every text; a sentence that fails on the way there is not translated back."""
        pivots = [_judged(text, pivot) for text, pivot in zip(texts, self.there.translate(texts), strict=True)]
        good = [row for row, pivot in enumerate(pivots) if pivot.reason is None]
        returned = dict(zip(good, self.back.translate([pivots[row].text or "" for row in good]), strict=True))
        views = []
        for row, (text, _) in enumerate(zip(texts, seeds, strict=True)):
            pivot = pivots[row]
            if row not in returned:
                views.append(Viewed(None, "failed", f"pivot-{pivot.reason}", pivot.text))
                continue
            view, reason = returned[row]
            if reason is not None:
                views.append(Viewed(None, "failed", reason, pivot.text))
            else:
                views.append(Viewed(view, "unchanged" if view == text else "ok", None, pivot.text))
        return views


def build(params: PARAMS, runtime: Runtime) -> Backtranslate:
    """The view for `params`; raises InputError where a model is missing or a parameter is wrong."""
    beams_of(params.decode)
    first, second = _revisions(params.revision)
    there = resolve_models(params.models, params.source, params.pivot, first)
    back = resolve_models(params.models, params.pivot, params.source, second)
    precision = resolve_precision(params.precision, runtime.device)
    resolved = {**params.model_dump(), "precision": precision, "revision": f"{there.revision}+{back.revision}"}

    def translator(model: TranslationModel) -> MarianTranslator:
        return MarianTranslator(
            model.path,
            model.prefix,
            decode=params.decode,
            precision=precision,
            device=runtime.device,
            batch_tokens=runtime.batch_tokens,
        )

    return Backtranslate(ViewSpec("backtranslate", resolved), translator(there), translator(back))


def _judged(text: str, pivot: Translation) -> Translation:
    """The pivot, failed with the reason "copied" if it is the source itself, ignoring case and punctuation."""
    if pivot.reason is None and len(text.split()) >= COPY_LEAST_WORDS and _folded(text) == _folded(pivot.text or ""):
        return Translation(pivot.text, "copied")
    return pivot


def _folded(text: str) -> str:
    return "".join(char for char in text.casefold() if char.isalnum())


def _revisions(revision: str | None) -> tuple[str | None, str | None]:
    if revision is None:
        return None, None
    first, plus, second = revision.partition("+")
    if not plus:
        raise InputError(f"revision {revision!r}: back-translation has two models; write THERE+BACK")
    return first, second
