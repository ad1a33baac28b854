"""Functions as encoders: what they may return, and what is said of those that cannot be used."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch

from pipelines.console import InputError, TwinviewsError
from trainers.baselines.encoders import function_encoder, load_function
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
