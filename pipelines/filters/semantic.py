"""Score the sides' cosine (-1 to 1) by any sentence encoder and drop pairs outside of `min` to `max`."""

from __future__ import annotations

import logging
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import Field

from augment.device import quiet_transformers, resolve_device
from augment.errors import InputError
from augment.view import Runtime
from augment.weights import find_encoder
from pipelines.filter import SIDES, Bounds, FilterSpec, PairColumns, RowFilter, Verdicts

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

BATCH_TEXTS = 64


class PARAMS(Bounds):
    """Parameters of the semantic similarity; with neither bound it only scores."""

    min: float | None = Field(default=None, ge=-1, le=1, description="the lowest cosine that is kept")
    max: float | None = Field(default=None, ge=-1, le=1, description="the highest cosine that is kept")
    encoder: str = Field(
        default="starter",
        description="starter, or the folder or Hub name of a sentence-transformers or plain transformers model",
    )
    revision: str | None = Field(default=None, description="hold the encoder to this revision")


def build(params: PARAMS, runtime: Runtime) -> RowFilter:
    """The filter. A plain transformers encoder is pooled by the mean over its tokens, padding left out.

    Raises:
        InputError: The encoder is not there or has no safetensors.
    """
    try:
        weights = find_encoder(params.encoder, params.revision)
    except InputError as error:
        raise InputError(str(error).replace("--encoder", "--filter semantic: encoder")) from None

    def judge(pairs: PairColumns) -> Verdicts:
        """Score every pair to four decimals; each distinct text of the batch is encoded once."""
        sides = [pairs.strings(side) for side in SIDES]
        texts = list(dict.fromkeys(text for pair in zip(*sides, strict=True) for text in pair))
        model = sentence_encoder(weights.path, runtime.device)
        vectors = model.encode(texts, batch_size=BATCH_TEXTS, normalize_embeddings=True, show_progress_bar=False)
        rows = {text: row for row, text in enumerate(texts)}
        one, two = (vectors[[rows[text] for text in side]] for side in sides)
        return params.verdicts("semantic similarity", [round(float(score), 4) for score in (one * two).sum(axis=1)])

    spec = FilterSpec("semantic", {**params.model_dump(), "revision": weights.revision}, score="semantic")
    return RowFilter(spec, judge)


@cache
def sentence_encoder(path: Path, device: str) -> SentenceTransformer:
    """The encoder in a folder, in float32; a plain transformers model is pooled by the mean over its tokens.

    Raises:
        InputError: It cannot be loaded.
    """
    from safetensors import SafetensorError
    from sentence_transformers import SentenceTransformer

    log = logging.getLogger("sentence_transformers")
    level = log.level
    log.setLevel(logging.ERROR)  # that a plain model is pooled by the mean is what we want
    try:
        with quiet_transformers():
            model = SentenceTransformer(
                str(path),
                device=str(resolve_device(device)),
                trust_remote_code=False,
                local_files_only=True,
                model_kwargs={"use_safetensors": True},
            )
    except (OSError, ValueError, KeyError, RuntimeError, ImportError, SafetensorError) as error:
        why = " ".join(str(error).split())[:120]
        raise InputError(f"encoder {path} cannot be loaded ({why})") from None
    finally:
        log.setLevel(level)
    return model.float().eval()
