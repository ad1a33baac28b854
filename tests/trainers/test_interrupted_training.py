"""Ctrl-C in a training is one line and exit code 130, and the same command ends with the same encoder."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pipelines.console import call
from pipelines.interrupt import MESSAGE
from trainers.cli import app
from trainers.objective import Objective
from trainers.training.fit import ObjectiveTrainer


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


@pytest.fixture
def heard() -> Iterator[None]:
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("heard")
@pytest.mark.parametrize("moment", MOMENTS)
def test_interrupted_training_is_one_line_and_goes_on_to_the_same(
    moment: str,
    text_file: Path,
    tiny_bert: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    given = ["mirror", "--text", text_file, "--encoder", tiny_bert, "--batch-size", 8, "--max-tokens", 24]
    given += ["--save-every", 2, "--out"]

    def train(out: Path) -> int:
        return call(app, [str(argument) for argument in (*given, out)])

    assert train(tmp_path / "whole") == 0
    owner, name = MOMENTS[moment]
    usual = getattr(owner, name)
    times = []

    def interrupted(*arguments: Any, **options: Any) -> Any:  # noqa: ANN401 - whatever the method takes and gives
        times.append(1)
        if len(times) == 4 or name != "compute_loss":
            Finalised() if moment == "a finaliser" else signal.raise_signal(signal.SIGINT)
        return usual(*arguments, **options)

    capsys.readouterr()
    with monkeypatch.context() as patched:
        patched.setattr(owner, name, interrupted)
        assert train(tmp_path / "cut") == 130
    assert capsys.readouterr().err == f"{MESSAGE}\n"
    assert not (tmp_path / "cut" / "modules.json").exists()
    assert train(tmp_path / "cut") == 0
    for file in ("model.safetensors", "log.jsonl"):
        assert (tmp_path / "cut" / file).read_bytes() == (tmp_path / "whole" / file).read_bytes()
    assert sorted(os.listdir(tmp_path / "cut")) == sorted(os.listdir(tmp_path / "whole"))
