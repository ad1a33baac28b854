"""What the views `translate` and `backtranslate` share: options, and a chain of translators."""

from abc import abstractmethod
from collections.abc import Sequence
from itertools import pairwise
from typing import ClassVar, Literal, Self

from pydantic import Field, PrivateAttr

from augment.errors import InputError
from augment.translate.decoding import Decoding, parse_decoding, resolve_engine
from augment.translate.marian import MarianTranslator, Translation
from augment.translate.models import resolve_chain
from augment.view import Runtime, Status, View, Viewed, row_seed

HOP = "+"
"""Joins the languages of a translation in several hops, and the revisions of their models."""


class TranslationView(View):
    """A view made by a chain of translators."""

    runs_model = True
    constants: ClassVar = {"hypotheses": 1, "long": "split"}

    source: str = Field(default="en", description="language of the sentences")
    models: str = Field(default="auto", description="auto (opus-mt, else starter), starter, opus-mt, or a folder")
    decode: str = Field(default="greedy", description="greedy, beam:N, or by the seed: sample, top-k:K, top-p:P")
    temperature: float | None = Field(default=None, gt=0, description="of sampling (default: 1)")
    retry: bool = Field(default=True, description="try loops, copies and cut translations once more in another way")
    translator: Literal["auto", "ctranslate2", "transformers"] = Field(
        default="auto", description="auto: ctranslate2 for greedy and beam search on a CPU, else transformers"
    )
    precision: Literal["auto", "fp64", "fp32", "bf16", "fp16", "int8"] = Field(
        default="auto", description="auto: int8 with ctranslate2, else bf16 or fp32; fp64: the same text everywhere"
    )
    revision: str | None = Field(default=None, description="hold the models to these revisions, joined by +")

    _legs: list[tuple[str, MarianTranslator]] = PrivateAttr(default_factory=list)  # "en-de" and its translator
    _missing: int = PrivateAttr(default=0)  # bytes to download, in a dry run

    @abstractmethod
    def languages(self) -> list[str]:
        """The languages of the sentences, of each hop, and of the view, in order."""

    def decodings(self) -> list[Decoding]:
        """How to decode the last translation (last item) and the others (first item)."""
        return [parse_decoding(self.decode, self.temperature)]

    @property
    def draws(self) -> bool:  # type: ignore[override]
        """Whether seeds change the text."""
        return any(decoding.sampled for decoding in self.decodings())

    def build(self, runtime: Runtime) -> Self:
        """The view with its models, on one engine; raises InputError if one is missing or an option is wrong."""
        hops = list(pairwise(self.languages()))
        revisions: Sequence[str | None] = [None] * len(hops) if self.revision is None else self.revision.split(HOP)
        if len(revisions) != len(hops):
            way = " -> ".join(self.languages())
            raise InputError(f"revision {self.revision!r}: {way} takes {len(hops)} models; join their revisions by +")
        name, models, missing = resolve_chain(self.models, hops, revisions)
        decodings = self.decodings()
        engine, precision = resolve_engine(self.translator, self.precision, runtime.device, sampled=self.draws)
        revision = HOP.join(model.revision for model in models)
        resolved = {"models": name, "revision": revision, "translator": engine, "precision": precision}
        view = self.model_copy(update=resolved)
        view._legs, settings = [], (engine, precision, self.retry, runtime.device, runtime.batch_tokens)
        view._missing = missing
        for hop, (path, prefix, commit) in zip(hops, models, strict=True):
            decoding = decodings[-1 if hop is hops[-1] else 0]
            view._legs.append(("-".join(hop), MarianTranslator(path, prefix, decoding, *settings, commit)))
        return view

    def tokenise(self, texts: Sequence[str]) -> None:
        """Tokenise texts before the view is called with them, perhaps in another thread."""
        self._legs[0][1].tokenise(texts)

    def __call__(self, texts: Sequence[str], seeds: Sequence[int]) -> list[Viewed]:
        """Translate every text; the reason of a text that failed before the last translation starts with "pivot-"."""
        made = [Viewed(text) for text in texts]
        for number, (leg, translator) in enumerate(self._legs):
            # Each leg has its own seeds, so that its draws are independent.
            rows = [(one.text, row_seed(seed, leg, "")) for one, seed in zip(made, seeds, strict=True)]
            usable = [(text, seed) for text, seed in rows if text is not None]
            found = iter(translator.translate([text for text, _ in usable], [seed for _, seed in usable]))
            made = [
                _viewed(text, one if number else None, None if one.text is None else next(found))
                for text, one in zip(texts, made, strict=True)
            ]
        return made


def _viewed(text: str, pivot: Viewed | None, found: Translation | None) -> Viewed:
    """What became of a text, given its pivot and that one's translation, if there are any."""
    reason = f"pivot-{pivot.reason.removeprefix('pivot-')}" if pivot and pivot.reason else None
    if found is None:
        return Viewed(None, "failed", reason)
    between = pivot and pivot.text
    if found.reason is not None:
        return Viewed(None, "failed", found.reason, between)
    status: Status = "unchanged" if found.text == text else "ok"
    return Viewed(found.text, status, "retried" if found.retried else reason, between)
