"""A training that a full disk or Ctrl-C breaks off says one line, and the same command ends with the same encoder."""

import os
import resource
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pipelines.console import call
from pipelines.interrupt import MESSAGE
from trainers.cli import app
from trainers.objective import Objective
from trainers.training.fit import ObjectiveTrainer

Train = Callable[[Path], int]


@pytest.fixture(scope="module")
def train(text_file: Path, tiny_bert: Path) -> Train:
    given = ["mirror", "--text", text_file, "--encoder", tiny_bert, "--batch-size", 8, "--max-tokens", 24]
    return lambda out: call(app, [str(argument) for argument in (*given, "--save-every", 2, "--out", out)])


@pytest.fixture(scope="module")
def whole(train: Train, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("whole") / "run"
    assert train(out) == 0
    return out


def check_goes_on(train: Train, out: Path, whole: Path) -> None:
    assert not (out / "modules.json").exists()
    assert train(out) == 0
    for name in ("model.safetensors", "log.jsonl"):
        assert (out / name).read_bytes() == (whole / name).read_bytes()
    assert sorted(os.listdir(out)) == sorted(os.listdir(whole))


# The recipe has some 1 kB, the weights 31; the optimiser's state, which is saved after them, twice that.
SIZES = {"the recipe": 500, "the weights": 20_000, "the optimiser": 45_000}


@pytest.mark.parametrize("size", SIZES.values(), ids=SIZES)
def test_full_disk(size: int, train: Train, whole: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        assert train(tmp_path / "full") == 1
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert error.startswith(f"error: cannot write all of {tmp_path / 'full'} (")
    assert "free space on its disk, then run the same command again" in error
    check_goes_on(train, tmp_path / "full", whole)


class Finalised:
    """Python drops what is raised here."""

    def __del__(self) -> None:
        signal.raise_signal(signal.SIGINT)


MOMENTS = {
    "a step": (ObjectiveTrainer, "compute_loss"),
    "a finaliser": (ObjectiveTrainer, "compute_loss"),
    "a checkpoint": (ObjectiveTrainer, "_save_checkpoint"),
    "the result": (Objective, "save"),
}


@pytest.mark.parametrize("moment", MOMENTS)
def test_interrupt(
    moment: str, train: Train, whole: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    owner, name = MOMENTS[moment]
    usual = getattr(owner, name)
    times = []

    def interrupted(*arguments: Any, **options: Any) -> Any:  # noqa: ANN401 - whatever the method takes and gives
        times.append(1)
        if len(times) == 4 or name != "compute_loss":
            Finalised() if moment == "a finaliser" else signal.raise_signal(signal.SIGINT)
        return usual(*arguments, **options)

    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with monkeypatch.context() as patched:
            patched.setattr(owner, name, interrupted)
            assert train(tmp_path / "cut") == 130
    finally:
        signal.signal(signal.SIGINT, before)
    assert capsys.readouterr().err == f"{MESSAGE}\n"
    check_goes_on(train, tmp_path / "cut", whole)
