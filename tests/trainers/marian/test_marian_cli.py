from __future__ import annotations

from pathlib import Path

import pytest

from pipelines.console import call
from trainers.cli import app


@pytest.fixture
def text(tmp_path: Path) -> Path:
    path = tmp_path / "en-de.tsv"
    path.write_text("a dog\tein Hund\na cat\teine Katze\n" * 40)
    return path


def marian(*arguments: object) -> int:
    return call(app, ["marian", *map(str, arguments)])


def test_several_processes_are_refused_before_anything_is_written(
    text: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("WORLD_SIZE", "2")
    assert marian("--parallel", text, "--out", tmp_path / "run") == 2
    assert capsys.readouterr().err == (
        "error: train marian trains in one process, not in 2: start it without torchrun\n"
    )
    assert not (tmp_path / "run").exists()
