"""Translate the sentence to a pivot language and back (BSL, section 3.2); the pivot text is kept."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from augment.errors import InputError
from augment.translate import stages
from augment.translate.decoding import parse_decoding
from augment.view import Runtime
from augment.views.translate import Translate


class Backtranslate(stages.TranslationView):
    """The view; `through` is the translation to the pivot."""

    name = "backtranslate"
    named_by = "pivot"

    pivot: str = Field(description="language to go through, such as de; de+fr goes through German, then French")
    source: stages.Source = "en"
    models: stages.Models = "starter"
    decode: stages.Decode = "greedy"
    return_decode: str | None = Field(
        default=None, description="how to decode on the way back, if not as on the way there"
    )
    temperature: stages.Temperature = None
    hypotheses: stages.Hypotheses = 1
    long: stages.Long = "split"
    retry: stages.Retry = True
    translator: stages.Translator = "auto"
    return_translator: stages.Translator | None = Field(
        default=None, description="what translates on the way back, if not the same as on the way there"
    )
    precision: stages.Precision = "auto"
    return_precision: stages.Precision | None = Field(
        default=None, description="arithmetic on the way back, if not as on the way there"
    )
    revision: stages.Revision = None

    @property
    def ways(self) -> tuple[str, str]:
        """How it decodes there and back."""
        return self.decode, self.return_decode or self.decode

    def build(self, runtime: Runtime) -> Backtranslate:
        """The view with its models; raises InputError where one is missing or an option is wrong."""
        if self.temperature is not None and not self.draws:
            raise InputError(
                f"temperature {self.temperature}: nothing is drawn; use it with --decode top-k:50 or the like"
            )
        pivots = self.pivot.split(stages.HOP)
        models = stages.find_models(self.models, [self.source, *pivots, self.source], self.revision)
        shared = self.model_dump(include={"models", "long", "retry"})
        there = Translate(
            **shared,
            **self._decoding(self.decode),
            source=self.source,
            to=self.pivot,
            translator=self.translator,
            precision=self.precision,
            revision=stages.joined_revisions(models[:-1]),
        ).build(runtime)
        back = Translate(
            **shared,
            **self._decoding(self.return_decode or self.decode),
            source=pivots[-1],
            to=self.source,
            hypotheses=self.hypotheses,
            translator=self.return_translator or self.translator,
            precision=self.return_precision or self.precision,
            revision=models[-1].revision,
        ).build(runtime)
        view = self.model_copy(
            update={
                "translator": there.translator,
                "return_translator": back.translator if back.translator != there.translator else None,
                "precision": there.precision,
                "return_precision": back.precision if back.precision != there.precision else None,
                "revision": stages.joined_revisions(models),
            }
        )
        view._translator, view._leg, view._through = back._translator, back._leg, there
        return view

    def _decoding(self, decode: str) -> dict[str, Any]:
        """One way's options of decoding; the temperature is for the one that draws."""
        return {"decode": decode, "temperature": self.temperature if parse_decoding(decode).sampled else None}
