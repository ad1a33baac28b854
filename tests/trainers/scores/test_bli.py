"""Maps, CSLS and ranks against SciPy and plain loops; dictionaries as xling-eval has them."""

from pathlib import Path

import numpy as np
import pytest
from known_vectors import parted, write_files
from numpy.typing import NDArray

from pipelines.base.console import InputError
from trainers.encoders.vectors import Vectors
from trainers.scores.suites import bli
from trainers.scores.suites.bli import METRICS, REPORTED, Lexicon, neighbourhood, ranks, score_lexicon

Patch = pytest.MonkeyPatch

RNG = np.random.default_rng(5)


def normal(*shape: int) -> NDArray[np.float32]:
    return RNG.normal(size=shape).astype(np.float32)


def cosine(one: NDArray[np.float32], two: NDArray[np.float32]) -> float:
    return float(one.astype(np.float64) @ two / (np.linalg.norm(one) * np.linalg.norm(two)))


def csls_loop(
    sources: NDArray[np.float32], candidates: NDArray[np.float32], query: int, k: int
) -> list[float]:
    """CSLS by Eq. 4 of Lample et al. 2018, one cosine at a time."""
    scores = []
    near = sorted((cosine(sources[query], candidate) for candidate in candidates), reverse=True)[:k]
    for candidate in candidates:
        back = sorted((cosine(candidate, source) for source in sources), reverse=True)[:k]
        scores.append(2 * cosine(sources[query], candidate) - sum(near) / len(near) - sum(back) / len(back))
    return scores


@pytest.mark.parametrize(("sources", "candidates"), [(25, 30), (4, 7)])
def test_csls_and_cosine_rank_as_plain_loops_do(sources: int, candidates: int) -> None:
    x, y = normal(sources, 4), normal(candidates, 4)
    right = [[int(RNG.integers(candidates)), int(RNG.integers(candidates))] for _ in range(sources)]
    by_csls, by_cosine = ranks(x, y, right, neighbourhood(y, x))
    for query, rows in enumerate(right):
        plain = [cosine(x[query], candidate) for candidate in y]
        for rank, scores in ((by_csls[query], csls_loop(x, y, query, 10)), (by_cosine[query], plain)):
            best = max(scores[row] for row in rows)
            assert rank == 1 + sum(score > best for score in scores)


def test_ranks_by_cosine_with_ties_and_several_translations() -> None:
    candidates = np.array([[1, 0], [2, 0], [0, 1], [-1, 0]], np.float32)
    queries = np.array([[3, 1]] * 7, np.float32)
    translations = [[0], [1], [2], [3], [3, 2], [1, 2], [2, 1, 0]]
    for rank in ranks(queries, candidates, translations, np.zeros(4, np.float32)):
        assert rank.tolist() == [1, 2, 3, 4, 3, 2, 1]


def lexicon(n: int = 60) -> tuple[Lexicon, list[str]]:
    one, two = [f"a{i}" for i in range(n)], [f"b{i}" for i in range(n)]
    return Lexicon(one, two, [(i, i) for i in range(40)], {i: (i,) for i in range(40, n)}), one + two


def vectors(words: list[str], matrix: NDArray[np.float32]) -> Vectors:
    return Vectors({word: row for row, word in enumerate(words)}, matrix)


def test_rotated_vectors_are_linked_by_the_map_and_not_without_it() -> None:
    pair, words = lexicon()
    source = normal(60, 10)
    rotation, _ = np.linalg.qr(RNG.normal(size=(10, 10)))
    turned = (source @ rotation).astype(np.float32)
    result = score_lexicon(pair, vectors(words, np.concatenate([source, turned])))
    assert tuple(result.metrics) == METRICS
    assert result.metrics["acc@1"] == result.metrics["MRR"] == result.metrics["cosine acc@1"] == 100
    unmapped = result.metrics["unmapped acc@1"]
    assert unmapped < 50
    assert result.predictions.predicted.tolist() == [1.0] * 20
    assert result.parts["mapped, cosine"] == {"acc@1": 100, "MRR": 100, "candidates": 60}
    assert set(result.parts) == {"mapped, CSLS", "mapped, cosine", "unmapped, CSLS", "unmapped, cosine"}
    assert 100 * result.predictions.predicted.mean() == result.metrics["acc@1"]


def write_pair(
    root: Path, pair: str, train: str = "of\tvon\nhouse\tHaus\n", test: str = "dog\tHund\n"
) -> None:
    files = {f"yacle.train.freq.5k.{pair}.tsv": train, f"yacle.test.freq.2k.{pair}.tsv": test}
    write_files(root / pair, files)


@pytest.fixture
def few(monkeypatch: Patch) -> None:
    monkeypatch.setattr(bli, "SIZES", {"train.freq.5k": 2, "test.freq.2k": 1})


@pytest.mark.usefixtures("few")
def test_the_reported_pairs_are_read_lower_cased(tmp_path: Path) -> None:
    write_pair(tmp_path / "lexical" / "xling-eval", "en-de")
    write_pair(tmp_path / "lexical" / "xling-eval", "en-fr")
    found, missing = parted(bli.find(str(tmp_path)))
    assert [(item.name, item.counted) for item in found] == [("bli-en-fr", True)]
    assert found[0].texts == ["of", "house", "dog", "von", "haus", "hund"]
    assert found[0].lines[2:] == ["((0, 0), (1, 1))\n", "[(2, (2,))]\n"]
    assert (found[0].note or "").startswith("* candidates are the words of the dictionaries alone")
    assert [item.name for item in missing] == [f"bli-{pair}" for pair in REPORTED[1:]]


@pytest.mark.usefixtures("few")
def test_a_vocabulary_file_adds_candidates(tmp_path: Path) -> None:
    write_pair(tmp_path / "xling-eval", "en-fr")
    write_files(tmp_path / "xling-eval" / "vocabulary", {"fr.txt": "Chat\nhund\n"})
    ((found,), _) = parted(bli.find(str(tmp_path)))
    assert found.texts[3:] == ["von", "haus", "hund", "chat"]
    assert (found.note or "").startswith("candidates are the words of fr.txt and of the dictionaries")


def test_a_word_with_several_translations_counts_once(tmp_path: Path, monkeypatch: Patch) -> None:
    monkeypatch.setattr(bli, "SIZES", {"train.freq.5k": 1, "test.freq.2k": 3})
    write_pair(tmp_path / "xling-eval", "ru-fr", "a\tb\n", "x\ty\nx\tz\nx\ty\n")
    ((found,), _) = parted(bli.find(str(tmp_path)))
    assert found.size == 1
    assert found.lines[3] == "[(1, (1, 2))]\n"


@pytest.mark.parametrize(
    ("test", "message"),
    [
        ("dog\tHund\n", "1 pairs of words, expected 2000"),
        ("dog Hund\n", "line 1: expected a word and its translation"),
    ],
)
def test_a_wrong_file_is_one_line(tmp_path: Path, test: str, message: str) -> None:
    write_pair(tmp_path / "xling-eval", "en-fr", "a\tb\n" * 5000, test)
    with pytest.raises(InputError, match=message):
        bli.find(str(tmp_path))


def test_the_real_dictionaries_have_the_published_counts(research_data: Path) -> None:
    found, missing = parted(bli.find(str(research_data)))
    assert [item.name for item in found] == [f"bli-{pair}" for pair in REPORTED]
    assert [item.size for item in found[:4]] == [2000] * 4
    assert missing == []
