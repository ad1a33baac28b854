"""`train auto` runs what measured best, as if its command had been typed, and says which."""

import re
import shlex
from pathlib import Path

import pytest
from fitting import write_pairs

from pipelines.console import call
from trainers.auto import CHOICES
from trainers.cli import app

DOCS = Path(__file__).parents[2] / "docs" / "training.md"
SMALL = ["--batch-size", "8", "--max-tokens", "24", "--precision", "fp32"]


def train(*arguments: object) -> int:
    return call(app, [str(argument) for argument in arguments])


@pytest.mark.parametrize("data", ["text", "views"])
def test_figures_stand_in_the_documentation(data: str) -> None:
    figures = re.findall(r"\d+\.\d+", CHOICES[data][1])
    assert len(figures) == 2
    assert set(figures) <= set(re.findall(r"\d+\.\d+", DOCS.read_text(encoding="utf-8")))


def test_training_is_the_one_of_the_command_that_is_said(
    text_file: Path, tiny_bert: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = ["--limit", 40, "--encoder", tiny_bert, *SMALL, "--out", tmp_path / "auto"]
    assert train("auto", "--text", text_file, *given) == 0
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "40 sentences: SimCSE from whitened vectors is the best of 5 trainings measured on 10,000 with the" in said
    typed = shlex.split(said.partition("): train ")[2])
    assert typed[:3] == ["contrastive", "--preset", "tuned"]
    assert train(*typed[:-1], tmp_path / "typed") == 0
    for name in ("model.safetensors", "recipe.json"):
        assert (tmp_path / "auto" / name).read_bytes() == (tmp_path / "typed" / name).read_bytes()


@pytest.mark.parametrize(("negative", "kind"), [({}, "views"), ({"negative": ["x"] * 9}, "negatives")])
def test_pairs_are_for_bsl_and_those_with_hard_negatives_for_supervised_simcse(
    negative: dict[str, list[str]], kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    texts = [f"sentence {row}" for row in range(9)]
    pairs = write_pairs(tmp_path / "pairs.arrow", list(zip(texts, texts, texts[::-1], strict=True)), **negative)
    assert train("auto", "--views", pairs, "--dry-run") == 0
    command, reason = CHOICES[kind]
    assert f"9 pairs: {reason}: train {command} --views" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["--text", "a", "--views", "b"], "error: --views and --text: give one of them"),
        (["--text", "TEXT", "--config=RECIPE"], "is a recipe of `contrastive`, not of `auto`"),
        (["--text", "nowhere.txt"], "error: no sentences at 'nowhere.txt'"),
        (["--text", "TEXT", "--lerning-rate", 1], "error: No such option: --lerning-rate"),
    ],
)
def test_what_cannot_be_run_ends_with_one_line(
    given: list[object], said: str, text_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    recipe = tmp_path / "recipe.json"
    recipe.write_text('{"command": "contrastive"}')
    places = {"TEXT": text_file, "--config=RECIPE": f"--config={recipe}"}
    assert train("auto", *(places.get(str(each), each) for each in given)) == 2
    assert said in capsys.readouterr().err.splitlines()[-1]
