"""The classifier of the suite `transfer` on vectors as encoders give them: long, and far from the origin."""

from __future__ import annotations

import warnings

import numpy as np

from trainers.evaluation.transfer.regression import BEFORE_TEST, _path, _prepared, on_test


def test_long_vectors_far_from_the_origin_are_fitted_to_convergence() -> None:
    from sklearn.linear_model import LogisticRegression

    rng = np.random.default_rng(0)
    features = rng.normal(size=(400, 64))
    classes = (features @ rng.normal(size=64) + 4 * rng.normal(size=400) > 0).astype(np.int64)
    inputs = (3 * features + 50).astype(np.float32)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        judged = on_test(inputs[:300], classes[:300], inputs[300:], seed=1, folds=4)
    exact = LogisticRegression(C=judged.strengths[0], tol=1e-9, max_iter=100_000, solver="newton-cholesky")
    exact.fit(inputs[:300].astype(np.float64), classes[:300])
    np.testing.assert_array_equal(judged.predicted, exact.predict(inputs[300:].astype(np.float64)))


def test_regressions_of_several_classes_that_are_only_tried_are_fitted_to_convergence_too() -> None:
    from sklearn.linear_model import LogisticRegression

    rng = np.random.default_rng(3)
    features = rng.normal(size=(600, 200)) / np.sqrt(np.arange(1, 201))
    classes = (features @ rng.normal(size=(200, 6)) + rng.normal(size=(600, 6))).argmax(axis=1)
    (inputs,) = _prepared((features + 2).astype(np.float32))
    margins = []
    for strength, predict in zip(BEFORE_TEST, _path(inputs[:500], classes[:500], BEFORE_TEST), strict=True):
        tried = predict.__self__  # type: ignore[attr-defined]
        exact = LogisticRegression(C=strength, solver="newton-cg", tol=1e-10, max_iter=1000)
        exact.fit(inputs[:500], classes[:500])
        margins.append(abs(tried.predict_proba(inputs[500:]) - exact.predict_proba(inputs[500:])).max())
    assert tried.solver == "lbfgs"
    assert max(margins) < 2e-4
