"""What the views `translate` and `backtranslate` share: their options, their models, and one hop after another."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Literal

from pydantic import Field, PrivateAttr

from augment.errors import InputError
from augment.translate.decoding import parse_decoding
from augment.translate.marian import MarianTranslator, Translation
from augment.translate.models import TranslationModel, resolve_models
from augment.view import Status, View, Viewed, row_seed

HOP = "+"
"""Between the languages of a translation in several hops, and between the revisions of their models."""


class TranslationView(View):
    """A view whose last leg is one translator: of the sentences, or of what `through` made of them."""

    source: str = Field(default="en", description="language of the sentences")
    models: str = Field(default="starter", description="starter, opus-mt, or a folder of MarianMT models")
    decode: str = Field(default="greedy", description="greedy, beam:N, or by the seed: sample, top-k:K, top-p:P")
    temperature: float | None = Field(default=None, gt=0, allow_inf_nan=False, description="of sampling (default: 1)")
    hypotheses: int = Field(default=1, ge=1, le=99, description="texts a sentence: the N best beams, or N samples")
    long: Literal["split", "fail"] = Field(default="split", description="translate long sentences in pieces, or fail")
    retry: bool = Field(default=True, description="try loops, copies and cut translations once more in another way")
    translator: Literal["auto", "ctranslate2", "transformers"] = Field(
        default="auto", description="auto: ctranslate2 for greedy and beam search on a CPU, else transformers"
    )
    precision: Literal["auto", "fp64", "fp32", "bf16", "fp16", "int8"] = Field(
        default="auto", description="auto: int8 with ctranslate2, else bf16 or fp32; fp64: the same text everywhere"
    )
    revision: str | None = Field(default=None, description="hold the models to these revisions, joined by +")

    _translator: MarianTranslator = PrivateAttr()
    _leg: str = PrivateAttr()  # its languages, such as "en-de"
    _through: TranslationView | None = PrivateAttr(default=None)

    @property
    def draws(self) -> bool:  # type: ignore[override]
        """Whether seeds change the text."""
        return parse_decoding(self.decode).sampled

    @property
    def through(self) -> TranslationView | None:
        """The view that comes first; None for a translation in one hop."""
        return self._through

    def tokenise(self, texts: Sequence[str], between: Sequence[Viewed] | None = None) -> None:
        """Tokenise what the last leg translates: `between` where `through` came before, else the texts."""
        if self._through is not None:
            texts = [pivot.text for pivot in between or () if pivot.text is not None]
        self._translator.tokenise(texts)

    def __call__(self, texts: Sequence[str], seeds: Sequence[int]) -> list[Viewed]:
        """Translate every text, all the way."""
        if self._through is not None:
            return self.complete(texts, seeds, self._through(texts, seeds))
        translations = self._translator.translate(texts, self._leg_seeds(seeds))
        return [_viewed(text, found) for text, found in zip(texts, translations, strict=True)]

    def complete(self, texts: Sequence[str], seeds: Sequence[int], between: Sequence[Viewed]) -> list[Viewed]:
        """Translate `between`; a sentence that failed there fails, as "pivot-" with the reason it had."""
        pivots = [(pivot.text, seed) for pivot, seed in zip(between, self._leg_seeds(seeds), strict=True)]
        usable = [(text, seed) for text, seed in pivots if text is not None]
        found = iter(self._translator.translate([text for text, _ in usable], [seed for _, seed in usable]))
        return [
            Viewed(None, "failed", _pivot_reason(pivot)) if pivot.text is None else _viewed(text, next(found), pivot)
            for text, pivot in zip(texts, between, strict=True)
        ]

    def _leg_seeds(self, seeds: Sequence[int]) -> list[int]:
        """Seeds of the last leg, so that the legs draw independently."""
        return [row_seed(seed, self._leg, "") for seed in seeds]


def find_models(models: str, languages: Sequence[str], revision: str | None) -> list[TranslationModel]:
    """The models from each language to the next; raises InputError where one or its revision is missing."""
    hops = list(pairwise(languages))
    revisions: Sequence[str | None] = [None] * len(hops) if revision is None else revision.split(HOP)
    if len(revisions) != len(hops):
        way = " -> ".join(languages)
        raise InputError(f"revision {revision!r}: {way} takes {len(hops)} models; join so many revisions by {HOP}")
    return [resolve_models(models, *hop, held) for hop, held in zip(hops, revisions, strict=True)]


def _viewed(text: str, found: Translation, pivot: Viewed | None = None) -> Viewed:
    between = pivot.text if pivot else None
    if found.reason is not None:
        return Viewed(None, "failed", found.reason, between)
    reason = "retried" if found.retried else _pivot_reason(pivot) if pivot and pivot.reason else None
    status: Status = "unchanged" if found.text == text else "ok"
    return Viewed(found.text, status, reason, between, alternatives=found.others)


def _pivot_reason(pivot: Viewed) -> str:
    """The reason of a sentence whose pivot had one."""
    return f"pivot-{(pivot.reason or 'missing').removeprefix('pivot-')}"
