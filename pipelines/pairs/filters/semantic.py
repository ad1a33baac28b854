"""Score the sides' cosine (-1 to 1) by any sentence encoder and drop pairs outside of `min` to `max`."""

from pathlib import Path
from typing import ClassVar, Self

from pydantic import Field, PrivateAttr

from augment.meaning.judge import sentence_encoder
from augment.models.weights import find_encoder
from augment.translate.model_names import STARTER
from augment.view import Runtime
from pipelines.pairs.filter import SIDES, Bounds, PairColumns, Verdicts


class Semantic(Bounds):
    """The encoder is starter, or a folder or Hub name, optionally with its revision.

    Without bounds it only scores.
    """

    score: ClassVar[str | None] = "semantic"
    min: float | None = Field(default=None, ge=-1, le=1)
    max: float | None = Field(default=None, ge=-1, le=1)
    encoder: str = STARTER
    revision: str | None = None
    _path: Path = PrivateAttr()
    _device: str = PrivateAttr()

    def build(self, runtime: Runtime) -> Self:
        """Find the weights; raises InputError if the encoder is missing or has no safetensors."""
        weights = find_encoder(self.encoder, self.revision, "--filter semantic: encoder")
        self.revision, self._path, self._device = weights.revision, weights.path, runtime.device
        return self

    def __call__(self, pairs: PairColumns) -> Verdicts:
        """Judge every pair."""
        sides = [pairs.strings(side) for side in SIDES]
        texts = list(dict.fromkeys(text for pair in zip(*sides, strict=True) for text in pair))
        model = sentence_encoder(self._path, self._device)
        encoded = model.encode(texts, batch_size=64, normalize_embeddings=True, show_progress_bar=False)
        vectors = dict(zip(texts, encoded, strict=True))
        cosines = [float((vectors[a] * vectors[b]).sum()) for a, b in zip(*sides, strict=True)]
        return self.verdicts("semantic similarity", [round(cosine, 4) for cosine in cosines])
