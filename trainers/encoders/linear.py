"""A linear layer behind an encoder's pooling, fitted to text before the first step: `--whiten` and `--sharpen`."""

from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from pipelines.base.console import TwinviewsError
from trainers.encoders.modules import Encoder, add_layer, pooling_at, width_of
from trainers.encoders.vectors import Floats, nearest, smooth, unit

LINEAR = "whitening"  # the layer's name among the modules of an encoder, sharpened ones too
STRENGTH = (
    0.6  # share of the sharpened vectors in the output; the rest, as they are, halves the cost on other texts
)
SHRINKAGE = 0.2  # share of the identity in the inverted covariance; without it, rare directions blow up

Fitted = tuple[Floats, Floats]
"""A layer's weight (d, d) and bias (d,)."""


def add_linear(encoder: Encoder) -> None:
    """Put a linear layer behind an encoder, for `fit_linear` to set."""
    from sentence_transformers.sentence_transformer.modules import Dense

    width = width_of(encoder)
    layer = Dense(width, width, True, nn.Identity(), torch.eye(width), torch.zeros(width))
    add_layer(encoder, layer, LINEAR)


def has_dense(encoder: Encoder) -> bool:
    """Whether a Dense layer follows the pooling, other than the layer of `add_linear`."""
    head = list(encoder.named_children())[pooling_at(encoder) :]
    return any(type(module).__name__ == "Dense" and name != LINEAR for name, module in head)


@torch.no_grad()
def fit_linear(layer: Any, vectors: Tensor, neighbours: int | None = None) -> None:  # noqa: ANN401 - their Dense, untyped
    """Make a layer whiten `vectors` (texts, d), or draw texts towards so many of their nearest neighbours there.

    If the vectors do not vary, it stays as it is. Raises TwinviewsError for vectors that are not finite.
    """
    if not torch.isfinite(vectors).all():
        raise TwinviewsError("the encoder gives NaN or infinity on the training text: start from another one")
    fitted = _whitened(vectors) if neighbours is None else _sharpened(vectors, neighbours)
    if fitted is not None:
        weight, bias = map(torch.from_numpy, fitted)
        layer.linear.weight.copy_(weight)
        layer.linear.bias.copy_(bias)


def _whitened(vectors: Tensor) -> Fitted | None:
    """Return x -> W (x - mean), W = (0.8 S + 0.2 s I)^(-1/2), S the covariance, s its trace / d (arXiv:2103.15316)."""
    from sklearn.covariance import ShrunkCovariance

    estimate = ShrunkCovariance(shrinkage=SHRINKAGE).fit(vectors.double().numpy())
    variances, directions = np.linalg.eigh(estimate.covariance_)
    if not variances[0] > 0:
        return None
    kernel = (directions / np.sqrt(variances)) @ directions.T
    return kernel, -kernel @ estimate.location_


def _sharpened(vectors: Tensor, neighbours: int) -> Fitted | None:
    """Return x -> 0.6 W (x - mean) + 0.4 x, which draws texts towards their nearest neighbours.

    What differs among neighbours is shrunk first: `v = (0.99 S + 0.01 s I)^(-1/8) (x - mean)`, S the second
    moments of their differences, s the mean of these. W is that and a ridge regression of what `smooth` makes
    of v on v.
    """
    points = vectors.double().numpy()
    scale = np.linalg.norm(points, axis=1).mean().clip(1e-30)
    points /= scale
    units = unit(vectors.numpy())
    close = nearest(units, units, neighbours + 1)
    # The sum over neighbours of (x - y)(x - y)^T; a text's difference to itself is 0.
    sums = np.sum([points[column] for column in close.T], axis=0)
    counts = close.shape[1] + np.bincount(close.ravel(), minlength=len(points))
    crossed = points.T @ sums
    variances, directions = np.linalg.eigh((points.T * counts) @ points - crossed - crossed.T)
    if not variances.mean() > 0:
        return None
    shrunk = (0.99 * variances + 0.01 * variances.mean()) ** -0.125
    weight, mean = (directions * shrunk) @ directions.T, points.mean(axis=0)
    weight /= np.linalg.norm((points - mean) @ weight, axis=1).mean()
    sharp = (points - mean) @ weight
    targets = smooth(unit(sharp.astype(np.float32)), neighbours) - sharp
    moments = sharp.T @ sharp
    identity = np.eye(len(moments))
    ridge = moments + 0.01 * identity * np.trace(moments) / len(moments)
    weight = weight @ (identity + np.linalg.solve(ridge, sharp.T @ targets))
    blend = STRENGTH * weight.T + (1 - STRENGTH) * identity
    return blend / scale, -STRENGTH * mean @ weight
