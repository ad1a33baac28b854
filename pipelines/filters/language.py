"""Drop pairs with a side in another language than expected: its view's target language, or else `expect`."""

from __future__ import annotations

from dataclasses import dataclass, field
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from augment.errors import InputError, MissingExtraError
from augment.view import Runtime
from pipelines.filter import FilterSpec, PairColumns, Verdicts


class PARAMS(BaseModel):
    """Parameters of the language check."""

    model_config = ConfigDict(extra="forbid")

    expect: str = Field(default="en", description="language of sides whose view does not say")
    a: str | None = Field(default=None, description="language of view_a, whatever its view says")
    b: str | None = Field(default=None, description="language of view_b, whatever its view says")
    certain: float = Field(
        default=0.5, ge=0, le=1, description="how probable another language must be; short texts are seldom certain"
    )


@dataclass(frozen=True)
class Language:
    """The filter, by py3langid's naive Bayes over byte n-grams."""

    spec: FilterSpec
    params: PARAMS
    identifier: Any = field(repr=False)

    def __call__(self, pairs: PairColumns) -> Verdicts:
        """Drop a pair for its first side that is in another language."""
        reasons: list[str | None] = [None] * len(pairs)
        for side, told in (("view_a", self.params.a), ("view_b", self.params.b)):
            for row, (text, about) in enumerate(zip(pairs.strings(side), pairs.about(side), strict=True)):
                if reasons[row] is None:
                    expected = self.code(told or about.language or self.params.expect)
                    found, probability = self.identifier.classify(text)
                    if found != expected and probability >= self.params.certain:
                        reasons[row] = f"{side} is not {expected}"
        return Verdicts(reasons)

    def code(self, language: str) -> str:
        """The identifier's own code for a language ("pt_BR" is "pt"); raises InputError for one it does not know."""
        code = language.replace("_", "-").partition("-")[0].lower()
        if code not in self.identifier.labels:
            raise InputError(
                f"--filter language: {language!r} is no language that py3langid knows: give a code like de"
            )
        return code


def build(params: PARAMS, runtime: Runtime) -> Language:
    """The filter for `params`; raises InputError for unknown languages and MissingExtraError without py3langid."""
    if find_spec("py3langid") is None:
        raise MissingExtraError("--filter language", "lid")
    langid = import_module("py3langid.langid")
    identifier = langid.LanguageIdentifier.from_model_file(langid.MODEL_FILE, norm_probs=True)
    judge = Language(FilterSpec("language", params.model_dump()), params, identifier)
    for language in (params.expect, params.a, params.b):
        if language is not None:
            judge.code(language)
    return judge
