"""A run's directory: its recipe, whether it may be made, resumed, replaced or left alone, and a disk that is full."""

from __future__ import annotations

import errno
import json
import os
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pipelines.console import InputError, TwinviewsError
from pipelines.lock import LOCK, locked_folder

RECIPE = "recipe.json"
DONE = "modules.json"
DRAFT = f"{RECIPE}.tmp"
SAVING = ".saving-*"
LEFTOVERS = ("checkpoints", SAVING, DRAFT)
"""What a killed run leaves behind and a finished one does not need."""
_MODULES = ("CNN", "Dense", "Dropout", "LayerNorm", "Normalize", "Pooling", "WeightedLayerPooling", "WordWeights")
MADE = (
    *LEFTOVERS, "log.jsonl", "tensorboard", "evaluation", "README.md", "config.json",
    "config_sentence_transformers.json", "generation_config.json", "modules.json", "sentence_bert_config.json",
    "model.safetensors", "model-*-of-*.safetensors", "model.safetensors.index.json", "tokenizer.json",
    "tokenizer_config.json", "tokenizer.model", "special_tokens_map.json", "added_tokens.json", "vocab.txt",
    "vocab.json", "merges.txt", "spiece.model", "sentencepiece.bpe.model", "chat_template.jinja",
    *(f"[1-9]_{kind}" for kind in _MODULES),
)  # fmt: skip
"""All that a training and `train evaluate` write into a run's directory; `--overwrite` removes nothing else."""
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
UNWRITTEN = ("inline_container", "PytorchStreamWriter", "Error while serializing")
"""Parts of the messages with which torch and safetensors report a failed write, in errors other than OSError."""
# What may change when a run is resumed: the paths of the data (its content is compared), how often it is saved, where
# it logs to, and what has no effect on the result.
FREE = frozenset(
    {
        "views", "text", "words", "graded", "dev", "dev_data", "save_every", "report_to", "gradient_checkpointing",
        "stop_on_collapse",
    }
)  # fmt: skip


def is_finished(out: Path, recipe: Mapping[str, Any], *, overwrite: bool, resume: bool) -> bool:
    """Check that a run's directory may be used, and return whether this very run is there, finished.

    Nothing is written yet, since the training may still turn out to be impossible; only leftovers of a finished run are
    removed.

    Raises:
        InputError: The directory holds something else, a run of another recipe, or one that another process is
            writing; or it is empty and `resume` is set.
    """
    finished = _stands_finished(out, recipe, overwrite=overwrite, resume=resume)
    if finished and any(path for pattern in LEFTOVERS for path in out.glob(pattern)):
        with locked_folder(out):
            remove(out, LEFTOVERS)
    elif (out / LOCK).exists():
        # A training that is running there is reported now, not after all the data has been read.
        with locked_folder(out):
            pass
    return finished


def _stands_finished(out: Path, recipe: Mapping[str, Any], *, overwrite: bool, resume: bool) -> bool:
    standing = standing_recipe(out, _is_training)
    if standing is None:
        if resume:
            raise InputError(f"nothing to resume in {str(out)!r}: leave --resume out, or give the run's --out")
        return False
    if overwrite:
        return False
    check_same(out, _flat(standing), _flat(recipe))
    return (out / DONE).is_file()


@contextmanager
def claimed(out: Path, recipe: Mapping[str, Any], *, overwrite: bool, resume: bool) -> Iterator[None]:
    """Lock the run's directory, which `is_finished` allowed, and write the recipe there.

    Raises:
        InputError: The directory cannot be made, is locked, or has changed since `is_finished`.
    """
    with locked_folder(out):
        if _stands_finished(out, recipe, overwrite=overwrite, resume=resume):
            raise InputError(f"{out} has meanwhile been finished by another process: nothing left to do")
        if overwrite or not (out / RECIPE).is_file():
            remove(out, MADE)
            write_recipe(out, recipe)
        remove(out, [SAVING])
        yield


def standing_recipe(out: Path, ours: Callable[[Mapping[str, Any]], bool]) -> Mapping[str, Any] | None:
    """Return the recipe of the run that is in a directory, None where the directory is free.

    Args:
        out: May be missing, empty, or hold what a run left that was killed before it wrote its recipe.
        ours: Whether a recipe belongs to this kind of run: other commands write a `recipe.json` too.

    Raises:
        InputError: The directory holds something else.
    """
    try:
        if out.exists() and not out.is_dir():
            raise InputError(f"{out} is a file: give --out a directory")
        present = out.is_dir() and any(path.name not in (LOCK, DRAFT) for path in out.iterdir())
    except OSError as error:
        raise InputError(f"cannot read {str(out)[:200]!r} ({error.strerror}): give another --out") from None
    if not present:
        return None
    if not (out / RECIPE).is_file():
        raise InputError(f"{out} is not empty and no training run (it has no {RECIPE}): give another --out")
    try:
        recipe = json.loads((out / RECIPE).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        recipe = None
    if not isinstance(recipe, dict) or not ours(recipe):
        raise InputError(f"{out} is not empty and its {RECIPE} is another command's: give another --out")
    return recipe


def _is_training(recipe: Mapping[str, Any]) -> bool:
    notes = recipe.get("twinviews")
    return isinstance(notes, dict) and "data_xxh64" in notes


def remove(out: Path, made: Sequence[str]) -> None:
    """Remove what a run made, and nothing else; symbolic links are not followed.

    Args:
        out: The run's directory, which stays, as does its recipe.
        made: Patterns of names.
    """
    found = {path for pattern in made for path in out.glob(pattern)}
    # First the file that marks a run as finished, in case the removal is interrupted.
    for path in sorted(found, key=lambda path: path.name != DONE):
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()


def write_recipe(out: Path, recipe: Mapping[str, Any]) -> None:
    """Write a run's recipe, whole or not at all."""
    with (out / DRAFT).open("w", encoding="utf-8") as file:
        file.write(json.dumps(recipe, indent=2, ensure_ascii=False) + "\n")
        file.flush()
        os.fsync(file.fileno())
    os.replace(out / DRAFT, out / RECIPE)


def check_same(out: Path, old: Mapping[str, Any], new: Mapping[str, Any], *, what: str = "another recipe") -> None:
    """Refuse a directory that was made with other settings.

    Args:
        out: The directory.
        old: The settings that it was made with, as they were read back.
        new: The settings that are asked for.
        what: What the directory would belong to.

    Raises:
        InputError: A setting differs; the line names the first one.
    """
    # As it would be read back: a tuple is a list there.
    new = json.loads(json.dumps(new))
    for key in sorted(set(old) | set(new)):
        if old.get(key) != new.get(key):
            raise InputError(
                f"{out} belongs to {what} ({key} was {old.get(key)!r}, is now {new.get(key)!r}): "
                "use --overwrite, give it as it was, or give another --out"
            )


def _flat(recipe: Mapping[str, Any]) -> dict[str, Any]:
    notes = {f"{key} of this run": value for key, value in recipe.get("twinviews", {}).items() if key != "version"}
    return {**{key: value for key, value in recipe.items() if key not in FREE | {"twinviews"}}, **notes}


@contextmanager
def resumable(out: Path) -> Iterator[None]:
    """Turn what the libraries raise over a full disk into one line.

    Raises:
        TwinviewsError: Something could not be written.
    """
    try:
        yield
    except Exception as error:
        text = str(error)
        if getattr(error, "errno", None) not in FULL and not any(said in text for said in UNWRITTEN):
            raise
        why = getattr(error, "strerror", None) or text.splitlines()[0]
        raise TwinviewsError(
            f"cannot write all of {out} ({why}): free space on its disk, then give the same command again"
        ) from error
