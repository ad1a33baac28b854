"""Drop pairs with a side in another language than expected: its view's target language, or else `expect`."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec

from pydantic import Field

from augment.errors import InputError, MissingExtraError
from augment.view import Runtime
from pipelines.filter import FilterSpec, Options, PairColumns, RowFilter, Verdicts, first_reasons


class PARAMS(Options):
    """Parameters of the language check."""

    expect: str = Field(default="en", description="language of sides whose view does not say")
    a: str | None = Field(default=None, description="language of view_a, whatever its view says")
    b: str | None = Field(default=None, description="language of view_b, whatever its view says")
    certain: float = Field(
        default=0.5, ge=0, le=1, description="how probable another language must be; short texts are seldom certain"
    )


def build(params: PARAMS, runtime: Runtime) -> RowFilter:
    """The filter, by py3langid's naive Bayes over byte n-grams.

    Raises:
        InputError: A language that py3langid does not know.
        MissingExtraError: py3langid is not installed.
    """
    if find_spec("py3langid") is None:
        raise MissingExtraError("--filter language", "lid")
    langid = import_module("py3langid.langid")
    identifier = langid.LanguageIdentifier.from_model_file(langid.MODEL_FILE, norm_probs=True)
    told = {"view_a": params.a, "view_b": params.b}

    def code(language: str) -> str:
        """py3langid's own code for a language: "pt_BR" is "pt"."""
        short = language.replace("_", "-").partition("-")[0].lower()
        if short not in identifier.labels:
            raise InputError(
                f"--filter language: {language!r} is no language that py3langid knows: give a code like de"
            )
        return short

    def judge(pairs: PairColumns) -> Verdicts:
        def reasons(side: str) -> Iterator[str | None]:
            for text, about in zip(pairs.strings(side), pairs.about(side), strict=True):
                expected = code(told[side] or about.language or params.expect)
                found, probability = identifier.classify(text)
                yield f"{side} is not {expected}" if found != expected and probability >= params.certain else None

        return first_reasons(pairs, reasons)

    for language in filter(None, (params.expect, params.a, params.b)):
        code(language)
    return RowFilter(FilterSpec("language", params.model_dump()), judge)
