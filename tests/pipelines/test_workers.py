"""What a worker raises reaches the process that asked for its work."""

import os
import resource
from collections.abc import Iterator
from functools import partial

import pytest

from pipelines.views.workers import run_workers


class OneLessArgumentError(Exception):
    """It is pickled, but cannot be read again."""

    def __init__(self, what: str, number: int) -> None:
        super().__init__(f"{what} {number}")


def fail(error: str, tasks: Iterator[int]) -> Iterator[int]:
    for _ in tasks:
        if error == "unreadable":
            raise OneLessArgumentError("the answer is not", 42)
        if error == "refused":
            raise ConnectionRefusedError("the store at 10.0.0.7 refused it")
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


def test_a_connection_that_fails_in_a_worker_is_not_taken_for_its_death() -> None:
    with pytest.raises(ConnectionRefusedError, match=r"the store at 10\.0\.0\.7 refused it"):
        list(run_workers(partial(build, "refused"), range(4), 2, ordered=True))


def test_tasks_that_cannot_be_listed_are_not_taken_for_a_dead_worker() -> None:
    def tasks() -> Iterator[int]:
        yield 1
        raise ConnectionResetError("the list of tasks broke off")

    with pytest.raises(ConnectionResetError, match="the list of tasks broke off"):
        list(run_workers(partial(build, "idle"), tasks(), 1, ordered=True))


def test_a_first_worker_that_finds_no_file_left_is_one_error() -> None:
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    highest, filled = max(map(int, os.listdir("/proc/self/fd"))), [os.open("/dev/null", os.O_RDONLY)]
    while filled[-1] < highest:
        filled.append(os.open("/dev/null", os.O_RDONLY))
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(highest, *filled) + 1, before[1]))
    try:
        with pytest.raises(OSError, match="Too many open files"):
            list(run_workers(partial(build, "idle"), range(4), 2, ordered=True))
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
        for number in filled:
            os.close(number)
