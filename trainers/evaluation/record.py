"""An evaluation as files: JSON with everything that is needed to repeat it, a page, and every item's prediction."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from io import BytesIO
from pathlib import Path
from typing import Any

from pipelines.console import InputError, TwinviewsError, note
from trainers.evaluation import report
from trainers.evaluation.suite import Scores
from trainers.evaluation.task import Predictions
from trainers.files import whole_file


def results_folder(
    model: str, trained: Path | None, out: Path | None, parts: Sequence[str], suites: Iterable[str],
    settings: Mapping[str, object],
) -> Path:  # fmt: skip
    """Make and return the folder for results: `evaluation/` in the model's directory, below `runs/`, or `out`.

    Another pooling, a whitening or a flow makes another encoder of a model: its scores get a folder of their own in
    `evaluation/`. Results of other settings that are there already are kept; the new ones get a folder in it that is
    named by all settings.

    Args:
        model: As the user named it.
        trained: Its directory, if it has one.
        out: What the user asked for.
        parts: What makes it another encoder, for the folder's name.
        suites: What is evaluated.
        settings: All that distinguishes scores, by the names that they have in the results.

    Raises:
        InputError: The folder cannot be made or written into.
    """
    beside = trained if trained and Path(model).expanduser().is_dir() else Path("runs") / _folder_name(model)
    folder = out or beside / "evaluation" / "-".join(map(_folder_name, parts))
    if out:
        settings = {"model": model, **settings}
    if any(_other_settings(folder / f"{suite}.json", settings) for suite in suites):
        given = [f"{name.replace('_', '-')}-{value}" for name, value in settings.items() if value is not None]
        kept, folder = folder, folder / "-".join(map(_folder_name, given))
        note(f"results of other settings in {kept} are kept: these go to {folder}")
    with suppress(OSError):
        folder.mkdir(parents=True, exist_ok=True)
    if not folder.is_dir() or not os.access(folder, os.W_OK):
        raise InputError(f"cannot write into the folder {str(folder)!r}: give another with --out")
    return folder


def _other_settings(path: Path, settings: Mapping[str, object]) -> bool:
    """Whether there are results that were made with other settings; damaged ones are nobody's."""
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
        before = {**values["settings"], "seed": values["seed"], "model": values["model"]["name"]}
    except (OSError, ValueError, LookupError, TypeError, RecursionError):
        return False
    return any(before.get(key) != value for key, value in settings.items())


def _folder_name(text: str) -> str:
    return re.sub(r"[^\w.-]+", "--", text).strip("-.")


def write(directory: Path, evaluation: Sequence[Scores]) -> list[Path]:
    """Write every suite that has sets; return the paths.

    `<suite>.json`, `<suite>.md`, and `<suite>.items.npz` with the arrays `<set>/gold`, `<set>/predicted` and
    `<set>/statistic` (see `task.Predictions`). Each is whole or absent.

    Raises:
        TwinviewsError: One of them cannot be written.
    """
    written = []
    for scores in evaluation:
        name = scores.suite.name
        if scores.suite.tasks:
            written.append(write_json(directory / f"{name}.json", scores.values))
            written.append(write_file(directory / f"{name}.md", report.markdown(scores).encode("utf-8")))
        if scores.predictions:
            written.append(write_file(directory / f"{name}.items.npz", _arrays(scores.predictions)))
        elif scores.suite.tasks:
            # Those of an earlier evaluation would be taken for this one's.
            (directory / f"{name}.items.npz").unlink(missing_ok=True)
    return written


def _arrays(predictions: Mapping[str, Predictions]) -> bytes:
    import numpy as np

    arrays: dict[str, Any] = {}
    for name, found in predictions.items():
        arrays[f"{name}/gold"] = np.asarray(found.gold, dtype=np.float64)
        arrays[f"{name}/predicted"] = np.asarray(found.predicted, dtype=np.float64)
        arrays[f"{name}/statistic"] = np.array(found.statistic)
    stream = BytesIO()
    np.savez(stream, allow_pickle=False, **arrays)
    return stream.getvalue()


def write_json(path: Path, values: Mapping[str, Any]) -> Path:
    """Write values as JSON as `write_file` does; return the path."""
    return write_file(path, (json.dumps(values, indent=2, ensure_ascii=False) + "\n").encode("utf-8"))


def write_file(path: Path, content: bytes) -> Path:
    """Write a file beside its place, then put it there: a reader finds the old one or the new one, whole.

    Raises:
        TwinviewsError: It cannot be written there.
    """
    try:
        with whole_file(path) as stream:
            stream.write(content)
    except OSError as error:
        raise TwinviewsError(f"cannot write {path} ({error.strerror}): give another place with --out") from None
    return path
