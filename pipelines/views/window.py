"""How much is sorted and batched together: a window of shards."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from augment.seconds import Stage
from pipelines.shards import Receipt

SECONDS_EACH = 20.0
"""What a window takes: about what a kill loses."""
MOST_ROWS = 65_536
GROWTH = 8
"""How many times longer than the last one a window is at most."""
AHEAD = 3
"""Windows that a worker has at a time: one is read, one is made, one is written."""
Window: TypeAlias = list[int]
"""Numbers of shards whose rows a view sorts and batches together."""


@dataclass(frozen=True)
class Made:
    """A window that is committed.

    Attributes:
        receipts: Of its shards.
        seconds: From the one before it to this one; what making another one takes.
        stages: Seconds by stage that its process spent since the window before.
    """

    receipts: Sequence[Receipt]
    seconds: float
    stages: Mapping[Stage, float]


class Windows:
    """Cuts the shards that are to be made into windows.

    The first is one shard. The next ones are as many as were made in `SECONDS_EACH`, at the pace of the last, so that a
    slow model loses no more when it is killed, and no window is longer than a fair share of what is left.
    """

    def __init__(self, indices: Sequence[int], shard_size: int, shares: int) -> None:
        self._left = list(indices)
        self._most = max(1, MOST_ROWS // shard_size)
        self._shares = shares
        self._shards = 1

    def __iter__(self) -> Iterator[Window]:
        while self._left:
            count = min(self._shards, max(1, len(self._left) // self._shares))
            window, self._left = self._left[:count], self._left[count:]
            yield window

    def learn(self, made: Made) -> None:
        """Set the size of the next windows by what the last one took."""
        shards = len(made.receipts)
        self._shards = min(max(1, int(shards * SECONDS_EACH / max(made.seconds, 1e-3))), shards * GROWTH, self._most)
