"""BSL's training step in NumPy, by hand: Eq. 1-4 over a linear encoder, gradients included."""

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np

Array = np.ndarray
EPS = 1e-5  # BatchNorm's


@dataclass
class Predictor:
    """Linear, BN, ReLU, Linear, BN, ReLU, Linear; BN in training mode, with the statistics of the rows it is given."""

    w: list[Array]
    b: list[Array]
    gamma: list[Array]
    beta: list[Array]

    def forward(self, x: Array) -> tuple[Array, list[tuple[Array, ...]]]:
        saved = []
        for w, b, gamma, beta in zip(self.w[:2], self.b[:2], self.gamma, self.beta, strict=True):
            a = x @ w.T + b
            std = np.sqrt(a.var(axis=0) + EPS)
            normal = (a - a.mean(axis=0)) / std
            y = gamma * normal + beta
            saved.append((x, std, normal, y))
            x = np.maximum(y, 0)
        saved.append((x,))
        return x @ self.w[2].T + self.b[2], saved

    def backward(
        self, grad: Array, saved: list[tuple[Array, ...]]
    ) -> tuple[Array, list[tuple[list[Array], int, Array]]]:
        """Return the gradient at the input, and those of the parameters: list, place in it, gradient."""
        steps = [(self.w, 2, grad.T @ saved[2][0]), (self.b, 2, grad.sum(axis=0))]
        grad = grad @ self.w[2]
        for i in (1, 0):
            x, std, normal, y = saved[i]
            grad = grad * (y > 0)
            steps += [(self.gamma, i, (grad * normal).sum(axis=0)), (self.beta, i, grad.sum(axis=0))]
            g = grad * self.gamma[i]
            grad = (g - g.mean(axis=0) - normal * (g * normal).mean(axis=0)) / std
            steps += [(self.w, i, grad.T @ x), (self.b, i, grad.sum(axis=0))]
            grad = grad @ self.w[i]
        return grad, steps


@dataclass
class Bsl:
    """theta = (table, predictor), xi = target; a sentence's vector is the mean of its tokens' rows of the table."""

    table: Array
    target: Array
    predictor: Predictor
    momentum: float

    def step(self, left: list[list[int]], right: list[list[int]], lr: float) -> float:
        """One step of gradient descent and of Eq. 4; returns the loss before it (Eq. 2)."""
        sentences = [*left, *right]
        n = len(left)
        online = np.stack([self.table[ids].mean(axis=0) for ids in sentences])
        h = np.stack([self.target[ids].mean(axis=0) for ids in sentences])
        loss, at_online, steps = 0.0, np.zeros_like(online), []
        for first, second in [(slice(0, n), slice(n, None)), (slice(n, None), slice(0, n))]:
            # The predictor sees one view at a time, and so does its BN.
            z, saved = self.predictor.forward(online[first])
            length = np.linalg.norm(z, axis=1, keepdims=True)
            zn = z / length
            hn = h[second] / np.linalg.norm(h[second], axis=1, keepdims=True)
            cos = (zn * hn).sum(axis=1, keepdims=True)
            loss += 0.5 * float(-cos.mean())
            at_online[first], of_predictor = self.predictor.backward(0.5 * -(hn - cos * zn) / length / n, saved)
            steps += of_predictor
        for values, i, step in steps:
            values[i] = values[i] - lr * step
        table = self.table.copy()
        for ids, row in zip(sentences, at_online, strict=True):
            for token in ids:
                table[token] -= lr * row / len(ids)
        self.table = table
        self.target = self.momentum * self.target + (1 - self.momentum) * self.table
        return loss


def contrast(
    vectors: Array, temperature: float, left_out: Collection[tuple[int, int]], negatives: Array | None, anchors: int
) -> float:
    """Rows i < `anchors` of (2n, d) against each other column; pairs (i, j) of `left_out` are no negatives."""
    count = len(vectors)
    columns = unit(vectors if negatives is None else np.concatenate([vectors, negatives]))
    losses = []
    for i in range(anchors):
        positive = (i + count // 2) % count
        first = 0 if anchors == count else count // 2
        compared = [j for j in range(first, len(columns)) if j != i and (j == positive or (i, j) not in left_out)]
        scores = {j: float(columns[i] @ columns[j]) / temperature for j in compared}
        losses.append(-scores[positive] + np.log(sum(np.exp(score) for score in scores.values())))
    return float(np.mean(losses))


def nt_xent(
    vectors: Array, temperature: float, left_out: Collection[tuple[int, int]] = (), negatives: Array | None = None
) -> float:
    """Mirror-BERT's Eq. 1: 2n anchors, 2n - 2 negatives each, and the hard ones."""
    return contrast(vectors, temperature, left_out, negatives, len(vectors))


def one_sided(
    vectors: Array, temperature: float, left_out: Collection[tuple[int, int]] = (), negatives: Array | None = None
) -> float:
    """SimCSE's Eq. 4 and 5: n anchors, row i against rows n + j and the hard negatives."""
    return contrast(vectors, temperature, left_out, negatives, len(vectors) // 2)


def relations(vectors: Array, columns: Array, temperature: float) -> Array:
    """SCT's similarity distribution, row by row: a softmax over the columns."""
    rows = []
    for vector in vectors:
        scores = np.array([float(vector @ column) / temperature for column in columns])
        weights = np.exp(scores - scores.max())
        rows.append(weights / weights.sum())
    return np.array(rows)


def relation_loss(z: Array, r: Array, columns: Array, t: float, t_ref: float, *, divergence: bool = True) -> float:
    """Mean KL of the reference's distribution from the student's, or their cross-entropy."""
    p, q = relations(r, columns, t_ref), relations(z, columns, t)
    entropies = [float((row * np.log(row)).sum()) if divergence else 0.0 for row in p]
    return float(np.mean([h - (a * np.log(b)).sum() for h, a, b in zip(entropies, p, q, strict=True)]))


def unit(vectors: Array) -> Array:
    return vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)


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


def softmax(scores: Array) -> Array:
    weights = np.exp(scores - scores.max())
    return weights / weights.sum()


def list_net(student: Array, teacher: Array) -> float:
    rows = zip(student, teacher, strict=True)
    return float(np.mean([-(softmax(t) * np.log(softmax(s))).sum() for s, t in rows]))


def list_mle(student: Array, teacher: Array) -> float:
    """By hand: draw the teacher's order one after the other, each from those that are left."""
    losses = []
    for s, t in zip(student, teacher, strict=True):
        left = sorted(range(len(s)), key=lambda j: -t[j])
        while left:
            losses.append(-np.log(softmax(s[left])[0]))
            left = left[1:]
    return float(np.mean(losses))


def jensen_shannon(first: Array, second: Array) -> float:
    values = []
    for p, q in zip(map(softmax, first), map(softmax, second), strict=True):
        m = (p + q) / 2
        values.append(((p * np.log(p / m)).sum() + (q * np.log(q / m)).sum()) / 2)
    return float(np.mean(values))


def without_diagonal(scores: Array) -> Array:
    return np.array([np.delete(row, place) for place, row in enumerate(scores)])


def rank(z: Array, taught: list[Array], shares: list[float], loss: str, t: float) -> float:
    """RankCSE's loss of one batch: vectors (2n, d), the teachers' (n, d) and their shares; all temperatures t."""
    first, second = np.split(unit(z), 2)
    cosines = first @ second.T
    mixed = sum(share * unit(each) @ unit(each).T for share, each in zip(shares, taught, strict=True))
    student, teacher = without_diagonal(cosines) / t, without_diagonal(mixed)
    ranked = list_net(student, teacher / (t / 2)) if loss == "listnet" else list_mle(student, teacher)
    return one_sided(z, t) + jensen_shannon(cosines / t, cosines.T / t) + ranked
