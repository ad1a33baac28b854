"""The objectives in NumPy, by hand; gradients are differences."""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from functools import partial

import numpy as np

Array = np.ndarray
EPS = 1e-5  # BatchNorm's


def gradient(loss: Callable[[], float], values: Array, step: float = 1e-6) -> Array:
    """The slope of a loss along each of `values`, which it reads and which are changed in turn."""
    slopes = np.zeros_like(values)
    for place in np.ndindex(values.shape):
        kept = values[place]
        values[place] = kept + step
        above = loss()
        values[place] = kept - step
        slopes[place] = (above - loss()) / (2 * step)
        values[place] = kept
    return slopes


@dataclass
class Bsl:
    """theta = (table, predictor), xi = target; a sentence's vector is the mean of its tokens' rows of the table.

    The predictor is Linear, BN, ReLU, Linear, BN, ReLU, Linear; BN has the statistics of the rows it is given.
    """

    table: Array
    target: Array
    w: list[Array]
    b: list[Array]
    gamma: list[Array]
    beta: list[Array]
    momentum: float

    def predict(self, x: Array) -> Array:
        for w, b, gamma, beta in zip(self.w[:2], self.b[:2], self.gamma, self.beta, strict=True):
            a = x @ w.T + b
            x = np.maximum(gamma * (a - a.mean(axis=0)) / np.sqrt(a.var(axis=0) + EPS) + beta, 0)
        return x @ self.w[2].T + self.b[2]

    def loss(self, views: list[list[list[int]]]) -> float:
        """Eq. 2; the predictor sees one view at a time, and so does its BN."""
        online = [np.stack([self.table[ids].mean(axis=0) for ids in view]) for view in views]
        h = [np.stack([self.target[ids].mean(axis=0) for ids in view]) for view in views]
        cosines = [(unit(self.predict(online[one])) * unit(h[1 - one])).sum(axis=1) for one in (0, 1)]
        return -0.5 * float(cosines[0].mean() + cosines[1].mean())

    def step(self, left: list[list[int]], right: list[list[int]], lr: float) -> float:
        """One step of gradient descent and of Eq. 4; returns the loss before it."""
        values = [self.table, *self.w, *self.b, *self.gamma, *self.beta]
        slopes = [gradient(lambda: self.loss([left, right]), value) for value in values]
        loss = self.loss([left, right])
        for value, slope in zip(values, slopes, strict=True):
            value -= lr * slope
        self.target = self.momentum * self.target + (1 - self.momentum) * self.table
        return loss


Excluded = Collection[tuple[int, int]]


def nt_xent(
    vectors: Array, t: float, excluded: Excluded = (), hard: Array | None = None, *, sides: int = 2
) -> float:
    """Mirror-BERT's Eq. 1: 2n anchors, 2n - 2 negatives each and the hard ones; no negative is an excluded (i, j).

    With one side, SimCSE's Eq. 4 and 5: n anchors, row i against rows n + j and the hard negatives.
    """
    n = len(vectors) // 2
    columns = unit(vectors if hard is None else np.concatenate([vectors, hard]))
    losses = []
    for i in range(sides * n):
        positive = (i + n) % (2 * n)
        others = [
            j
            for j in range((2 - sides) * n, len(columns))
            if j not in (i, positive) and (i, j) not in excluded
        ]
        scores = columns[[positive, *others]] @ columns[i] / t
        losses.append(-scores[0] + np.log(np.exp(scores).sum()))
    return float(np.mean(losses))


one_sided = partial(nt_xent, sides=1)


def softmax(scores: Array) -> Array:
    weights = np.exp(scores - scores.max())
    return weights / weights.sum()


def relation_loss(
    z: Array, r: Array, columns: Array, t: float, t_ref: float, *, divergence: bool = True
) -> float:
    """Mean KL of the reference's distribution over the columns from the student's, or their cross-entropy."""
    p, q = ([softmax(row) for row in vectors @ columns.T / heat] for vectors, heat in ((r, t_ref), (z, t)))
    entropies = [float((row * np.log(row)).sum()) if divergence else 0.0 for row in p]
    return float(np.mean([h - (a * np.log(b)).sum() for h, a, b in zip(entropies, p, q, strict=True)]))


def unit(vectors: Array) -> Array:
    return vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)


def geometry(vectors: Array, close: list[tuple[int, int]], apart: list[tuple[int, int]]) -> dict[str, float]:
    """Statistics of the directions of vectors, from close pairs and pairs that are apart, one by one."""
    rows = unit(vectors)
    near, random = (np.array([rows[i] @ rows[j] for i, j in pairs]) for pairs in (close, apart))
    squares = np.array([((rows[i] - rows[j]) ** 2).sum() for i, j in apart])
    axes = np.linalg.eigh(rows.T @ rows).eigenvectors.T
    sums = [sum(np.exp(sign * axis @ row) for row in rows) for axis in axes for sign in (1, -1)]
    return {
        "isotropy": min(sums) / max(sums),
        "mean-norm": float(np.linalg.norm(vectors.mean(axis=0))),
        "spread": float(np.sqrt(1 - np.linalg.norm(rows.mean(axis=0)) ** 2)),
        "uniformity": float(np.log(np.exp(-2 * squares).mean())),
        "alignment": float(np.mean([((rows[i] - rows[j]) ** 2).sum() for i, j in close])),
        "random-cosine": float(random.mean()),
        "positive-cosine": float(near.mean()),
    }


def sct(z: Array, r: Array, queues: list[list[Array]], t: float, t_ref: float) -> float:
    """SCT's loss of one batch (2n, d), all first views first; moves the two queues of unit vectors on."""
    z, r, n = unit(z), unit(r), len(z) // 2
    for queue, own in zip(queues, (r[:n], r[n:]), strict=True):
        queue.extend(own)
    loss = 0.5 * relation_loss(z[:n], r[n:], np.array(queues[1]), t, t_ref)
    loss += 0.5 * relation_loss(z[n:], r[:n], np.array(queues[0]), t, t_ref)
    for queue in queues:
        del queue[:n]
    return loss


def congen(s: Array, teacher: Array, queue: list[Array], t: float, t_teacher: float) -> float:
    """ConGen's loss of one batch: students (2n, d), the teacher's vectors of first views (n, d); moves the queue."""
    s, teacher, n = unit(s), unit(teacher), len(teacher)
    queue.extend(teacher)
    columns = np.array(queue)
    losses = [relation_loss(half, teacher, columns, t, t_teacher, divergence=False) for half in (s[:n], s[n:])]
    del queue[:n]
    return sum(losses) / 2


def smoothed(vectors: Array, neighbours: int) -> Array:
    """Unit vectors (n, d), each half its own and half the mean of its nearest others by their squared cosines."""
    cosines = vectors @ vectors.T
    np.fill_diagonal(cosines, -1)
    rows = []
    for own, row in zip(vectors, cosines, strict=True):
        nearest = np.argsort(-row)[:neighbours]
        weights = np.maximum(row[nearest], 0) ** 2
        rows.append(own / 2 + weights @ vectors[nearest] / weights.sum() / 2)
    return unit(np.array(rows))


def sharpened(x: Array, neighbours: int) -> Array:
    """Vectors (n, d) of length 1 drawn towards their neighbours: shrunk differences, then ridge regression."""
    cosines = x @ x.T
    np.fill_diagonal(cosines, -2)
    close = np.argsort(-cosines, axis=1)[:, :neighbours]
    moments = sum(np.outer(x[i] - x[j], x[i] - x[j]) for i in range(len(x)) for j in close[i])
    values, vectors = np.linalg.eigh(moments)
    shrinking = vectors @ np.diag((0.99 * values + 0.01 * values.mean()) ** (-1 / 8)) @ vectors.T
    v = (x - x.mean(0)) @ shrinking
    v = v / np.linalg.norm(v, axis=1).mean()
    ridge = v.T @ v + 0.01 * (v.T @ v).trace() / v.shape[1] * np.eye(v.shape[1])
    return 0.4 * x + 0.6 * (v + v @ np.linalg.inv(ridge) @ v.T @ (smoothed(unit(v), neighbours) - v))
