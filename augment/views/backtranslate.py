"""Translate the sentence to a pivot language and back (BSL, section 3.2); the pivot text is kept."""

from __future__ import annotations

from pydantic import Field

from augment.translate import stages
from augment.view import Runtime
from augment.views.translate import Translate


class Backtranslate(stages.TranslationView):
    """The view; `through` is the translation to the pivot."""

    name = "backtranslate"
    named_by = "pivot"

    pivot: str = Field(description="language to go through, such as de; de+fr goes through German, then French")

    def build(self, runtime: Runtime) -> Backtranslate:
        """The view with its models; raises InputError where one is missing or an option is wrong."""
        pivots = self.pivot.split(stages.HOP)
        models = stages.find_models(self.models, [self.source, *pivots, self.source], self.revision)
        shared = self.model_dump(exclude={"pivot", "source", "hypotheses", "revision"})
        there, revision = stages.joined_revisions(models[:-1]), models[-1].revision
        through = Translate(**shared, source=self.source, to=self.pivot, revision=there).build(runtime)
        back = Translate(
            **shared, source=pivots[-1], to=self.source, hypotheses=self.hypotheses, revision=revision
        ).build(runtime)
        found = {"translator": back.translator, "precision": back.precision}
        view = self.model_copy(update={**found, "revision": stages.joined_revisions(models)})
        view._translator, view._leg, view._through = back._translator, back._leg, through
        return view
