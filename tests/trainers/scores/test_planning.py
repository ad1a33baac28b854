"""How many items show a gain, before they are labelled."""

import re

import numpy as np
import pytest
from small_trainings import Capsys, error_line, train

from trainers.scores.planning import own_plan, typical_plan
from trainers.scores.result_files import StoredSet
from trainers.scores.runs import ScoredSet, Sets
from trainers.scores.statistics.estimates import estimate
from trainers.scores.statistics.significance import LEVEL, sign_test
from trainers.scores.task import Predictions


def accuracy(rng: np.random.Generator, size: int, gain: float = 0.0) -> tuple[Sets, Sets]:
    """Return the sets of two encoders of which a tenth of the outcomes differ."""
    change = rng.choice([1.0, -1.0, 0.0], size, p=[0.05 + gain, 0.05, 0.9 - gain])
    before = np.where(change > 0, 0.0, np.where(change < 0, 1.0, rng.random(size) < 0.7))
    stored = StoredSet(title="5-NN accuracy", size=size, counted=False, sha256="", figures={"score": 70.0})
    items = (Predictions("mean", np.arange(float(size)), side) for side in (before, before + change))
    first, second = ({"5-NN": ScoredSet(stored, side, estimate(side))} for side in items)
    return first, second


def test_as_many_as_a_tables_own_spread_plans_show_the_gain() -> None:
    rng = np.random.default_rng(0)
    words = own_plan(3, *accuracy(rng, 1000))
    needed = int(re.search(r"cases: ([\d,]+) texts \(here 1,000, spread ", words)[1].replace(",", ""))  # type: ignore[index]
    seen = []
    for _ in range(100):
        before, after = (side["5-NN"].estimate for side in accuracy(rng, needed, gain=0.03))
        seen.append(sign_test(after - before)[0] <= LEVEL)
    assert 0.68 <= np.mean(seen) <= 0.92


def test_a_gain_of_half_the_size_needs_four_times_as_many() -> None:
    numbers = [
        [int(number.replace(",", "")) for number in re.findall(r"([\d,]+) to", typical_plan(gain))]
        for gain in (2, 1)
    ]
    assert len(numbers[0]) == 3
    assert np.array(numbers[1]) / numbers[0] == pytest.approx(4, rel=0.05)


def test_a_plan_needs_no_encoder_and_scores_do(capsys: Capsys) -> None:
    assert train("evaluate", "--plan", 2) == 0
    assert capsys.readouterr().out == typical_plan(2) + "\n"
    assert train("evaluate") == 2
    assert "no MODEL" in error_line(capsys)
