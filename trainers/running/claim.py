"""A run's directory: its recipe, and whether it may be made, resumed or left alone."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pipelines.console import InputError

RECIPE = "recipe.json"
DONE = "modules.json"
# What may differ between a run and its resumption: where the same data lies (its content is compared), how often it is
# saved and where its log goes, and what changes no number.
FREE = frozenset(
    {
        "views", "text", "words", "graded", "dev", "dev_data", "save_every", "report_to", "gradient_checkpointing",
        "stop_on_collapse",
    }
)  # fmt: skip


def is_finished(out: Path, recipe: Mapping[str, Any], *, overwrite: bool, resume: bool) -> bool:
    """Check that a run's directory may be used, and return whether this very run is there, finished.

    Nothing is written: what follows may still find that it cannot train.

    Raises:
        InputError: Something else is there, or a run of another recipe, or nothing where `resume` insists.
    """
    try:
        if out.exists() and not out.is_dir():
            raise InputError(f"{out} is a file: give --out a directory")
        present = out.is_dir() and any(out.iterdir())
    except OSError as error:
        raise InputError(f"cannot read {str(out)[:200]!r} ({error.strerror}): give another --out") from None
    if present and not (out / RECIPE).is_file():
        raise InputError(f"{out} is not empty and no training run (it has no {RECIPE}): give another --out")
    if present and not overwrite:
        _same_recipe(out, recipe)
        return (out / DONE).is_file()
    if resume and not present:
        raise InputError(f"nothing to resume in {str(out)!r}: leave --resume out, or give the run's --out")
    return False


def claim(out: Path, recipe: Mapping[str, Any], *, overwrite: bool) -> None:
    """Make the run's directory ours and write the recipe, after `is_finished` found that it may be.

    Raises:
        InputError: The directory cannot be made or written.
    """
    try:
        if overwrite and out.is_dir():
            shutil.rmtree(out)
        out.mkdir(parents=True, exist_ok=True)
        if not (out / RECIPE).is_file():
            draft = out / f"{RECIPE}.tmp"
            draft.write_text(json.dumps(recipe, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
            os.replace(draft, out / RECIPE)
    except OSError as error:
        raise InputError(f"cannot write to {str(out)[:200]!r} ({error.strerror}): give another --out") from None


def _same_recipe(out: Path, recipe: Mapping[str, Any]) -> None:
    try:
        found = json.loads((out / RECIPE).read_text(encoding="utf-8"))
    except ValueError:
        raise InputError(f"{out / RECIPE} is no JSON: use --overwrite, or give another --out") from None
    # As it would be read back: a tuple is a list there.
    old, new = _flat(found), _flat(json.loads(json.dumps(recipe)))
    for key in sorted(set(old) | set(new)):
        if old.get(key) != new.get(key):
            raise InputError(
                f"{out} belongs to another recipe ({key} was {old.get(key)!r}, is now {new.get(key)!r}): "
                "give it as it was, use --overwrite, or give another --out"
            )


def _flat(recipe: Mapping[str, Any]) -> dict[str, Any]:
    notes = {f"{key} of this run": value for key, value in recipe.get("twinviews", {}).items() if key != "version"}
    return {**{key: value for key, value in recipe.items() if key not in FREE | {"twinviews"}}, **notes}
