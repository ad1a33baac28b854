from collections import Counter
from pathlib import Path

import pytest

from pipelines.console import InputError
from trainers.data.rows import Ragged
from trainers.marian.text import ParallelIds, read_parallel, token_batches


def test_pairs_are_read_with_their_further_fields_ignored(tmp_path: Path) -> None:
    path = tmp_path / "pairs.tsv"
    path.write_text("A dog.\tEin Hund.\tCC-BY\n\nNo.\t\n Yes. \t Ja. \n", encoding="utf-8-sig")
    assert read_parallel(path) == [("A dog.", "Ein Hund."), ("Yes.", "Ja.")]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "No such file"),
        (b"", "no sentence pair"),
        (b"a\tb\n\xff\tc\n", "not UTF-8 text: byte 4 is 0xff"),
        (b"a\tb\njust one side\n", "line 2 has no tab"),
    ],
)
def test_bad_parallel_text_is_one_line(tmp_path: Path, content: bytes | None, said: str) -> None:
    path = tmp_path / "pairs.tsv"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(InputError, match=said):
        read_parallel(path)


@pytest.fixture
def rows() -> ParallelIds:
    rows = ParallelIds.__new__(ParallelIds)
    rows.sources = Ragged([[7] * (1 + index % 13) for index in range(500)])
    rows.targets = Ragged([[8] * (1 + index % 17) for index in range(500)])
    return rows


def test_every_row_comes_once_an_epoch_within_the_budget_in_an_order_of_the_seed(rows: ParallelIds) -> None:
    batches = token_batches(rows, budget=64, epochs=2, seed=3)
    assert Counter(index for batch in batches for index in batch) == {index: 2 for index in range(500)}
    lengths = [len(row) for row in rows.targets]
    assert all(len(batch) * max(lengths[index] for index in batch) <= 64 for batch in batches)
    assert batches == token_batches(rows, budget=64, epochs=2, seed=3)
    assert batches != token_batches(rows, budget=64, epochs=2, seed=4)
