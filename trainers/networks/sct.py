"""What SCT trains: an encoder and a projector, beside two queues of references."""

import torch
from torch import Tensor
from torch.nn import functional

from trainers.losses import Queue, relation_loss
from trainers.networks.bsl import chain_mlps
from trainers.objective import Objective, float32
from trainers.processes import gather_pairs


class Sct(Objective):
    """One encoder f, run twice with dropout: online h(f(x)), h a projector, and, without gradient, references f(x)."""

    def add_helpers(self) -> None:
        """Add the projector and the queues."""
        hidden, norms = self.params.width * self.dimension, [self.params.norm == "batch"]
        self.projector = chain_mlps(self.dimension, hidden, norms, 3)
        self.d1, self.d2 = (Queue(self.params.queue, self.dimension) for _ in range(2))

    def rate_of(self, parameter: str) -> float:
        """Return `projector_lr` for what belongs to the projector."""
        return self.params.projector_lr if parameter.startswith("projector.") else 1.0

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> dict[str, Tensor]:
        """The loss and the encoder's vectors (2n, d), without the projector; in training, move the queues on.

        `1/2 KL(SR(r2, D2, t_ref) || SR(z1, D2, t_on)) + 1/2 KL(SR(r1, D1, t_ref) || SR(z2, D1, t_on))`, with
        z the online vectors, r the references, both of length 1, and SR as in `relation_loss`; the queues
        hold the batch's r.
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
