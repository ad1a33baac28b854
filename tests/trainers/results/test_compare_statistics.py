"""Intervals and tests against SciPy, by hand, and by what they must do when the truth is known."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from made_items import figure, similar
from scipy import stats
from sklearn.metrics import roc_auc_score

from pipelines.console import InputError
from trainers.evaluation.task import Predictions
from trainers.results.bootstrap import (
    Difference,
    assess,
    average_interval,
    averaged,
    difference,
    holm,
    interval,
    replicates,
    score_of,
    swaps,
)


def outcomes(seed: int, right: float, size: int = 300) -> Predictions:
    """Return outcomes of which about a share `right` is 1; two seeds agree on most items."""
    shared = np.random.default_rng(0).random(size)
    own = np.random.default_rng(seed + 100).random(size)
    value = np.where(own < 0.7, shared, own)
    return Predictions("mean", np.ones(size), (value < right).astype(float))


def labelled(seed: int, noise: float, size: int = 300) -> Predictions:
    gold = (np.random.default_rng(0).random(size) < 0.4).astype(float)
    # Rounded, so that there are ties.
    return Predictions("auc", gold, np.round(gold + noise * np.random.default_rng(seed).standard_normal(size), 1))


def by_scipy(items: Predictions, rows: np.ndarray) -> float:
    """Return the score x 100 of the items in `rows`, as often as they stand there."""
    gold, predicted = items.gold[rows], items.predicted[rows]
    if items.statistic == "mean":
        return 100 * predicted.mean()
    ranks = stats.rankdata(predicted)
    if items.statistic == "auc":
        positives = int(gold.sum())
        return 100 * (ranks[gold == 1].mean() - (positives + 1) / 2) / (len(gold) - positives)
    return 100 * np.corrcoef(stats.rankdata(gold), ranks)[0, 1]


def drawn(items: Predictions, resamples: int, seed: int) -> np.ndarray:
    """Return the items of each resample, (resamples, items)."""
    size = len(items.gold)
    return np.random.default_rng(seed).integers(0, size, (resamples, size))


def judged(first: Predictions, second: Predictions, resamples: int = 2000, seed: int = 0) -> Difference | None:
    paired = difference(first, second, resamples, seed)
    return None if paired is None else assess(paired)


@pytest.mark.parametrize("items", [similar(1, 2.0), labelled(1, 1.0), outcomes(1, 0.7)], ids=lambda i: i.statistic)
def test_every_resample_scores_as_the_items_that_it_draws(items: Predictions) -> None:
    expected = [by_scipy(items, rows) for rows in drawn(items, 5, 3)]
    np.testing.assert_allclose(replicates(items, 5, 3), expected, rtol=1e-10)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(-3, 3)), min_size=3, max_size=12), st.integers(0, 1000)
)  # fmt: skip
def test_ties_are_ranked_as_scipy_ranks_them(pairs: list[tuple[int, int]], seed: int) -> None:
    gold, predicted = (np.array(side, dtype=float) for side in zip(*pairs, strict=True))
    items = Predictions("spearman", gold, predicted)
    for rows, found in zip(drawn(items, 4, seed), replicates(items, 4, seed), strict=True):
        if np.ptp(gold[rows]) == 0 or np.ptp(predicted[rows]) == 0:
            assert np.isnan(found)
        else:
            assert found == pytest.approx(by_scipy(items, rows), abs=1e-8)


@pytest.mark.parametrize("items", [similar(1, 2.0), labelled(1, 1.0), outcomes(1, 0.7)], ids=lambda i: i.statistic)
def test_the_interval_is_scipys_percentile_bootstrap(items: Predictions) -> None:
    found = interval(items, resamples=2000, seed=1)
    assert found is not None
    rows = np.arange(len(items.gold))
    expected = stats.bootstrap(
        (rows,), lambda chosen: by_scipy(items, chosen), vectorized=False, n_resamples=1000, method="percentile",
        rng=np.random.default_rng(2),
    ).confidence_interval  # fmt: skip
    assert found.value == pytest.approx(by_scipy(items, rows))
    # Both ends are estimated from draws: about a fiftieth of the interval's width.
    width = expected.high - expected.low
    assert found.low == pytest.approx(expected.low, abs=0.1 * width)
    assert found.high == pytest.approx(expected.high, abs=0.1 * width)
    assert found.resamples == 2000


def test_the_score_is_the_evaluations_own_and_that_of_the_usual_libraries() -> None:
    for items in (similar(4, 3.0), labelled(4, 2.0), outcomes(4, 0.6)):
        assert score_of(items) == pytest.approx(figure(items))
    graded, area = similar(4, 3.0), labelled(4, 2.0)
    assert score_of(graded) == pytest.approx(100 * stats.spearmanr(graded.gold, graded.predicted).statistic)
    assert score_of(area) == pytest.approx(100 * roc_auc_score(area.gold, area.predicted))


def test_the_same_seed_draws_the_same_and_another_does_not() -> None:
    items = similar(1, 2.0)
    assert interval(items, 300, seed=5) == interval(items, 300, seed=5)
    assert interval(items, 300, seed=5) != interval(items, 300, seed=6)


def test_intervals_hold_the_truth_about_as_often_as_they_say() -> None:
    held = 0
    for number in range(200):
        right = np.random.default_rng(number).random(200) < 0.7
        found = interval(Predictions("mean", np.ones(200), right.astype(float)), 400, seed=number)
        held += found is not None and found.low <= 70 <= found.high
    assert 180 <= held <= 199


def test_a_score_that_is_undefined_has_no_interval() -> None:
    constant = Predictions("spearman", np.arange(5.0), np.ones(5))
    assert score_of(constant) is None
    assert interval(constant) is None
    assert average_interval([constant, similar(1, 1.0)]) is None
    assert difference(constant, Predictions("spearman", np.arange(5.0), np.arange(5.0))) is None


def test_resamples_without_a_score_are_left_out_of_the_interval() -> None:
    items = Predictions("auc", np.array([1.0, 0.0, 0.0]), np.array([0.9, 0.1, 0.5]))
    found = interval(items, 500)
    assert found is not None
    undefined = np.isnan(replicates(items, 500)).sum()
    assert undefined > 100
    assert found.resamples == 500 - undefined
    assert found.value == 100


def test_the_averages_interval_is_narrower_than_its_sets() -> None:
    sets = [similar(seed, 3.0, gold_seed=seed) for seed in range(4)]
    single = [interval(items, 1000) for items in sets]
    together = average_interval(sets, 1000)
    assert together is not None
    assert together.value == pytest.approx(np.mean([each.value for each in single if each is not None]))
    widths = [each.high - each.low for each in single if each is not None]
    # Independent sets: the standard error falls with the square root of their number.
    assert together.high - together.low == pytest.approx(np.mean(widths) / 2, rel=0.15)


@pytest.mark.parametrize("statistic_name", ["spearman", "auc", "mean"])
def test_the_randomisation_test_is_scipys(statistic_name: str) -> None:
    first, second = {
        "spearman": (similar(1, 2.0, 120), similar(2, 2.6, 120)),
        "auc": (labelled(1, 1.0, 120), labelled(2, 1.4, 120)),
        "mean": (outcomes(1, 0.75, 120), outcomes(2, 0.62, 120)),
    }[statistic_name]

    def gap(one: np.ndarray, two: np.ndarray, axis: int = -1) -> np.ndarray:
        scores = [
            np.apply_along_axis(
                lambda row: by_scipy(Predictions(first.statistic, first.gold, row), slice(None)), axis, side
            )
            for side in (one, two)
        ]
        return scores[1] - scores[0]

    ranked = [
        items.predicted if statistic_name == "mean" else stats.rankdata(items.predicted) for items in (first, second)
    ]
    expected = stats.permutation_test(
        ranked, gap, permutation_type="samples", n_resamples=1000, vectorized=True, rng=np.random.default_rng(1)
    )
    found = judged(first, second, resamples=2000)
    assert found is not None
    assert found.value == pytest.approx(expected.statistic)
    assert found.randomisation == pytest.approx(expected.pvalue, abs=0.04)


def test_the_randomisation_test_is_exact_on_few_items() -> None:
    first = Predictions("mean", np.ones(4), np.array([0.0, 0.0, 0.0, 1.0]))
    second = Predictions("mean", np.ones(4), np.array([1.0, 1.0, 1.0, 1.0]))
    # Three items differ: of the 8 signs, two give a difference of three quarters.
    drawn = swaps(first, second, 20_000, seed=0)
    assert (np.abs(drawn) >= 75 - 1e-9).mean() == pytest.approx(0.25, abs=0.01)


def test_the_tests_reject_a_true_null_at_their_level_and_a_false_one_with_the_power_of_the_normal_test() -> None:
    items, runs = 150, 120
    null, real = [], []
    for number in range(runs):
        first, same, other = (
            similar(3 * number + each, noise, items) for each, noise in enumerate((3.0, 3.0, 5.5))
        )  # fmt: skip
        for found, second in ((null, same), (real, other)):
            result = judged(first, second, 200, seed=number)
            assert result is not None
            found.append([result.bootstrap, result.randomisation])
    size, power = (np.mean(np.array(each) < 0.05, axis=0) for each in (null, real))
    # Two standard errors of a share of 120 runs are 0.04 at the level, 0.09 at the power.
    assert (size <= 0.1).all()
    rho = [1 / np.sqrt(1 + noise**2 / 2.5) for noise in (3.0, 5.5)]
    error = np.sqrt(sum((1 - each**2) ** 2 for each in rho) / items)
    expected = stats.norm.sf(1.96 - (rho[0] - rho[1]) / error)
    assert 0.3 < expected < 0.7
    assert power == pytest.approx(expected, abs=0.12)


def test_a_model_does_not_differ_from_itself() -> None:
    items = similar(1, 2.0)
    found = judged(items, items, 200)
    assert found is not None
    assert (found.value, found.low, found.high, found.bootstrap, found.randomisation) == (0, 0, 0, 1, 1)


def test_swapping_the_models_turns_the_difference_round() -> None:
    one, two = similar(1, 2.0), similar(2, 3.0)
    there, back = judged(one, two, 500), judged(two, one, 500)
    assert there is not None
    assert back is not None
    assert there.value == pytest.approx(-back.value)
    assert there.low == pytest.approx(-back.high)
    assert there.bootstrap == back.bootstrap


@pytest.mark.parametrize(
    ("other", "said"),
    [
        (similar(2, 2.0, 299), "300 items against 299"),
        (similar(2, 2.0, 300, gold_seed=1), r"item 1 is graded 4\.5 in one and 2\.5 in the other"),
        (Predictions("mean", np.ones(300), np.ones(300)), "scored by spearman and by mean"),
    ],
)
def test_other_items_are_refused(other: Predictions, said: str) -> None:
    with pytest.raises(InputError, match=said):
        difference(similar(1, 2.0), other)


def test_outcomes_in_another_order_are_refused() -> None:
    labels, outcome = np.array([1.0, 1.0, 0.0, 2.0]), np.array([1.0, 0.0, 1.0, 1.0])
    one = Predictions("mean", labels, outcome)
    assert difference(one, Predictions("mean", labels, 1 - outcome), 200) is not None
    with pytest.raises(InputError, match="item 1 is graded 1 in one and 2 in the other"):
        difference(one, Predictions("mean", labels[::-1].copy(), outcome[::-1].copy()), 200)


def test_the_averages_error_is_that_of_independent_sets() -> None:
    pairs = [difference(similar(2 * k, 2.0), similar(2 * k + 1, 2.3), 2000, seed=3) for k in range(4)]
    known = [each for each in pairs if each is not None]
    together = averaged(known, seed=3)
    assert together.value == pytest.approx(np.mean([each.value for each in known]))
    for draws_of in ("drawn", "swapped"):
        variance = np.mean([getattr(each, draws_of).var() for each in known]) / 4
        assert getattr(together, draws_of).var() == pytest.approx(variance, rel=0.1)
        # Sets that were drawn alike are no less independent: as drawn, the error would not fall at all.
        alike = averaged([known[0]] * 4, seed=3)
        assert getattr(alike, draws_of).var() == pytest.approx(getattr(known[0], draws_of).var() / 4, rel=0.1)
    found = assess(together)
    assert found.high - found.low == pytest.approx(2 * 1.96 * together.drawn.std(), rel=0.05)
    assert found.bootstrap == pytest.approx(2 * stats.norm.sf(abs(found.value) / together.drawn.std()), abs=0.04)
    assert found.randomisation == pytest.approx(2 * stats.norm.sf(abs(found.value) / together.swapped.std()), abs=0.04)


def test_the_averages_randomisation_test_is_exact_on_few_items() -> None:
    sides = [
        (Predictions("mean", np.ones(3), np.zeros(3)), Predictions("mean", np.ones(3), np.ones(3))),
        (Predictions("mean", np.ones(2), np.zeros(2)), Predictions("mean", np.ones(2), np.ones(2))),
    ]
    pairs = [difference(*each, 20_000) for each in sides]
    found = assess(averaged([each for each in pairs if each is not None]))
    # All five items have to be swapped alike: of 32 signs, two give a difference of 100.
    assert found.value == 100
    assert found.randomisation == pytest.approx(2 / 32, abs=0.006)


def test_the_averages_test_holds_its_level_and_finds_what_single_sets_do_not() -> None:
    null, real = [], []
    for number in range(60):
        for found, noise in ((null, 3.0), (real, 4.2)):
            pairs = [
                difference(
                    similar(100 * number + k, 3.0, 100, k), similar(100 * number + 50 + k, noise, 100, k), 100, number
                )
                for k in range(4)
            ]
            known = [each for each in pairs if each is not None]
            together, single = assess(averaged(known, number)), assess(known[0])
            found.append([each < 0.05 for each in (together.bootstrap, together.randomisation, single.randomisation)])
    size, power = np.mean(null, axis=0), np.mean(real, axis=0)
    # Two standard errors of a share of 60 runs are 0.06 at the level.
    assert (size <= 0.12).all()
    assert (power[:2] > power[2] + 0.2).all()


def test_holm_corrects_as_in_its_definition() -> None:
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.6, 0.9]) == [1, 1]
    assert holm([]) == []
