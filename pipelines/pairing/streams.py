"""Record batches cut anew, and pairs into an Arrow IPC stream in batches of one size."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

from pipelines.files import sha256_of
from pipelines.shards import BATCH_ROWS


class Cutter:
    """Record batches cut anew into batches of `rows`."""

    def __init__(self, rows: int) -> None:
        self._rows = rows
        self._waiting: list[Any] = []

    def cut(self, batch: Any = None) -> Iterator[Any]:  # noqa: ANN401 - a record batch
        """The full batches that there are with `batch`; without one, what is left.

        They are copies, as the bytes that are written of a slice depend on what lies behind it.
        """
        import pyarrow as pa

        self._waiting += [] if batch is None else [batch]
        if not self._waiting:
            return
        table = pa.Table.from_batches(self._waiting)
        end = len(table) if batch is None else len(table) - len(table) % self._rows
        for start in range(0, end, self._rows):
            yield pa.concat_batches(table.slice(start, min(self._rows, end - start)).to_batches())
        self._waiting = table.slice(end).to_batches()


def recut(batches: Iterable[Any], rows: int) -> Iterator[Any]:
    """All rows of record batches in copies of `rows`; the last may be shorter."""
    cutter = Cutter(rows)
    for batch in batches:
        yield from cutter.cut(batch)
    yield from cutter.cut()


class PairStream:
    """Pairs into an IPC stream, in full batches however few come at once."""

    def __init__(self, stream: BinaryIO, schema: Any) -> None:  # noqa: ANN401 - a pyarrow schema
        import pyarrow as pa

        self._stream = stream
        self._writer = pa.ipc.new_stream(pa.PythonFile(stream, "w"), schema)
        self._cutter = Cutter(BATCH_ROWS)

    def add(self, pairs: Any = None) -> None:  # noqa: ANN401 - a record batch
        """Write the batches that are full with these pairs; without any, what is left."""
        for batch in self._cutter.cut(pairs):
            self._writer.write_batch(batch)

    def close(self) -> str:
        """End the stream; the sha256 of the file."""
        self.add()
        self._writer.close()
        self._stream.flush()
        return sha256_of(Path(self._stream.name))
