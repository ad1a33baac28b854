"""The objectives: the files of `trainers/objectives/` and the entry points `twinviews.objectives`."""

import ast
import importlib
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from types import ModuleType
from typing import TypeAlias

from pipelines.console import InputError

FOLDER = Path(__file__).with_name("objectives")
GROUP = "twinviews.objectives"

ObjectiveModule: TypeAlias = ModuleType
"""The module of an objective. It has

- `READS`: what it trains on, the usual kind first: some of `trainers.data.kinds.KINDS`, such as "views" and "text";
- `PRESETS`: values of `Training` and of its own options, by preset; the first is the default;
- `PARAMS`: its own options, a pydantic model. An optional method `held_out(rows, batch_size)` returns how many of the
  rows are not trained on;
- `build(options, training, source)`: loads the encoder and returns the `Objective` that trains it.
"""


def objective_names() -> list[str]:
    """Return the names of all objectives, ours first, without importing any of them; a file's `_` is a hyphen."""
    ours = sorted(path.stem.replace("_", "-") for path in FOLDER.glob("[!_]*.py"))
    return ours + sorted(set(_third_party()) - set(ours))


def summary(name: str) -> str:
    """Return one line about an objective: the first of its module's docstring, read without importing the module."""
    if not _file(name).is_file():
        return f"An objective of {_third_party()[name].value}."
    return (ast.get_docstring(ast.parse(_file(name).read_text(encoding="utf-8"))) or name).splitlines()[0]


def load_objective(name: str) -> ObjectiveModule:
    """Import an objective's module; raises InputError if there is none, or it cannot be used."""
    if _file(name).is_file():
        return importlib.import_module(f"trainers.objectives.{_file(name).stem}")
    known = _third_party()
    if name not in known:
        raise InputError(f"no objective {name!r}: there are {', '.join(objective_names())}")
    try:
        module: ObjectiveModule = known[name].load()
        for part in ("READS", "PRESETS", "PARAMS", "build"):
            getattr(module, part)
    except (Exception, SystemExit) as error:  # another package's import may do anything
        said = f"{type(error).__name__}: {error}"
        raise InputError(f"objective {name!r} of {known[name].value} cannot be used: {said}") from error
    return module


def _file(name: str) -> Path:
    return FOLDER / f"{name.replace('-', '_')}.py"


def _third_party() -> dict[str, EntryPoint]:
    return {point.name: point for point in entry_points(group=GROUP)}
