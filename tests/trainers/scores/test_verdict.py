"""The one rule by which every command decides, and what it says."""

import re
from collections.abc import Sequence

import numpy as np
import pytest

from benchmarks.verdicts import KINDS, rates
from trainers.scores.statistics.candidates import Leak
from trainers.scores.statistics.estimates import Estimate, estimate
from trainers.scores.statistics.verdict import Verdict, decide
from trainers.scores.task import Predictions

RNG = np.random.default_rng(0)
BEFORE = np.repeat([1.0, 0.0], [700, 300])


def hits(gains: int = 0, losses: int = 0, size: int = 1000) -> Estimate:
    """Return the estimate of an accuracy of 70% with some outcomes changed."""
    outcomes = BEFORE[:: 1000 // size].copy()
    right = int(outcomes.sum())
    outcomes[right : right + gains] = 1
    outcomes[:losses] = 0
    return estimate(Predictions("mean", np.arange(float(len(outcomes))), outcomes))


def of_figures(*candidates: dict[str, Estimate], start: Estimate | None = None) -> Verdict:
    """Return the verdict on candidates on one table; the start has the figures of `hits()`."""
    first = {title: start or hits() for figures in candidates for title in figures}
    scores = {f"candidate {number}": {"own": figures} for number, figures in enumerate(candidates, 1)}
    return decide("start", {"start": {"own": first}, **scores})


@pytest.mark.parametrize("outcomes", [[0.4], [1, 1, 1, 0], [1] * 12, [1] * 19])
def test_fewer_than_twenty_items_decide_nothing(outcomes: Sequence[float]) -> None:
    numbers = np.arange(float(len(outcomes)))
    before, after = (
        estimate(Predictions("mean", numbers, np.array(side, dtype=float)))
        for side in (np.zeros(len(outcomes)), outcomes)
    )
    verdict = decide("start", {"start": {"own": {"nDCG@10": before}}, "other": {"own": {"nDCG@10": after}}})
    assert verdict.outcome == "few"
    assert (
        str(verdict)
        == f"no verdict: other: {len(outcomes)} of the 20 independent queries that a verdict needs"
    )


def test_five_positives_of_five_hundred_pairs_decide_nothing() -> None:
    gold = (np.arange(500) < 5).astype(float)
    sides = [estimate(Predictions("ap", gold, gold * good + RNG.random(500))) for good in (0, 1)]
    verdict = decide(
        "start",
        {"start": {"own": {"average precision": sides[0]}}, "other": {"own": {"average precision": sides[1]}}},
    )
    assert (
        str(verdict)
        == "no verdict: other: 5 of the 20 independent pairs of the rarer kind that a verdict needs"
    )


def test_four_gains_of_a_thousand_are_none() -> None:
    verdict = of_figures({"5-NN accuracy": hits(gains=4)})
    assert verdict.outcome == "unclear"
    (candidate,) = verdict.candidates
    assert candidate.figures[0].p == 0.125


def test_a_loss_in_one_figure_is_not_hidden_by_a_correction() -> None:
    """Alone its p is below 5%, and times three it would not be."""
    figures = {
        "5-NN accuracy": hits(gains=60),
        "regression accuracy": hits(gains=60),
        "k-means NMI": hits(4, 14),
    }
    verdict = of_figures(figures)
    (candidate,) = verdict.candidates
    assert 0.05 / 3 < candidate.figures[2].p <= 0.05
    assert (verdict.outcome, candidate.outcome) == ("keep", "mixed")
    assert [loss.title for loss in candidate.losses] == ["k-means NMI"]
    assert "but worse in k-means NMI by 1.00: choose by the figure that you need" in str(verdict)


def test_the_best_of_many_must_be_clearer_than_one_alone() -> None:
    gain = {"5-NN accuracy": hits(16, 5)}
    alone = of_figures(gain)
    assert alone.best == "candidate 1"
    among = of_figures(gain, *[{"5-NN accuracy": hits(8, 8)}] * 4)
    assert (among.best, among.outcome) == ("start", "unclear")
    assert among.candidates[0].p > 0.05
    assert "candidate 1 gains about 1.10 (" in str(among)


def test_a_candidate_that_is_worse_is_called_worse() -> None:
    verdict = of_figures({"5-NN accuracy": hits(losses=50)}, {"5-NN accuracy": hits(losses=40)})
    assert verdict.outcome == "keep"
    assert str(verdict).startswith("keep start: candidate 1 is worse by 5.00 (")


def test_a_figure_that_cannot_differ_does_not_count() -> None:
    ones = estimate(Predictions("mean", np.arange(1000.0), np.ones(1000)))
    figures = {"nDCG@10": hits(gains=30), "recall@100": ones}
    scores = {"start": {"own": {"nDCG@10": hits(), "recall@100": ones}}, "other": {"own": figures}}
    (candidate,) = decide("start", scores).candidates
    assert candidate.figures[1].change == "constant"
    assert candidate.mean is not None
    assert candidate.mean.difference == candidate.figures[0].difference


def test_what_to_do_now_is_how_many_more_to_label() -> None:
    verdict = of_figures({"5-NN accuracy": hits(35, 25)})
    (candidate,) = verdict.candidates
    assert candidate.growth is not None
    more = round(1000 * (candidate.growth - 1), -2)
    advice = f"in 5-NN accuracy: label about {more:,.0f} more texts to be sure"
    assert "candidate 1 gains about 1.00 (-0." in str(verdict)
    assert str(verdict).endswith(advice)


def test_tables_count_alike_whatever_their_size() -> None:
    """Labels here, pairs there: the candidate that costs nothing here and helps there is taken."""
    start = {"labels": {"5-NN accuracy": hits()}, "pairs": {"MRR@10": hits(size=100)}}
    other = {"labels": {"5-NN accuracy": hits(3, 4)}, "pairs": {"MRR@10": hits(gains=20, size=100)}}
    verdict = decide("start", {"start": start, "other": other})
    assert verdict.best == "other"
    (candidate,) = verdict.candidates
    assert candidate.mean is not None
    assert candidate.mean.difference == pytest.approx((-0.1 + 20) / 2)
    assert "in the mean of 2 figures on 2 tables" in str(verdict)


def test_reasons_for_distrust_are_part_of_the_verdict() -> None:
    """In one clause a kind, by encoder and table."""
    figures = {"own": {"MRR@10": hits(30)}, "pairs": {"Spearman": hits(30)}}
    scores = {
        "start": {"own": {"MRR@10": hits()}, "pairs": {"Spearman": hits()}},
        "one": figures,
        "two": figures,
    }
    leaks = {
        "one": [Leak("own", "texts", 30, 1900), Leak("pairs", "texts", 10, 60), Leak("own", "dev", 8, 1900)],
        "two": [Leak("own", "texts", 30, 1900)],
    }
    chosen = "; but judged texts chose the encoder (--dev), so judge it on others: of one 8 of 1,900 (own)"
    trained = "; but judged texts are in the training text: of one 30 of 1,900 (own) and 10 of 60 (pairs)"
    assert str(decide("start", scores, leaks)).endswith(f"{chosen}{trained}, of two 30 of 1,900 (own)")


def test_gains_that_cancel_losses_are_no_loss() -> None:
    figures = {"5-NN accuracy": hits(gains=3), "regression accuracy": hits(losses=3)}
    assert "candidate 1 gains about 0.00 (" in str(of_figures(figures))


def test_the_best_of_several_is_called_that_if_its_interval_is_above_zero() -> None:
    verdict = of_figures({"5-NN accuracy": hits(16, 5)}, *[{"5-NN accuracy": hits(8, 8)}] * 4)
    mean = verdict.candidates[0].mean
    assert mean is not None
    assert mean.low > 0
    assert ", as the best of several may by chance: label about " in str(verdict)


def test_a_table_of_one_outcome_is_no_judge() -> None:
    ones = estimate(Predictions("mean", np.arange(50.0), np.ones(50)))
    expected = "no verdict: candidate 1: all items have one outcome, so judge it on others"
    assert str(of_figures({"recall@100": ones}, start=ones)) == expected


@pytest.mark.parametrize("seed", range(40))
def test_words_agree_with_figures_whatever_the_tables(seed: int) -> None:
    """Of several tables and candidates, with constant outcomes, ties, few items and groups."""
    rng = np.random.default_rng(seed)
    tables = []
    for _ in range(rng.integers(1, 4)):
        size = int(rng.choice([2, 19, 20, 40, 150]))
        groups = np.unique(rng.integers(0, size, size), return_inverse=True)[1] if rng.random() < 0.3 else None
        tables.append((rng.random(size), groups))
    scores: dict[str, dict[str, dict[str, Estimate]]] = {}
    for name in ("start", "a", "b", "c")[: rng.integers(2, 5)]:
        rate = rng.choice([0.0, 0.5, 0.6, 0.65, 1.0])
        scores[name] = {}
        for number, (shared, groups) in enumerate(tables):
            outcomes = np.where(rng.random(len(shared)) < 0.8, shared, rng.random(len(shared))) < rate
            items = Predictions("mean", np.arange(float(len(shared))), outcomes.astype(float), groups)
            scores[name][f"table {number}"] = {"MRR@10": estimate(items)}
    verdict = decide("start", scores)
    assert re.search(r"nan|inf|-0\.00|\b1 more|\b1\.0 times", str(verdict)) is None
    assert str(verdict).startswith({"take": "take ", "few": "no verdict"}.get(verdict.outcome, "keep start"))
    for candidate in verdict.candidates:
        for figure in [*candidate.figures, *filter(None, [candidate.mean])]:
            assert figure.low <= figure.difference + 1e-6
            assert figure.difference <= figure.high + 1e-6
            assert (figure.low > 0 or figure.high < 0) == (figure.p <= 0.05)
        if candidate.outcome == "better" and candidate.mean:
            assert candidate.mean.low > 0
    reversed_tables = {name: dict(reversed(of.items())) for name, of in scores.items()}
    again = decide("start", {"start": reversed_tables["start"], **dict(reversed(reversed_tables.items()))})
    for candidate in verdict.candidates:
        other = next(of for of in again.candidates if of.name == candidate.name)
        if candidate.mean and other.mean:
            assert other.mean.difference == pytest.approx(candidate.mean.difference)
            assert other.p == pytest.approx(candidate.p, abs=0.05)


@pytest.mark.exhaustive
@pytest.mark.parametrize("kind", [kind for kind in KINDS if not kind.startswith("NMI")])
def test_equal_encoders_are_rarely_told_apart_and_gains_of_the_printed_size_are_seen(kind: str) -> None:
    """Sixty pairs of ten tables: too few to hold how much more than four of five are seen."""
    for size in (20, 300):
        shares = rates(KINDS[kind], size, 10)
        if shares is not None:
            false, power = shares
            assert false <= 0.1
            assert size == 20 or np.isnan(power) or power >= 0.65


@pytest.mark.exhaustive
@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind.startswith("NMI")])
def test_equal_clusterings_are_rarely_told_apart(kind: str) -> None:
    shares = rates(KINDS[kind], 200, 6)
    assert shares is not None
    assert shares[0] <= 0.1
