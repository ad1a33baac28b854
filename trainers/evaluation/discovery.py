"""Which suites there are: the files of `trainers/evaluation/suites/`, known by name without importing any of them."""

from __future__ import annotations

import ast
import importlib
import pkgutil
from collections.abc import Sequence
from pathlib import Path
from typing import cast

from pipelines.console import InputError
from trainers.evaluation import suites
from trainers.evaluation.task import SuiteModule

ALL = "all"
SMOKE_TEST = "sample"
"""The bundled suite: it reads no data, and is no benchmark, so that `all` leaves it out."""


def suite_names() -> list[str]:
    """Return the names of all suites in order; a file's `_` is a hyphen."""
    found = [module.name for module in pkgutil.iter_modules(suites.__path__)]
    return sorted(name.replace("_", "-") for name in found if not name.startswith("_"))


def summary(name: str) -> str:
    """Return one line about a suite: the first of its module's docstring, read without importing the module."""
    file = f"{name.replace('-', '_')}.py"
    path = next(folder for folder in map(Path, suites.__path__) if (folder / file).is_file()) / file
    docstring = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or name
    return docstring.splitlines()[0]


def load_suite(name: str) -> SuiteModule:
    """Import a suite's module.

    Raises:
        InputError: There is no suite of that name.
    """
    _check(name)
    return cast(SuiteModule, importlib.import_module(f"{suites.__name__}.{name.replace('-', '_')}"))


def decimals(name: str) -> int:
    """Return how many decimals of a suite's figures are printed; 2 of one that there is no longer."""
    return getattr(load_suite(name), "DECIMALS", 2) if name in suite_names() else 2


def expanded(names: Sequence[str]) -> list[str]:
    """Return the suites that are meant, each once, with `all` replaced by all but the smoke test.

    Raises:
        InputError: There is no suite of one of the names.
    """
    benchmarks = [name for name in suite_names() if name != SMOKE_TEST]
    found: dict[str, None] = {}
    for name in names:
        if name != ALL:
            _check(name)
        found.update(dict.fromkeys(benchmarks if name == ALL else [name]))
    return list(found)


def _check(name: str) -> None:
    known = suite_names()
    if name not in known:
        raise InputError(f"no suite {name!r}: there are {', '.join(known)}, or {ALL}")
