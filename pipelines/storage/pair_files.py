"""Pairs, sentences and tables, as a trainer reads them.

Checked first, so that none is unfinished or altered.
"""

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import xxhash

from augment.errors import InputError
from pipelines.base.files import atomic_write, locked_file
from pipelines.base.record import output_record, record_path
from pipelines.storage.dataset import Input, as_plan, open_dataset, read_plan
from pipelines.storage.shards import BATCH_ROWS, Shard, read_table

if TYPE_CHECKING:
    import datasets

PAIR_COLUMNS = ("id", "text", "view_a", "view_b", "view_a_name", "view_b_name")
NEGATIVE = "negative"
"""An optional column of pairs: a text that is not a paraphrase of `view_a`, null if a pair has none."""
REASON = "reason"


def read_pairs(path: str | Path) -> "datasets.Dataset":
    """Open pairs, an IPC stream file or a folder of shards, mapped into memory.

    Returns rows of `id, text, view_a, view_b, view_a_name, view_b_name`, and a negative, a label or filters'
    scores if there are any. Raises InputError if there is no Arrow IPC stream, it has no rows or lacks
    columns, or it is unfinished, cut short, or altered since it was written.
    """
    files = [shard.path for shard in pair_files(path)]
    from datasets import Dataset as ArrowDataset
    from datasets import concatenate_datasets

    pairs = concatenate_datasets([ArrowDataset.from_file(str(file)) for file in files])
    if not pairs.num_rows:
        raise InputError(f"{path} holds no pairs: make them with `augment build-pairs`")
    return pairs


def write_pairs(pairs: "datasets.Dataset", path: str | Path, columns: tuple[str, str] | None = None) -> None:
    """Write pairs for `train --views`, in place of those that this wrote there before.

    Args:
        pairs: Rows of `make_pairs` or `read_pairs`; or any dataset with two columns of text, to which the
            further columns of pairs are added. Other columns, such as `negative`, `label` or scores, are kept.
        path: The Arrow stream file to write.
        columns: Which two these are, if not `view_a` and `view_b` or the only two.

    Raises InputError: there are no such columns, or a text is missing, or the file is another one, such as a
    command's.
    """
    import pyarrow as pa

    path = Path(path)
    if columns is not None or not {*PAIR_COLUMNS} <= {*pairs.column_names}:
        pairs = _as_pairs(pairs, columns)
    schema = pairs.features.arrow_schema.remove_metadata()
    with locked_file(path):
        if record_path(path).exists() or (path.exists() and not pair_files(path)):
            raise InputError(f"{path} is what a command made: choose another path")
        with atomic_write(path) as file, pa.ipc.new_stream(pa.PythonFile(file, "w"), schema) as stream:
            for rows in pairs.with_format("arrow").iter(BATCH_ROWS):
                stream.write(pa.concat_batches(rows.to_batches()))


def _as_pairs(pairs: "datasets.Dataset", columns: tuple[str, str] | None) -> "datasets.Dataset":
    """Two columns of text as pairs, with ids and names; the first one is the sentence."""
    names = pairs.column_names
    sides = columns or (("view_a", "view_b") if {"view_a", "view_b"} <= {*names} else tuple(names))
    if len(sides) != 2 or not {*sides} <= {*names}:
        raise InputError(
            f"the dataset has the columns {', '.join(names)}: "
            "name two columns of text, as in columns=('question', 'answer')"
        )
    texts = [pairs[side][:] for side in sides]
    for number, row in enumerate(zip(*texts, strict=True)):
        if not all(isinstance(text, str) for text in row):
            raise InputError(f"row {number} of the dataset lacks a text, {row!r}: leave it out")
    ids = [xxhash.xxh64_hexdigest("\t".join(row).encode()) for row in zip(*texts, strict=True)]
    values = [ids, texts[0], *texts, *([name] * len(ids) for name in sides)]
    if columns is not None:
        pairs = pairs.remove_columns([name for name in names if name in (*sides, *PAIR_COLUMNS)])
    for name, column in zip(PAIR_COLUMNS, values, strict=True):
        if name not in pairs.column_names:
            pairs = pairs.add_column(name, column)
    others = [name for name in pairs.column_names if name not in (*sides, *PAIR_COLUMNS)]
    return pairs.select_columns([*PAIR_COLUMNS, *others])


def source_sentences(path: Path) -> Path | None:
    """The folder of the sentences that pairs were made of, if these are still there, on this machine, as they were."""
    with suppress(InputError):
        for source in _inputs(path)[:1]:
            sentences = open_dataset(Path(source.name), "sentences")
            return sentences.path if sentences.digest == source.sha256 else None
    return None


def has_bundled_translations(path: Path) -> bool:
    """Whether a view of pairs, whose folder is still there, was made by the bundled translation models."""
    plans = (read_plan(Path(view.name)) for view in _inputs(path)[1:] if Path(view.name).is_dir())
    return any(plan is not None and plan.params.get("models") == "starter" for plan in plans)


def _inputs(path: Path) -> tuple[Input, ...]:
    """What pairs were made from: sentences, and then views."""
    plan = as_plan(output_record(path), record_path(path))
    return () if plan is None else plan.inputs


def check_dataset(folder: Path) -> None:
    """Raise InputError, naming the file, if a dataset folder is unfinished or altered."""
    if read_plan(folder) is not None:
        open_dataset(folder)


def pair_files(path: str | Path) -> list[Shard]:
    """The files of pairs at a path, one or the shards of a folder; raises InputError as `read_pairs` does."""
    path = Path(path)
    if not path.exists():
        raise InputError(f"no pairs at {str(path)!r}: make them with `augment build-pairs`")
    if path.is_dir():
        return [_open_pairs(shard.path, shard.sha256) for shard in open_dataset(path, "pairs").shards]
    record = output_record(path)
    return [_open_pairs(path, None if record is None else record.files[path.name].sha256)]


def _open_pairs(path: Path, sha256: str | None) -> Shard:
    """A stream of pairs; raises InputError unless it is whole and has the columns of pairs, as text."""
    table = read_table(path, sha256)
    schema = table.schema
    for name in (*PAIR_COLUMNS, *({NEGATIVE} & set(schema.names))):
        if name not in schema.names:
            raise InputError(
                f"{path} has no column {name!r}, only {', '.join(schema.names)}: it holds no pairs"
            )
        column_type = schema.field(name).type
        if str(column_type) not in ("string", "large_string", "null"):
            raise InputError(f"{path}: column {name!r} holds {column_type}, not text: it holds no pairs")
    return Shard(path, sha256, table.num_rows)
