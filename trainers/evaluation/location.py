"""Where a model that a user names lies, and whether it can be loaded and run there."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pipelines.console import InputError
from trainers.encoders.location import PICKLE, STARTER, starter_folder
from trainers.evaluation.hub import first_line


def usable(device: str) -> str | None:
    """Return the device to ask for, None for the library's own choice.

    Raises:
        InputError: There is no such device here.
    """
    if device == "auto":
        return None
    import torch

    try:
        torch.empty(1, device=device)
    except (RuntimeError, AssertionError) as error:
        raise InputError(f"--device {device} cannot be used here ({first_line(error)}): take auto or cpu") from None
    return device


def locate(name: str) -> tuple[Path | None, str]:
    """Return the model's directory, if it is one, and what to load.

    Raises:
        InputError: The name can be no Hub name, and is no directory.
    """
    path = Path(name).expanduser()
    if path.is_dir():
        return path, str(path)
    if name == STARTER:
        bundled = starter_folder()
        return bundled, str(bundled)
    # What cannot be a Hub name, or is a mistyped run of ours, is not looked up there.
    if path.is_file() or name.startswith(("/", ".", "~", "runs/")) or name.count("/") > 1:
        raise InputError(f"no model directory {name!r}: give a directory that holds one, or a Hub name")
    return None, name


def check_directory(directory: Path) -> None:
    """Raise unless a directory holds a model whose weights can be read without running code.

    Raises:
        InputError: It has no configuration, no weights, or those of a module after the transformer in a pickle.
    """
    if not (directory / "modules.json").exists() and not (directory / "config.json").exists():
        raise InputError(f"{directory} holds no model (no modules.json, no config.json): give the directory of one")
    if not any(directory.rglob("*.safetensors")) and not (directory / PICKLE).is_file():
        raise InputError(f"{directory} has neither *.safetensors nor {PICKLE}: give the directory of a whole model")
    modules = [path for path in sorted(directory.glob("*/*.bin")) if not any(path.parent.glob("*.safetensors"))]
    if modules and (directory / "modules.json").exists():
        raise InputError(f"{modules[0]} is no safetensors file: weights are read from safetensors only")


def check_vocabulary(tokenizer: Any, name: str) -> None:  # noqa: ANN401 - of whatever kind the model has
    """Raise unless a model's tokenizer knows any words.

    Raises:
        InputError: It has special tokens alone, as one whose files were not found.
    """
    if callable(tokenizer) and len(tokenizer) <= len(tokenizer.all_special_tokens):
        raise InputError(f"{name} has no vocabulary: its tokenizer's files (tokenizer.json, vocab.txt) are missing")
