"""A run's directory: its recipe and checkpoints, and whether a training may start, resume or replace a run in it."""

import errno
import json
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from augment.models.weights import HUB_NAME
from augment.record import check_folder_files
from pipelines.base.console import InputError, TwinviewsError, note
from pipelines.base.files import RECORD, read_json, write_if_changed
from pipelines.base.record import claim, output_record, write_record
from trainers.encoders.location import LOG, RECIPE, TIME

DONE, CHECKPOINTS, WEIGHTS, STATE = "modules.json", "checkpoints", "model.safetensors", "trainer_state.json"
LEFTOVERS = (CHECKPOINTS, ".saving-*", ".*.augment.tmp")  # of killed runs, which finished ones do not need
MADE = (*LEFTOVERS, LOG, TIME, "evaluation", "report.html", f"report.html.{RECORD}")
"""What a training, `train evaluate` and `train report` write into a run's directory and its record does not
name."""
DATA = ("views", "text", "words", "graded", "dev", "dev_data")
STARTS = ("encoder", "teacher", "guide")  # what a training begins with
FREE = frozenset({*DATA, "save_every"})
"""Settings that may change when a run is resumed: paths (the data are compared by hash) and what changes no
result."""
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
UNWRITTEN = ("inline_container", "PytorchStreamWriter", "Error while serializing")
"""Parts of the messages with which torch and safetensors report a failed write, in errors other than
OSError."""


def is_finished(out: Path, recipe: Mapping[str, Any], overwrite: bool) -> bool:
    """Whether a directory holds this very run, finished; raises InputError if it holds anything else."""
    claim(out, _plan(recipe), overwrite=overwrite)
    is_done = (out / DONE).is_file() and not overwrite
    if is_done:
        check_folder_files(out, "train it again with --overwrite")
    return is_done


def _plan(recipe: Mapping[str, Any]) -> dict[str, Any]:
    """What may not change when a run is resumed, of its recipe."""
    options = {key: value for key, value in recipe.items() if key not in {"twinviews", *FREE}}
    hashes = {key: value for key, value in recipe["twinviews"].items() if key != "version"}
    return {
        "kind": "training",
        **{f"--{key.replace('_', '-')}": value for key, value in options.items()},
        **hashes,
    }


def without_paths(recipe: Mapping[str, Any]) -> dict[str, Any]:
    """Return a recipe for others to read: of the files and folders of this machine only the names."""

    def named(key: str, value: Any) -> Any:  # noqa: ANN401 - JSON
        if isinstance(value, list):
            return [named(key, part) for part in value]
        if not isinstance(value, str) or (
            key in STARTS and HUB_NAME.fullmatch(value) and not Path(value).exists()
        ):
            return value
        return Path(value).name

    return {key: named(key, value) if key in (*DATA, *STARTS) else value for key, value in recipe.items()}


def begin(out: Path, recipe: Mapping[str, Any]) -> None:
    """Remove an earlier run and write the new one's recipe.

    Raises InputError if the new one begins in the folder.
    """
    # A run that is killed would need it again.
    for start in filter(None, map(recipe.get, STARTS)):
        if Path(start).exists() and Path(start).resolve().is_relative_to(out.resolve()):
            raise InputError(f"{start} is needed for this training and would be removed: give another --out")
    record = None
    with suppress(InputError):  # a damaged one
        record = output_record(out)
    remove(out, [*MADE, *(record.files if record else ())])
    write_record(out, _plan(recipe))
    write_if_changed(out / RECIPE, json.dumps(recipe, indent=2, ensure_ascii=False) + "\n")


def remove(out: Path, patterns: Sequence[str]) -> None:
    """Remove the files and folders that match the patterns; symbolic links are not followed."""
    paths = {path for pattern in patterns for path in out.glob(pattern)}
    # The file that marks a run as finished goes first, in case the removal is interrupted.
    for path in sorted(paths, key=lambda path: path.name != DONE):
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()


@contextmanager
def resumable(out: Path) -> Iterator[None]:
    """Turn the various errors that libraries raise when the disk is full into a TwinviewsError."""
    try:
        yield
    except Exception as error:
        text = str(error)
        if getattr(error, "errno", None) not in FULL and not any(part in text for part in UNWRITTEN):
            raise
        reason = getattr(error, "strerror", None) or text.splitlines()[0]
        raise TwinviewsError(
            f"cannot write all of {out} ({reason}): free space on its disk, then run the same command again"
        ) from error


def newest_checkpoint(out: Path) -> Path | None:
    """The newest intact checkpoint of a run, in all processes; damaged ones are renamed, with a warning."""
    from trainers.processes import is_first, of_first  # they import torch

    intact = []
    for path in checkpoints(out / CHECKPOINTS) if is_first() else ():
        if (
            not (path / RECORD).is_file() or not (path / RECORD).stat().st_size
        ):  # unfinished: it is written last
            shutil.rmtree(path)
            continue
        try:
            check_folder_files(path)
            history_of(path)
            intact.append(path)
        except InputError:
            aside = path.with_name(path.name.replace("checkpoint", "damaged"))
            shutil.rmtree(aside, ignore_errors=True)
            note(f"warning: {path} is damaged: renamed to {path.rename(aside).name}")
    return of_first(intact[0] if intact else None)  # type: ignore[no-any-return]


def checkpoints(folder: Path) -> list[Path]:
    """Return all checkpoints in a folder, intact or not, the newest first."""
    steps = (path.name.removeprefix("checkpoint-") for path in folder.glob("checkpoint-*"))
    return [
        folder / f"checkpoint-{step}" for step in sorted(map(int, filter(str.isdigit, steps)), reverse=True)
    ]


def history_of(checkpoint: Path) -> list[dict[str, float]]:
    """What was logged up to a checkpoint, at last at its own step; raises InputError if that is damaged."""
    try:
        history: list[dict[str, float]] = read_json(checkpoint / STATE)["log_history"]
        float(history[-1]["step"])
    except (LookupError, TypeError):
        raise InputError(
            f"{checkpoint / STATE} has no log_history: remove the checkpoint, or train again"
        ) from None
    return history
