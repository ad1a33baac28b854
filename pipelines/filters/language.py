"""Drop pairs with a side in another language than expected: its view's target language, or else `expect`."""

from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Self

from pydantic import Field, PrivateAttr

from augment.errors import InputError, MissingExtraError
from augment.view import Runtime
from pipelines.filter import PairColumns, RowFilter, Verdicts, first_reasons


class Language(RowFilter):
    """`a` and `b` are the languages of view_a and view_b, whatever their views say; by py3langid's naive Bayes.

    Another language counts where it is at least as probable as `certain`; short texts are seldom certain.
    """

    expect: str = "en"
    a: str | None = None
    b: str | None = None
    certain: float = Field(default=0.5, ge=0, le=1)
    _identifier: Any = PrivateAttr()

    def build(self, runtime: Runtime) -> Self:
        """Load what identifies languages.

        Raises:
            InputError: A language that py3langid does not know.
            MissingExtraError: py3langid is not installed.
        """
        if find_spec("py3langid") is None:
            raise MissingExtraError("--filter language", "lid")
        langid = import_module("py3langid.langid")
        self._identifier = langid.LanguageIdentifier.from_model_file(langid.MODEL_FILE, norm_probs=True)
        for language in filter(None, (self.expect, self.a, self.b)):
            self._code(language)
        return self

    def _judge(self, pairs: PairColumns) -> Verdicts:
        def reasons(side: str) -> Iterator[str | None]:
            told = self.a if side == "view_a" else self.b
            for text, about in zip(pairs.strings(side), pairs.about(side), strict=True):
                expected = self._code(told or about.language or self.expect)
                found, probability = self._identifier.classify(text)
                yield f"{side} is not {expected}" if found != expected and probability >= self.certain else None

        return first_reasons(reasons)

    def _code(self, language: str) -> str:
        """py3langid's own code for a language: "pt_BR" is "pt"."""
        short = language.replace("_", "-").partition("-")[0].lower()
        if short not in self._identifier.labels:
            known = "no language that py3langid knows"
            raise InputError(f"--filter language: {language!r} is {known}: give a code like de")
        return short
