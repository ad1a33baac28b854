"""Functions and whitening, each against an independent computation."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch

from pipelines.console import InputError, TwinviewsError
from trainers.baselines.encoders import function_encoder, load_function
from trainers.baselines.whitening import fit_whitening, whitened
from trainers.embedding.vectors import Vectors

TEXTS = ["the cat sat on the mat", "the dog sat", "a dog ate the cat", "Dog dog"]


def lengths(texts: list[str]) -> list[list[float]]:
    return [[len(text), text.count("a"), 1] for text in texts]


@pytest.mark.parametrize("wrap", [list, np.array, lambda rows: torch.tensor(rows, requires_grad=True)])
def test_any_function_is_an_encoder_whatever_kind_of_rows_it_gives(wrap: Callable[..., object]) -> None:
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
def test_an_unusable_function_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: str, message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    name = f"bad_module_{abs(hash(code))}"
    (tmp_path / f"{name}.py").write_text(code)
    with pytest.raises(TwinviewsError, match=message):
        load_function(f"{name}:f").encode(TEXTS)


def test_vectors_of_changing_length_are_refused() -> None:
    encoder = function_encoder(lambda texts: [[1.0] * len(texts) for _ in texts], "mine", size=3)
    with pytest.raises(InputError, match="gave vectors of 1 and 3 numbers"):
        encoder.encode(TEXTS)


def cloud(count: int, size: int, seed: int = 0) -> np.ndarray:
    """Return correlated vectors, far from the origin."""
    draw = np.random.default_rng(seed)
    return (draw.normal(size=(count, size)) @ draw.normal(size=(size, size)) + 5).astype(np.float32)


@pytest.mark.parametrize("dimension", [None, 6, 2])
def test_whitened_vectors_have_mean_zero_and_unit_covariance(dimension: int | None) -> None:
    vectors = cloud(400, 6)
    white = fit_whitening(vectors, dimension)(vectors)
    assert white.shape == (400, dimension or 6)
    assert white.dtype == np.float32
    np.testing.assert_allclose(white.mean(axis=0), 0, atol=1e-4)
    np.testing.assert_allclose(np.cov(white, rowvar=False), np.eye(dimension or 6), atol=1e-3)


def test_reduced_whitening_keeps_the_directions_of_largest_variance() -> None:
    vectors = cloud(400, 6)
    # Independent of how the whitening found them: the singular vectors of the centred data.
    centred = vectors - vectors.mean(axis=0)
    u = np.linalg.svd(centred, full_matrices=False)[0][:, :2]
    np.testing.assert_allclose(np.abs(fit_whitening(vectors, 2)(vectors)), np.abs(u) * np.sqrt(399), atol=1e-3)


def test_whitening_ignores_directions_without_variance_and_refuses_more_than_there_are() -> None:
    vectors = np.concatenate([cloud(50, 3), np.ones((50, 1), np.float32)], axis=1)
    assert fit_whitening(vectors)(vectors).shape == (50, 3)
    with pytest.raises(InputError, match=r"cannot whiten to 4 dimensions: the 50 vectors of 4 numbers vary in 3"):
        fit_whitening(vectors, 4)
    with pytest.raises(InputError, match="vary in 0 directions"):
        fit_whitening(np.ones((9, 4), np.float32))
    with pytest.raises(InputError, match="at least two texts"):
        fit_whitening(vectors[:1])


def test_a_whitening_is_fitted_on_each_sets_sentences() -> None:
    vectors = Vectors({text: row for row, text in enumerate("abcdefghij")}, cloud(10, 3))
    # A sentence in several pairs weighs as often.
    texts = list("abcdeaaa")
    mapped = whitened(vectors, texts, None, "mine")
    assert set(mapped.rows) == set("abcde")
    np.testing.assert_allclose(np.cov(mapped.of(texts), rowvar=False), np.eye(3), atol=1e-3)
