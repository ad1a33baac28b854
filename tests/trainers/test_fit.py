from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from transformers import set_seed

from pipelines.console import TwinviewsError
from trainers.catalogue import load_objective
from trainers.examples import Examples
from trainers.fit import CHECKPOINTS, Rows, fit, make_optimizer, newest_checkpoint
from trainers.objective import Objective
from trainers.pretrained import locate
from trainers.settings import Training, resolve

SMALL = {"batch_size": 8, "max_tokens": 24, "epochs": 2}
EXTRA = {"bsl": {"width": 2, "momentum": 0.9}, "mirror": {"lr": 1e-3}, "mlm": {"lr": 1e-3}}


def prepared(name: str, encoder: Path, texts: list[str], **given: object) -> tuple[Objective, Rows, Training]:
    module = load_objective(name)
    _, training, params = resolve(module.PRESETS, module.PARAMS, None, {**SMALL, **EXTRA[name], **given})
    set_seed(1)
    objective = module.build(params, training, locate(str(encoder)))
    left, right = (texts, texts[1:] + texts[:1]) if name == "bsl" else (texts, texts)
    return objective, Rows(objective.columns(Examples(texts, left, right, 0)), seed=1), training


class Interrupted(Exception):
    pass


def interrupt_at(objective: Objective, last: int) -> None:
    follow = objective.after_step

    def after_step(step: int, total: int) -> None:
        follow(step, total)
        if step == last:
            raise Interrupted

    objective.after_step = after_step  # type: ignore[method-assign]


@pytest.mark.parametrize("name", ["bsl", "mirror", "mlm"])
@pytest.mark.parametrize(("every", "last"), [(4, 7), (6, 7), (5, 12)], ids=["mid-epoch", "epoch's end", "second epoch"])
def test_resumed_training_equals_the_uninterrupted_run_exactly(
    name: str, every: int, last: int, tiny_bert: Path, sentences: list[str], tmp_path: Path
) -> None:
    whole, rows, training = prepared(name, tiny_bert, sentences, save_every=every)
    fit(whole, rows, training, tmp_path / "whole", seed=1)

    broken, rows, training = prepared(name, tiny_bert, sentences, save_every=every)
    interrupt_at(broken, last)
    with pytest.raises(Interrupted):
        fit(broken, rows, training, tmp_path / "broken", seed=1)
    assert newest_checkpoint(tmp_path / "broken").name == f"checkpoint-{(last - 1) // every * every}"

    resumed, rows, training = prepared(name, tiny_bert, sentences, save_every=every)
    torch.manual_seed(12345)
    fitted = fit(resumed, rows, training, tmp_path / "broken", seed=1)
    assert fitted.steps == 12
    expected, found = whole.state_dict(), resumed.state_dict()
    assert expected.keys() == found.keys()
    differing = [key for key in expected if not torch.equal(expected[key], found[key])]
    assert differing == []
    logs = [
        [json.loads(line) for line in (tmp_path / run / "log.jsonl").read_text().splitlines()]
        for run in ("whole", "broken")
    ]
    assert logs[0] == logs[1]
    assert [entry["step"] for entry in logs[0]] == list(range(1, 13))


def test_training_moves_the_encoder_and_depends_on_the_seed(
    tiny_bert: Path, sentences: list[str], tmp_path: Path
) -> None:
    states = []
    for seed in (1, 1, 2):
        objective, rows, training = prepared("mirror", tiny_bert, sentences)
        fit(objective, rows, training, tmp_path / f"{len(states)}", seed=seed)
        states.append(objective.encoder.model.embeddings.word_embeddings.weight.detach())
    fresh = prepared("mirror", tiny_bert, sentences)[0].encoder.model.embeddings.word_embeddings.weight
    assert torch.equal(states[0], states[1])
    assert not torch.equal(states[0], states[2])
    assert not torch.equal(states[0], fresh)


def test_masks_are_drawn_anew_in_every_epoch(tiny_bert: Path, sentences: list[str], tmp_path: Path) -> None:
    objective, rows, training = prepared("mlm", tiny_bert, sentences)
    first = objective.collate([rows[row] for row in range(12)])["labels"].tolist()
    fit(objective, rows, training, tmp_path, seed=1)
    assert rows.epoch == 1
    assert objective.collate([rows[row] for row in range(12)])["labels"].tolist() != first
    rows.epoch = 0
    assert objective.collate([rows[row] for row in range(12)])["labels"].tolist() == first


@pytest.mark.parametrize("name", ["bsl", "mirror", "mlm"])
def test_rows_can_be_grouped_by_length(name: str, tiny_bert: Path, sentences: list[str], tmp_path: Path) -> None:
    objective, rows, training = prepared(name, tiny_bert, sentences, group_by_length=True)
    sides = 2 if name == "bsl" else 1
    assert rows.lengths()[0] >= sides * 4
    assert fit(objective, rows, training, tmp_path, seed=1).steps == 12


@pytest.mark.parametrize(("momentum", "follows"), [(0.0, True), (1.0, False)])
def test_target_follows_once_per_optimiser_step_under_accumulation(
    momentum: float, follows: bool, tiny_bert: Path, sentences: list[str], tmp_path: Path
) -> None:
    objective, rows, training = prepared("bsl", tiny_bert, sentences, momentum=momentum, accumulate=4)
    start = objective.target.model.embeddings.word_embeddings.weight.clone()
    steps: list[tuple[int, int]] = []
    follow = objective.after_step
    objective.after_step = lambda step, total: (steps.append((step, total)), follow(step, total))  # type: ignore
    fit(objective, rows, training, tmp_path, seed=1)
    assert steps == [(1, 4), (2, 4), (3, 4), (4, 4)], "six batches an epoch in steps of four and two"
    target = objective.target.model.embeddings.word_embeddings.weight
    online = objective.encoder.model.embeddings.word_embeddings.weight
    assert torch.equal(target, online) is follows
    assert torch.equal(target, start) is not follows


@pytest.mark.parametrize("decay_all", [True, False])
def test_optimiser_holds_no_target_and_decays_what_it_should(
    tiny_bert: Path, sentences: list[str], decay_all: bool
) -> None:
    objective, _, training = prepared("bsl", tiny_bert, sentences, weight_decay=0.01, decay_all=decay_all)
    groups = make_optimizer(objective, training).param_groups
    held = {id(parameter): group["weight_decay"] for group in groups for parameter in group["params"]}
    assert not held.keys() & {id(parameter) for parameter in objective.target.parameters()}
    for name, parameter in objective.named_parameters():
        if parameter.requires_grad:
            assert held[id(parameter)] == (0.01 if decay_all or parameter.dim() > 1 else 0.0), name


def test_checkpoint_holds_shared_tensors_once_and_loads_them_back(
    tiny_bert: Path, sentences: list[str], tmp_path: Path
) -> None:
    from safetensors import safe_open

    objective, rows, training = prepared("mlm", tiny_bert, sentences, save_every=5)
    fit(objective, rows, training, tmp_path, seed=1)
    checkpoint = newest_checkpoint(tmp_path)
    with safe_open(checkpoint / "model.safetensors", "pt") as file:
        names = set(file.keys())
    assert "encoder.model.embeddings.word_embeddings.weight" in names
    assert not any(name.startswith("masked_lm.bert.") or name.endswith("decoder.weight") for name in names)
    other, _, _ = prepared("mlm", tiny_bert, sentences)
    report = other.load_state_dict(objective.state_dict())
    assert not report.missing_keys
    decoder = other.masked_lm.get_output_embeddings().weight
    assert torch.equal(decoder, objective.encoder.model.get_input_embeddings().weight)


def test_half_written_checkpoint_is_passed_over(tmp_path: Path) -> None:
    for step in (5, 10):
        folder = tmp_path / CHECKPOINTS / f"checkpoint-{step}"
        folder.mkdir(parents=True)
        (folder / "model.safetensors").write_bytes(b"")
    (tmp_path / CHECKPOINTS / "checkpoint-5" / "trainer_state.json").write_text("{}")
    assert newest_checkpoint(tmp_path).name == "checkpoint-5"
    assert newest_checkpoint(tmp_path / "nowhere") is None


def test_loss_that_is_no_number_stops_with_one_line(tiny_bert: Path, sentences: list[str], tmp_path: Path) -> None:
    objective, rows, training = prepared("mirror", tiny_bert, sentences)
    with torch.no_grad():
        objective.encoder.model.embeddings.LayerNorm.bias.fill_(float("nan"))
    with pytest.raises(TwinviewsError, match=r"the loss became nan after 0 steps: lower --lr"):
        fit(objective, rows, training, tmp_path, seed=1)


def test_collapse_is_said_once(
    tiny_bert: Path, sentences: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    objective, rows, training = prepared("mirror", tiny_bert, sentences)
    with torch.no_grad():
        objective.encoder.model.encoder.layer[-1].output.LayerNorm.weight.fill_(1e-3)
        objective.encoder.model.encoder.layer[-1].output.LayerNorm.bias.fill_(1.0)
    fit(objective, rows, training, tmp_path, seed=1)
    captured = capsys.readouterr()
    assert captured.err.count("the encoder collapses") == 1
    assert captured.out == ""
