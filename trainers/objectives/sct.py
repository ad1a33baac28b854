"""SCT (Limkonchotiwat et al. 2023): one view's relations to a queue of vectors are predicted from the other view."""

from typing import Literal

import torch
from pydantic import Field
from torch import Tensor
from torch.nn import functional

from trainers.encoders.modules import Encoder
from trainers.losses import Queue, relation_loss
from trainers.objective import Objective, float32
from trainers.objectives.bsl import chain_mlps
from trainers.processes import gather_pairs
from trainers.settings import DropoutOptions, Presets

READS = ("views", "text")


class PARAMS(DropoutOptions):
    """The options of SCT."""

    queue: int = Field(65_536, ge=0, description="Reference vectors in each of the two queues (k).")
    reference_temperature: float = Field(
        0.04, gt=0, description="Temperature of the references' relations (t_ref)."
    )
    online_temperature: float = Field(
        0.05, gt=0, description="Temperature of the online vectors' relations (t_on)."
    )
    norm: Literal["batch", "none"] = Field("batch", description="Layer before each ReLU of the projector.")
    width: int = Field(10, ge=1, description="Hidden width of the projector in multiples of the dimension.")
    projector_lr: float = Field(
        1.0, gt=0, le=1e6, description="Learning rate of the projector in multiples of --lr."
    )
    directions: Literal["mean", "sum"] = Field(
        "mean", description="How the losses of both directions become one."
    )


# As printed, for BERT-base; where the print is silent (epsilon, weight decay, clipping), as in the code.
_OPTIMISER = {"lr": 5e-4, "epochs": 10, "warmup": 0.1, "weight_decay": 0.01, "clip": 1.0, "eps": 1e-6}
_PAPER = {**_OPTIMISER, "batch_size": 128, "max_tokens": 128, "pooling": "mean"}
PRESETS: Presets = {
    # Ours, for some ten thousand pairs: a queue that is renewed several times, a projector that learns within
    # so few steps, and an encoder that changes too slowly to lose what it knew.
    "tuned": {**_PAPER, "lr": 2e-5, "projector_lr": 50.0, "epochs": 3, "queue": 4096, "batch_size": 64},
    "paper": _PAPER,
    # The other encoders of the paper: BERT-tiny (4M), mini (11M), small (29M) and large.
    "paper-tiny": {**_PAPER, "queue": 131_072, "reference_temperature": 0.03, "online_temperature": 0.04},
    "paper-mini": {
        **_PAPER,
        "lr": 3e-4,
        "queue": 131_072,
        "reference_temperature": 0.01,
        "online_temperature": 0.03,
    },
    "paper-small": {**_PAPER, "lr": 3e-4, "reference_temperature": 0.02, "online_temperature": 0.03},
    "paper-large": {**_PAPER, "queue": 16_384},
    "code": {**_PAPER, "epochs": 20, "norm": "none", "directions": "sum"},
}


class Sct(Objective):
    """One encoder f, run twice with dropout: online h(f(x)), h a projector, and, without gradient, references f(x)."""

    def __init__(self, encoder: Encoder, max_tokens: int, params: PARAMS) -> None:
        super().__init__(encoder, max_tokens, params)
        self.projector = chain_mlps(self.dimension, params.width * self.dimension, [params.norm == "batch"], 3)
        self.d1, self.d2 = (Queue(params.queue, self.dimension) for _ in range(2))
        self.rates = {"projector.": params.projector_lr}

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> dict[str, Tensor]:
        """Return the loss and the encoder's vectors (2n, d), without the projector; in training, move the queues on.

        `1/2 KL(SR(r2, D2, t_ref) || SR(z1, D2, t_on)) + 1/2 KL(SR(r1, D1, t_ref) || SR(z2, D1, t_on))`, with z the
        online vectors, r the references, both of length 1, and SR as in `relation_loss`; the queues hold the
        batch's r.
        """
        # With gradient first: otherwise autocast would cache weights cast without one and reuse them.
        online = gather_pairs(self.embed(input_ids, attention_mask))
        with torch.no_grad():
            references = gather_pairs(self.embed(input_ids, attention_mask))
        temperatures = self.params.online_temperature, self.params.reference_temperature
        with float32(online.device):
            z1, z2 = functional.normalize(self.projector(online), dim=-1).chunk(2)
            r1, r2 = functional.normalize(references, dim=-1).chunk(2)
            loss = relation_loss(z1, r2, self.d2(r2), *temperatures) + relation_loss(
                z2, r1, self.d1(r1), *temperatures
            )
        return {"loss": loss if self.params.directions == "sum" else loss / 2, "vectors": online.detach()}


build = Sct.build
