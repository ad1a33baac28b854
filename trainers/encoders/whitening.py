"""Whitening: a linear layer after which an encoder's vectors have no common direction (Su et al. 2021)."""

import numpy as np
import torch
from sentence_transformers.sentence_transformer.modules import Dense
from sklearn.covariance import ShrunkCovariance
from torch import Tensor, nn

from pipelines.console import TwinviewsError

WHITENING = "whitening"
"""Name of the layer in an encoder that is being trained."""
SHRINKAGE = 0.2
"""Share of the identity in the covariance that is inverted. Plain whitening blows up directions that hardly vary, all
the more the fewer sentences it is fitted to."""


def identity_layer(width: int) -> Dense:
    """Return a linear layer that changes nothing, to be set by `whiten`."""
    return Dense(width, width, True, nn.Identity(), torch.eye(width), torch.zeros(width))


@torch.no_grad()
def whiten(layer: Dense, vectors: Tensor) -> None:
    """Make a linear layer whiten `vectors` (texts, d): x -> W (x - mean), W = (0.8 S + 0.2 s I)^(-1/2).

    S is their covariance and s its mean variance. Where the vectors do not vary, the layer stays as it is. Raises
    TwinviewsError for vectors that are not finite.
    """
    if not torch.isfinite(vectors).all():
        raise TwinviewsError("the encoder gives NaN or infinity on the training text: start from another one")
    found = ShrunkCovariance(shrinkage=SHRINKAGE).fit(vectors.double().numpy())
    variances, directions = np.linalg.eigh(found.covariance_)
    if variances[0] <= 0:
        return
    kernel = (directions / np.sqrt(variances)) @ directions.T
    layer.linear.weight.copy_(torch.from_numpy(kernel))
    layer.linear.bias.copy_(torch.from_numpy(-kernel @ found.location_))
