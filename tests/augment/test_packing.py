from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from augment.device import pack, quiet_transformers, resolve_device
from augment.errors import InputError


@given(st.lists(st.integers(1, 50)), st.integers(1, 200))
def test_every_row_is_packed_once_within_the_budget(lengths: list[int], budget: int) -> None:
    batches = list(pack(lengths, budget))
    assert sorted(row for batch in batches for row in batch) == list(range(len(lengths)))
    for batch in batches:
        assert len(batch) == 1 or len(batch) * max(lengths[row] for row in batch) <= budget


@given(st.lists(st.integers(1, 50)), st.integers(1, 200))
def test_groups_do_not_mix(lengths: list[int], budget: int) -> None:
    groups = [length // 10 for length in lengths]
    for batch in pack(lengths, budget, groups):
        assert len({groups[row] for row in batch}) == 1


@pytest.mark.parametrize("name", ["tpu9", "cuda:99", "cuda:999", ""])
def test_a_device_that_is_not_there_is_one_line(name: str) -> None:
    with pytest.raises(InputError, match="device"):
        resolve_device(name)


def test_transformers_speaks_again_afterwards() -> None:
    from transformers.utils import logging

    before = logging.get_verbosity(), logging.is_progress_bar_enabled()
    with quiet_transformers():
        assert not logging.is_progress_bar_enabled()
    assert (logging.get_verbosity(), logging.is_progress_bar_enabled()) == before
