"""What the views `translate` and `backtranslate` share: options, a chain of translators, and how they choose."""

from abc import abstractmethod
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Literal, Self

from augment.errors import InputError
from augment.meaning.figures import fault
from augment.models.device import resolve_engine
from augment.text.case import plain_case
from augment.text.words import has_non_word
from augment.translate.decoding import parse_decoding
from augment.translate.marian import NOTHING, MarianTranslator, Translation
from augment.translate.model_names import resolve_chain
from augment.view import Runtime, View, ViewResult, row_seed

HOP = "+"
"""Joins the languages of a translation in several hops, and the revisions of their models."""


class TranslationView(View):
    """A view made by a chain of translators."""

    runs_model = keeps_meaning = ranks = True
    # The floor keeps 42% of the round trips of 300 sentences of the sample and 55% of 300 captions.
    draws, floor, judged = 4, 0.95, 2

    source: str = "en"
    """language of the sentences"""
    models: str = "auto"
    """auto (opus-mt, else starter), starter, opus-mt, or a folder"""
    decode: str = "greedy"
    """greedy, beam:N, or by the seed: sample, top-k:K, top-p:P"""
    translator: Literal["auto", "ctranslate2", "transformers"] = "auto"
    """auto: ctranslate2 for greedy and beam search on a CPU, else transformers"""
    precision: Literal["auto", "fp64", "fp32", "bf16", "fp16", "int8"] = "auto"
    """auto: int8 with ctranslate2, else bf16 or fp32; fp64: the same text everywhere"""
    revision: str | None = None
    """hold the models to these revisions, joined by +"""

    _legs: list[tuple[str, MarianTranslator]]  # "en-de" and its translator

    @abstractmethod
    def languages(self) -> list[str]:
        """The languages of the sentences, of each hop, and of the view, in order."""

    @property
    def uses_seed(self) -> bool:  # type: ignore[override]
        """Whether seeds change the text."""
        return parse_decoding(self.decode).sampled

    def build(self, runtime: Runtime) -> Self:
        """The view with its models, on one engine.

        Raises InputError if one is missing or an option is wrong.
        """
        hops = list(pairwise(self.languages()))
        revisions: Sequence[str | None] = (
            [None] * len(hops) if self.revision is None else self.revision.split(HOP)
        )
        if len(revisions) != len(hops):
            way = " -> ".join(self.languages())
            raise InputError(
                f"revision {self.revision!r}: {way} takes {len(hops)} models; join their revisions by +"
            )
        name, models = resolve_chain(self.models, hops, revisions)
        decoding = parse_decoding(self.decode)
        engine, precision = resolve_engine(
            self.translator, self.precision, runtime.device, sampled=decoding.sampled
        )
        revision = HOP.join(model.revision for model in models)
        resolved = {"models": name, "revision": revision, "translator": engine, "precision": precision}
        view = self.model_copy(update=resolved)
        view._legs, settings = [], (engine, precision, runtime.device, runtime.batch_tokens)
        for hop, (path, prefix, commit) in zip(hops, models, strict=True):
            view._legs.append(
                ("-".join(hop), MarianTranslator(path, prefix, decoding, *settings, commit, *hop))
            )
        return view

    @property
    def libraries(self) -> tuple[str, ...]:  # type: ignore[override]
        """What reads and writes texts, its engine, and the lists of words and lemmas."""
        names = ["sentencepiece", "sentencex", self.translator, "wordfreq"]
        names += ["lemminflect"] * (self.source == self.languages()[-1] == "en")
        return tuple(name for name in names if name != "auto")

    @property
    def engine(self) -> tuple[str, str]:
        """What runs the translators."""
        return self.translator, self.precision

    def usual_draws(self, *, is_judged: bool) -> int:
        """As many as the bundled models need; one of others."""
        return self.draws if self.models == "starter" else 1

    @property
    def _returns(self) -> bool:
        return self.languages()[0] == self.languages()[-1]

    def __call__(self, texts: Sequence[str], seeds: Sequence[int]) -> list[ViewResult]:
        """Translate every text, without a choice."""
        return [views[0] for views in self.drawn(texts, seeds, 1)]

    def drawn(self, texts: Sequence[str], seeds: Sequence[int], number: int) -> list[list[ViewResult]]:
        """Up to `number` translations of each text, in its case: models know little else than lower case."""
        plain = [*map(plain_case, texts)]
        rows = self._translated([text for text, _ in plain], seeds, number)
        return [[_cased(view, case) for view in views] for views, (_, case) in zip(rows, plain, strict=True)]

    def _translated(self, texts: Sequence[str], seeds: Sequence[int], number: int) -> list[list[ViewResult]]:
        """The views of each text; the reason of one that failed before the last translation starts with "pivot-"."""
        rows = [[ViewResult(text)] for text in texts]
        for place, (leg, translator) in enumerate(self._legs):
            is_last = place == len(self._legs) - 1
            is_wide = is_last or (place == 0 and self._returns)
            # Each leg has its own seeds, so that its draws are independent.
            usable = [
                (pivot.text, row_seed(seed, leg, ""))
                for pivots, seed in zip(rows, seeds, strict=True)
                for pivot in pivots
                if pivot.text is not None
            ]
            sources, draws = [text for text, _ in usable], [seed for _, seed in usable]
            translations = iter(translator.candidates(sources, draws, number if is_wide else 1))
            views_of: list[list[ViewResult]] = [[] for _ in texts]
            for text, pivots, views in zip(texts, rows, views_of, strict=True):
                for pivot in pivots:
                    between = pivot if place else None
                    if pivot.text is None:
                        views.append(ViewResult(None, "failed", _pivot_reason(between)))
                        continue
                    for translation in next(translations):
                        views.append(self._viewed(text, between, translation, is_last=is_last))
            rows = [*map(_distinct, views_of)]
            if number > 1 and not is_last:
                language = leg.rpartition("-")[2]
                rows = [_worded(text, views, language) for text, views in zip(texts, rows, strict=True)]
        return rows

    def _viewed(
        self, text: str, pivot: ViewResult | None, translation: Translation, *, is_last: bool
    ) -> ViewResult:
        """What became of a text, given its pivot, if there is one, and the translation of that or of itself."""
        reason, between, view = _pivot_reason(pivot), pivot and pivot.text, translation.text
        if translation.reason is not None:
            return ViewResult(None, "failed", translation.reason, between)
        if view == text or (is_last and self._returns and _letters(view) == _letters(text)):
            return ViewResult(text, "unchanged", reason, between)
        if is_last and (problem := fault(text, view, self.source, self.languages()[-1])):
            return ViewResult(None, "failed", problem, between)
        return ViewResult(view, "ok", "retried" if translation.retried else reason, between)

    def problem(self, text: str, view: str) -> str | None:
        """Whether a word of the translation is none."""
        return "non-word" if has_non_word(view, self.languages()[-1], text) else None


def _cased(view: ViewResult, case: Callable[[str], str]) -> ViewResult:
    return view if view.text is None else view._replace(text=case(view.text))


def _pivot_reason(pivot: ViewResult | None) -> str | None:
    """The reason of a pivot, as that of what is made of it."""
    reason = pivot.reason if pivot else None
    return reason if reason in (None, NOTHING) else f"pivot-{reason.removeprefix('pivot-')}"


def _worded(text: str, pivots: Sequence[ViewResult], language: str) -> list[ViewResult]:
    """The pivots whose words are all words; all pivots if none is, as some may be rare compounds."""
    worded = [pivot for pivot in pivots if not has_non_word(pivot.text or "", language, text, compounds=True)]
    return worded or [*pivots]


def _distinct(views: Sequence[ViewResult]) -> list[ViewResult]:
    """The views that have a text, each text once; if there are none, the first one that failed."""
    texts: dict[str, ViewResult] = {}
    for view in views:
        if view.text is not None:
            texts.setdefault(view.text, view)
    return [*texts.values()] or [*views[:1]]


def _letters(text: str) -> str:
    return "".join(filter(str.isalnum, text.casefold()))
