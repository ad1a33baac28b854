"""Correlations against SciPy and by hand, AUC by hand, aggregations with known answers."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from trainers.evaluation.metrics import aggregate, auc, pearson, ranks, score, spearman

FEW = st.integers(min_value=-3, max_value=3)  # few values, so that ties are common


def test_ties_share_the_mean_of_their_ranks() -> None:
    assert ranks([30, 10, 20, 20, 20]).tolist() == [5.0, 1.0, 3.0, 3.0, 3.0]


def test_spearman_with_ties_by_hand() -> None:
    # Ranks 1, 2.5, 2.5, 4 and 1, 3, 2, 4: covariance 4.5, variances 4.5 and 5, so rho = 4.5 / sqrt(22.5).
    assert spearman([1, 2, 2, 3], [10, 30, 20, 40]) == pytest.approx(4.5 / 22.5**0.5)


@settings(deadline=None)
@given(st.lists(st.tuples(FEW, FEW), min_size=2, max_size=40))
def test_correlations_equal_scipy(pairs: list[tuple[int, int]]) -> None:
    x, y = zip(*pairs, strict=True)
    if len(set(x)) == 1 or len(set(y)) == 1:
        assert spearman(x, y) is None
        assert pearson(x, y) is None
    else:
        assert spearman(x, y) == pytest.approx(stats.spearmanr(x, y).statistic, abs=1e-12)
        assert pearson(x, y) == pytest.approx(stats.pearsonr(x, y).statistic, abs=1e-12)


def test_a_constant_list_has_no_correlation_even_when_its_mean_is_rounded() -> None:
    assert score([1.0, 2.0, 3.0], [0.1, 0.1, 0.1]).spearman is None
    assert pearson([1.0, 2.0, 3.0], [0.1, 0.1, 0.1]) is None


@pytest.mark.parametrize("lists", [([1, 2], [1, 2, 3]), ([1], [1]), ([[1, 2]], [[1, 2]])])
def test_lists_that_cannot_be_compared_are_refused(lists: tuple[list[float], list[float]]) -> None:
    with pytest.raises(ValueError, match="same length >= 2"):
        pearson(*lists)


def test_auc_with_ties_by_hand() -> None:
    # Pairs of a positive and a negative: 2 > 1, 2 = 2, 3 > 1, 3 > 2: 3.5 of 4.
    assert auc([0, 1, 0, 1], [1, 2, 2, 3]) == pytest.approx(3.5 / 4)
    assert auc([1, 0], [0.5, 0.5]) == 0.5
    assert auc([1, 1, 0], [3, 2, 1]) == 1.0


def test_auc_without_positives_or_negatives_is_undefined() -> None:
    assert auc([1, 1], [0.1, 0.2]) is None


@pytest.mark.parametrize(("gold", "message"), [([0, 2], "0 or 1"), ([0, 1, 1], "same length")])
def test_auc_of_what_is_no_truth_is_refused(gold: list[int], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        auc(gold, [0.1, 0.2])


def test_the_three_aggregations_differ_as_worked_out_by_hand() -> None:
    agrees = ([1, 2, 3], [1, 2, 3])  # rho 1, three pairs
    opposes = ([1, 2, 3, 4], [4, 3, 2, 1])  # rho -1, four pairs
    joined = aggregate([agrees, opposes])
    assert joined["mean"].spearman == pytest.approx(0.0)
    assert joined["weighted"].spearman == pytest.approx(100 * (3 - 4) / 7)
    # Concatenated ranks, less their mean 4: gold -2.5 -.5 1.5 -2.5 -.5 1.5 3, predicted -2.5 -.5 1.5 3 1.5 -.5 -2.5.
    # Products 6.25 + .25 + 2.25 - 7.5 - .75 - .75 - 7.5 = -7.75; either side's squares sum to 26.5.
    assert joined["all"].spearman == pytest.approx(100 * -7.75 / 26.5)
    assert joined["all"].pairs == joined["mean"].pairs == 7


def test_a_shift_between_subsets_moves_all_but_not_the_means() -> None:
    joined = aggregate([([1, 2, 3], [0.1, 0.2, 0.3]), ([1, 2, 3], [0.7, 0.8, 0.9])])
    assert joined["mean"].spearman == joined["weighted"].spearman == pytest.approx(100.0)
    assert joined["all"].spearman is not None
    assert joined["all"].spearman < 60


def test_one_subset_is_the_same_under_every_aggregation() -> None:
    joined = aggregate([([1, 2, 3, 5], [2, 1, 3, 4])])
    assert joined["all"] == joined["mean"] == joined["weighted"]


def test_an_undefined_score_leaves_the_means_undefined() -> None:
    assert aggregate([([1, 2], [1, 2]), ([1, 2], [1, 2])])["mean"].spearman == pytest.approx(100.0)
    assert aggregate([([1, 2], [1, 2]), ([1, 2], [1, 1])])["mean"].spearman is None
