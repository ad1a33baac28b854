"""Weights between those of the start and those of the end, and trainings of so many steps."""

from pathlib import Path

import pytest
import torch
from small_trainings import Capsys, error_line, prepared, train, write_pairs

from trainers.objective import Objective
from trainers.settings import Training
from trainers.training.fit import fit


def weights(encoder: Path, texts: list[str], out: Path, **given: object) -> tuple[Objective, Training, int]:
    objective, rows, training = prepared("contrastive", encoder, texts, dropout=0.0, epochs=None, **given)
    return objective, training, fit(objective, rows, out, 1).steps


@pytest.mark.parametrize("share", [0.0, 0.25, 1.0])
def test_blended_weights_lie_between_start_and_end(
    share: float, tiny_bert: Path, sentences: list[str], tmp_path: Path
) -> None:
    start = prepared("contrastive", tiny_bert, sentences)[0].encoder.state_dict()
    end = weights(tiny_bert, sentences, tmp_path / "end", steps=3)[0].encoder.state_dict()
    blended = weights(tiny_bert, sentences, tmp_path / "blend", steps=3, blend=share)[0].encoder.state_dict()
    assert any(not torch.equal(start[name], end[name]) for name in start)
    for name, value in blended.items():
        assert torch.allclose(value, (1 - share) * start[name] + share * end[name], atol=1e-6), name


def test_a_training_takes_so_many_steps_over_more_or_less_than_an_epoch(
    tiny_bert: Path, sentences: list[str], tmp_path: Path
) -> None:
    for steps in (2, 11):
        assert weights(tiny_bert, sentences, tmp_path / str(steps), steps=steps)[2] == steps


def test_steps_and_epochs_exclude_each_other_and_a_new_layer_blending(
    tiny_bert: Path, sentences: list[str], tmp_path: Path, capsys: Capsys
) -> None:
    views = write_pairs(tmp_path / "pairs.arrow", [(text, text, text) for text in sentences])
    options = [
        "contrastive",
        "--views",
        views,
        "--encoder",
        tiny_bert,
        "--out",
        tmp_path / "run",
        "--max-tokens",
        24,
    ]
    assert train(*options, "--steps", 3, "--epochs", 2) == 2
    assert "--steps 3 and --epochs 2: give one of them" in error_line(capsys)
    assert train(*options, "--preset", "bsl", "--whiten", "--blend", 0.5) == 2
    assert "--blend 0.5: the start lacks the layer of --whiten" in capsys.readouterr().err
    assert train(*options, "--preset", "bsl", "--steps", 2, "--batch-size", 8, "--blend", 0) == 0


def test_a_recipe_of_steps_is_repeated_and_takes_other_steps_or_epochs(
    tiny_bert: Path, sentences: list[str], tmp_path: Path, capsys: Capsys
) -> None:
    views = write_pairs(tmp_path / "pairs.arrow", [(text, text, text) for text in sentences])
    options = ["contrastive", "--views", views, "--encoder", tiny_bert, "--max-tokens", 24, "--preset", "bsl"]
    assert train(*options, "--steps", 2, "--batch-size", 8, "--out", tmp_path / "run") == 0
    again = ["contrastive", "--config", tmp_path / "run" / "recipe.json", "--out", tmp_path / "run"]
    assert train(*again) == 0
    assert "already finished with this recipe" in capsys.readouterr().out
    assert train(*again[:3], "--epochs", 1, "--out", tmp_path / "epoch") == 0
    assert "after 6 steps" in capsys.readouterr().out
    again = ["contrastive", "--config", tmp_path / "epoch" / "recipe.json"]
    assert train(*again, "--steps", 3, "--out", tmp_path / "steps") == 0
    assert "after 3 steps" in capsys.readouterr().out
    assert train(*again, "--steps", 2, "--epochs", 1) == 2
