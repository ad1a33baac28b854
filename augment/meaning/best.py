"""Best of N: several texts of each sentence, of which an encoder and a few rules keep those of the same meaning."""

from collections.abc import Mapping, Sequence
from contextlib import closing
from importlib.metadata import version
from itertools import islice
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Self, cast

from pydantic import Field, PrivateAttr

from augment.errors import InputError
from augment.meaning.figures import fault
from augment.models.device import resolve_engine
from augment.models.weights import find_encoder
from augment.text.words import shared_words
from augment.types import JSON, Runtime, View, ViewResult

if TYPE_CHECKING:
    from augment.meaning.judge import Judge

JUDGE_LIBRARIES = ("ctranslate2", "tokenizers", "wordfreq")


class BestOf(View):
    """A view that chooses among what another one draws, with the options of both.

    With N `candidates`, a sentence has N draws, the first of them by its own seed. The first text that differs
    from the sentence and passes is the view, and the others that pass are its alternatives. A text passes if
    its similarity to the sentence is at least `min_meaning`. If none passes, the row is "failed" with the
    reason "meaning".
    """

    candidates: int | None = Field(default=None, ge=1, le=32)
    """texts to choose from [4 of the bundled translation models and mlm-fill, 6 of synonym, 1 of others]"""
    min_meaning: float | None = Field(default=None, ge=0, le=1)
    """fail a row whose best candidate is less similar to it (0: none)"""
    diverse: bool = False
    """take the passing candidate that shares the fewest words"""
    judge_encoder: str | None = None
    """encoder to compare candidates by, a folder or Hub name, if not the bundled one"""

    _view: View = PrivateAttr()
    _judge: "Judge | None" = None
    _judge_revision: str | None = None

    @classmethod
    def of(cls, view: View, choice: Mapping[str, Any]) -> Self:
        """The view with a choice by these options; raises ValidationError for a wrong one."""
        best = cls(**choice)
        best._view = view
        return best

    # Those of the view which draws.
    name = property(attrgetter("_view.name"))
    uses_seed = property(attrgetter("_view.uses_seed"))
    keeps_meaning = property(attrgetter("_view.keeps_meaning"))
    contradicts = property(attrgetter("_view.contradicts"))

    @property
    def params(self) -> dict[str, JSON]:
        """The options of the view which draws, and of the choice."""
        return {**self._view.params, **super().params}

    @property
    def versions(self) -> dict[str, JSON]:
        """Those of the view which draws, and of what judges."""
        if self._judge is None:
            return self._view.versions
        own = {name: version(name) for name in JUDGE_LIBRARIES}
        return {**self._view.versions, **own, "judge_encoder": self._judge_revision}

    @property
    def runs_model(self) -> bool:  # type: ignore[override]
        """Whether the view runs a model, or an encoder other than the bundled one, which is for the CPU, judges."""
        return self._view.runs_model or self.judge_encoder is not None

    @property
    def chooses(self) -> bool:
        """Whether a built view can leave out its first text."""
        return self.candidates != 1 or bool(self.min_meaning) or self._view.guarded

    def languages(self) -> list[str]:
        """Those of the view which draws."""
        return self._view.languages()

    def remarks(self) -> Sequence[str]:
        """Those of the view which draws."""
        return self._view.remarks()

    def build(self, runtime: Runtime) -> Self:
        """The view with its own parts, its number of candidates, its floor and its judge.

        May raise InputError.

        A view that runs on an engine of its own, whose signature has it, lets the judge run there too.
        Otherwise the signature names the judge's engine and precision, since they change scores.
        """
        built: object = self._view.build(runtime)
        if not isinstance(built, View):  # a plugin's can be anything, which `make_view` refuses
            return cast(Self, built)
        view = built
        source, *_, target = view.languages()
        encoder = self.judge_encoder or ("starter" if source == target == "en" else None)
        number = self.candidates or view.usual_draws(is_judged=encoder is not None)
        is_judged = number > 1 or (view.guarded and view.keeps_meaning)
        floor = self.min_meaning
        if floor is None:
            floor = view.floor if is_judged and encoder == "starter" else 0.0
        if encoder is None and (floor or self.diverse):
            raise InputError(
                f"{self.name}: nothing compares {source} with {target}; name a judge_encoder that does"
            )
        if number == 1 and (self.diverse or (not floor and self.judge_encoder)):
            raise InputError(
                f"{self.name}: diverse and judge_encoder choose between candidates; give 2 or more"
            )
        best = self.model_copy(update={"candidates": number, "min_meaning": floor})
        best._view = view
        if encoder is not None and (floor or (view.ranks and is_judged)):
            from augment.meaning.judge import Judge  # it needs NumPy

            weights = find_encoder(encoder, None, "--judge-encoder")
            engine, precision = view.engine or resolve_engine("auto", "auto", "cpu", sampled=False)
            revision = weights.revision
            best._judge_revision = revision if view.engine else f"{revision}+{engine}-{precision}"
            best._judge = Judge(weights, engine, precision, runtime.device)
        return best

    def __call__(self, texts: Sequence[str], seeds: Sequence[int]) -> list[ViewResult]:
        """View every text, with one draw or the best of as many as there are candidates."""
        if not self.chooses:
            return self._view(texts, seeds)
        rows = (views for views in self._view.drawn(texts, seeds, self.candidates or 1))
        results: list[ViewResult] = []
        number = self._view.judged_at_once
        with closing(rows):  # a server is asked ahead
            for start in range(0, len(texts), number):
                block = texts[start : start + number]
                results += self._chosen(block, [*islice(rows, len(block))])
        return results

    def _chosen(self, texts: Sequence[str], rows: Sequence[Sequence[ViewResult]]) -> list[ViewResult]:
        unproblematic = [*map(self._unproblematic, texts, rows)]
        passing = self._similar(texts, unproblematic)
        return [*map(self._best, texts, rows, unproblematic, passing)]

    def _problem(self, text: str, view: str) -> str | None:
        """What the view itself has against one of its texts, or figures and the like."""
        source, *_, target = self.languages()
        is_alike = self.keeps_meaning or (self.min_meaning and not self.contradicts)
        figures = fault(text, view, source, target) if is_alike else None
        return figures or self._view.problem(text, view)

    def _unproblematic(self, text: str, views: Sequence[ViewResult]) -> list[ViewResult]:
        """The views that differ from their sentence and from each other, and have no problem."""
        distinct = {view.text: view for view in views if view.status == "ok"}
        return [view for view in distinct.values() if self._problem(text, view.text or "") is None]

    def _similar(
        self, texts: Sequence[str], rows: Sequence[Sequence[ViewResult]]
    ) -> Sequence[Sequence[ViewResult]]:
        """Of each text's views, all different, those that are similar enough to it."""
        if self._judge is None:
            return rows
        candidates = [{view.text or "": view for view in views} for views in rows]
        most = None if self.diverse and self._view.judged else self._view.judged
        scored = self._judge.scores(texts, [[*views] for views in candidates], most)
        similar = [
            [views[form] for form, score in scores.items() if score >= (self.min_meaning or -1)]
            for views, scores in zip(candidates, scored, strict=True)
        ]
        if self._view.ranks:
            return [*map(self._consistent, texts, similar)]
        return [
            [view for view in views if view in passing] for views, passing in zip(rows, similar, strict=True)
        ]

    def _consistent(self, text: str, views: Sequence[ViewResult]) -> Sequence[ViewResult]:
        """The views without antonyms, which are alike to encoders: a pivot can mean both of two."""
        source, *_, target = self.languages()
        if not (self.keeps_meaning and source == target == "en"):
            return views
        from augment.lexicon.antonyms import contradicts  # it reads WordNet

        return [view for view in views if not contradicts(text, view.text or "")]

    def _best(
        self,
        text: str,
        views: Sequence[ViewResult],
        unproblematic: Sequence[ViewResult],
        passing: Sequence[ViewResult],
    ) -> ViewResult:
        """The first view that passes, with the others as its alternatives.

        Else a failure, or why no text differs.
        """
        if self.diverse:
            passing = sorted(passing, key=lambda view: shared_words(view.text or "", text))
        if passing:
            return passing[0]._replace(alternatives=tuple(view.text or "" for view in passing[1:]))
        same = next((view for view in views if view.status == "unchanged"), None)
        if same is not None and self._view.ranks:
            return same
        dropped = next((view for view in views if view.status == "ok"), None)
        if dropped is None:
            return views[0]
        reason = "meaning" if unproblematic else self._problem(text, dropped.text or "")
        return ViewResult(None, "failed", reason, dropped.pivot)
