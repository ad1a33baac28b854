"""The suites of evaluation sets, a file each, found by name without importing any of them."""

import importlib
import pkgutil
from collections.abc import Sequence
from typing import Any

from pipelines.console import InputError

ALL = "all"
SMOKE_TEST = "sample"  # the bundled suite: it reads no data and is not a benchmark, so `all` leaves it out


def suite_names() -> list[str]:
    """Return the names of all suites in order; a file's `_` is a hyphen."""
    return sorted(module.name.replace("_", "-") for module in pkgutil.iter_modules(__path__))


def load_suite(name: str) -> Any:  # noqa: ANN401 - a module
    """Import the module of a suite, `trainers/evaluation/suites/<name>.py`.

    It has `BENCHMARKS` of graded pairs, or `find(data)`, which returns tasks or `Missing` of a folder or `hf:NAME`.
    Where they are not those of the pairs, it also has `METRICS`, the names of its metrics in column order, and
    `COUNTED`, the number of sets in its average.
    """
    return importlib.import_module(f"{__name__}.{name.replace('-', '_')}")


def expanded(names: Sequence[str]) -> list[str]:
    """Return the suites each once, `all` replaced by all but the smoke test; raises InputError for an unknown one."""
    known = suite_names()
    benchmarks = [name for name in known if name != SMOKE_TEST]
    chosen = dict.fromkeys(each for name in names for each in (benchmarks if name == ALL else [name]))
    for name in chosen.keys() - set(known):
        raise InputError(f"no suite {name!r}: there are {', '.join(known)}, or {ALL}")
    return list(chosen)
