from itertools import product
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import save_file
from small_trainings import Capsys, Interrupted, check_same, prepared, read_log, train, trained

from augment.record import record_folder
from pipelines.base.console import TwinviewsError
from trainers.settings import objective_names
from trainers.training.directory import CHECKPOINTS, checkpoints, newest_checkpoint
from trainers.training.fit import collapse, fit, make_optimizer

EXHAUSTIVE = pytest.mark.exhaustive
POWER_CUTS: dict[str, tuple[dict[str, Any], int, int]] = {
    "mid-epoch": ({"save_every": 4}, 7, 4),
    "epoch's end": ({"save_every": 6}, 7, 6),
    "second epoch": ({"save_every": 5}, 12, 10),
    "accumulated": ({"save_every": 3, "accumulate": 2, "epochs": 4}, 8, 6),
    "grouped": ({"save_every": 4, "group_by_length": True}, 9, 8),
}


# What an objective keeps is in its checkpoint wherever it is cut; where that may be, one objective shows.
@pytest.mark.parametrize(
    ("name", "cut"),
    [
        ("bsl", "second epoch"),
        *(pytest.param(name, "second epoch", marks=EXHAUSTIVE) for name in objective_names() if name != "bsl"),
        *(pytest.param("bsl", cut, marks=EXHAUSTIVE) for cut in POWER_CUTS if cut != "second epoch"),
    ],
)
def test_resumed_training_equals_the_uninterrupted_run_exactly(
    name: str, cut: str, tiny_bert: Path, sentences: list[str], tmp_path: Path
) -> None:
    given, last, kept = POWER_CUTS[cut]
    whole, _ = trained(name, tiny_bert, sentences, tmp_path / "whole", **given)
    with pytest.raises(Interrupted):
        trained(name, tiny_bert, sentences, tmp_path / "broken", last=last, **given)
    assert newest_checkpoint(tmp_path / "broken").name == f"checkpoint-{kept}"
    resumed, fitted = trained(name, tiny_bert, sentences, tmp_path / "broken", **given)
    assert fitted.steps == 12
    check_same(whole, resumed)
    log = read_log(tmp_path / "whole")
    assert log == read_log(tmp_path / "broken")
    assert [entry["step"] for entry in log] == list(range(1, 13))
    for entry in log:
        assert {"loss", "grad_norm", "spread", "uniformity", "random_cosine", "isotropy"} <= entry.keys()
        assert ("alignment" in entry) is whole.paired


def test_training_resumes_from_an_older_checkpoint_if_a_bit_of_the_weights_has_flipped(
    tiny_bert: Path, sentences: list[str], tmp_path: Path, capsys: Capsys
) -> None:
    given, last, _ = POWER_CUTS["second epoch"]
    whole, _ = trained("mirror", tiny_bert, sentences, tmp_path / "whole", **given)
    with pytest.raises(Interrupted):
        trained("mirror", tiny_bert, sentences, tmp_path / "broken", last=last, **given)
    weights = tmp_path / "broken" / CHECKPOINTS / "checkpoint-10" / "model.safetensors"
    content = bytearray(weights.read_bytes())
    content[-1] ^= 1
    weights.write_bytes(content)
    resumed, _ = trained("mirror", tiny_bert, sentences, tmp_path / "broken", **given)
    assert f"warning: {weights.parent} is damaged: renamed to damaged-10\n" in capsys.readouterr().err
    check_same(whole, resumed)


@pytest.mark.parametrize(("momentum", "follows"), [(0.0, True), (1.0, False)])
def test_target_of_bsl(
    momentum: float, follows: bool, tiny_bert: Path, sentences: list[str], tmp_path: Path
) -> None:
    objective, rows, _ = prepared("bsl", tiny_bert, sentences, momentum=momentum, accumulate=4)
    start = objective.target[0].model.embeddings.word_embeddings.weight.clone()
    steps: list[tuple[int, int]] = []
    follow = objective.after_step
    objective.after_step = lambda step, total: (steps.append((step, total)), follow(step, total))  # type: ignore
    fit(objective, rows, tmp_path, seed=1)
    assert rows.epoch == 1, "so that each epoch draws other masks"
    assert steps == [(1, 4), (2, 4), (3, 4), (4, 4)], "six batches an epoch in steps of four and two"
    target = objective.target[0].model.embeddings.word_embeddings.weight
    online = objective.encoder[0].model.embeddings.word_embeddings.weight
    assert torch.equal(target, online) is follows
    assert torch.equal(target, start) is not follows


@pytest.mark.parametrize("decay_all", [True, False])
def test_optimiser_s_groups(tiny_bert: Path, sentences: list[str], decay_all: bool) -> None:
    given = {"weight_decay": 0.01, "decay_all": decay_all, "lr": 1e-3, "predictor_lr": 3.0}
    objective, _, _ = prepared("bsl", tiny_bert, sentences, **given)
    groups = make_optimizer(objective).param_groups
    held = {id(parameter): group for group in groups for parameter in group["params"]}
    assert not held.keys() & {id(parameter) for parameter in objective.target.parameters()}
    for name, parameter in objective.named_parameters():
        if parameter.requires_grad:
            group, rate = held[id(parameter)], 3.0 if name.startswith("predictor.") else 1.0
            assert group["weight_decay"] == (0.01 if decay_all or parameter.dim() > 1 else 0.0), name
            assert group["lr"] == pytest.approx(1e-3 * rate), name


FILES = ("trainer_state.json", "model.safetensors", "optimizer.pt", "scheduler.pt", "rng_state.pth")


@pytest.mark.parametrize(
    ("name", "size"),
    [
        *product(FILES, ["empty", "half", "missing"]),
        *((name, "flipped") for name in FILES[1:]),
        *((FILES[0], state) for state in ("{}", "[]", "null", '{"log_history": 3}', '{"log_history": [5]}')),
    ],
)
def test_damaged_checkpoint_is_put_aside_and_the_older_one_taken(
    name: str, size: str, tmp_path: Path, capsys: Capsys
) -> None:
    folder = tmp_path / CHECKPOINTS
    for step in (5, 10, 15):
        (folder / f"checkpoint-{step}").mkdir(parents=True)
        (folder / f"checkpoint-{step}" / FILES[0]).write_text('{"log_history": [{"step": 5}]}')
        save_file({"weight": torch.zeros(9)}, folder / f"checkpoint-{step}" / FILES[1])
        for file in FILES[2:]:
            torch.save({"state": torch.zeros(9)}, folder / f"checkpoint-{step}" / file)
        if step > 5:  # the first one was left by a crash
            record_folder(folder / f"checkpoint-{step}")
    file = folder / "checkpoint-15" / name
    whole = file.read_bytes()
    file.unlink()
    if size == "flipped":
        at = whole.index(bytes(36))  # the nine zeros
        file.write_bytes(whole[:at] + b"\1" + whole[at + 1 :])
    elif name == FILES[0] and size not in ("empty", "half", "missing"):  # whole by its hash
        file.write_text(size)
        record_folder(file.parent)
    elif size != "missing":
        file.write_bytes(whole[: len(whole) // 2] if size == "half" else b"")
    for _ in range(2):
        assert newest_checkpoint(tmp_path).name == "checkpoint-10"
    assert checkpoints(folder) == [folder / "checkpoint-10"]
    assert (
        capsys.readouterr().err == f"warning: {folder / 'checkpoint-15'} is damaged: renamed to damaged-15\n"
    )


def test_loss_that_is_not_a_number_stops_with_one_line(
    tiny_bert: Path, sentences: list[str], tmp_path: Path
) -> None:
    objective, rows, _ = prepared("mirror", tiny_bert, sentences)
    with torch.no_grad():
        objective.encoder[0].model.embeddings.LayerNorm.bias.fill_(float("nan"))
    with pytest.raises(TwinviewsError, match=r"the loss became nan by step 1: lower --lr"):
        fit(objective, rows, tmp_path, seed=1)


def test_weights_that_the_last_step_spoils_are_not_kept(
    tiny_bert: Path, sentences: list[str], tmp_path: Path
) -> None:
    objective, rows, _ = prepared("mirror", tiny_bert, sentences, epochs=0.1, lr=1000, weight_decay=1e38)
    with pytest.raises(TwinviewsError, match=r"weights became NaN or infinite by step 1: lower --lr \(1000\)"):
        fit(objective, rows, tmp_path, seed=1)


@pytest.mark.parametrize(
    ("entry", "start", "said"),
    [
        ({"spread": 0.049}, None, "spread 0.049"),
        ({"spread": 0.051}, None, None),
        ({"dev": 59.9}, 65.0, "dev score 59.90, before the training it was 65.00"),
        ({"dev": 60.1}, 65.0, None),
        ({"dev": 1.0}, None, None),
        ({"spread": 0.5, "loss": 1.0}, 65.0, None),
    ],
)
def test_signs_of_collapse(entry: dict[str, float], start: float | None, said: str | None) -> None:
    found = collapse(entry, start)
    assert found is None if said is None else said in (found or "")


def test_collapse_is_reported_once(
    tiny_bert: Path, sentences: list[str], tmp_path: Path, capsys: Capsys
) -> None:
    objective, rows, _ = prepared("mirror", tiny_bert, sentences, epochs=0.5)
    with torch.no_grad():
        objective.encoder[0].model.encoder.layer[-1].output.LayerNorm.weight.fill_(1e-3)
        objective.encoder[0].model.encoder.layer[-1].output.LayerNorm.bias.fill_(1.0)
    fit(objective, rows, tmp_path, seed=1)
    said = capsys.readouterr().err
    assert said.count("warning: the encoder collapses: spread 0.0") == said.count("warning") == 1


def test_a_total_collapse_is_said_of_the_saved_encoder(
    text_file: Path, tiny_bert: Path, tmp_path: Path, capsys: Capsys
) -> None:
    """In training, dropout keeps the vectors apart, so that the spread does not show it."""
    options = ["--text", text_file, "--encoder", tiny_bert, "--batch-size", "16", "--max-tokens", "16"]
    small = ["--preset", "simcse", *options, "--precision", "fp32", "--steps", "12"]
    assert train("contrastive", *small, "--lr", "0.5", "--out", tmp_path / "high") == 0
    said = capsys.readouterr().err
    assert "warning: the encoder has collapsed: 48 different texts all have nearly the same vector" in said
    assert "is that of guessing among 16 texts: lower --lr" in said
    assert train("contrastive", *small, "--lr", "1e-4", "--out", tmp_path / "low") == 0
    assert "warning" not in capsys.readouterr().err


def test_a_total_collapse_of_a_masked_language_model_is_said(
    text_file: Path, tiny_bert: Path, capsys: Capsys
) -> None:
    options = ["mlm", "--text", text_file, "--encoder", tiny_bert, "--batch-size", "16", "--max-tokens", "16"]
    for lr, count in (("0.5", 1), ("1e-4", 0)):
        assert train(*options, "--precision", "fp32", "--steps", "12", "--lr", lr, "--out", lr) == 0
        assert capsys.readouterr().err.count("the encoder has collapsed") == count


def test_some_texts_that_are_alike_are_no_collapse(
    sentences: list[str], tiny_bert: Path, capsys: Capsys
) -> None:
    """Texts are measured from all over the data, however it begins."""
    alike = ["a dog", "A dog", "a  dog", *["a dog"] * 100]
    Path("alike.txt").write_text("\n".join([*alike, *sentences]), encoding="utf-8")
    options = ["--encoder", tiny_bert, "--batch-size", "16", "--max-tokens", "16", "--steps", "1"]
    assert train("mirror", "--text", "alike.txt", *options) == 0
    assert "collapsed" not in capsys.readouterr().err
