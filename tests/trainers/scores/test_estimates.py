"""Scores as sums of contributions: exact for means, and else the derivative of the weighted statistic."""

from collections.abc import Callable

import numpy as np
import pytest
from made_items import figure, similar
from scipy.stats import rankdata
from sklearn.cluster import KMeans
from sklearn.metrics import average_precision_score, normalized_mutual_info_score, roc_auc_score

from trainers.scores.statistics.estimates import Estimate, estimate, influence, mean_of_figures, mean_of_tables
from trainers.scores.task import Predictions

RNG = np.random.default_rng(0)
SIZE = 60
SAME = (RNG.random(SIZE) < 0.3).astype(float)
GRADES = RNG.integers(0, 6, SIZE) / 2
CLASSES = RNG.integers(0, 4, SIZE)
CLUSTERS = (CLASSES + RNG.integers(0, 2, SIZE)) % 4
COSINES = np.round(SAME + GRADES + RNG.standard_normal(SIZE), 1)  # rounded, so that there are ties


def weighted_spearman(weights: np.ndarray) -> float:
    """Return the correlation of mid-ranks among items that occur as often as their weights say."""
    shares = weights / weights.sum()
    ranks = []
    for values in (GRADES, COSINES):
        below = (values[None] < values[:, None]) + (values[None] == values[:, None]) / 2
        ranks.append(below @ shares - 0.5)
    x, y = ranks
    return float(shares @ (x * y) / np.sqrt((shares @ x**2) * (shares @ y**2)))


def weighted_information(weights: np.ndarray) -> float:
    joint = np.zeros((4, 4))
    np.add.at(joint, (CLASSES, CLUSTERS), weights / weights.sum())
    both, first, second = (
        -(shares[shares > 0] * np.log(shares[shares > 0])).sum()
        for shares in (joint.ravel(), joint.sum(axis=0), joint.sum(axis=1))
    )
    return float(2 * (first + second - both) / (first + second))


STATISTICS: list[tuple[str, np.ndarray, np.ndarray, Callable[[np.ndarray], float]]] = [
    ("ap", SAME, COSINES, lambda weights: average_precision_score(SAME, COSINES, sample_weight=weights)),
    ("auc", SAME, COSINES, lambda weights: roc_auc_score(SAME, COSINES, sample_weight=weights)),
    ("spearman", GRADES, COSINES, weighted_spearman),
    ("nmi", CLASSES.astype(float), CLUSTERS[:, None].astype(float), weighted_information),
    ("mean", np.arange(float(SIZE)), COSINES, lambda weights: np.average(COSINES, weights=weights)),
]


@pytest.mark.parametrize(
    ("statistic", "gold", "predicted", "weighted"), STATISTICS, ids=lambda value: str(value)[:8]
)
def test_a_contribution_is_how_much_the_score_moves_with_an_items_weight(
    statistic: str, gold: np.ndarray, predicted: np.ndarray, weighted: Callable[[np.ndarray], float]
) -> None:
    score, changes = influence(Predictions(statistic, gold, predicted))  # type: ignore[arg-type]
    assert score == pytest.approx(weighted(np.ones(SIZE)))
    step = 1e-5
    slopes = [(weighted(1 + step * row) - weighted(1 - step * row)) / (2 * step) for row in np.eye(SIZE)]
    np.testing.assert_allclose(changes, SIZE * np.array(slopes), atol=1e-6)


def test_scores_are_those_of_scipy_and_scikit_learn() -> None:
    items = similar(1, 2.0)
    assert estimate(items).score == pytest.approx(figure(items))
    runs = [
        KMeans(4, n_init=1, random_state=run).fit_predict(RNG.standard_normal((SIZE, 3))) for run in range(3)
    ]
    found = estimate(Predictions("nmi", CLASSES.astype(float), np.stack(runs, 1).astype(float)))
    assert found.score == pytest.approx(
        100 * np.mean([normalized_mutual_info_score(CLASSES, run) for run in runs])
    )
    assert found.noise > 0


@pytest.mark.parametrize("statistic", ["spearman", "ap", "auc", "nmi", "mean"])
def test_copies_add_no_evidence(statistic: str) -> None:
    """Ten copies of all items in one group each have the score and the standard error of one."""
    gold, predicted = SAME, rankdata(COSINES) / SIZE
    if statistic == "nmi":
        gold, predicted = CLASSES.astype(float), np.stack([CLUSTERS] * 2, 1).astype(float)
    once = estimate(Predictions(statistic, gold, predicted))  # type: ignore[arg-type]
    groups = np.tile(np.arange(SIZE), 10)
    often = estimate(Predictions(statistic, np.tile(gold, 10), np.concatenate([predicted] * 10), groups))  # type: ignore[arg-type]
    tolerance = {"ap": 0.2}.get(statistic, 1e-6)  # its copies are ties
    assert often.score == pytest.approx(once.score, abs=tolerance)
    assert often.variance == pytest.approx(once.variance, rel=0.05)
    assert often.independent == once.independent


def test_items_without_an_outcome_do_not_count() -> None:
    found = estimate(Predictions("mean", np.arange(4.0), np.array([1.0, np.nan, 0.0, 1.0])))
    assert found.score == pytest.approx(200 / 3)


@pytest.mark.parametrize("statistic", ["spearman", "ap", "auc"])
def test_a_score_without_two_kinds_of_items_is_undefined(statistic: str) -> None:
    assert np.isnan(estimate(Predictions(statistic, np.zeros(30), np.arange(30.0))).score)  # type: ignore[arg-type]


def test_the_rarer_kind_of_pairs_is_what_average_precision_rests_on() -> None:
    gold = np.zeros(500)
    gold[:5] = 1
    assert estimate(Predictions("ap", gold, np.random.default_rng(0).random(500))).independent == 5


def test_the_mean_of_figures_is_paired_and_that_of_tables_is_independent() -> None:
    table = Estimate(np.arange(50.0), np.full(50, 1 / 50), 50)
    assert mean_of_figures([table] * 4).variance == pytest.approx(table.variance)
    assert mean_of_tables([table] * 4).score == pytest.approx(table.score)
    assert mean_of_tables([table] * 4).variance == pytest.approx(table.variance / 4, rel=0.02)
