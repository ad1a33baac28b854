"""Seconds by stage of making views in this process, for `--profile`."""

import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal, TypeAlias

Stage: TypeAlias = Literal["read", "tokenise", "model", "detokenise", "write"]
SECONDS: defaultdict[Stage, float] = defaultdict(float)
"""Each stage is added to by one thread at a time."""


@contextmanager
def timed(stage: Stage) -> Iterator[None]:
    """Add the seconds that the block takes to a stage."""
    started = time.perf_counter()
    try:
        yield
    finally:
        SECONDS[stage] += time.perf_counter() - started
