"""The suites of evaluation sets, a file each, known by name without importing any of them."""

import importlib
import pkgutil
from collections.abc import Sequence
from typing import Any

from pipelines.console import InputError

ALL = "all"
SMOKE_TEST = "sample"
"""The bundled suite: it reads no data, and is no benchmark, so that `all` leaves it out."""


def suite_names() -> list[str]:
    """Return the names of all suites in order; a file's `_` is a hyphen."""
    return sorted(module.name.replace("_", "-") for module in pkgutil.iter_modules(__path__))


def load_suite(name: str) -> Any:  # noqa: ANN401 - a module
    """Import the module of a suite, `trainers/evaluation/suites/<name>.py`.

    It has `METRICS`, the names of its metrics in the order of the table's columns, `COUNTED`, how many sets its average
    is over when none is missing (0 where no paper averages them), and `BENCHMARKS`, of graded pairs, or
    `find(data)`, which reads its sets from a folder or `hf:ORGANISATION`, and returns tasks or `Missing`;
    perhaps `DECIMALS`, how many are printed.
    """
    return importlib.import_module(f"{__name__}.{name.replace('-', '_')}")


def decimals(name: str) -> int:
    """Return how many decimals of a suite's figures are printed; 2 of one that there is no longer."""
    return getattr(load_suite(name), "DECIMALS", 2) if name in suite_names() else 2


def expanded(names: Sequence[str]) -> list[str]:
    """Return the suites that are meant, each once, with `all` replaced by all but the smoke test.

    Raises InputError: there is no suite of one of the names.
    """
    known = suite_names()
    benchmarks = [name for name in known if name != SMOKE_TEST]
    chosen = dict.fromkeys(each for name in names for each in (benchmarks if name == ALL else [name]))
    for name in chosen.keys() - set(known):
        raise InputError(f"no suite {name!r}: there are {', '.join(known)}, or {ALL}")
    return list(chosen)
