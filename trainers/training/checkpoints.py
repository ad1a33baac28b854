"""Checkpoints of a run: the newest complete one, and the step it was written at."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from zipfile import BadZipFile, ZipFile

from safetensors import SafetensorError, safe_open
from torch import nn
from transformers.trainer_utils import PREFIX_CHECKPOINT_DIR

from pipelines.console import InputError, note
from trainers.processes import is_first, of_first

CHECKPOINTS = "checkpoints"
WEIGHTS = "model.safetensors"
STATE = "trainer_state.json"


def newest_checkpoint(out: Path) -> Path | None:
    """Return the newest sound checkpoint under a run's directory, in all processes.

    Incomplete ones, left by a crash, are removed; damaged ones are renamed, with a warning.
    """
    return of_first(_newest(out / CHECKPOINTS) if is_first() else None)  # type: ignore[no-any-return]


def _newest(folder: Path) -> Path | None:
    sound, damaged = [], []
    for path in sorted(checkpoints(folder), key=step_of):
        # Trainer writes its state last.
        if not (path / STATE).exists():
            shutil.rmtree(path)
        elif (broken := _damaged_file(path)) is None:
            sound.append(path)
        else:
            aside = path.with_name(f"damaged-{step_of(path)}")
            shutil.rmtree(aside, ignore_errors=True)
            damaged.append(path.rename(aside))
            note(f"warning: {path} is damaged ({broken} cannot be read): renamed to {aside.name}")
    if damaged and not sound:
        note("warning: there is no other checkpoint: the training starts over")
    return sound[-1] if sound else None


def _damaged_file(checkpoint: Path) -> str | None:
    """Return the name of a file that is missing, empty or cut short, None where all are whole."""
    generators = sorted(path.name for path in checkpoint.glob("rng_state*.pth")) or ["rng_state.pth"]
    for name in (STATE, WEIGHTS, "optimizer.pt", "scheduler.pt", *generators):
        file = checkpoint / name
        try:
            if name == STATE:
                history_of(checkpoint)
            elif name == WEIGHTS:
                with safe_open(file, "pt"):
                    pass
            else:
                ZipFile(file).close()
        except (OSError, ValueError, LookupError, TypeError, SafetensorError, BadZipFile):
            return name
    return None


def check_checkpoint(checkpoint: Path | None, objective: nn.Module) -> None:
    """Refuse a checkpoint that does not hold an objective's tensors: Trainer would load what fits and say nothing.

    Raises:
        InputError: It is of a version of Twinviews that named them otherwise.
    """
    if checkpoint is None:
        return
    with safe_open(checkpoint / WEIGHTS, "pt") as file:
        if set(file.keys()) != set(objective.state_dict()):
            raise InputError(
                f"{checkpoint} was written by another version of Twinviews: finish the run with that one, or begin "
                "again with --overwrite"
            )


def checkpoints(folder: Path) -> list[Path]:
    """Return the checkpoints of a folder, whatever state they are in."""
    return [path for path in folder.glob(f"{PREFIX_CHECKPOINT_DIR}-*") if path.name.rsplit("-", 1)[1].isdigit()]


def history_of(checkpoint: Path) -> list[dict[str, float]]:
    """Return what had been logged when a checkpoint was written."""
    history: list[dict[str, float]] = json.loads((checkpoint / STATE).read_text(encoding="utf-8"))["log_history"]
    return history


def step_of(checkpoint: Path | None) -> int:
    """Return the optimiser step of a checkpoint, 0 for none."""
    return int(checkpoint.name.rsplit("-", 1)[1]) if checkpoint else 0
