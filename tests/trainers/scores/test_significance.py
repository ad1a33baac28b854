"""The sign test beside SciPy's, the interval that agrees with it, and the power that is promised."""

import numpy as np
import pytest
from scipy import stats

from trainers.scores.statistics.estimates import Estimate, estimate
from trainers.scores.statistics.significance import (
    LEVEL,
    groups_needed,
    holm,
    score_interval,
    sign_test,
    smallest_difference,
)
from trainers.scores.task import Predictions


def of_differences(values: np.ndarray, noise: float = 0.0) -> Estimate:
    """Return the estimate of a mean difference of items, not x 100."""
    size = len(values)
    return Estimate(values / size, np.full(size, 1 / size), size, noise, -100)


def of_changes(size: int, gains: int, losses: int = 0) -> Estimate:
    """Return the estimate of a difference of accuracies x 100."""
    return of_differences(100 * np.repeat([1.0, -1.0, 0.0], [gains, losses, size - gains - losses]))


@pytest.mark.parametrize("size", [2, 4, 9, 12])
def test_few_differences_have_the_exact_p(size: int) -> None:
    values = np.random.default_rng(size).standard_normal(size) + 0.5
    expected = stats.permutation_test(
        (values,), np.mean, permutation_type="samples", n_resamples=np.inf, vectorized=True
    ).pvalue
    assert sign_test(of_differences(values))[0] == pytest.approx(expected)


@pytest.mark.parametrize(("size", "shift"), [(30, 0.3), (400, 0.05), (400, 0.15), (5000, 0.02)])
def test_many_differences_have_the_p_and_interval_of_students_test(size: int, shift: float) -> None:
    values = np.random.default_rng(size).standard_normal(size) + shift
    p, low, high = sign_test(of_differences(values))
    expected = stats.ttest_1samp(values, 0)
    assert p == pytest.approx(expected.pvalue, abs=0.02)
    ends = expected.confidence_interval()
    assert (low, high) == pytest.approx((ends.low, ends.high), abs=0.06 * (ends.high - ends.low))


def test_an_interval_leaves_out_zero_exactly_if_p_is_at_its_level() -> None:
    rng = np.random.default_rng(0)
    sides = set()
    for number in range(200):
        size = int(rng.integers(2, 60))
        values = rng.choice([-1.0, 0.0, 1.0, 0.3], size) + rng.choice([0.0, 0.6, -0.6])
        p, low, high = sign_test(of_differences(values, noise=0.01 * (number % 2)))
        assert (low > 0 or high < 0) == (p <= LEVEL)
        sides.add((low > 0, high < 0))
    assert len(sides) == 3


@pytest.mark.parametrize(
    ("changes", "p"), [((300, 4), 0.125), ((300, 6), 0.03125), ((300, 0), 1.0), ((4, 3, 1), 0.625)]
)
def test_outcomes_that_agree_say_nothing(changes: tuple[int, ...], p: float) -> None:
    assert sign_test(of_changes(*changes))[0] == p


def test_one_item_decides_nothing() -> None:
    assert sign_test(of_differences(np.array([36.91]))) == (1.0, -100, 100)
    low, high = score_interval(Estimate(np.array([36.91]), np.ones(1), 1))
    assert low < 5
    assert high > 95


def test_an_interval_of_a_score_is_wilsons_and_stays_in_its_range() -> None:
    for hits, size in ((0, 12), (12, 12), (30, 40), (199, 200)):
        outcomes = np.repeat([1.0, 0.0], [hits, size - hits])
        found = score_interval(estimate(Predictions("mean", np.arange(float(size)), outcomes)))
        assert 0 <= found[0] <= 100 * hits / size <= found[1] <= 100
        expected = stats.binomtest(hits, size).proportion_ci(method="wilson")
        assert found == pytest.approx((100 * expected.low, 100 * expected.high), abs=6 if size < 20 else 1)


def test_holms_correction_is_that_of_the_definition() -> None:
    values = [0.04, 0.01, 0.03, 0.2]
    assert holm(values) == pytest.approx([0.09, 0.04, 0.09, 0.2])
    assert holm([0.6, 0.7]) == [1, 1]


@pytest.mark.parametrize("differing", [0, 1, 2, 3, 30])
def test_a_gain_of_the_smallest_size_shows_in_four_of_five_tables(differing: int) -> None:
    """Outcomes that agreed now differ, beside those that differ by chance."""
    size, rng = 300, np.random.default_rng(differing)
    present = of_changes(size, differing - differing // 2, differing // 2)
    gain = smallest_difference(present) / 100
    assert smallest_difference(present, 3) > smallest_difference(present)
    chance = differing / size / 2
    shares = [chance + gain, chance, 1 - 2 * chance - gain]
    tables = [rng.choice([100.0, -100.0, 0.0], size, p=shares) for _ in range(400)]
    seen = np.mean([sign_test(of_differences(table))[0] <= LEVEL for table in tables])
    assert 0.68 <= seen <= 0.9, "400 tables have an error of two points"


def test_as_many_items_as_are_said_to_be_needed_show_the_gain() -> None:
    present = of_changes(400, 18, 14)
    size = groups_needed(present, 1.0)
    assert smallest_difference(
        of_changes(size, round(18 / 400 * size), round(14 / 400 * size))
    ) == pytest.approx(1, 0.02)
    assert groups_needed(present, smallest_difference(present)) == pytest.approx(400, abs=1)
    assert groups_needed(present, 1.0, comparisons=3) > size
