"""Intervals and the paired bootstrap against SciPy, by hand, and by what they must do when the truth is known."""

import numpy as np
import pytest
from made_items import figure, similar
from scipy import stats
from sklearn.metrics import roc_auc_score

from trainers.evaluation.task import Predictions
from trainers.results.significance import Estimate, average, estimate, shuffled

OUTCOMES = Predictions("mean", np.ones(300), (np.random.default_rng(1).random(300) < 0.7).astype(float))


def labelled(seed: int, noise: float, size: int = 300) -> Predictions:
    gold = (np.random.default_rng(0).random(size) < 0.4).astype(float)
    # Rounded, so that there are ties.
    return Predictions("auc", gold, np.round(gold + noise * np.random.default_rng(seed).standard_normal(size), 1))


def by_scipy(items: Predictions, rows: np.ndarray) -> float:
    """Return the score x 100 of the items in `rows`, as often as they stand there."""
    gold, predicted = items.gold[rows], items.predicted[rows]
    if items.statistic == "mean":
        return 100 * predicted.mean()
    if items.statistic == "auc":
        return 100 * float(roc_auc_score(gold, predicted))
    return 100 * stats.spearmanr(gold, predicted).statistic


def drawn(items: Predictions, resamples: int, seed: int) -> np.ndarray:
    """Return the items of each resample, (resamples, items)."""
    size = len(items.gold)
    return np.random.default_rng(seed).integers(0, size, (resamples, size))


def difference(first: Predictions, second: Predictions, resamples: int = 2000, seed: int = 0) -> Estimate:
    return estimate(second, resamples, seed) - estimate(first, resamples, seed)


@pytest.mark.parametrize("items", [similar(1, 2.0), labelled(1, 1.0), OUTCOMES], ids=lambda i: i.statistic)
def test_every_resample_scores_as_the_items_that_it_draws(items: Predictions) -> None:
    assert estimate(items, 1).value == pytest.approx(figure(items))
    expected = [by_scipy(items, rows) for rows in drawn(items, 5, 3)]
    np.testing.assert_allclose(estimate(items, 5, 3).draws, expected, rtol=1e-10)


@pytest.mark.parametrize("items", [similar(1, 2.0), labelled(1, 1.0), OUTCOMES], ids=lambda i: i.statistic)
def test_the_interval_is_scipys_percentile_bootstrap(items: Predictions) -> None:
    rows = np.arange(len(items.gold))
    expected = stats.bootstrap(
        (rows,), lambda chosen: by_scipy(items, chosen), vectorized=False, n_resamples=1000, method="percentile",
        rng=np.random.default_rng(2),
    ).confidence_interval  # fmt: skip
    # Both ends are estimated from draws: about a fiftieth of the interval's width.
    found = estimate(items, 2000, 1).interval
    assert found == pytest.approx(tuple(expected), abs=0.1 * (expected.high - expected.low))


def test_a_score_that_is_undefined_has_no_estimate() -> None:
    constant = Predictions("spearman", np.arange(5.0), np.ones(5))
    assert np.isnan(estimate(constant, 10).value)


def test_resamples_without_a_score_are_left_out() -> None:
    items = Predictions("auc", np.array([1.0, 0.0, 0.0]), np.array([0.9, 0.1, 0.5]))
    found = estimate(items, 500)
    known = found.draws[~np.isnan(found.draws)]
    assert len(known) < 400
    assert found.interval == tuple(np.percentile(known, [2.5, 97.5]))
    assert (found - found).p_value == 1
    # A difference of 100 in each of the draws that have one.
    sure = Estimate(100.0, np.where(np.isnan(found.draws), np.nan, 100.0))
    assert sure.p_value == pytest.approx(1 / (len(known) + 1))


def test_the_test_rejects_a_true_null_at_its_level_and_a_false_one_with_the_power_of_the_normal_test() -> None:
    items, runs = 150, 120
    null, real = [], []
    for number in range(runs):
        first, same, other = (
            similar(3 * number + each, noise, items) for each, noise in enumerate((3.0, 3.0, 5.5))
        )  # fmt: skip
        for found, second in ((null, same), (real, other)):
            found.append(difference(first, second, 200, seed=number).p_value)
    size, power = (np.mean(np.array(each) < 0.05) for each in (null, real))
    # Two standard errors of a share of 120 runs are 0.04 at the level, 0.09 at the power.
    assert size <= 0.1
    rho = [1 / np.sqrt(1 + noise**2 / 2.5) for noise in (3.0, 5.5)]
    error = np.sqrt(sum((1 - each**2) ** 2 for each in rho) / items)
    expected = stats.norm.sf(1.96 - (rho[0] - rho[1]) / error)
    assert 0.3 < expected < 0.7
    assert power == pytest.approx(expected, abs=0.12)


def test_the_averages_error_is_that_of_independent_sets() -> None:
    sets = [difference(similar(2 * k, 2.0), similar(2 * k + 1, 2.3), seed=3) for k in range(4)]
    together = average(shuffled(sets, seed=3))
    assert together.value == pytest.approx(np.mean([each.value for each in sets]))
    variance = np.mean([each.draws.var() for each in sets]) / 4
    assert together.draws.var() == pytest.approx(variance, rel=0.1)
    # Sets that were drawn alike are no less independent: as drawn, the error would not fall at all.
    alike = average(shuffled([sets[0]] * 4, seed=3))
    assert alike.draws.var() == pytest.approx(sets[0].draws.var() / 4, rel=0.1)
    assert together.p_value == pytest.approx(2 * stats.norm.sf(abs(together.value) / together.draws.std()), abs=0.04)
