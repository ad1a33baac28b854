"""What a worker raises reaches the process that asked for its work."""

from collections.abc import Iterator
from functools import partial

import pytest

from pipelines.workers import run_workers


class OneLessArgumentError(Exception):
    """It is pickled, but cannot be read again."""

    def __init__(self, what: str, number: int) -> None:
        super().__init__(f"{what} {number}")


def fail(error: str, tasks: Iterator[int]) -> Iterator[int]:
    for _ in tasks:
        if error == "unreadable":
            raise OneLessArgumentError("the answer is not", 42)
        raise ValueError("no lambda can be pickled", lambda: None)
    yield 0


def build(error: str, number: int) -> partial[Iterator[int]]:
    return partial(fail, error)


@pytest.mark.parametrize(
    ("error", "said"),
    [("unreadable", "OneLessArgumentError: the answer is not 42"), ("unwritable", "no lambda can be")],
)
def test_an_error_that_cannot_be_pickled_is_raised_with_its_text(error: str, said: str) -> None:
    with pytest.raises(RuntimeError, match=said):
        list(run_workers(partial(build, error), range(4), 2, ordered=True))
