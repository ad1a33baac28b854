from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from transformers.utils import logging

from augment.device import pack, quiet_transformers, resolve_device
from augment.errors import InputError


@given(st.lists(st.integers(1, 50)), st.integers(1, 200))
def test_every_row_is_packed_once_with_its_equals_within_the_budget(widths: list[int], budget: int) -> None:
    batches = list(pack(widths, budget))
    assert sorted(row for batch in batches for row in batch) == list(range(len(widths)))
    for batch in batches:
        (width,) = {widths[row] for row in batch}
        assert len(batch) == 1 or len(batch) * width <= budget
    assert len(batches) == sum(-(-widths.count(width) // max(1, budget // width)) for width in set(widths))


@pytest.mark.parametrize("name", ["tpu9", "cuda:99", "cuda:999", ""])
def test_a_device_that_is_not_there_is_one_line(name: str) -> None:
    with pytest.raises(InputError, match="device"):
        resolve_device(name)


def test_transformers_speaks_again_afterwards() -> None:
    before = logging.get_verbosity(), logging.is_progress_bar_enabled()
    with quiet_transformers():
        assert not logging.is_progress_bar_enabled()
    assert (logging.get_verbosity(), logging.is_progress_bar_enabled()) == before
