"""Intervals and paired tests: by SciPy, by hand, when the truth is known, and as `train compare` prints them."""

from pathlib import Path

import numpy as np
import pytest
from made_items import compare, figure, figures, figures_of, similar, tables, write_run, write_study
from scipy import stats
from sklearn.cluster import KMeans
from small_trainings import Capsys, error_line

from trainers.evaluation.task import Predictions
from trainers.results.judged import verdict_of
from trainers.results.significance import (
    LEVEL,
    average_estimate,
    estimate,
    holm,
    interval,
    p_value,
    smallest_difference,
)

OUTCOMES = Predictions("mean", np.ones(300), (np.random.default_rng(1).random(300) < 0.7).astype(float))


def labelled(seed: int, noise: float, size: int = 300) -> Predictions:
    gold = (np.random.default_rng(0).random(size) < 0.4).astype(float)
    # Rounded, so that there are ties.
    return Predictions("auc", gold, np.round(gold + noise * np.random.default_rng(seed).standard_normal(size), 1))


def difference(first: Predictions, second: Predictions, resamples: int = 2000, seed: int = 0) -> np.ndarray:
    return estimate(second, resamples, seed) - estimate(first, resamples, seed)


@pytest.mark.exhaustive
@pytest.mark.parametrize("items", [similar(1, 2.0), labelled(1, 1.0), OUTCOMES], ids=lambda i: i.statistic)
def test_resamples_score_as_their_items_and_the_interval_is_scipys_percentile_bootstrap(items: Predictions) -> None:
    assert estimate(items, 1)[0] == pytest.approx(figure(items))
    expected = [figure(items, rows) for rows in np.random.default_rng(3).integers(0, 300, (5, 300))]
    np.testing.assert_allclose(estimate(items, 5, 3)[1:], expected, rtol=1e-10)
    rows = np.arange(len(items.gold))
    expected = stats.bootstrap(
        (rows,), lambda chosen: figure(items, chosen), vectorized=False, n_resamples=1000, method="percentile",
        rng=np.random.default_rng(2),
    ).confidence_interval  # fmt: skip
    # Both ends are estimated from draws: about a fiftieth of the interval's width.
    found = interval(estimate(items, 2000, 1))
    assert found == pytest.approx(tuple(expected), abs=0.1 * (expected.high - expected.low))


def test_resamples_without_a_score_are_left_out() -> None:
    items = Predictions("auc", np.array([1.0, 0.0, 0.0]), np.array([0.9, 0.1, 0.5]))
    found = estimate(items, 500)
    known = found[1:][~np.isnan(found[1:])]
    assert len(known) < 400
    outside = int(0.025 * (len(known) + 1))
    assert interval(found) == (np.sort(known)[outside - 1], np.sort(known)[-outside])
    assert p_value(found - found) == 1
    # A difference of 100 in each of the draws that have one.
    assert p_value(np.where(np.isnan(found), np.nan, 100.0)) == pytest.approx(2 / (len(known) + 1))


@pytest.mark.parametrize("shift", [-2.5, -0.6, 0.0, 0.4, 3.0])
def test_an_interval_leaves_out_zero_exactly_if_the_p_value_is_at_its_level(shift: float) -> None:
    for seed in range(40):
        draws = shift + np.random.default_rng(seed).standard_normal(200)
        draws[0] = shift
        low, high = interval(draws)
        assert (low > 0 or high < 0) == (p_value(draws) <= LEVEL)


def test_holms_correction_is_that_of_the_definition() -> None:
    values = [0.04, 0.01, 0.03, 0.2]
    assert holm(values) == pytest.approx([0.09, 0.04, 0.09, 0.2])
    assert holm([0.6, 0.7]) == [1, 1]


def test_a_difference_of_the_smallest_size_shows_in_four_of_five_tables() -> None:
    size, errors = 500, np.random.default_rng(1)
    outcomes = [errors.choice([1.0, -1.0, 0.0], size, p=[0.05, 0.05, 0.9]) for _ in range(200)]
    smallest = 2.8 * np.sqrt(0.1 / size)  # that of the normal test, two-sided at 5%
    samples = [estimate(Predictions("mean", np.arange(500.0), change), 400) for change in outcomes]
    assert np.mean([smallest_difference(each) for each in samples]) == pytest.approx(100 * smallest, rel=0.03)
    assert smallest_difference(samples[0], 3) > smallest_difference(samples[0])
    seen = np.mean([p_value(each + 100 * smallest) <= LEVEL for each in samples])
    assert seen == pytest.approx(0.8, abs=0.1)


def classes_with_noise(seed: int, size: int, labels: int = 20) -> dict[str, Predictions]:
    """Figures of one of many encoders that are equally good: the same classes, and noise of its own."""
    shared, own = np.random.default_rng(0), np.random.default_rng((1, seed))
    classes = shared.integers(0, labels, size)
    centres = shared.standard_normal((labels, 16)) * 0.6
    vectors = centres[classes] + shared.standard_normal((size, 16)) + 0.5 * own.standard_normal((size, 16))
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    nearest = np.argsort(-(vectors @ vectors.T - 9 * np.eye(size)), axis=1)[:, 0]
    clusters = [KMeans(labels, n_init=1, random_state=run).fit_predict(vectors) for run in range(10)]
    gold = classes.astype(float)
    means = vectors @ np.stack([vectors[classes == label].mean(axis=0) for label in range(labels)]).T
    return {
        "1-NN": Predictions("mean", gold, (classes[nearest] == classes).astype(float)),
        "centroid": Predictions("mean", gold, (means.argmax(axis=1) == classes).astype(float)),
        "NMI": Predictions("nmi", gold, np.stack(clusters, 1).astype(float)),
    }


@pytest.mark.exhaustive
@pytest.mark.parametrize(("size", "encoders"), [(600, 12), (4000, 8)])
def test_equal_encoders_are_told_apart_no_more_often_than_the_level_says(size: int, encoders: int) -> None:
    drawn = [
        {name: estimate(items, 1000) for name, items in classes_with_noise(seed, size).items()}
        for seed in range(encoders)
    ]
    pairs = [(first, second) for number, first in enumerate(drawn) for second in drawn[:number]]
    gains = [{name: second[name] - first[name] for name in first} for first, second in pairs]
    assert np.mean([verdict_of(gain).outcome != "unclear" for gain in gains]) <= 0.1
    assert np.mean([p_value(gain["NMI"]) <= LEVEL for gain in gains]) <= 0.1


def test_three_points_on_a_thousand_texts_are_seen() -> None:
    """55 texts gain and 25 lose: 8% disagree."""
    seen = 0
    for seed in range(10):
        rng = np.random.default_rng(seed)
        change = rng.choice([1.0, -1.0, 0.0], 1000, p=[0.055, 0.025, 0.92])
        before = np.where(change > 0, 0.0, np.where(change < 0, 1.0, rng.random(1000) < 0.8))
        sides = (Predictions("mean", np.arange(1000.0), side) for side in (before, before + change))
        first, second = (estimate(side) for side in sides)
        seen += p_value(second - first) <= LEVEL
    assert seen >= 8


@pytest.mark.exhaustive
def test_the_test_rejects_a_true_null_at_its_level_and_a_false_one_with_the_power_of_the_normal_test() -> None:
    items, runs = 150, 120
    null, real = [], []
    for number in range(runs):
        first, same, other = (similar(3 * number + k, noise, items) for k, noise in enumerate((3.0, 3.0, 5.5)))
        for found, second in ((null, same), (real, other)):
            found.append(p_value(difference(first, second, 200, seed=number)))
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
    together = average_estimate(sets, seed=3)
    assert together[0] == pytest.approx(np.mean([each[0] for each in sets]))
    variance = np.mean([each[1:].var() for each in sets]) / 4
    assert together[1:].var() == pytest.approx(variance, rel=0.1)
    # Sets that were drawn alike are no less independent: as drawn, the error would not fall at all.
    alike = average_estimate([sets[0]] * 4, seed=3)
    assert alike[1:].var() == pytest.approx(sets[0][1:].var() / 4, rel=0.1)
    assert p_value(together) == pytest.approx(2 * stats.norm.sf(abs(together[0]) / together[1:].std()), abs=0.04)


def test_intervals_are_printed_for_every_set_and_the_average(capsys: Capsys) -> None:
    items = {"stsb": similar(1, 2.0), "sickr": similar(2, 2.0)}
    run = write_run("mine", items=items)
    assert compare(run, "--with", "none", "--intervals", "--json") == 0
    _, table = tables(capsys.readouterr().out)
    assert table["title"] == "sts: intervals, Spearman over all pairs of a set"
    assert table["notes"][0].startswith("intervals: 95%, percentiles of 2,000 bootstrap samples of the items")
    first, second, average = table["rows"]
    assert (first["set"], first["items"], second["set"]) == ("STSB", "300", "SICKR")
    assert first["score"] == f"{figure(items['stsb']):.2f}"
    assert float(first["low"]) < float(first["score"]) < float(first["high"])
    assert average["set"] == "average of 2"
    assert average["score"] == f"{(figure(items['stsb']) + figure(items['sickr'])) / 2:.2f}"
    ends = interval(average_estimate([estimate(each) for each in items.values()]))
    assert [average["low"], average["high"]] == [f"{end:.2f}" for end in ends]


def test_two_runs_are_tested_set_by_set(capsys: Capsys) -> None:
    runs = []
    for name, seed, noise in (("good", 1, 1.0), ("bad", 2, 6.0)):
        items = {key: similar(seed, noise if key == "stsb" else 1.0) for key in ("stsb", "sickr")}
        runs.append(write_run(name, items=items))
    assert compare(*runs, "--with", "none", "--test", "--json") == 0
    _, table = tables(capsys.readouterr().out)
    found = table["rows"]
    assert [(each["first"], each["second"], each["set"]) for each in found] == [
        ("good", "bad", "STSB"), ("good", "bad", "SICKR"), ("good", "bad", "average of 2"),
    ]  # fmt: skip
    changed, kept, average = found
    values = {key: float(changed[key]) for key in ("first score", "second score", "difference", "low", "high")}
    assert values["difference"] == pytest.approx(values["second score"] - values["first score"], abs=0.011)
    assert values["low"] < values["difference"] < values["high"] < 0
    assert changed["p"] == f"{2 / 2001:.4f}"
    assert float(kept["p"]) > 0.05
    assert average["items"] == "600"
    for side in ("first score", "second score"):
        mean = (float(changed[side]) + float(kept[side])) / 2
        assert float(average[side]) == pytest.approx(mean, abs=0.011)


def test_suites_and_runs_without_items_are_left_out(capsys: Capsys) -> None:
    items = similar(1, 2.0)
    full, other = (write_run(name, items={"stsb": items}) for name in ("full", "other"))
    bare = write_run("bare", figures_of({"stsb": items}))
    for run in (full, other):
        write_run(str(run), {"stsb-train": {"isotropy": 0.5}}, suite="geometry")
    write_run("full", {"mr": {"accuracy": 75.0}}, suite="transfer",
              items={"mr": Predictions("mean", np.ones(4), np.array([1.0, 0.0, 1.0, 1.0]))})  # fmt: skip
    options = ("--with", "none", "--intervals", "--test", "--json")
    assert compare(full, bare, other, *options) == 0
    found = tables(capsys.readouterr().out)
    assert [table["title"] for table in found if ":" in table["title"]] == [
        "sts: intervals, Spearman over all pairs of a set", "sts: tests, Spearman over all pairs of a set",
        "transfer: intervals, accuracy",
    ]  # fmt: skip
    (tested,) = [table for table in found if "tests" in table["title"]]
    assert [row["second"] for row in tested["rows"]] == ["other"]
    assert compare(full, bare, "--test") == 2
    assert "nothing for --test" in error_line(capsys)


def test_a_set_without_a_score_is_not_tested(capsys: Capsys) -> None:
    flat = Predictions("spearman", similar(1, 2.0).gold, np.ones(300))
    runs = []
    for name, seed in (("one", 1), ("two", 2)):
        last = flat if name == "two" else similar(3, 1)
        items = {"stsb": similar(seed, 2.0), "sickr": similar(seed, 1.0), "sts12": last}
        runs.append(write_run(name, items=items))
    assert compare(*runs, "--with", "none", "--test", "--json") == 0
    assert [row["set"] for row in tables(capsys.readouterr().out)[-1]["rows"]] == ["STSB", "SICKR", "average of 2"]


def test_runs_of_different_items_are_not_tested(capsys: Capsys) -> None:
    items = similar(1, 2.0)
    runs = [write_run(name, items={"stsb": items}, sets={"stsb": {"sha256": name}}) for name in ("one", "two")]
    assert compare(*runs, "--test") == 2
    assert error_line(capsys).startswith("error: STSB has different items in the two runs")


@pytest.mark.parametrize("content", [b"", b"PK nothing", b"\x93NUMPY", None, "earlier"])
def test_damaged_or_earlier_items_are_refused(content: bytes | str | None, capsys: Capsys) -> None:
    items = similar(1, 2.0)
    broken = Predictions("spearman", items.gold, np.where(np.arange(300) == 41, np.nan, items.predicted))
    score = figure(items) + (content == "earlier")
    run = write_run("mine", {"stsb": {"all": score}}, items={"stsb": items if content else broken})
    if isinstance(content, bytes):
        (run / "evaluation" / "sts.items.npz").write_bytes(content)
    assert compare(run, "--intervals") == 2
    said = "error: mine/evaluation/sts.items.npz does not match the results beside it"
    assert error_line(capsys).startswith(said)


def test_several_seeds_cannot_be_tested(tmp_path: Path, capsys: Capsys) -> None:
    for seed in (1, 2):
        write_run(f"study/seed-{seed}", figures())
    write_study(tmp_path / "study", 1, 2)
    assert compare("study", write_run("mine", figures()), "--test") == 2
    assert "study is 2 seeds: a test takes single runs" in error_line(capsys)
