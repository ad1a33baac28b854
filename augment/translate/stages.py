"""What the views `translate` and `backtranslate` share: their options, and one translator after another."""

from abc import abstractmethod
from collections.abc import Sequence
from itertools import pairwise
from typing import ClassVar, Literal, Self

from pydantic import Field, PrivateAttr

from augment.errors import InputError
from augment.translate.decoding import Decoding, parse_decoding, resolve_engine
from augment.translate.marian import MarianTranslator, Translation
from augment.translate.models import resolve_models
from augment.view import Runtime, Status, View, Viewed, row_seed

HOP = "+"
"""Joins the languages of a translation in several hops, and the revisions of their models."""


class TranslationView(View):
    """A view made by translators, one after another."""

    constants: ClassVar = {"hypotheses": 1, "long": "split"}

    source: str = Field(default="en", description="language of the sentences")
    models: str = Field(default="starter", description="starter, opus-mt, or a folder of MarianMT models")
    decode: str = Field(default="greedy", description="greedy, beam:N, or by the seed: sample, top-k:K, top-p:P")
    temperature: float | None = Field(default=None, gt=0, allow_inf_nan=False, description="of sampling (default: 1)")
    retry: bool = Field(default=True, description="try loops, copies and cut translations once more in another way")
    translator: Literal["auto", "ctranslate2", "transformers"] = Field(
        default="auto", description="auto: ctranslate2 for greedy and beam search on a CPU, else transformers"
    )
    precision: Literal["auto", "fp64", "fp32", "bf16", "fp16", "int8"] = Field(
        default="auto", description="auto: int8 with ctranslate2, else bf16 or fp32; fp64: the same text everywhere"
    )
    revision: str | None = Field(default=None, description="hold the models to these revisions, joined by +")

    _legs: list[tuple[str, MarianTranslator]] = PrivateAttr(default_factory=list)  # "en-de" and its translator

    @abstractmethod
    def languages(self) -> list[str]:
        """The languages of the sentences, of each hop, and of the view, in order."""

    def decodings(self) -> list[Decoding]:
        """How to decode all translations but the last one, and the last one; a single decoding is for all."""
        return [parse_decoding(self.decode, self.temperature)]

    @property
    def draws(self) -> bool:  # type: ignore[override]
        """Whether seeds change the text."""
        return any(decoding.sampled for decoding in self.decodings())

    def build(self, runtime: Runtime) -> Self:
        """The view with its models, on one engine; raises InputError where one is missing or an option is wrong."""
        hops = list(pairwise(self.languages()))
        revisions: Sequence[str | None] = [None] * len(hops) if self.revision is None else self.revision.split(HOP)
        if len(revisions) != len(hops):
            way = " -> ".join(self.languages())
            raise InputError(f"revision {self.revision!r}: {way} takes {len(hops)} models; join their revisions by +")
        models = [resolve_models(self.models, *hop, revision) for hop, revision in zip(hops, revisions, strict=True)]
        decodings = self.decodings()
        engine, precision = resolve_engine(self.translator, self.precision, runtime.device, sampled=self.draws)
        revision = HOP.join(model.revision for model in models)
        view = self.model_copy(update={"translator": engine, "precision": precision, "revision": revision})
        view._legs = []
        for hop, model in zip(hops, models, strict=True):
            translator = MarianTranslator(
                model.path,
                model.prefix,
                decodings[-1 if hop is hops[-1] else 0],
                engine=engine,
                precision=precision,
                retries=self.retry,
                device=runtime.device,
                batch_tokens=runtime.batch_tokens,
                revision=model.revision,
            )
            view._legs.append(("-".join(hop), translator))
        return view

    def tokenise(self, texts: Sequence[str]) -> None:
        """Tokenise texts before the view is called with them, perhaps in another thread."""
        self._legs[0][1].tokenise(texts)

    def __call__(self, texts: Sequence[str], seeds: Sequence[int]) -> list[Viewed]:
        """Translate every text, all the way; one that fails on the way fails with "pivot-" before its reason."""
        made = [Viewed(text) for text in texts]
        for number, (leg, translator) in enumerate(self._legs):
            # Legs draw independently: each has seeds of its own.
            rows = [(one.text, row_seed(seed, leg, "")) for one, seed in zip(made, seeds, strict=True)]
            usable = [(text, seed) for text, seed in rows if text is not None]
            found = iter(translator.translate([text for text, _ in usable], [seed for _, seed in usable]))
            made = [
                Viewed(None, "failed", _pivot_reason(one.reason))
                if one.text is None
                else _viewed(text, next(found), one if number else None)
                for text, one in zip(texts, made, strict=True)
            ]
        return made


def _viewed(text: str, found: Translation, pivot: Viewed | None) -> Viewed:
    between = pivot and pivot.text
    if found.reason is not None:
        return Viewed(None, "failed", found.reason, between)
    reason = "retried" if found.retried else _pivot_reason(pivot.reason) if pivot and pivot.reason else None
    status: Status = "unchanged" if found.text == text else "ok"
    return Viewed(found.text, status, reason, between)


def _pivot_reason(reason: str | None) -> str:
    """The reason of a sentence whose pivot had this one."""
    return f"pivot-{(reason or 'missing').removeprefix('pivot-')}"
