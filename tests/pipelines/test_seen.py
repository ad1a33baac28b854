"""Which hashes were seen before: exact, in any batches, in memory and on the disk."""

import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from augment.errors import TwinviewsError
from pipelines.ingest import Seen

BATCHES = st.lists(st.lists(st.integers(0, 60) | st.integers(2**64 - 9, 2**64 - 1), max_size=40), max_size=12)


@given(BATCHES, st.sampled_from([4, 16, 1_000]))
def test_the_first_of_each_hash_is_new(batches: list[list[int]], memory_hashes: int) -> None:
    known: set[int] = set()
    with tempfile.TemporaryDirectory() as folder:
        seen = Seen(Path(folder), memory_hashes)
        for batch in batches:
            expected = [value not in known and value not in batch[:place] for place, value in enumerate(batch)]
            assert seen.add(np.array(batch, dtype=np.uint64)).tolist() == expected
            known.update(batch)
        assert list(Path(folder).iterdir()) == []  # its files have no name


def test_a_disk_that_takes_no_more_is_one_line(tmp_path: Path) -> None:
    seen = Seen(tmp_path / "gone", memory_hashes=4)
    seen.add(np.arange(4, dtype=np.uint64))
    with pytest.raises(TwinviewsError, match=r"gone cannot store the hashes .*No such file"):
        seen.add(np.arange(4, 8, dtype=np.uint64))
