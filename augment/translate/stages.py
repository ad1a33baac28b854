"""What the views `translate` and `backtranslate` share: options, a chain of translators, and how they choose."""

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Literal, Self

from pydantic import Field

from augment.errors import InputError
from augment.lexicon.antonyms import contradicts
from augment.meaning.best import BestOfN, chosen
from augment.meaning.figures import fault
from augment.models.device import resolve_engine
from augment.text.case import plain_case
from augment.text.words import has_non_word, has_word_list
from augment.translate.decoding import Decoding, parse_decoding
from augment.translate.marian import NOTHING, MarianTranslator, Translation
from augment.translate.model_names import resolve_chain
from augment.view import Runtime, ViewResult, row_seed

HOP = "+"
"""Joins the languages of a translation in several hops, and the revisions of their models."""


class TranslationView(BestOfN):
    """A view made by a chain of translators."""

    runs_model = keeps_meaning = True
    # The floor keeps 42% of the round trips of 300 sentences of the sample and 55% of 300 captions.
    draws, floor, judged = 4, 0.95, 2

    source: str = "en"
    """language of the sentences"""
    models: str = "auto"
    """auto (opus-mt, else starter), starter, opus-mt, or a folder"""
    decode: str = "greedy"
    """greedy, beam:N, or by the seed: sample, top-k:K, top-p:P"""
    temperature: float | None = Field(default=None, gt=0)
    """of sampling [1]"""
    retry: bool = True
    """try loops, copies and cut translations once more in another way"""
    translator: Literal["auto", "ctranslate2", "transformers"] = "auto"
    """auto: ctranslate2 for greedy and beam search on a CPU, else transformers"""
    precision: Literal["auto", "fp64", "fp32", "bf16", "fp16", "int8"] = "auto"
    """auto: int8 with ctranslate2, else bf16 or fp32; fp64: the same text everywhere"""
    revision: str | None = None
    """hold the models to these revisions, joined by +"""

    _legs: list[tuple[str, MarianTranslator]]  # "en-de" and its translator
    _missing: int = 0  # bytes to download, in a dry run

    @abstractmethod
    def languages(self) -> list[str]:
        """The languages of the sentences, of each hop, and of the view, in order."""

    def decodings(self) -> list[Decoding]:
        """How to decode the last translation (last item) and the others (first item)."""
        return [parse_decoding(self.decode, self.temperature)]

    @property
    def uses_seed(self) -> bool:  # type: ignore[override]
        """Whether seeds change the text."""
        return any(decoding.sampled for decoding in self.decodings())

    def build(self, runtime: Runtime) -> Self:
        """The view with its models, on one engine; raises InputError if one is missing or an option is wrong."""
        hops = list(pairwise(self.languages()))
        revisions: Sequence[str | None] = (
            [None] * len(hops) if self.revision is None else self.revision.split(HOP)
        )
        if len(revisions) != len(hops):
            way = " -> ".join(self.languages())
            raise InputError(
                f"revision {self.revision!r}: {way} takes {len(hops)} models; join their revisions by +"
            )
        name, models, missing = resolve_chain(self.models, hops, revisions)
        decodings = self.decodings()
        engine, precision = resolve_engine(
            self.translator, self.precision, runtime.device, sampled=self.uses_seed
        )
        revision = HOP.join(model.revision for model in models)
        resolved = {"models": name, "revision": revision, "translator": engine, "precision": precision}
        view = self.model_copy(update=resolved)._with_judge(runtime.device, (engine, precision))
        view._legs, settings = [], (engine, precision, self.retry, runtime.device, runtime.batch_tokens)
        view._missing = missing
        for hop, (path, prefix, commit) in zip(hops, models, strict=True):
            decoding = decodings[-1 if hop is hops[-1] else 0]
            view._legs.append(
                ("-".join(hop), MarianTranslator(path, prefix, decoding, *settings, commit, *hop))
            )
        return view

    @property
    def missing_bytes(self) -> int:
        """What is to download, in a dry run."""
        return self._missing

    def tokenise(self, texts: Sequence[str]) -> None:
        """Tokenise texts before the view is called with them, perhaps in another thread."""
        self._legs[0][1].tokenise([plain_case(text)[0] for text in texts])

    @property
    def libraries(self) -> tuple[str, ...]:  # type: ignore[override]
        """What reads and writes texts, its engine, and the lists of words and lemmas."""
        names = [*super().libraries, "sentencepiece", "sentencex", self.translator]
        names += ["wordfreq"] * self.chooses
        names += ["lemminflect"] * (self.chooses and self.languages()[-1] == self.source == "en")
        return tuple(name for name in names if name != "auto")

    @property
    def usual_candidates(self) -> int:
        """As many as the bundled models need; one of others."""
        return self.draws if self.models == "starter" else 1

    @property
    def _returns(self) -> bool:
        return self.languages()[0] == self.languages()[-1]

    def notes(self) -> list[str]:
        """What to tell the user of a built view."""
        return [
            f"{self.name}: no list of the words of {code}, so words that are none are not noticed"
            for code in dict.fromkeys(self.languages()[1:])
            if self.chooses and not has_word_list(code)
        ]

    def __call__(self, texts: Sequence[str], seeds: Sequence[int]) -> list[ViewResult]:
        """Translate every text; capitals and Title Case in lower case, as models know little else."""
        plain_texts, give_back = zip(*map(plain_case, texts), strict=True) if texts else ((), ())
        views = self._translated(plain_texts, seeds)
        return [
            view._replace(text=view.text and case(view.text), alternatives=tuple(map(case, view.alternatives)))
            for view, case in zip(views, give_back, strict=True)
        ]

    def _translated(self, texts: Sequence[str], seeds: Sequence[int]) -> list[ViewResult]:
        """The view of each text; the reason of one that failed before the last translation starts with "pivot-"."""
        rows = [[ViewResult(text)] for text in texts]
        for number, (leg, translator) in enumerate(self._legs):
            is_last = number == len(self._legs) - 1
            wide = is_last or (number == 0 and self._returns)
            # Each leg has its own seeds, so that its draws are independent.
            usable = [
                (view.text, row_seed(seed, leg, ""))
                for views, seed in zip(rows, seeds, strict=True)
                for view in views
                if view.text is not None
            ]
            sources, draws = [text for text, _ in usable], [seed for _, seed in usable]
            translations = iter(translator.candidates(sources, draws, (self.candidates or 1) if wide else 1))
            rows = [
                _distinct(
                    self._viewed(text, pivot if number else None, translation, is_last=is_last)
                    for pivot in pivots
                    for translation in ([None] if pivot.text is None else next(translations))
                )
                for text, pivots in zip(texts, rows, strict=True)
            ]
            if self.chooses and not is_last:
                # If all pivots have such words, some may be rare compounds.
                language = leg.rpartition("-")[2]
                rows = [
                    _worded(text, views, language, compounds=True) or views
                    for text, views in zip(texts, rows, strict=True)
                ]
        return self._choices(texts, rows) if self.chooses else [views[0] for views in rows]

    def _viewed(
        self, text: str, pivot: ViewResult | None, translation: Translation | None, *, is_last: bool
    ) -> ViewResult:
        """What became of a text, given its pivot and that one's translation, if there are any."""
        reason = pivot.reason if pivot else None
        reason = reason if reason in (None, NOTHING) else f"pivot-{reason.removeprefix('pivot-')}"
        if translation is None:
            return ViewResult(None, "failed", reason)
        between, view = pivot and pivot.text, translation.text
        if translation.reason is not None:
            return ViewResult(None, "failed", translation.reason, between)
        if view == text or (is_last and self._returns and _letters(view) == _letters(text)):
            return ViewResult(text, "unchanged", reason, between)
        if is_last and (problem := fault(text, view, self.source, self.languages()[-1])):
            return ViewResult(None, "failed", problem, between)
        return ViewResult(view, "ok", "retried" if translation.retried else reason, between)

    def _choices(self, texts: Sequence[str], rows: Sequence[Sequence[ViewResult]]) -> list[ViewResult]:
        """One view of each text, with the others that pass, the best first, as its alternatives.

        Where none passes, it is the sentence itself, if that is among the views, or why there is none.
        """
        # A round trip may give the sentence itself, which is a view only if there is no other.
        changed = [[view for view in views if view.status == "ok" or not self._returns] for views in rows]
        language = self.languages()[-1]
        worded = [_worded(text, views, language) for text, views in zip(texts, changed, strict=True)]
        passing = self.similar(texts, worded, None if self.diverse else self.judged)
        # a pivot can mean both of two antonyms, which are alike to encoders
        if language == self.source == "en":
            pairs = zip(texts, passing, strict=True)
            passing = [
                [view for view in views if not contradicts(text, view.text or "")] for text, views in pairs
            ]
        results: list[ViewResult] = []
        for text, views, usable, words, good in zip(texts, rows, changed, worded, passing, strict=True):
            same = [view for view in views if view.status == "unchanged"]
            if usable and usable[0].text is not None and not (words or same):
                results.append(ViewResult(None, "failed", "non-word", usable[0].pivot))
            else:
                results.append(chosen(same or views, self.ordered(text, good)))
        return results


def _worded(
    text: str, views: Sequence[ViewResult], language: str, *, compounds: bool = False
) -> list[ViewResult]:
    """The views whose words are all words, as far as the language is known."""
    return [view for view in views if not has_non_word(view.text or "", language, text, compounds=compounds)]


def _distinct(views: Iterable[ViewResult]) -> list[ViewResult]:
    """The views that have a text, each text once; if there are none, the first one that failed."""
    views = list(views)
    texts: dict[str, ViewResult] = {}
    for view in views:
        if view.text is not None:
            texts.setdefault(view.text, view)
    return [*texts.values()] or views[:1]


def _letters(text: str) -> str:
    return "".join(filter(str.isalnum, text.casefold()))
