"""Averaged word vectors against means by hand; files as GloVe, fastText and word2vec write them; broken files."""

import gzip
import hashlib
from pathlib import Path

import numpy as np
import pytest

from pipelines.console import InputError
from trainers.baselines.encoders import read_word_vectors, resolve, word_vectors
from trainers.embedding.vectors import Vectors

GLOVE = """\
the 1 0 0.5
. . 9 9 9
cat 0 2 -1e-1
at name@domain.com 7 7 7
n't 4 4 4
do 1 1 1
. 0 0 3
Paris -2 0 0
cat 8 8 8
"""


@pytest.fixture
def glove(tmp_path: Path) -> Path:
    path = tmp_path / "glove.txt"
    path.write_text(GLOVE)
    return path


def test_a_text_is_the_mean_of_its_words_by_hand(glove: Path) -> None:
    texts = ["the cat .", "The cat the", "paris unicorn", "Paris", "xyzzy plugh"]
    encoder = word_vectors("glove:glove.txt", glove)
    vectors = encoder.encode(texts)
    assert vectors.dtype == np.float32
    expected = [
        [(1 + 0 + 0) / 3, (0 + 2 + 0) / 3, (0.5 - 0.1 + 3) / 3],  # the, the first of two cats, the full stop
        [2 / 3, 2 / 3, (0.5 + 0.5 - 0.1) / 3],  # "The" is found in lower case
        [0, 0, 0],  # "paris" is not looked up as "Paris"
        [-2, 0, 0],
        [0, 0, 0],
    ]
    np.testing.assert_allclose(vectors, expected, atol=1e-6)


def test_unknown_words_and_zero_vectors_are_counted_and_told(glove: Path) -> None:
    encoder = word_vectors("glove:glove.txt", glove)
    vectors = Vectors.encode(encoder, ["the cat", "xyzzy plugh", "the unicorn", "the cat"])
    card = encoder.card()
    assert (card["words"], card["unknown"], card["zero_vectors"]) == (6, 3, 1)
    assert "50.00% of 6 words out of vocabulary; 1 of 3 texts have no known word: zero vectors" in encoder.title
    assert card["sha256"] == hashlib.sha256(GLOVE.encode()).hexdigest()
    assert card["dimension"] == 3
    assert vectors.cosines(["the cat", "xyzzy plugh"], ["the unicorn", "the cat"])[1] == 0


@pytest.mark.parametrize(
    ("word", "found"),
    [
        ("the", ["the"]),
        ("THE", ["the"]),
        ("cat.", ["cat", "."]),
        ("(Don't", [None, "do", "n't"]),
        ("Paris's", ["Paris", None]),
        ("cat-like", [None]),
    ],
)
def test_text_that_is_not_tokenised_finds_its_words(word: str, found: list[str | None]) -> None:
    assert resolve(word, {"the", "cat", "n't", "do", ".", "Paris"}) == found


def test_header_trailing_spaces_carriage_returns_and_compression_change_nothing(glove: Path, tmp_path: Path) -> None:
    needed = {"the", "cat", ".", "9"}  # 9 is the number of words in a header, too
    plain, dimension, _ = read_word_vectors(glove, needed)
    assert plain.keys() == {"the", "cat", "."}
    assert dimension == 3
    (tmp_path / "wiki.vec").write_text("9 3\n" + GLOVE.replace("\n", " \n"))
    (tmp_path / "windows.txt").write_bytes(GLOVE.replace("\n", "\r\n").encode())
    (tmp_path / "g.txt.gz").write_bytes(gzip.compress(GLOVE.encode()))
    for name in ("wiki.vec", "windows.txt", "g.txt.gz"):
        read = read_word_vectors(tmp_path / name, needed)[0]
        assert {word: row.tolist() for word, row in read.items()} == {word: row.tolist() for word, row in plain.items()}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("the 1 2 3\ncat 1 2\n", "line 2: expected a word and 3 numbers"),
        ("the 1 2 3\ncat 1 two 3\n", "line 2: could not convert string to float"),
        ("the 1 2 3\ncat 1 nan 3\n", "line 2: expected a word and 3 numbers"),
        ("2 4\nthe 1 2 3\n", "line 2: expected a word and 4 numbers"),
        ("", "holds no word vectors"),
        ("word\n", "holds no word vectors"),
        ("{ 1\na b\n", "line 2: could not convert string to float"),
    ],
)
def test_a_broken_file_is_named_with_its_line(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "bad.txt").write_text(text)
    with pytest.raises(InputError, match=message):
        read_word_vectors(tmp_path / "bad.txt", {"the", "cat", "a"})
