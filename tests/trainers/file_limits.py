"""A disk that is full at a chosen size, for tests of what is written."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

resource = pytest.importorskip("resource")


@contextmanager
def no_file_above(size: int) -> Iterator[None]:
    """Let no file of this process grow beyond so many bytes."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
