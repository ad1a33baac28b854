"""BSL (Zhang et al. 2021): predict the target network's vector of one view from the online network's of the other."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any, Literal, Self

import torch
from pydantic import BaseModel, ConfigDict, Field
from torch import Tensor, nn
from torch.nn import functional

from trainers.encoder import Encoder
from trainers.examples import Examples
from trainers.objective import Objective, Row, float32
from trainers.pretrained import Source, load_encoder
from trainers.settings import Training

READS = ("views",)


class PARAMS(BaseModel):
    """What BSL can be told."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    momentum: float = Field(0.999, ge=0, le=1, description="Delta of Eq. 4; 1 never moves the target.")
    predictor: Literal["paper", "code"] = Field(
        "paper", description="One MLP with two BatchNorms, or three chained MLPs with one each."
    )
    width: int = Field(8, ge=1, description="Hidden width of the predictor in multiples of the dimension.")
    target_dropout: bool = Field(True, description="Keep dropout on in the target network.")
    distance: Literal["cosine", "squared"] = Field(
        "cosine", description="Eq. 2, or the squared distance of unit vectors (4 x Eq. 2 + 4)."
    )


_CODE: Mapping[str, Any] = {
    "lr": 1e-4,
    "warmup": 0.1,
    "clip": 1.0,
    "batch_size": 64,
    "max_tokens": 64,
    "pooling": "mean",
    "predictor": "code",
    "width": 10,
    "distance": "squared",
    "eps": 1e-6,
}
# As printed. Where the print is silent (dropout in the target, schedule, clipping, length), as the code does. The
# decay is AdamW's: with L2 inside Adam, 0.01 would outweigh this loss's gradients and shrink every weight.
_PAPER = {
    **_CODE,
    "lr": 5e-4,
    "weight_decay": 0.01,
    "eps": 1e-6,
    "predictor": "paper",
    "width": 8,
    "distance": "cosine",
}
PRESETS: Mapping[str, Mapping[str, Any]] = {"paper": _PAPER, "code": _CODE}


class Bsl(Objective):
    """Online encoder f and predictor p, trained; target encoder g, which follows f and gets no gradient (Eq. 1-4)."""

    def __init__(self, encoder: Encoder, params: PARAMS) -> None:
        super().__init__(encoder)
        self.params = params
        build_predictor = paper_predictor if params.predictor == "paper" else code_predictor
        self.predictor = build_predictor(encoder.dimension, params.width)
        self.target = copy.deepcopy(encoder).requires_grad_(False)

    def train(self, mode: bool = True) -> Self:
        """Set the mode; the target's dropout follows `target_dropout`."""
        super().train(mode)
        self.target.train(mode and self.params.target_dropout)
        return self

    def columns(self, examples: Examples) -> Mapping[str, Sequence[Any]]:
        """Return the ids of both views."""
        return {"left": self.encoder.tokenize(examples.left), "right": self.encoder.tokenize(examples.right)}

    def collate(self, rows: Sequence[Row]) -> dict[str, Tensor]:
        """Return one batch (2n, tokens): all first views, then all second views."""
        return self.encoder.pad([row["left"] for row in rows] + [row["right"] for row in rows])

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> dict[str, Tensor]:
        """Return the loss of Eq. 2 over n pairs and the online vectors (2n, d).

        Args:
            input_ids: (2n, tokens), row i and row n + i being the two views of one sentence.
            attention_mask: The same shape; 0 at padding.
        """
        online = self.encoder(input_ids, attention_mask)
        with torch.no_grad():
            target = self.target(input_ids, attention_mask)
        with float32(online.device):
            predicted = self.predictor(online)
        # Each view's prediction meets the target's vector of the other view.
        loss = negative_cosine(predicted, target.roll(len(target) // 2, dims=0)).mean()
        if self.params.distance == "squared":
            loss = 4 * loss + 4
        return {"loss": loss, "vectors": online.detach()}

    @torch.no_grad()
    def after_step(self, step: int, total: int) -> None:
        """Move the target: `xi <- delta xi + (1 - delta) theta` (Eq. 4), parameters only, as the authors do."""
        for xi, theta in zip(self.target.parameters(), self.encoder.parameters(), strict=True):
            xi.lerp_(theta, 1 - self.params.momentum)


def negative_cosine(z: Tensor, h: Tensor) -> Tensor:
    """Eq. 1: `D(z, h) = -<z/|z|, h/|h|>`; z, h: (n, d); returns (n,)."""
    return -functional.cosine_similarity(z, h, dim=-1)


def paper_predictor(dimension: int, width: int) -> nn.Sequential:
    """The printed predictor: d -> kd -> kd -> d, with BatchNorm and ReLU after the first two."""
    hidden = width * dimension
    return nn.Sequential(
        nn.Linear(dimension, hidden),
        nn.BatchNorm1d(hidden),
        nn.ReLU(),
        nn.Linear(hidden, hidden),
        nn.BatchNorm1d(hidden),
        nn.ReLU(),
        nn.Linear(hidden, dimension),
    )


def code_predictor(dimension: int, width: int) -> nn.Sequential:
    """The predictor of the authors' code: three MLPs chained, each d -> kd -> kd -> d with one BatchNorm."""
    hidden = width * dimension
    return nn.Sequential(
        *(
            nn.Sequential(
                nn.Linear(dimension, hidden),
                nn.BatchNorm1d(hidden),
                nn.ReLU(),
                nn.Linear(hidden, hidden),
                nn.ReLU(),
                nn.Linear(hidden, dimension),
            )
            for _ in range(3)
        )
    )


def build(options: PARAMS, training: Training, source: Source) -> Bsl:
    """Load the encoder and set a fresh predictor on it."""
    return Bsl(load_encoder(source, pooling=training.pooling, max_tokens=training.max_tokens), options)
