"""What regression trains: an encoder whose cosines are to be the grades."""

import numpy as np
from torch import Tensor
from torch.nn import functional

from trainers.data.examples import Columns, Examples
from trainers.encoders.modules import with_cnn
from trainers.objective import Objective, float32
from trainers.objectives.isbert import FILTERS, WIDTHS
from trainers.processes import gather, gather_pairs


class Regression(Objective):
    """One encoder, with its CNN if it has one; the squared error of the cosines (arXiv:1908.10084)."""

    paired = False

    def add_helpers(self) -> None:
        """Give the encoder a CNN, if asked."""
        if self.params.cnn:
            self.encoder = with_cnn(self.encoder, WIDTHS, FILTERS, relu=True)

    def columns(self, examples: Examples) -> Columns:
        """Return the ids of both sentences and the grades."""
        grades = np.asarray(examples.labels, np.float32)
        return Columns(super().columns(examples).sides, {"grades": grades})

    def forward(self, input_ids: Tensor, attention_mask: Tensor, grades: Tensor) -> dict[str, Tensor]:
        """All processes' mean squared error of the cosines with the `grades` (n,), and the vectors (2n, d)."""
        vectors = gather_pairs(self.embed(input_ids, attention_mask))
        with float32(vectors.device):
            first, second = vectors.chunk(2)
            loss = functional.mse_loss(functional.cosine_similarity(first, second, dim=-1), gather(grades))
        return {"loss": loss, "vectors": vectors.detach()}
