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

    Other settings than the usual ones make other scores of a model: these get a folder of their own in it, named by
    `ways`.
    """
    if directory is not None and Path(model).expanduser().is_dir():
        folder = directory / "evaluation"
    else:
        folder = Path("runs") / _folder_name(model) / "evaluation"
    return folder / "-".join(map(_folder_name, ways))


def within(out: Path, model: str, ways: Sequence[str], suites: Iterable[str], settings: Mapping[str, object]) -> Path:
    """Return `out`, or a folder in it named by model and `ways` where results of another model or other settings are.

    Args:
        out: The folder that was asked for.
        model: As it was named.
        ways: The settings that are not the usual ones, as names.
        suites: What is evaluated.
        settings: All that tell scores apart, by the names that they have in the results.
    """
    now = {"model": model, **settings}
    for suite in suites:
        path = out / f"{suite}.json"
        before = _settings(path)
        key = next((key for key in now if before is not None and before.get(key) != now[key]), None)
        if before is not None and key is not None:
            own = out / "-".join(map(_folder_name, (model, *ways)))
            note(f"{path} is kept: its {key.replace('_', '-')} is {before.get(key)}, here {now[key]}; written to {own}")
            return own
    return out


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
