"""Translate the sentence, for multilingual pairs (BSL, section 4.3); `de+fr` goes to French through German."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field

from augment.translate.decoding import parse_decoding
from augment.translate.engines import resolve_engine
from augment.translate.stages import (
    HOP,
    Decode,
    Directly,
    Hypotheses,
    Long,
    Models,
    Onwards,
    Precision,
    Retry,
    Revision,
    Source,
    Temperature,
    Translator,
    find_models,
    joined_revisions,
    make_translator,
)
from augment.view import Runtime, ViewSpec

NAMED_BY = ENDS_IN = "to"


class PARAMS(BaseModel):
    """Parameters of the translate view."""

    model_config = ConfigDict(extra="forbid")

    to: str = Field(description="language to translate to, such as fr; de+fr goes there through German")
    source: Source = "en"
    models: Models = "starter"
    decode: Decode = "greedy"
    temperature: Temperature = None
    hypotheses: Hypotheses = 1
    long: Long = "split"
    retry: Retry = True
    translator: Translator = "auto"
    precision: Precision = "auto"
    revision: Revision = None


def build(params: PARAMS, runtime: Runtime) -> Directly | Onwards:
    """The view for `params`; raises InputError where a model is missing or a parameter is wrong."""
    languages = [params.source, *params.to.split(HOP)]
    models = find_models(params.models, languages, params.revision)
    decoding = parse_decoding(params.decode, params.temperature, params.hypotheses)
    engine, precision = resolve_engine(params.translator, params.precision, runtime.device, decoding)
    resolved = params.model_copy(
        update={"translator": engine, "precision": precision, "revision": joined_revisions(models)}
    )
    spec = ViewSpec("translate", resolved.model_dump())
    translator = make_translator(
        models[-1], runtime, **resolved.model_dump(exclude={"to", "source", "models", "revision"})
    )
    leg = "-".join(languages[-2:])
    if len(models) == 1:
        return Directly(spec, translator, leg)
    before = {"to": HOP.join(languages[1:-1]), "hypotheses": 1, "revision": joined_revisions(models[:-1])}
    return Onwards(spec, build(resolved.model_copy(update=before), runtime), translator, leg)
