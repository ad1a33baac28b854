import sys
from importlib.metadata import EntryPoint
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Literal

import pytest
from pydantic import BaseModel, Field

import trainers.objectives
from pipelines.console import call
from trainers import catalogue
from trainers.catalogue import load_objective, objective_names
from trainers.cli import app, make_app
from trainers.encoders.loading import load_encoder
from trainers.encoders.location import locate
from trainers.objectives.bsl import PARAMS, PRESETS
from trainers.options import training_sections
from trainers.settings import make_command, resolve
from trainers.training.run import request_of, settings_of


class Params(BaseModel):
    widths: tuple[int, ...] = Field((1, 3, 5), description="Widths.")
    score: Literal["dot", "learnt"] = Field("dot", description="Score.")
    lr: float = Field(0.5, description="A field of the objective that Training has too.")


MODULE: Any = SimpleNamespace(
    READS=("text",), PARAMS=Params, PRESETS={"paper": {"lr": 1e-6}, "afs": {"lr": 1e-6, "widths": (3, 5, 7)}}
)


def asked(*arguments: str) -> dict[str, Any]:
    """Give arguments to a command with the module's options; returns what it was called with."""
    calls: list[dict[str, Any]] = []
    sections = training_sections("toy", MODULE)
    made = make_command("toy", lambda _, **values: calls.append(values), sections, description="Toy.", epilog="")
    made.main([*arguments], standalone_mode=False)
    return calls[0] if calls else {}


def test_values_come_back_by_field_and_what_was_not_given_is_none() -> None:
    data = ["--text", "s.txt", "--limit", "3", "--preset", "afs"]
    values = asked("--widths", "3", "--widths", "7", "--score", "learnt", "--batch-size", "8", *data)
    found = settings_of(MODULE, values)
    assert {key: value for key, value in found.items() if value is not None} == {
        "widths": [3, 7], "score": "learnt", "batch_size": 8
    }  # fmt: skip
    request = request_of("toy", MODULE, {**values, "seed": 7, "foreign": 1})
    assert (request.objective, str(request.data.text), request.data.limit) == ("toy", "s.txt", 3)
    assert (request.preset, request.seed, request.encoder) == ("afs", 7, None)
    assert {*settings_of(MODULE, asked()).values()} == {None}


def test_help_says_each_presets_value_and_lists_a_shared_field_once(capsys: pytest.CaptureFixture[str]) -> None:
    asked("--help")
    text = " ".join(capsys.readouterr().out.split())
    assert "Widths. [1, 3, 5; afs: 3, 5, 7]" in text
    assert "Score. [dot]" in text
    assert text.count("--lr ") == 1


@pytest.mark.parametrize("name", objective_names())
def test_every_objective_has_help_for_training_and_for_sweeping(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    for arguments in ([name], ["sweep", name]):
        assert call(app, [*arguments, "--help"]) == 0
        text = capsys.readouterr().out
        assert f"train {' '.join(arguments)} --" in text
        for key in load_objective(name).PARAMS.model_fields:
            assert f"--{key.replace('_', '-')} " in text


NEW_OBJECTIVE = '''"""Toy: pull both views of a sentence together."""

from pydantic import Field

from trainers.objective import Objective
from trainers.settings import Options

READS = ("text",)
PRESETS = {"small": {"lr": 1e-3, "batch_size": 8, "max_tokens": 24, "precision": "fp32"}}


class PARAMS(Options):
    strength: float = Field(2.0, gt=0, description="Factor on the loss.")


class Toy(Objective):
    def forward(self, input_ids, attention_mask):
        vectors = self.embed(input_ids, attention_mask)
        first, second = vectors.chunk(2)
        return {"loss": self.params.strength * (first - second).square().mean(), "vectors": vectors.detach()}


build = Toy.build
'''


def test_objective_is_added_by_one_file(
    tiny_bert: Path, text_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    (tmp_path / "pull_together.py").write_text(NEW_OBJECTIVE, encoding="utf-8")
    monkeypatch.setattr(catalogue, "FOLDER", tmp_path)
    monkeypatch.setattr(trainers.objectives, "__path__", [*trainers.objectives.__path__, str(tmp_path)])
    app = make_app()
    assert call(app, ["--help"]) == 0
    assert "pull-together" in capsys.readouterr().out
    assert call(app, ["pull-together", "--help"]) == 0
    assert "Factor on the loss. [2.0]" in " ".join(capsys.readouterr().out.split())
    run = ["--text", str(text_file), "--encoder", str(tiny_bert), "--out", str(tmp_path / "run"), "--strength", "3"]
    assert call(app, ["pull-together", *run]) == 0
    assert (tmp_path / "run" / "modules.json").is_file()


def test_a_preset_may_keep_the_pooling_that_an_encoder_was_made_for(tiny_bert: Path, tmp_path: Path) -> None:
    found = {"bare": locate(str(tiny_bert)).pooling()}
    for pooling in ("mean", "cls"):
        load_encoder(str(tiny_bert), pooling=pooling).save_pretrained(str(tmp_path / pooling))
        found[pooling] = locate(str(tmp_path / pooling)).pooling()
    assert found == {"bare": "cls", "mean": "mean", "cls": "cls"}
    for preset, given, expected in (("tuned", {}, "mean"), ("tuned", {"pooling": "cls"}, "cls"), ("code", {}, "mean")):
        assert resolve(PRESETS, PARAMS, preset, given, own_pooling="mean")[1].pooling == expected
    assert resolve(PRESETS, PARAMS, "code", {}, own_pooling="cls")[1].pooling == "mean"


BROKEN = {
    "import nothing_of_that_name": "cannot be used: ModuleNotFoundError",
    "raise SystemExit(3)": "cannot be used: SystemExit: 3",
    "PARAMS = 1": "cannot be used: AttributeError: module 'broken_objective' has no attribute 'READS'",
}


@pytest.mark.parametrize("source", BROKEN)
def test_another_package_s_objective_that_cannot_be_used_is_one_line(
    source: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "broken_objective.py").write_text(source)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "broken_objective", raising=False)
    point = EntryPoint("broken", "broken_objective", catalogue.GROUP)
    monkeypatch.setattr(catalogue, "_third_party", lambda: {"broken": point})
    assert call(make_app(), ["broken", "--help"]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert BROKEN[source] in error
    assert call(make_app(), ["--help"]) == 0
    assert capsys.readouterr().err == ""
