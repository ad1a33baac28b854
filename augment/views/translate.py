"""Translate the sentence, for multilingual pairs (BSL, section 4.3)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from augment.translate import Translator
from augment.translate.marian import MarianTranslator, beams_of, resolve_precision
from augment.translate.models import resolve_models
from augment.view import Runtime, Viewed, ViewSpec


class PARAMS(BaseModel):
    """Parameters of the translate view."""

    model_config = ConfigDict(extra="forbid")

    to: str = Field(description="language to translate to, such as fr")
    source: str = Field(default="en", description="language of the sentences")
    models: str = Field(default="starter", description="starter, opus-mt, or a folder of MarianMT models")
    decode: str = Field(default="greedy", description="greedy or beam:N; beam:4 is 3 to 4 times slower")
    precision: Literal["auto", "fp32", "bf16", "fp16"] = Field(
        default="auto", description="arithmetic; auto: bf16 where the device has it, else fp32"
    )
    revision: str | None = Field(default=None, description="hold the model to this revision")


@dataclass(frozen=True)
class Translate:
    """The view; seeds do not matter to it."""

    spec: ViewSpec
    translator: Translator = field(repr=False)

    def __call__(self, texts: Sequence[str], seeds: Sequence[int]) -> list[Viewed]:
        """Translate every text."""
        translations = self.translator.translate(texts)
        views = []
        for text, (translated, reason), _ in zip(texts, translations, seeds, strict=True):
            if reason is not None:
                views.append(Viewed(None, "failed", reason))
            else:
                views.append(Viewed(translated, "unchanged" if translated == text else "ok"))
        return views


def build(params: PARAMS, runtime: Runtime) -> Translate:
    """The view for `params`; raises InputError where the model is missing or a parameter is wrong."""
    beams_of(params.decode)
    model = resolve_models(params.models, params.source, params.to, params.revision)
    precision = resolve_precision(params.precision, runtime.device)
    resolved = {**params.model_dump(), "precision": precision, "revision": model.revision}
    translator = MarianTranslator(
        model.path,
        model.prefix,
        decode=params.decode,
        precision=precision,
        device=runtime.device,
        batch_tokens=runtime.batch_tokens,
    )
    return Translate(ViewSpec("translate", resolved), translator)
