"""Score the sides' cosine (-1 to 1) by any sentence encoder and drop pairs outside of `min` to `max`."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import BaseModel, ConfigDict, Field, model_validator

from augment.device import quiet_transformers, resolve_device
from augment.errors import InputError
from augment.view import Runtime
from augment.weights import find_encoder
from pipelines.filter import FilterSpec, PairColumns, Verdicts

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

BATCH_TEXTS = 64


class PARAMS(BaseModel):
    """Parameters of the semantic similarity; with neither bound it only scores."""

    model_config = ConfigDict(extra="forbid")

    min: float | None = Field(default=None, ge=-1, le=1, description="the lowest cosine that is kept")
    max: float | None = Field(default=None, ge=-1, le=1, description="the highest cosine that is kept")
    encoder: str = Field(
        default="starter",
        description="starter, or the folder or Hub name of a sentence-transformers or plain transformers model",
    )
    revision: str | None = Field(default=None, description="hold the encoder to this revision")

    @model_validator(mode="after")
    def _ordered(self) -> PARAMS:
        if self.min is not None and self.max is not None and self.min > self.max:
            raise ValueError(f"min {self.min:g} is above max {self.max:g}")
        return self


@dataclass(frozen=True)
class Semantic:
    """The filter. A plain transformers encoder is pooled by the mean over its tokens, padding left out."""

    spec: FilterSpec
    path: Path
    device: str
    least: float
    most: float

    def __call__(self, pairs: PairColumns) -> Verdicts:
        """Score every pair to four decimals; each distinct text of the batch is encoded once."""
        sides = pairs.strings("view_a"), pairs.strings("view_b")
        texts = list(dict.fromkeys(text for pair in zip(*sides, strict=True) for text in pair))
        vectors = self._model.encode(texts, batch_size=BATCH_TEXTS, normalize_embeddings=True, show_progress_bar=False)
        rows = {text: row for row, text in enumerate(texts)}
        one, two = (vectors[[rows[text] for text in side]] for side in sides)
        scores = [round(float(score), 4) for score in (one * two).sum(axis=1)]
        return Verdicts([self._reason(score) for score in scores], scores)

    def _reason(self, score: float) -> str | None:
        low, high = score < self.least, score > self.most
        return "semantic similarity too low" if low else "semantic similarity too high" if high else None

    @cached_property
    def _model(self) -> SentenceTransformer:
        from safetensors import SafetensorError
        from sentence_transformers import SentenceTransformer

        log = logging.getLogger("sentence_transformers")
        level = log.level
        log.setLevel(logging.ERROR)  # that a plain model is pooled by the mean is what we want
        try:
            with quiet_transformers():
                model = SentenceTransformer(
                    str(self.path),
                    device=str(resolve_device(self.device)),
                    trust_remote_code=False,
                    local_files_only=True,
                    model_kwargs={"use_safetensors": True},
                )
        except (OSError, ValueError, KeyError, RuntimeError, ImportError, SafetensorError) as error:
            why = " ".join(str(error).split())[:120]
            raise InputError(f"--filter semantic: encoder {self.path} cannot be loaded ({why})") from None
        finally:
            log.setLevel(level)
        return model.float().eval()


def build(params: PARAMS, runtime: Runtime) -> Semantic:
    """The filter for `params`; raises InputError where the encoder is not there or has no safetensors."""
    try:
        weights = find_encoder(params.encoder, params.revision)
    except InputError as error:
        raise InputError(str(error).replace("--encoder", "--filter semantic: encoder")) from None
    spec = FilterSpec("semantic", {**params.model_dump(), "revision": weights.revision}, score="semantic")
    least, most = -1.0 if params.min is None else params.min, 1.0 if params.max is None else params.max
    return Semantic(spec, weights.path, runtime.device, least, most)
