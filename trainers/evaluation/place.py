"""Where an evaluation's results go, so that those of other settings are not overwritten."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from pipelines.console import InputError, note


def beside(model: str, directory: Path | None, ways: Sequence[str] = ()) -> Path:
    """Return `evaluation/` in the model's own directory; what is no directory of the user's gets one below `runs/`.

    Another pooling, a whitening or a flow makes another encoder of a model: its scores get a folder of their own in it,
    named by `ways`.
    """
    if directory is not None and Path(model).expanduser().is_dir():
        folder = directory / "evaluation"
    else:
        folder = Path("runs") / _folder_name(model) / "evaluation"
    return folder / "-".join(map(_folder_name, ways))


def apart(folder: Path, suites: Iterable[str], settings: Mapping[str, object]) -> Path:
    """Return the folder, or one in it that is named by all settings where it holds results of others.

    Args:
        folder: Where results would go.
        suites: What is evaluated.
        settings: All that tell scores apart, by the names that they have in the results.
    """
    for suite in suites:
        path = folder / f"{suite}.json"
        before = _settings(path)
        key = next((key for key in settings if before is not None and before.get(key) != settings[key]), None)
        if before is not None and key is not None:
            given = [f"{name.replace('_', '-')}-{value}" for name, value in settings.items() if value is not None]
            own = folder / "-".join(map(_folder_name, given))
            note(f"{path} is kept ({key.replace('_', '-')}: {before.get(key)}, here {settings[key]}): see {own}")
            return own
    return folder


def prepare(directory: Path) -> Path:
    """Make the folder.

    Raises:
        InputError: It cannot be made, or not be written into.
    """
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(
            f"cannot make the folder {str(directory)!r} ({error.strerror}): give another with --out"
        ) from None
    if not os.access(directory, os.W_OK):
        raise InputError(f"cannot write into {str(directory)!r}: give another folder with --out")
    return directory


def _settings(path: Path) -> dict[str, Any] | None:
    """Return what results were made with; None without any, or if they are damaged."""
    if not path.is_file():
        return None
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
        return {**values["settings"], "seed": values["seed"], "model": values["model"]["name"]}
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        note(f"{path} is damaged: it is written anew")
        return None


def _folder_name(text: str) -> str:
    return re.sub(r"[^\w.-]+", "--", text).strip("-.")
