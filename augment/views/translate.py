"""Translate the sentence, for multilingual pairs (BSL, section 4.3); `de+fr` goes to French through German."""

from __future__ import annotations

from pydantic import Field

from augment.translate.decoding import parse_decoding, resolve_engine
from augment.translate.marian import MarianTranslator
from augment.translate.stages import HOP, TranslationView, find_models
from augment.view import Runtime


class Translate(TranslationView):
    """The view; of several hops the last one is its own, and `through` makes those before."""

    name = "translate"
    named_by = ends_in = "to"

    to: str = Field(description="language to translate to, such as fr; de+fr goes there through German")

    def build(self, runtime: Runtime) -> Translate:
        """The view with its models; raises InputError where one is missing or an option is wrong."""
        languages = [self.source, *self.to.split(HOP)]
        *before, last = find_models(self.models, languages, self.revision)
        decoding = parse_decoding(self.decode, self.temperature, self.hypotheses)
        engine, precision = resolve_engine(self.translator, self.precision, runtime.device, decoding)
        revisions = [model.revision for model in (*before, last)]
        view = self.model_copy(update={"translator": engine, "precision": precision, "revision": HOP.join(revisions)})
        if before:
            way = {"to": HOP.join(languages[1:-1]), "revision": HOP.join(revisions[:-1]), "hypotheses": 1}
            view._through = view.model_copy(update=way).build(runtime)
        view._leg = "-".join(languages[-2:])
        view._translator = MarianTranslator(
            last.path,
            last.prefix,
            decoding,
            engine=engine,
            precision=precision,
            splits=self.long == "split",
            retries=self.retry,
            device=runtime.device,
            batch_tokens=runtime.batch_tokens,
            revision=last.revision,
        )
        return view
