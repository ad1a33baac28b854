"""Drop pairs with a side in another language than expected: its view's target language, or else `expect`."""

from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Self

from pydantic import Field, PrivateAttr

from augment.errors import InputError, MissingExtraError
from augment.view import Runtime
from pipelines.pairs.filter import PairColumns, SideFilter


class Language(SideFilter):
    """By py3langid's naive Bayes; `a` and `b` override the sides' languages.

    Another one counts if it is `certain`.
    """

    expect: str = "en"
    a: str | None = None
    b: str | None = None
    certain: float = Field(default=0.5, ge=0, le=1)
    _identifier: Any = PrivateAttr()

    def build(self, runtime: Runtime) -> Self:
        """Load the identifier; raises MissingExtraError without py3langid, InputError for an unknown language."""
        if find_spec("py3langid") is None:
            raise MissingExtraError("--filter language", "lid")
        langid = import_module("py3langid.langid")
        self._identifier = langid.LanguageIdentifier.from_model_file(langid.MODEL_FILE, norm_probs=True)
        for language in filter(None, (self.expect, self.a, self.b)):
            self._code(language)
        return self

    def reasons(self, pairs: PairColumns, side: str) -> Iterator[str | None]:
        """Drop texts that are certainly in another language."""
        override = self.a if side == "view_a" else self.b
        for text, info in zip(pairs.strings(side), pairs.about(side), strict=True):
            expected = self._code(override or info.language or self.expect)
            language, probability = self._identifier.classify(text)
            yield f"{side} is not {expected}" if language != expected and probability >= self.certain else None

    def _code(self, language: str) -> str:
        """py3langid's own code for a language: "pt_BR" is "pt"."""
        short = language.replace("_", "-").partition("-")[0].lower()
        if short not in self._identifier.labels:
            raise InputError(f"--filter language: py3langid does not know {language!r}: give a code like de")
        return short
