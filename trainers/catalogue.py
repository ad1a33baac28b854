"""The objectives: the files of `trainers/objectives/` and the entry points `twinviews.objectives`."""

import ast
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import TypeAlias

from pipelines.terminal.console import Plugins

ObjectiveModule: TypeAlias = ModuleType
"""The module of an objective. It has

- `READS`: what it trains on, the usual kind first: some of `trainers.data.reading.KINDS`, such as "views" and "text";
- `PRESETS`: values of `Training` and of its own options, by preset; the first is the default;
- `PARAMS`: its own options, a pydantic model. An optional method `held_out(rows, batch_size)` returns how many of the
  rows are not trained on;
- `build(options, training, source)`: loads the encoder and returns the `Objective` that trains it.
"""
PARTS = ("READS", "PRESETS", "PARAMS", "build")
OBJECTIVES = Plugins(
    "trainers.objectives",
    lambda module: next((f"it has no {part}" for part in PARTS if not hasattr(module, part)), None),
)
objective_names, load_objective = OBJECTIVES.names, OBJECTIVES.module


def summary(name: str) -> str:
    """Return one line about an objective: the first of its module's docstring, read without importing the module."""
    point = OBJECTIVES.entry_point(name)
    if point is not None:
        return f"An objective of {point.value}."
    path = Path(str(getattr(find_spec(f"{OBJECTIVES.package}.{name.replace('-', '_')}"), "origin", "")))
    return (ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or name).splitlines()[0]
