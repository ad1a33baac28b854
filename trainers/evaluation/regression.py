"""Logistic regression on frozen vectors, by scikit-learn, its strength chosen as SentEval chooses it.

Every path of strengths begins at zero and stays inside its own training items. To begin it at another fold's solution
would be faster still, but that has seen the items that it is to be judged by.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from trainers.embedding.vectors import Matrix

if TYPE_CHECKING:
    from sklearn.linear_model import LogisticRegression

Rows: TypeAlias = "NDArray[np.int64]"
Split: TypeAlias = tuple[Rows, Rows]

FOLDS = 10
WITHIN = tuple(2.0**power for power in range(-2, 4))
"""scikit-learn's C where every item is held out once, and where there are development items."""
BEFORE_TEST = tuple(2.0**power for power in range(-1, 6))
"""The same where the training items alone are folded, before a test."""

DENSE = 1024
"""Most weights for which a Hessian of their square is cheaper than the many steps that it saves."""


class Judged(NamedTuple):
    """The classes that items were given, by which strength C, and its accuracy x 100 on the items that chose it."""

    predicted: Rows
    strength: float
    inner: float


def centred(inputs: Matrix, rows: Rows | slice) -> Any:  # noqa: ANN401 - an array or a sparse matrix
    """Return inputs (n, d) in float64, dense ones moved by the mean of some rows.

    In float32 the steps towards the optimum of long vectors get lost in rounding. The move changes no optimum, as
    intercepts are free, and far from the origin lbfgs takes three times as many steps.
    """
    if not isinstance(inputs, np.ndarray):
        return inputs.astype(np.float64)
    return inputs.astype(np.float64) - inputs[rows].mean(axis=0, dtype=np.float64)


def folded(classes: Rows, rows: Rows, seed: int, folds: int = FOLDS) -> list[Split]:
    """Return stratified folds of `rows`, shuffled by the seed: for each its training rows and those held out."""
    from sklearn.model_selection import StratifiedKFold

    splits = StratifiedKFold(folds, shuffle=True, random_state=seed).split(np.zeros((len(rows), 1)), classes[rows])
    return [(rows[train], rows[held]) for train, held in splits]


def judge(
    inputs: Any, classes: Rows, train: Rows, test: Rows, inner: Sequence[Split], strengths: Sequence[float]  # noqa: ANN401 - as above
) -> Judged:  # fmt: skip
    """Classify the rows `test` by a regression on the rows `train`, its strength chosen by the splits `inner`.

    The accuracy of a strength is the mean over the splits, rounded to two decimals as SentEval does it; of equals the
    smallest strength is taken. BLAS has one thread, so that the figures do not depend on the number of cores; the
    splits are shared out over as many threads as it had.
    `inputs` (n, d) are as `centred` returns them, `classes` (n,) numbers, `strengths` values of scikit-learn's C, in
    the order in which each begins where the last one ended.
    """
    from concurrent.futures import ThreadPoolExecutor

    from threadpoolctl import threadpool_info, threadpool_limits  # type: ignore[import-untyped]

    def shares(split: Split) -> list[float]:
        rows, held = split
        model, known, asked, gold = _model(inputs, classes[rows]), inputs[rows], inputs[held], classes[held]
        fitted = (model.set_params(C=strength).fit(known, classes[rows]) for strength in strengths)
        return [np.mean(each.predict(asked) == gold) for each in fitted]

    threads = max((pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"), default=1)
    with threadpool_limits(1), ThreadPoolExecutor(threads) as pool:
        accuracies = np.round(100 * np.mean(list(pool.map(shares, inner)), axis=0), 2)
        best = int(np.argmax(accuracies))
        # More exact than those that are tried: there are few of them.
        model = _model(inputs, classes[train]).set_params(C=strengths[best], tol=1e-8)
        predicted = model.fit(inputs[train], classes[train]).predict(inputs[test])
    return Judged(predicted, strengths[best], float(accuracies[best]))


def _model(inputs: Any, classes: Rows) -> LogisticRegression:  # noqa: ANN401 - as above
    """Return an unfitted classifier whose solver suits the number of weights."""
    from sklearn.linear_model import LogisticRegression

    count = len(np.unique(classes))
    if inputs.shape[1] * (count if count > 2 else 1) <= DENSE and isinstance(inputs, np.ndarray):
        return LogisticRegression(solver="newton-cholesky", max_iter=10_000, warm_start=True)
    return LogisticRegression(solver="lbfgs", tol=1e-7, max_iter=10_000, warm_start=True)
