"""The two tiers: `./dev test` runs what is not `exhaustive`, and of a parametrised test the first cases only."""

from collections import Counter

import pytest

CASES = 4  # of a parametrised test in the short tier, if its mark gives no other number


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the cases of a test beyond its first ones as exhaustive, before any are left out."""
    cases = Counter[str]()
    for item in items:
        mark = item.get_closest_marker("exhaustive_after")
        cases[name := item.nodeid.partition("[")[0]] += 1
        if cases[name] > (CASES if mark is None else mark.args[0]):
            item.add_marker(pytest.mark.exhaustive)
