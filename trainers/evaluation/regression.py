"""Logistic regression on frozen vectors, by scikit-learn, its strength chosen as SentEval chooses it.

Every path of strengths begins at zero and stays inside its own training items. To begin it at another fold's solution
would be faster still, but that has seen the items that it is to be judged by.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from sklearn.linear_model import LogisticRegression

    from trainers.embedding.vectors import Matrix

Classes: TypeAlias = "NDArray[np.int64]"
Split: TypeAlias = "tuple[NDArray[np.int64], NDArray[np.int64]]"
Given = TypeVar("Given")
Found = TypeVar("Found")

FOLDS = 10
WITHIN = tuple(2.0**power for power in range(-2, 4))
"""scikit-learn's C where every item is held out once, and where there are development items."""
BEFORE_TEST = tuple(2.0**power for power in range(-1, 6))
"""The same where the training items alone are folded, before a test."""

DENSE = 1024
"""Most weights for which a Hessian of their square is cheaper than the many steps that it saves."""


@dataclass(frozen=True, slots=True)
class Judged:
    """The class that each item was given, and for each fold (or once) the strength C with its inner accuracy x 100.

    `held` has the rows of each fold; a test has none.
    """

    predicted: Classes
    strengths: tuple[float, ...]
    inner: tuple[float, ...]
    held: tuple[NDArray[np.int64], ...] = ()


def held_out(inputs: Matrix, classes: Classes, seed: int, folds: int = FOLDS) -> Judged:
    """Judge every item by a classifier that has not seen its fold; the strength is chosen by folds of the others.

    Args:
        inputs: (n, d).
        classes: (n,), numbers of classes.
        seed: Shuffles the folds, the outer and the inner ones.
        folds: How many, outer and inner.
    """
    (inputs,) = _prepared(inputs)
    outer = _splits(classes, seed, folds)
    inner = [_splits(classes[train], seed, folds) for train, _ in outer]
    tasks = [
        (train[part], train[rest]) for (train, _), splits in zip(outer, inner, strict=True) for part, rest in splits
    ]
    shares = _in_parallel(lambda split: _shares(inputs, classes, split, WITHIN), tasks)
    choices = [_choose(shares[start : start + folds], WITHIN) for start in range(0, len(shares), folds)]
    final = [(train, test, strength) for (train, test), (strength, _) in zip(outer, choices, strict=True)]
    given = _in_parallel(lambda task: _fit(inputs[task[0]], classes[task[0]], task[2]).predict(inputs[task[1]]), final)
    predicted = np.empty(len(classes), dtype=np.int64)
    for (_, test), found in zip(outer, given, strict=True):
        predicted[test] = found
    strengths, accuracies = zip(*choices, strict=True)
    return Judged(predicted, strengths, accuracies, tuple(test for _, test in outer))


def on_test(train: Matrix, classes: Classes, test: Matrix, seed: int, folds: int = FOLDS) -> Judged:
    """Judge a test (m, d) by a classifier of the training items (n, d), its strength chosen by folds of these."""
    train, test = _prepared(train, test)
    splits = _splits(classes, seed, folds)
    shares = _in_parallel(lambda split: _shares(train, classes, split, BEFORE_TEST), splits)
    strength, inner = _choose(shares, BEFORE_TEST)
    return Judged(_alone(lambda: _fit(train, classes, strength).predict(test)), (strength,), (inner,))


def by_development(train: Matrix, classes: Classes, dev: Matrix, dev_classes: Classes, test: Matrix) -> Judged:
    """Judge a test (m, d) by a classifier of the training items, its strength chosen by the development items."""
    train, dev, test = _prepared(train, dev, test)

    def judge() -> Judged:
        shares = [np.mean(predict(dev) == dev_classes) for predict in _path(train, classes, WITHIN)]
        strength, inner = _choose([np.array(shares)], WITHIN)
        return Judged(_fit(train, classes, strength).predict(test), (strength,), (inner,))

    return _alone(judge)


def _prepared(train: Matrix, *others: Matrix) -> list[Any]:
    """Return the inputs in float64, the dense ones moved by the mean of the first.

    In float32 the steps towards the optimum of long vectors get lost in rounding. The move changes no optimum, as
    intercepts are free, and far from the origin lbfgs takes three times as many steps.
    """
    centre = train.mean(axis=0, dtype=np.float64) if isinstance(train, np.ndarray) else None
    moved = [inputs.astype(np.float64) for inputs in (train, *others)]
    return moved if centre is None else [inputs - centre for inputs in moved]


def _splits(classes: Classes, seed: int, folds: int) -> list[Split]:
    from sklearn.model_selection import StratifiedKFold

    folding = StratifiedKFold(folds, shuffle=True, random_state=seed)
    return list(folding.split(np.zeros((len(classes), 1)), classes))


def _choose(shares: Sequence[NDArray[np.float64]], strengths: Sequence[float]) -> tuple[float, float]:
    """Return the best strength and its accuracy x 100: rounded as SentEval rounds it, and of equals the smallest C."""
    accuracies = np.round(100 * np.mean(shares, axis=0), 2)
    best = int(np.argmax(accuracies))
    return strengths[best], float(accuracies[best])


def _shares(inputs: Matrix, classes: Classes, split: Split, strengths: Sequence[float]) -> NDArray[np.float64]:
    """Return the share of the held-out items that is told right, at each strength."""
    train, test = split
    held, gold = inputs[test], classes[test]
    return np.array([np.mean(predict(held) == gold) for predict in _path(inputs[train], classes[train], strengths)])


def _path(inputs: Matrix, classes: Classes, strengths: Sequence[float]) -> Iterator[Callable[[Matrix], Classes]]:
    """Yield a classifier at each strength, to be asked before the next, which begins where this one ends."""
    model = _model(inputs, classes)
    for strength in strengths:
        yield model.set_params(C=strength).fit(inputs, classes).predict


def _fit(inputs: Matrix, classes: Classes, strength: float) -> LogisticRegression:
    """Return the classifier that is judged, more exact than those that are tried: there are few of them."""
    return _model(inputs, classes).set_params(C=strength, tol=1e-8).fit(inputs, classes)


def _model(inputs: Matrix, classes: Classes) -> LogisticRegression:
    """Return an unfitted classifier whose solver suits the number of weights."""
    from sklearn.linear_model import LogisticRegression

    count = len(np.unique(classes))
    weights = inputs.shape[1] * (count if count > 2 else 1)
    if weights <= DENSE and isinstance(inputs, np.ndarray):
        return LogisticRegression(solver="newton-cholesky", max_iter=10_000, warm_start=True)
    return LogisticRegression(solver="lbfgs", tol=1e-7, max_iter=10_000, warm_start=True)


def _in_parallel(work: Callable[[Given], Found], tasks: Sequence[Given]) -> list[Found]:
    """Do all tasks, as many at a time as BLAS had threads: threads share the arrays, and BLAS frees the interpreter."""
    from concurrent.futures import ThreadPoolExecutor

    from threadpoolctl import threadpool_info  # type: ignore[import-untyped]

    threads = max((pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"), default=1)

    def run() -> list[Found]:
        with ThreadPoolExecutor(threads) as pool:
            return list(pool.map(work, tasks))

    return _alone(run)


def _alone(work: Callable[[], Found]) -> Found:
    """Do some work with one BLAS thread, so that the figures do not depend on the number of cores."""
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1):
        return work()
