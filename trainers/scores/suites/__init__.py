"""The suites of evaluation sets, a file each and the entry points `twinviews.suites`, by name.

A module has `BENCHMARKS` of graded pairs, or `find(data)`, which returns tasks or `Missing` of a folder, and
where they are not those of the pairs `METRICS`, in column order, and `COUNTED`, the number of sets in its
average. What is known of its sets before they are read may lie beside it in a YAML file of its name.
"""

from collections.abc import Sequence

from pipelines.base.console import InputError, Plugins

ALL = "all"
SMOKE_TEST = "sample"  # the bundled suite: it reads no data and is not a benchmark, so `all` leaves it out
SUITES = Plugins(
    __name__,
    lambda module: None if hasattr(module, "find") or hasattr(module, "BENCHMARKS") else "it has no find",
)
suite_names, load_suite = SUITES.names, SUITES.module


def expanded(names: Sequence[str]) -> list[str]:
    """The suites each once, `all` replaced by all but the smoke test; raises InputError for an unknown one."""
    present = suite_names()
    benchmarks = [name for name in (SUITES.usable_names() if ALL in names else ()) if name != SMOKE_TEST]
    suites = dict.fromkeys(suite for name in names for suite in (benchmarks if name == ALL else [name]))
    for name in suites.keys() - set(present):
        raise InputError(f"no suite {name!r}: there are {', '.join(present)}, or {ALL}")
    return list(suites)
