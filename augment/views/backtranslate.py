"""Translate the sentence to a pivot language and back (BSL, section 3.2); the pivot text is kept."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from augment.translate import stages
from augment.translate.decoding import parse_decoding
from augment.view import Runtime
from augment.views.translate import Translate


class Backtranslate(stages.TranslationView):
    """The view; `through` is the translation to the pivot."""

    name = "backtranslate"
    named_by = "pivot"

    pivot: str = Field(description="language to go through, such as de; de+fr goes through German, then French")
    return_decode: str | None = Field(
        default=None, description="how to decode on the way back, if not as on the way there"
    )

    @property
    def draws(self) -> bool:
        """Whether seeds change the text."""
        return any(parse_decoding(way).sampled for way in self._ways)

    @property
    def _ways(self) -> tuple[str, str]:
        """How it decodes there and back."""
        return self.decode, self.return_decode or self.decode

    def build(self, runtime: Runtime) -> Backtranslate:
        """The view with its models; raises InputError where one is missing or an option is wrong.

        One engine serves both ways: that of the way that draws, if only one does.
        """
        pivots = self.pivot.split(stages.HOP)
        models = stages.find_models(self.models, [self.source, *pivots, self.source], self.revision)
        engine = "transformers" if self.draws and self.translator == "auto" else self.translator
        shared = {**self.model_dump(include={"models", "long", "retry", "precision"}), "translator": engine}
        there, revision = stages.joined_revisions(models[:-1]), models[-1].revision
        out, home = map(self._decoding, self._ways)
        through = Translate(**shared, **out, source=self.source, to=self.pivot, revision=there).build(runtime)
        back = Translate(
            **shared, **home, source=pivots[-1], to=self.source, hypotheses=self.hypotheses, revision=revision
        ).build(runtime)
        found = {"translator": back.translator, "precision": back.precision}
        view = self.model_copy(update={**found, "revision": stages.joined_revisions(models)})
        view._translator, view._leg, view._through = back._translator, back._leg, through
        return view

    def _decoding(self, way: str) -> dict[str, Any]:
        """The options of one way; where only one of both draws, the temperature is that one's."""
        is_given = parse_decoding(way).sampled or not self.draws
        return {"decode": way, "temperature": self.temperature if is_given else None}
