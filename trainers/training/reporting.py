"""Where a training's log goes besides its own file: TensorBoard, Weights & Biases or Trackio."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

from transformers import TrainerCallback

from pipelines.console import InputError
from trainers.processes import is_first

PROJECT = "twinviews"


def check_reporting(name: str) -> None:
    """Refuse a `--report-to` whose package is missing, with the line that installs it."""
    if name != "none" and find_spec(name) is None:
        raise InputError(f"--report-to {name} needs its package: pip install {name}")


@contextmanager
def reporting(name: str, out: Path) -> Iterator[list[TrainerCallback]]:
    """Yield what Trainer hands the log to: nothing for "none", and nothing in any process but the first.

    TensorBoard's files go to `out/tensorboard`; the others take their settings from their own environment variables
    (WANDB_PROJECT, WANDB_MODE, TRACKIO_PROJECT), their project's name being `twinviews` where there are none.

    Raises:
        InputError: The package is not installed.
    """
    check_reporting(name)
    if name == "none" or not is_first():
        yield []
        return
    from transformers import integrations

    if name == "tensorboard":
        from torch.utils.tensorboard import SummaryWriter

        with SummaryWriter(str(out / "tensorboard")) as writer:
            yield [integrations.TensorBoardCallback(writer)]
    elif name == "wandb":
        os.environ.setdefault("WANDB_PROJECT", PROJECT)
        try:
            yield [integrations.WandbCallback()]
        finally:
            # The next training of this process is a run of its own.
            import_module("wandb").finish()
    else:
        yield [integrations.TrackioCallback()]
