"""Functions and averaged word vectors as encoders: by hand, in every file format, and what cannot be used."""

import gzip
import hashlib
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch

from pipelines.terminal.console import InputError, TwinviewsError
from trainers.encoders.baselines import function_encoder, load_function, read_word_vectors, word_vectors
from trainers.encoders.vectors import Vectors

TEXTS = ["the cat sat on the mat", "the dog sat", "a dog ate the cat", "Dog dog"]


def lengths(texts: list[str]) -> list[list[float]]:
    return [[len(text), text.count("a"), 1] for text in texts]


@pytest.mark.parametrize("wrap", [list, np.array, lambda rows: torch.tensor(rows, requires_grad=True)])
def test_a_function_that_returns_any_kind_of_rows_is_an_encoder(wrap: Callable[..., object]) -> None:
    batches: list[list[str]] = []

    def function(texts: list[str]) -> object:
        batches.append(texts)
        return wrap([[float(number) for number in row] for row in lengths(texts)])

    encoder = function_encoder(function, "mine", size=3)
    vectors = Vectors.encode(encoder, [*TEXTS, *TEXTS])
    assert vectors.of(TEXTS).tolist() == lengths(TEXTS)
    assert vectors.of(TEXTS).dtype == np.float32
    assert [len(batch) for batch in batches] == [3, 1]
    assert [len(text) for batch in batches for text in batch] == sorted(map(len, TEXTS), reverse=True)
    assert encoder.card()["dimension"] == 3


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("def f(texts): return [[1.0]]", r"bad_module_\d+:f gave an array of shape \(1, 1\) for 4 texts"),
        ("def f(texts): return None", r"gave an array of shape \(\) for 4 texts"),
        ("def f(texts): return [[1.0], [1.0, 2.0]] * 2", "failed on 4 texts: ValueError"),
        ("def f(texts):\n    return texts[99]", r"failed on 4 texts: IndexError: .*line 2"),
        ("def f(texts): return [[float('nan')] for _ in texts]", "gives NaN or infinity, for example for 'the cat sat"),
        ("import no_such_package\nf = len", r"cannot import .*: No module named 'no_such_package'"),
        ("f = 1 / 0", r"cannot import .*: ZeroDivisionError: "),
        ("import sys\nsys.exit(3)", "cannot import .*: SystemExit: 3"),
        ("f = 1", "has no function 'f'"),
    ],
)
def test_unusable_function_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: str, message: str
) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    name = f"bad_module_{abs(hash(code))}"
    (tmp_path / f"{name}.py").write_text(code)
    with pytest.raises(TwinviewsError, match=message):
        load_function(f"{name}:f").encode(TEXTS)


def test_files_beside_a_function_shadow_nothing(tmp_path: Path) -> None:
    """Its neighbours can be imported by it, but take the place of no other module, then or later."""
    sys.modules.pop("colorsys", None)
    paths = list(sys.path)
    (tmp_path / "colorsys.py").write_text("raise RuntimeError")
    (tmp_path / "own_neighbour.py").write_text("SIZE = 2.0")
    (tmp_path / "own_package").mkdir()
    (tmp_path / "own_package" / "inner.py").write_text(
        "import colorsys\nfrom own_neighbour import SIZE\ndef f(texts): return [[SIZE] for _ in texts]"
    )
    assert load_function("own_package.inner:f").encode(TEXTS).tolist() == [[2.0]] * 4
    assert sys.path == paths
    (tmp_path / "json.py").write_text("def f(texts): return [[1.0] for _ in texts]")
    with pytest.raises(InputError, match=r"/json/__init__\.py has no function 'f'"):
        load_function("json:f")


def test_vectors_of_changing_length_are_refused() -> None:
    encoder = function_encoder(lambda texts: [[1.0] * len(texts) for _ in texts], "mine", size=3)
    with pytest.raises(InputError, match="gave vectors of 1 and 3 numbers"):
        encoder.encode(TEXTS)


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
    texts = ["the cat .", "The cat the", "paris unicorn", "Paris", "xyzzy plugh", "cat. (Don't", "Paris's cat-like"]
    encoder = word_vectors("glove:glove.txt", glove)
    vectors = encoder.encode(texts)
    assert vectors.dtype == np.float32
    expected = [
        [(1 + 0 + 0) / 3, (0 + 2 + 0) / 3, (0.5 - 0.1 + 3) / 3],  # the, the first of two cats, the full stop
        [2 / 3, 2 / 3, (0.5 + 0.5 - 0.1) / 3],  # "The" is found in lower case
        [0, 0, 0],  # "paris" is not looked up as "Paris"
        [-2, 0, 0],
        [0, 0, 0],
        [(0 + 0 + 1 + 4) / 4, (2 + 0 + 1 + 4) / 4, (-0.1 + 3 + 1 + 4) / 4],  # cat, the full stop, do, n't
        [-2, 0, 0],  # Paris, without 's
    ]
    np.testing.assert_allclose(vectors, expected, atol=1e-6)


def test_unknown_words_and_zero_vectors_are_counted_and_reported(glove: Path) -> None:
    encoder = word_vectors("glove:glove.txt", glove)
    vectors = Vectors.encode(encoder, ["the cat", "xyzzy plugh", "the unicorn", "the cat"])
    card = encoder.card()
    assert (card["words"], card["unknown"], card["zero_vectors"]) == (6, 3, 1)
    assert "50.00% of 6 words out of vocabulary; 1 of 3 texts have no known word: zero vectors" in encoder.title
    assert card["sha256"] == hashlib.sha256(GLOVE.encode()).hexdigest()
    assert card["dimension"] == 3
    assert vectors.cosines(["the cat", "xyzzy plugh"], ["the unicorn", "the cat"])[1] == 0


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
