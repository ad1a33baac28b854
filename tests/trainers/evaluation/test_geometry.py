"""How vectors lie: every figure against plain NumPy on small sets, and against hand-made positions."""

from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from known_vectors import Known, parted
from numpy.typing import NDArray

from trainers.embedding.vectors import Vectors
from trainers.evaluation.suites import geometry
from trainers.evaluation.suites.geometry import METRICS, POSITIVE, score_texts
from trainers.evaluation.task import Result


def measured(matrix: NDArray[Any], pairs: list[tuple[int, int, float]]) -> Result:
    texts = [str(row) for row in range(matrix.shape[0])]
    used = [texts[row] for pair in pairs for row in pair[:2]]
    positive = [(texts[one], texts[two]) for one, two, grade in pairs if grade >= POSITIVE]
    return score_texts(used, positive, Vectors.encode(Known(texts, matrix), used))


def reference(matrix: NDArray[np.float64], positive: list[tuple[int, int]]) -> dict[str, float]:
    """Every figure from its definition, one pair at a time."""
    unit = matrix / np.linalg.norm(matrix, axis=1, keepdims=True)
    cosines = np.array([unit[i] @ unit[j] for i, j in combinations(range(len(unit)), 2)])
    squares = np.array([((unit[i] - unit[j]) ** 2).sum() for i, j in combinations(range(len(unit)), 2)])
    close = np.array([unit[i] @ unit[j] for i, j in positive])
    sums = [
        sum(np.exp(sign * direction @ row) for row in unit)
        for direction in np.linalg.eigh(unit.T @ unit).eigenvectors.T
        for sign in (1, -1)
    ]
    return {
        "isotropy": min(sums) / max(sums),
        "mean-norm": float(np.linalg.norm(matrix.mean(axis=0))),
        "spread": float(np.sqrt(1 - np.linalg.norm(unit.mean(axis=0)) ** 2)),
        "uniformity": float(np.log(np.exp(-2 * squares).mean())),
        "alignment": float(np.mean([((unit[i] - unit[j]) ** 2).sum() for i, j in positive])),
        "random-cosine": float(cosines.mean()),
        "random-sd": float(cosines.std()),
        "positive-cosine": float(close.mean()),
        "positive-sd": float(close.std()),
    }


@pytest.mark.parametrize("block", [3, 1024])
def test_every_figure_is_that_of_its_definition(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(geometry, "BLOCK", block)
    matrix = np.random.default_rng(0).normal(size=(20, 5)) * 3 + [1.0, 0.0, 2.0, 0.0, 0.0]
    grades = [4.0, 5.0, 3.9, 0.0, 4.5, 1.0, 2.0, 3.0, 4.0, 0.5]
    found = measured(matrix.astype(np.float32), [(2 * row, 2 * row + 1, grade) for row, grade in enumerate(grades)])
    expected = reference(matrix, [(0, 1), (2, 3), (8, 9), (16, 17)])
    assert tuple(found.metrics) == METRICS
    assert found.metrics == pytest.approx(expected, abs=1e-5)
    assert found.predictions is None


def test_the_suite_reads_test_and_train_and_averages_nothing(research_data: Path) -> None:
    found, missing = parted(geometry.find(str(research_data)))
    assert missing == []
    assert [(item.name, item.size, item.counted) for item in found] == [
        ("stsb", 1379, False),
        ("stsb-train", 5749, False),
    ]
    assert geometry.COUNTED == 0
    assert all("from 0 to 1" in item.note for item in found)
