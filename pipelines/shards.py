"""Shards: Arrow IPC streams, committed one by one with a receipt each."""

import hashlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from pipelines.files import sha256_of, write_whole

RECEIPTS = "receipts"
BATCH_ROWS = 1_000


class Receipt(BaseModel):
    """What was committed as one shard: its rows, the sha256 of its bytes, and its rows by status and reason."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    file: str
    rows: int
    sha256: str
    statuses: Mapping[str, int] = {}
    reasons: Mapping[str, int] = {}


def shard_name(index: int) -> str:
    """The file name of shard `index`."""
    return f"data-{index:05d}.arrow"


def encode_table(table: Any) -> bytes:  # noqa: ANN401 - a pyarrow table
    """A table as the bytes of an Arrow IPC stream; equal rows give equal bytes."""
    import pyarrow as pa

    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table.combine_chunks(), max_chunksize=BATCH_ROWS)
    return bytes(sink.getvalue())


def commit_shard(folder: Path, index: int, table: Any) -> Receipt:  # noqa: ANN401 - a pyarrow table
    """Write one shard and then its receipt; a shard without a receipt does not count."""
    data = encode_table(table)
    receipt = Receipt(
        file=shard_name(index),
        rows=table.num_rows,
        sha256=hashlib.sha256(data).hexdigest(),
        statuses=_count(table, "status"),
        reasons=_count(table, "reason"),
    )
    receipts = folder / RECEIPTS
    receipts.mkdir(exist_ok=True)
    write_whole(folder / receipt.file, data)
    write_whole(receipts / f"{receipt.file}.json", receipt.model_dump_json(indent=2) + "\n")
    return receipt


def _count(table: Any, column: str) -> dict[str, int]:  # noqa: ANN401 - a pyarrow table
    if column not in table.schema.names:
        return {}
    return dict(sorted(Counter(value for value in table.column(column).to_pylist() if value is not None).items()))


def valid_receipt(folder: Path, index: int, rows: int | None = None) -> Receipt | None:
    """The receipt of a shard if the shard's bytes (and rows, where given) are what it says, else None."""
    file = shard_name(index)
    try:
        receipt = Receipt.model_validate_json((folder / RECEIPTS / f"{file}.json").read_bytes())
        intact = receipt.file == file and receipt.sha256 == sha256_of(folder / file)
    except (FileNotFoundError, ValidationError):
        return None
    return receipt if intact and rows in (None, receipt.rows) else None


def read_table(path: Path) -> Any:  # noqa: ANN401 - a pyarrow table
    """All rows of one IPC stream, mapped into memory."""
    import pyarrow as pa

    with pa.memory_map(str(path)) as mapped:
        return pa.ipc.open_stream(mapped).read_all()


def read_range(folder: Path, receipts: Sequence[Receipt], start: int, stop: int) -> Any:  # noqa: ANN401 - as above
    """Rows start to stop of a dataset folder, as one table; only the shards that hold them are opened."""
    import pyarrow as pa

    parts = []
    first = 0
    for receipt in receipts:
        last = first + receipt.rows
        if first < stop and last > start:
            table = read_table(folder / receipt.file)
            parts.append(table.slice(max(start - first, 0), min(stop, last) - max(start, first)))
        first = last
    return pa.concat_tables(parts)


def iterate_tables(folder: Path, receipts: Sequence[Receipt]) -> Iterator[Any]:
    """The tables of a dataset folder's shards, in order."""
    for receipt in receipts:
        yield read_table(folder / receipt.file)
