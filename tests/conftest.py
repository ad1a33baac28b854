"""The two tiers: `./dev test` runs what is not `exhaustive`, and of some parametrised tests the first cases only."""

from collections import Counter

import pytest


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the cases of a test beyond its first N, as `exhaustive_after(N)` says, before any are left out."""
    cases = Counter[str]()
    for item in items:
        if mark := item.get_closest_marker("exhaustive_after"):
            cases[name := item.nodeid.partition("[")[0]] += 1
            if cases[name] > mark.args[0]:
                item.add_marker(pytest.mark.exhaustive)
