"""Correlations against SciPy and by hand, AUC and averages by hand."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from trainers.evaluation.metrics import auc, average, pearson, spearman

FEW = st.integers(min_value=-3, max_value=3)  # few values, so that ties are common


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
    assert spearman([1.0, 2.0, 3.0], [0.1, 0.1, 0.1]) is None
    assert pearson([1.0, 2.0, 3.0], [0.1, 0.1, 0.1]) is None


@pytest.mark.parametrize("lists", [([1, 2], [1, 2, 3]), ([1], [1]), ([[1, 2]], [[1, 2]])])
def test_lists_that_cannot_be_compared_are_refused(lists: tuple[list[float], list[float]]) -> None:
    with pytest.raises(ValueError, match="same length >= 2"):
        pearson(*lists)


def test_auc_without_positives_or_negatives_is_undefined() -> None:
    assert auc([1, 1], [0.1, 0.2]) is None


def test_an_undefined_value_leaves_an_average_undefined() -> None:
    assert average([1.0, 4.0], [30, 10]) == 1.75
    assert average([1.0, 4.0]) == 2.5
    assert average([1.0, None]) is None
