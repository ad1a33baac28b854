"""Drop pairs with a back-translation whose chrF (0 to 100) or cosine against its own sentence is too low."""

from collections.abc import Iterator
from typing import Self

from pydantic import Field, PrivateAttr

from augment.meaning.judge import Judge
from augment.models.device import resolve_engine
from augment.models.weights import find_encoder
from augment.translate.model_names import STARTER
from augment.view import Runtime
from pipelines.pairs.filter import PairColumns, SideFilter, is_round_trip
from pipelines.similarity import chrf

BUNDLED, OTHERS = 0.97, 0.8
"""The least cosines of round trips by the bundled models and by others. Of 300 round trips by the bundled
ones, 85% of those with this cosine or more were acceptable to a reader, and they were two thirds of all
acceptable ones."""


class Paraphrase(SideFilter):
    """It ignores other views. The chrF of a random sentence is 12.

    Cosines, of English only, are the bundled encoder's.

    The least cosine, `meaning`, is by default 0.97 for the bundled models and 0.8 for others; 0: only chrF
    counts.
    """

    min: float = Field(default=25.0, ge=0, le=100)
    meaning: float | None = Field(default=None, ge=0, le=1)
    revision: str | None = None
    _judge: Judge | None = PrivateAttr(default=None)

    def build(self, runtime: Runtime) -> Self:
        """Find the encoder; raises InputError if its revision is another."""
        if self.meaning != 0:
            revision, _, how = (self.revision or "").partition("+")
            weights = find_encoder(STARTER, revision or None)
            usual = resolve_engine("auto", "auto", runtime.device, sampled=False)
            engine, precision = how.split("-") if "-" in how else usual
            self.revision = (
                f"{weights.revision}+{engine}-{precision}"  # an engine and its precision change cosines
            )
            self._judge = Judge(weights, engine, precision, runtime.device)
        return self

    def reasons(self, pairs: PairColumns, side: str) -> Iterator[str | None]:
        """Drop back-translations that differ too much from their sentence."""
        about, texts, sentences = pairs.about(side), pairs.strings(side), pairs.sentences(side)
        trips = {info for info in set(about) if is_round_trip(info.view)}
        overlaps = chrf(texts, sentences).tolist() if trips else [100.0] * len(texts)
        closeness = [dict[str, float]()] * len(texts)
        if self._judge is not None:
            english = {info for info in trips if info.language == "en"}
            views = [[text] if info in english else [] for text, info in zip(texts, about, strict=True)]
            closeness = self._judge.scores(sentences, views)
        for info, text, overlap, scores in zip(about, texts, overlaps, closeness, strict=True):
            least = BUNDLED if info.models == STARTER else OTHERS
            least = least if self.meaning is None else self.meaning
            low = "chrF" if overlap < self.min else "cosine" if scores.get(text, 1.0) < least else None
            is_dropped = low and info in trips
            yield f"{info.name} is not a paraphrase ({low} to its sentence too low)" if is_dropped else None
