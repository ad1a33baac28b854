"""Functions as encoders: whatever rows they return, and what cannot be used."""

import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch

from pipelines.base.console import InputError, TwinviewsError
from trainers.encoders.functions import FunctionEncoder, load_function
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

    encoder = FunctionEncoder(function, "mine", size=3)
    vectors = Vectors.encode(encoder, [*TEXTS, *TEXTS])
    assert vectors.of(TEXTS).tolist() == lengths(TEXTS)
    assert vectors.of(TEXTS).dtype == np.float32
    assert [len(batch) for batch in batches] == [3, 1]
    assert [len(text) for batch in batches for text in batch] == sorted(map(len, TEXTS), reverse=True)


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("def f(texts): return [[1.0]]", r"bad_module_\d+:f gave an array of shape \(1, 1\) for 4 texts"),
        ("def f(texts): return None", r"gave an array of shape \(\) for 4 texts"),
        ("def f(texts): return [[1.0], [1.0, 2.0]] * 2", "failed on 4 texts: ValueError"),
        ("def f(texts):\n    return texts[99]", r"failed on 4 texts: IndexError: .*line 2"),
        (
            "def f(texts): return [[float('nan')] for _ in texts]",
            "gives NaN or infinity, for example for 'the cat sat",
        ),
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
    encoder = FunctionEncoder(lambda texts: [[1.0] * len(texts) for _ in texts], "mine", size=3)
    with pytest.raises(InputError, match="gave vectors of 1 and 3 numbers"):
        encoder.encode(TEXTS)
