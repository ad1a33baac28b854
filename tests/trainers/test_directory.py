"""A run's folder: what may be replaced, what is left alone, and what a full disk or Ctrl-C leaves in it."""

import json
import os
import resource
import signal
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import small_trainings
from small_trainings import Capsys, error_line

from augment.record import read_record
from pipelines.base.files import LOCK, RECORD, locked_folder
from pipelines.base.interrupt import MESSAGE
from trainers.objective import Objective
from trainers.training.directory import RECIPE
from trainers.training.fit import ObjectiveTrainer

Train = Callable[..., int]
SAVING = ("--batch-size", 8, "--epochs", 2, "--save-every", 2, "--out")


@pytest.fixture(scope="module")
def train(text_file: Path, tiny_bert: Path) -> Train:
    given = ["mirror", "--text", text_file, "--encoder", tiny_bert, "--batch-size", 16, "--max-tokens", 24]
    return partial(small_trainings.train, *given)


def files(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()
    }


FOREIGN = {
    "sentences": {"command": "ingest", "twinviews": "0.1.0", "source": ["a.txt"]},
    "a list": [1, 2],
    "a translation model's run": {"vocabulary_from": None, "batch_tokens": 9, "text": "0", "pairs": 1},
}


@pytest.mark.parametrize("flags", [["--overwrite"], []])
@pytest.mark.parametrize("recipe", FOREIGN.values(), ids=FOREIGN)
def test_foreign_folder_is_left_alone(
    recipe: object, flags: list[str], train: Train, tmp_path: Path, capsys: Capsys
) -> None:
    (tmp_path / RECIPE).write_text(json.dumps(recipe))
    (tmp_path / "data-00000.arrow").write_text("a year of sentences")
    before = files(tmp_path)
    assert train("--out", tmp_path, *flags) == 2
    assert "and no record.json, so it is not ours: choose another --out" in error_line(capsys)
    assert files(tmp_path) == before


def test_overwriting_removes_what_the_run_made_and_nothing_else(train: Train, tmp_path: Path) -> None:
    run, link = tmp_path / "run", tmp_path / "link"
    assert train("--out", run) == 0
    made = set(files(run))
    (run / "notes.txt").write_text("mine")
    (run / "2_thesis").mkdir()
    (run / "2_thesis" / "thesis.tex").write_text("mine")
    (tmp_path / "scores").mkdir()
    (tmp_path / "scores" / "sts.json").write_text("elsewhere")
    (run / "evaluation").symlink_to(tmp_path / "scores")
    (run / "1_Pooling" / "stale.txt").write_text("of the run before")
    link.symlink_to(run)
    assert train("--out", link, "--overwrite", "--lr", 1e-3) == 0
    assert set(files(run)) == made | {"notes.txt", "2_thesis/thesis.tex"}
    assert json.loads((run / RECIPE).read_text())["lr"] == 1e-3
    assert link.is_symlink()
    assert (tmp_path / "scores" / "sts.json").read_text() == "elsewhere"
    assert not (run / "evaluation").exists()


def test_what_a_training_begins_with_is_not_overwritten(train: Train, tmp_path: Path, capsys: Capsys) -> None:
    run = tmp_path / "run"
    assert train("--out", run) == 0
    before = files(run)
    capsys.readouterr()
    assert train("--encoder", run, "--out", tmp_path / "run" / ".." / "run", "--overwrite") == 2
    said = error_line(capsys)
    assert f"error: {run} is needed for this training and would be removed: give another --out" in said
    assert files(run) == before


def test_run_cut_off_before_its_recipe_can_start(train: Train, tmp_path: Path) -> None:
    (tmp_path / f".{RECIPE}.1.augment.tmp").write_text('{"comm')
    (tmp_path / LOCK).write_text('{"pid": 1')
    assert train("--out", tmp_path) == 0
    record = read_record(tmp_path / RECORD)
    assert record is not None
    assert files(tmp_path).keys() == record.files.keys() | {RECORD}
    assert not list(tmp_path.glob(".*"))


def test_second_training_is_refused(train: Train, tmp_path: Path, capsys: Capsys) -> None:
    with locked_folder(tmp_path / "run"):
        assert train("--out", tmp_path / "run", "--overwrite") == 2
    assert f"run is being written by another process (pid {os.getpid()}: " in error_line(capsys)


def test_leftovers_of_a_killed_run_are_cleared_by_the_same_command(train: Train, tmp_path: Path) -> None:
    assert train("--out", tmp_path) == 0
    whole = files(tmp_path)
    (tmp_path / "modules.json").unlink()
    for name in (".saving-x/whole", "checkpoints/checkpoint-3"):
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / "model.safetensors").write_text("half")
    assert train("--out", tmp_path) == 0
    assert files(tmp_path).keys() == whole.keys()
    assert (tmp_path / "model.safetensors").read_bytes() == whole["model.safetensors"]
    (tmp_path / "checkpoints/checkpoint-3").mkdir(parents=True)  # killed after its last file was written
    assert train("--out", tmp_path) == 0
    assert not (tmp_path / "checkpoints").exists()


@pytest.fixture(scope="module")
def whole(train: Train, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("whole") / "run"
    assert train(*SAVING, out) == 0
    return out


def check_goes_on(train: Train, out: Path, whole: Path) -> None:
    assert not (out / "modules.json").exists()
    assert train(*SAVING, out) == 0
    for name in ("model.safetensors", "log.jsonl"):
        assert (out / name).read_bytes() == (whole / name).read_bytes()
    assert sorted(os.listdir(out)) == sorted(os.listdir(whole))


# The recipe has some 1 kB, the weights 31; the optimiser's state, which is saved after them, twice that.
SIZES = {"the recipe": 500, "the weights": 20_000, "the optimiser": 45_000}


@pytest.mark.parametrize("size", SIZES.values(), ids=SIZES)
def test_full_disk(size: int, train: Train, whole: Path, tmp_path: Path, capsys: Capsys) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        assert train(*SAVING, tmp_path / "full") == 1
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    error = error_line(capsys)
    assert error.startswith("error: ")
    assert str(tmp_path / "full") in error
    assert error.endswith("then run the same command again\n")
    check_goes_on(train, tmp_path / "full", whole)


class Finalised:
    """Python swallows what a finaliser raises."""

    def __del__(self) -> None:
        signal.raise_signal(signal.SIGINT)


MOMENTS = {
    "a step": (ObjectiveTrainer, "compute_loss"),
    "a finaliser": (ObjectiveTrainer, "compute_loss"),
    "a checkpoint": (ObjectiveTrainer, "_save_checkpoint"),
    "the result": (Objective, "save"),
}


@pytest.mark.exhaustive
@pytest.mark.parametrize("moment", MOMENTS)
def test_interrupted_run_is_resumed_exactly(
    moment: str,
    train: Train,
    whole: Path,
    tmp_path: Path,
    capsys: Capsys,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
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
            assert train(*SAVING, tmp_path / "cut") == 130
    finally:
        signal.signal(signal.SIGINT, before)
    assert capsys.readouterr().err == f"{MESSAGE}\n"
    check_goes_on(train, tmp_path / "cut", whole)
