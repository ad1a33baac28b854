"""Shards: Arrow IPC streams and their columns, each committed with a record, and checked before they are read."""

import hashlib
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext, suppress
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from augment.errors import InputError, TwinviewsError
from augment.record import FileRecord, Record
from augment.view import ViewResult
from pipelines.base.files import RECORD, atomic_write, is_remote, sha256_of, sync_folder, write_if_changed
from pipelines.base.record import is_whole, output_record, record_path
from pipelines.base.tables.arrow import check_stream_end

SHARD_ROWS = 1_024
BATCH_ROWS = 1_000
WRITER_THREADS = 8
"""They mostly wait for the disk."""
SHARD = re.compile(r"data-([0-9]{5}|[1-9][0-9]{5,})\.arrow")


class _WithoutPandas:
    """An import hook that finds no pandas."""

    @staticmethod
    def find_spec(name: str, *_: object) -> None:
        if name == "pandas":
            raise ModuleNotFoundError(name)


def keep_pandas_away() -> None:
    """Let Arrow find no pandas, which it imports at the first value in half a second, until something asks for it."""
    import pyarrow as pa

    hook: Any = _WithoutPandas
    sys.meta_path.insert(0, hook)
    pa.scalar(0)
    sys.meta_path.remove(hook)


def dataset_schema(columns: Sequence[str]) -> Any:  # noqa: ANN401 - a pyarrow schema
    """The schema of these columns; offsets of edits are in characters of `text`, fractions in [0, 1]."""
    import pyarrow as pa

    string, offsets = pa.string(), [("start", pa.int32()), ("end", pa.int32())]
    types = {
        "edits": pa.list_(pa.struct([*offsets, ("old", string), ("new", string)])),
        "target_fraction": pa.float64(),
        "achieved_fraction": pa.float64(),
        "alternatives": pa.list_(string),
    }
    return pa.schema([(name, types.get(name, string)) for name in columns])


def view_schema() -> Any:  # noqa: ANN401 - a pyarrow schema
    """The schema of a view."""
    return dataset_schema(["id", "text", "view", *ViewResult._fields[1:]])


def shard_name(index: int) -> str:
    """The file name of shard `index`."""
    return f"data-{index:05d}.arrow"


def shard_number(name: str) -> int | None:
    """The number of the shard with this file name; None if it is not a shard's name."""
    match = SHARD.fullmatch(name)
    return int(match[1]) if match else None


def record_number(name: str) -> int | None:
    """The number of the shard whose record has this file name; None if it is not a record's name."""
    return shard_number(f"{name.removesuffix(f'.{RECORD}')}.arrow") if name.endswith(f".{RECORD}") else None


class Shard(NamedTuple):
    """A file of rows: the sha256 that was recorded for it (None if no record has it), and its rows."""

    path: Path
    sha256: str | None
    rows: int


def whole_shard(folder: Path, index: int, rows: int | None = None) -> Record | None:
    """The record of a shard if its bytes (and rows, where given) are what it says, else None."""
    path = folder / shard_name(index)
    with suppress(InputError):
        record = output_record(path)
        if record and rows in (None, record.files[path.name].rows) and is_whole(path, record):
            return record
    return None


def commit_shards(folder: Path, tables: Mapping[int, Any]) -> list[Record]:
    """Write shards (pyarrow tables by number) and then their records, without which they do not count."""
    if not (is_remote(folder) or folder.is_dir()):  # nor is it made again: the plan would be missing
        raise TwinviewsError(f"{folder} vanished while it was written: run the same command again")
    # Ctrl-C may leave a thread behind, which writes after the caller has cleared the folder; one shard needs
    # none.
    with ThreadPoolExecutor(WRITER_THREADS) if len(tables) > 1 else nullcontext() as pool:
        in_order = map if pool is None else pool.map
        paths = [folder / shard_name(index) for index in tables]
        records = [*in_order(_write_shard, paths, tables.values())]
        sync_folder(folder)
        texts = map(Record.to_json, records)
        list(in_order(partial(write_if_changed, lasting=False), map(record_path, paths), texts))
        sync_folder(folder)
    return records


def _write_shard(path: Path, table: Any) -> Record:  # noqa: ANN401 - a pyarrow table
    """Write a shard straight to its file, as it may be too large for a second copy.

    Its record, not yet written.
    """
    import pyarrow as pa

    with atomic_write(path, lasting=False) as stream:
        with pa.ipc.new_stream(pa.PythonFile(stream, "w"), table.schema) as writer:
            writer.write_table(table.combine_chunks(), max_chunksize=BATCH_ROWS)
        stream.flush()
        file = FileRecord(sha256=sha256_of(Path(stream.name)), rows=table.num_rows)
        return Record(files={path.name: file}, counts=_counts(table))


def _counts(table: Any) -> dict[str, dict[str, int]]:  # noqa: ANN401 - a pyarrow table
    """Rows of a view by status and by reason."""
    import pyarrow.compute as pc

    counts = dict[str, dict[str, int]]()
    for name, column in {"statuses": "status", "reasons": "reason"}.items():
        if column in table.schema.names:
            rows = pc.value_counts(table[column].drop_null()).to_pylist()
            counts[name] = {row["values"]: row["counts"] for row in rows}
    return counts


def shard_files(records: Iterable[Record]) -> dict[str, FileRecord]:
    """The files of shards by name, of their records."""
    return {name: file for record in records for name, file in record.files.items()}


def count_rows(records: Sequence[Record]) -> dict[str, Any]:
    """Rows of a view, and rows by status and by reason, over all shards."""
    counts = defaultdict[str, Counter[str]](Counter, statuses=Counter(), reasons=Counter())
    for record in records:
        for name, numbers in record.counts.items():
            counts[name].update(numbers)
    rows = sum(file.rows or 0 for file in shard_files(records).values())
    return {"rows": rows, **{name: dict(sorted(numbers.items())) for name, numbers in counts.items()}}


def read_table(path: Path, sha256: str | None = None) -> Any:  # noqa: ANN401 - a pyarrow table
    """All rows of one IPC stream, mapped into memory if it is a local file.

    Raises InputError if it is missing, damaged, or not of the hash; without one, end marker and values are
    checked.
    """
    import pyarrow as pa

    try:
        data = path.read_bytes() if is_remote(path) else None
        with pa.memory_map(str(path)) if data is None else pa.BufferReader(data) as stream:
            table = pa.ipc.open_stream(stream).read_all()
        if sha256 is None:
            table.validate(full=True)
            check_stream_end(path)
        # Only now: the file may have been replaced before it was opened.
        elif sha256 != (sha256_of(path) if data is None else hashlib.sha256(data).hexdigest()):
            raise InputError(
                f"{path} is not as it was written (altered, damaged or overwritten): make it again"
            )
    except (pa.ArrowException, OSError) as error:
        problem = f"cannot be read, or is damaged ({error})"
        advice = "give a dataset folder or an Arrow stream file, or make it again"
        if path.suffix not in ("", ".arrow"):
            problem = f"is a {path.suffix} file, not an Arrow stream"
            build = f"augment build-pairs {path} --pairs columns --columns LEFT,RIGHT"
            advice = f"for sentences run `augment ingest {path}`, for pairs run `{build}`"
        raise InputError(f"{path} {problem}: {advice}") from None
    return table
