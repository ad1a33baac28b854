"""Translate the sentence to a pivot language and back (BSL, section 3.2); the pivot text is kept."""

from __future__ import annotations

from pydantic import Field

from augment.translate.decoding import parse_decoding
from augment.translate.stages import HOP, TranslationView, find_models
from augment.view import Runtime
from augment.views.translate import Translate


class Backtranslate(TranslationView):
    """The view; `through` is the translation to the pivot."""

    name = "backtranslate"
    named_by = "pivot"

    pivot: str = Field(description="language to go through, such as de; de+fr goes through German, then French")
    return_decode: str | None = Field(default=None, description="how to decode on the way back, if not as there")

    @property
    def draws(self) -> bool:  # type: ignore[override]
        """Whether seeds change the text."""
        return any(parse_decoding(way).sampled for way in (self.decode, self.return_decode or self.decode))

    def build(self, runtime: Runtime) -> Backtranslate:
        """The view with its models; raises InputError where one is missing or an option is wrong.

        One engine serves both ways: that of the way that draws, if only one does.
        """
        pivots = self.pivot.split(HOP)
        *there, home = find_models(self.models, [self.source, *pivots, self.source], self.revision)
        shared = self.model_dump(include={"models", "long", "retry", "precision", "translator"})
        if self.draws and self.translator == "auto":
            shared["translator"] = "transformers"
        ways = []
        for decode in (self.decode, self.return_decode or self.decode):
            # Where only one of both draws, the temperature is that one's.
            is_given = parse_decoding(decode).sampled or not self.draws
            ways.append({**shared, "decode": decode, "temperature": self.temperature if is_given else None})
        ways[0] |= {"to": self.pivot, "source": self.source, "revision": HOP.join(model.revision for model in there)}
        ways[1] |= {"to": self.source, "source": pivots[-1], "revision": home.revision, "hypotheses": self.hypotheses}
        through, back = (Translate(**way).build(runtime) for way in ways)
        found = {"translator": back.translator, "precision": back.precision}
        view = self.model_copy(update={**found, "revision": HOP.join(str(way.revision) for way in (through, back))})
        view._translator, view._leg, view._through = back._translator, back._leg, through
        return view
