"""Translate the sentence to a pivot language and back (BSL, section 3.2); the pivot text is kept."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field

from augment.errors import InputError
from augment.translate.decoding import parse_decoding
from augment.translate.engines import resolve_engine
from augment.translate.stages import (
    HOP,
    Decode,
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
from augment.views import translate

NAMED_BY = "pivot"
ENDS_IN = "source"


class PARAMS(BaseModel):
    """Parameters of back-translation."""

    model_config = ConfigDict(extra="forbid")

    pivot: str = Field(description="language to go through, such as de; de+fr goes through German, then French")
    source: Source = "en"
    models: Models = "starter"
    decode: Decode = "greedy"
    return_decode: str | None = Field(
        default=None, description="how to decode on the way back, if not as on the way there"
    )
    temperature: Temperature = None
    hypotheses: Hypotheses = 1
    long: Long = "split"
    retry: Retry = True
    translator: Translator = "auto"
    return_translator: Translator | None = Field(
        default=None, description="what translates on the way back, if not the same as on the way there"
    )
    precision: Precision = "auto"
    return_precision: Precision | None = Field(
        default=None, description="arithmetic on the way back, if not as on the way there"
    )
    revision: Revision = None


def build(params: PARAMS, runtime: Runtime) -> Onwards:
    """The view for `params`; raises InputError where a model is missing or a parameter is wrong."""
    there, back = parse_decoding(params.decode), parse_decoding(params.return_decode or params.decode)
    if params.temperature is not None and not (there.sampled or back.sampled):
        raise InputError(
            f"temperature {params.temperature}: nothing is drawn; use it with --decode top-k:50 or the like"
        )
    pivots = params.pivot.split(HOP)
    models = find_models(params.models, [params.source, *pivots, params.source], params.revision)
    engine, precision = resolve_engine(params.translator, params.precision, runtime.device, there)
    return_engine, return_precision = resolve_engine(
        params.return_translator or params.translator,
        params.return_precision or params.precision,
        runtime.device,
        back,
    )
    resolved = {
        **params.model_dump(),
        "translator": engine,
        "return_translator": return_engine if return_engine != engine else None,
        "precision": precision,
        "return_precision": return_precision if return_precision != precision else None,
        "revision": joined_revisions(models),
    }
    through = translate.PARAMS(
        to=params.pivot,
        source=params.source,
        models=params.models,
        decode=params.decode,
        temperature=params.temperature if there.sampled else None,
        revision=joined_revisions(models[:-1]),
        translator=engine,
        precision=precision,
        long=params.long,
        retry=params.retry,
    )
    translator = make_translator(
        models[-1],
        runtime,
        decode=params.return_decode or params.decode,
        temperature=params.temperature if back.sampled else None,
        hypotheses=params.hypotheses,
        translator=return_engine,
        precision=return_precision,
        long=params.long,
        retry=params.retry,
    )
    leg = f"{pivots[-1]}-{params.source}"
    return Onwards(ViewSpec("backtranslate", resolved), translate.build(through, runtime), translator, leg)
