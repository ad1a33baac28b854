"""Figures and tables as they are printed; correlations against SciPy, AUC and averages by hand."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from trainers.evaluation.pairs import average, pearson, spearman
from trainers.evaluation.record import Table, markdown, mean


@pytest.mark.parametrize("values", [[72.5, 73.1, 72.9], [1.0, 1.0], [-3.0, 4.0, 2.0, 8.0]])
def test_means_have_the_deviation_with_n_minus_1(values: list[float]) -> None:
    figure = mean(values)
    assert figure is not None
    assert (figure.value, figure.deviation) == pytest.approx((np.mean(values), np.std(values, ddof=1)))


@pytest.mark.parametrize(
    ("values", "digits", "shown"),
    [
        ([72.849, 72.851], 2, "72.85 +- 0.00"),
        ([72.6, 73.1], 2, "72.85 +- 0.35"),
        ([72.6], 2, "72.60"),
        ([0.12345], 4, "0.1235"),
        ([-0.001], 2, "0.00"),
        ([72.6, None], 2, "None"),
        ([], 2, "None"),
    ],
)
def test_figures_are_shown_as_papers_print_them(values: list[float | None], digits: int, shown: str) -> None:
    assert str(mean(values, digits)) == shown


def test_markdown_has_the_figures_to_the_right_and_the_notes_below() -> None:
    table = Table("sts", ("model", "STS-B"), (("a|b", "11.00"),), ("STS-B",), ("said",))
    page = "# Page\n\nabout\n\n## sts\n\n| model | STS-B |\n|---|--:|\n| a\\|b | 11.00 |\n\n- said\n"
    assert markdown("Page", ["about"], [table]) == page


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


def test_an_undefined_value_leaves_an_average_undefined() -> None:
    assert average([1.0, 4.0], [30, 10]) == 1.75
    assert average([1.0, 4.0]) == 2.5
    assert average([1.0, None]) is None
