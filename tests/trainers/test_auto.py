"""`train auto` runs what measured best, as if its command had been typed, and says which."""

import json
import shlex
from pathlib import Path

import pytest

from pipelines.console import call
from trainers.auto import MEASURED, ranking
from trainers.cli import app

DOCS = Path(__file__).parents[2] / "docs" / "training.md"
SMALL = ["--batch-size", "8", "--max-tokens", "24", "--precision", "fp32"]


def train(*arguments: object) -> int:
    return call(app, [str(argument) for argument in arguments])


@pytest.mark.parametrize("row", MEASURED, ids=lambda row: row.command)
def test_every_figure_stands_in_the_documentation(row: tuple[object, ...]) -> None:
    text = DOCS.read_text(encoding="utf-8")
    assert f"{row[-2]:.2f}" in text
    assert f"{row[-1]:.2f}" in text


def test_development_set_chooses_among_what_was_measured_nearest(monkeypatch: pytest.MonkeyPatch) -> None:
    few = [row._replace(sentences=1000, dev=dev) for row, dev in zip(MEASURED[:2], (70.0, 71.0), strict=True)]
    monkeypatch.setattr("trainers.auto.MEASURED", (*MEASURED, *few))
    assert [row.command.split()[0] for row in ranking("text", 3000)] == ["mirror", "contrastive"]
    assert [row.command.split()[0] for row in ranking("text", 3300)] == ["contrastive", "mirror", "isbert", "mlm"]
    assert ranking("views", 5)[0].command.split()[0] == "bsl"


def test_training_is_the_one_of_the_command_that_is_said(
    text_file: Path, tiny_bert: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = ["--limit", 40, "--encoder", tiny_bert, *SMALL, "--out", tmp_path / "auto"]
    assert train("auto", "--text", text_file, *given) == 0
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "40 sentences: SimCSE is the best of 4 trainings measured on 10,000 with the bundled encoder" in said
    assert "(average of 7 STS sets 67.85, next Mirror-BERT with [CLS] 66.42): train contrastive" in said
    typed = shlex.split(said.partition("): train ")[2])
    assert train(*typed[:-1], tmp_path / "typed") == 0
    for name in ("model.safetensors", "recipe.json"):
        assert (tmp_path / "auto" / name).read_bytes() == (tmp_path / "typed" / name).read_bytes()
    assert json.loads((tmp_path / "auto" / "recipe.json").read_text())["preset"] == "simcse"


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["--text", "a", "--views", "b"], "error: --text and --views: give one of them"),
        (["--text", "nowhere.txt"], "error: no sentences at 'nowhere.txt'"),
        (["--text", "TEXT", "--lerning-rate", 1], "error: No such option: --lerning-rate"),
    ],
)
def test_what_cannot_be_run_ends_with_one_line(
    given: list[object], said: str, text_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert train("auto", *(text_file if each == "TEXT" else each for each in given)) == 2
    assert said in capsys.readouterr().err.splitlines()[-1]
