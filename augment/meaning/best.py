"""Best of N: several texts of each sentence, of which an encoder and a few rules keep those of the same meaning."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Self

from pydantic import Field

from augment.errors import InputError
from augment.meaning.figures import fault
from augment.models.device import resolve_engine
from augment.models.weights import find_encoder
from augment.text.words import shared_words
from augment.types import Runtime, View, ViewResult, row_seed

if TYPE_CHECKING:
    from augment.meaning.judge import Judge

JUDGE_LIBRARIES = ("ctranslate2", "tokenizers", "wordfreq")
BLOCK_TEXTS = 2_048
"""Sentences whose texts are held at once."""


class BestOfN(View):
    """What any view whose texts depend on a seed gets: the options, and the choice among its texts.

    With N `candidates`, a sentence is viewed with N seeds, the first of them its own. The first text that
    differs from the sentence and passes is the view, and the others that pass are its alternatives. A text
    passes if its similarity to the sentence is at least `min_meaning`. If none passes, the row is "failed"
    with the reason "meaning".
    """

    candidates: int | None = Field(default=None, ge=1, le=32)
    """texts to choose from [4 if the view is to keep the meaning, else 1]"""
    min_meaning: float | None = Field(default=None, ge=0, le=1)
    """fail a row whose best candidate is less similar to it (0: none)"""
    diverse: bool = False
    """take the passing candidate that shares the fewest words"""
    judge_encoder: str | None = None
    """encoder to compare candidates by, a folder or Hub name, if not the bundled one"""
    judge_revision: str | None = None
    """hold that encoder to this revision"""

    _judge: "Judge | None" = None

    def build(self, runtime: Runtime) -> Self:
        """The view with its own parts, its number of candidates, its floor and its judge; may raise InputError."""
        view = super().build(runtime)
        # a plugin's can be anything
        return view._with_judge(runtime.device) if isinstance(view, BestOfN) else view

    def languages(self) -> list[str]:
        """The languages of the sentences and of the view, as far as options name them."""
        return [
            getattr(self, option, "en") for option in (self.sentence_language_option, self.language_option)
        ]

    @property
    def runs_model(self) -> bool:  # type: ignore[override]
        """Whether the view itself runs a model, or an encoder other than the bundled one, which is for the CPU."""
        return bool(super().runs_model) or self.judge_encoder is not None

    @property
    def usual_candidates(self) -> int:
        """How many candidates there are unless the option says so."""
        return (
            self.draws if self.keeps_meaning and (self.judge_encoder or {*self.languages()} == {"en"}) else 1
        )

    @property
    def chooses(self) -> bool:
        """Whether a built view can leave out its first text."""
        return self.candidates != 1 or bool(self.min_meaning)

    @property
    def libraries(self) -> tuple[str, ...]:  # type: ignore[override]
        """Its own, and those of its judge."""
        return (*super().libraries, *JUDGE_LIBRARIES) if self._judge is not None else super().libraries

    def _with_judge(self, device: str, engine: tuple[str, str] | None = None) -> Self:
        """A copy with its number of candidates, its floor, and what judges them; raises InputError as `build` does.

        A view that runs on an engine of its own, whose signature has it, lets the judge run there too.
        Otherwise the revision of the judge names its engine and precision, since they change scores.
        """
        number, (source, *_, target) = self.candidates or self.usual_candidates, self.languages()
        encoder = self.judge_encoder or ("starter" if source == target == "en" else None)
        floor = self.min_meaning
        if floor is None:
            floor = self.floor if number > 1 and encoder == "starter" else 0.0
        if encoder is None and (floor or self.diverse):
            raise InputError(
                f"{self.name}: nothing compares {source} with {target}; name a judge_encoder that does"
            )
        if number == 1 and (self.diverse or (not floor and (self.judge_encoder or self.judge_revision))):
            options = "diverse, judge_encoder and judge_revision"
            raise InputError(f"{self.name}: {options} choose between candidates; give 2 or more")
        if encoder is None and self.judge_revision is not None:
            raise InputError(
                f"{self.name}: judge_revision={self.judge_revision} without a judge_encoder; name one"
            )
        view = self.model_copy(update={"candidates": number, "min_meaning": floor, "judge_revision": None})
        if encoder is not None and view.chooses:
            from augment.meaning.judge import Judge  # it needs NumPy

            revision, _, how = (self.judge_revision or "").partition("+")
            weights = find_encoder(encoder, revision or None, "--judge-encoder")
            usual = (
                tuple(how.split("-")) if "-" in how else resolve_engine("auto", "auto", "cpu", sampled=False)
            )
            name, precision = engine or usual
            view.judge_revision = weights.revision if engine else f"{weights.revision}+{name}-{precision}"
            view._judge = Judge(weights, name, precision, device)
        return view

    def __call__(self, texts: Sequence[str], seeds: Sequence[int]) -> list[ViewResult]:
        """View every text, with one seed or with as many as there are candidates."""
        if not self.chooses:
            return super().__call__(texts, seeds)  # type: ignore[safe-super]
        results: list[ViewResult] = []
        for start in range(0, len(texts), BLOCK_TEXTS):
            block = texts[start : start + BLOCK_TEXTS]
            draws = range(self.candidates or 1)
            drawn_seeds = [
                row_seed(seed, str(draw), "") if draw else seed
                for draw in draws
                for seed in seeds[start : start + BLOCK_TEXTS]
            ]
            drawn = super().__call__([*block] * len(draws), drawn_seeds)  # type: ignore[safe-super]
            rows = [drawn[row :: len(block)] for row in range(len(block))]
            results += map(chosen, rows, self._passing(block, rows))
        return results

    def _passing(self, texts: Sequence[str], rows: Sequence[Sequence[ViewResult]]) -> list[list[ViewResult]]:
        """Of each text's views those that pass, each text once, in the order in which they are to be taken."""
        source, *_, target = self.languages()
        passing = [
            [
                view
                for view in {view.text: view for view in views if view.status == "ok"}.values()
                if not (self.keeps_meaning and fault(text, view.text or "", source, target))
            ]
            for text, views in zip(texts, rows, strict=True)
        ]
        similar = self.similar(texts, passing, self.judged)
        in_order = [
            [view for view in views if view in kept] for views, kept in zip(passing, similar, strict=True)
        ]
        return [*map(self.ordered, texts, in_order)]

    def similar(
        self, texts: Sequence[str], rows: Sequence[Sequence[ViewResult]], most: int | None
    ) -> Sequence[Sequence[ViewResult]]:
        """Of each text's views, all different, those that are similar enough to it, the most similar first."""
        if self._judge is None:
            return rows
        candidates = [{view.text or "": view for view in views} for views in rows]
        scored = self._judge.scores(texts, [[*views] for views in candidates], most)
        return [
            [views[form] for form, score in scores.items() if score >= (self.min_meaning or -1)]
            for views, scores in zip(candidates, scored, strict=True)
        ]

    def ordered(self, text: str, views: Sequence[ViewResult]) -> list[ViewResult]:
        """Views that pass, first those that share the fewest words with their sentence if they are to be diverse."""
        return (
            sorted(views, key=lambda view: shared_words(view.text or "", text)) if self.diverse else [*views]
        )


def chosen(views: Sequence[ViewResult], passing: Sequence[ViewResult]) -> ViewResult:
    """The first view that passes, with the others as its alternatives; else a failure, or why no text differs."""
    if passing:
        return passing[0]._replace(alternatives=tuple(view.text or "" for view in passing[1:]))
    dropped = next((view for view in views if view.status == "ok"), None)
    return views[0] if dropped is None else ViewResult(None, "failed", "meaning", dropped.pivot)
