"""One record of whatever is written: sentences, views, pairs, exports, pages, trainings and results.

A writer holds the output's lock and asks `claim` whose the output is. It then writes the record with its plan
alone, and at the end the record with the name and hash of every file: the manifest. A manifest may be there
before its files, so an output is finished only when all of them are as it says. Nothing else decides: a file
whose name no record has is somebody else's, and what `datasets.load_from_disk` needs is read by nobody here.

A shard is a file with a record of its own beside it, as `pairs.arrow` is. It counts once that record is
there, which is written after it; a shard without one, or not of its hash, is made again. Each file appears
whole, and is synced before the next kind is written. Files are removed in reverse order, so that no shard of
an earlier plan is ever beside a new one.
"""

import json
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Literal, TypeAlias

from augment.errors import InputError, OtherOutputError
from augment.record import DamagedRecord, FileRecord, Record, checked_files, read_record
from pipelines.base.files import (
    LOCK,
    RECORD,
    is_remote,
    locked_file,
    sibling_path,
    sync_folder,
    temporaries,
    write_if_changed,
)

Status: TypeAlias = Literal["new", "resumed", "finished", "replaced"]
"""Of an output that may be written: nothing is there; this very one, not whole; this very one, whole; another one
of the same kind, or a damaged one, which the user lets us overwrite."""
ADVICE = "choose another --out, or --overwrite it"


def is_folder(out: Path) -> bool:
    """Whether an output is a folder; at an address all are but shards, as folders are only names there."""
    return out.suffix != ".arrow" if is_remote(out) else out.is_dir()


def beside(out: Path, name: str) -> Path:
    """Where a file of this name goes that belongs to an output: into its folder, or beside its file."""
    return out / name if is_folder(out) else sibling_path(out, name)


def record_path(out: Path) -> Path:
    """Where the record of an output is."""
    return beside(out, RECORD)


def output_record(out: Path) -> Record | None:
    """The record of an output, None if it has none; raises InputError as `read_record` does."""
    record = read_record(record_path(out))
    return record if record is None or is_folder(out) or out.name in record.files else None


def is_whole(out: Path, record: Record) -> bool:
    """Whether an output is finished, and all of its files are as they were written."""
    problems = checked_files(record_path(out).parent, record)
    return bool(problems) and not any(problems.values())


def is_unaltered(out: Path) -> bool:
    """Whether an output has a record, and nobody else has written one of its files since."""
    record = output_record(out)
    return record is not None and "damaged" not in checked_files(record_path(out).parent, record).values()


def claim(
    out: Path,
    plan: Mapping[str, Any],
    *,
    overwrite: bool = False,
    others: Iterable[Path] = (),
    deciding: Callable[[Mapping[str, Any]], Mapping[str, Any]] = dict,
) -> Status:
    """What an output is to the writer of this plan, who holds its lock; nothing is changed.

    `others` are files that it writes beside the output, `deciding` is what of a plan must not differ. Raises
    InputError for an output of another plan, whose difference is named, for one of another kind, and for files
    that no record has.
    """
    path = record_path(out)
    try:
        record = read_record(path)
    except DamagedRecord:
        if overwrite:
            return "replaced"
        raise
    if record is None:
        _check_free(out, others)
        return "new"
    if not is_folder(out) and out.name not in record.files:
        raise InputError(
            f"{out} would share {path.name} with {next(iter(record.files), 'another output')}: choose another --out"
        )
    old_kind, kind = record.plan.get("kind"), plan["kind"]
    if old_kind != kind:
        raise InputError(f"{out} holds {old_kind or 'no output'}, not {kind}: choose another --out")
    problems = checked_files(path.parent, record)
    damaged = [file for file, problem in problems.items() if problem == "damaged"]
    altered = [file for file in damaged if (file, kind) != (out, "pairs")]  # as shards, pairs are made again
    if altered and not is_folder(out) and not overwrite:  # somebody may have written there
        raise InputError(f"{altered[0]} is not as it was written: move it, or {ADVICE}")
    difference = _difference(deciding(record.plan), deciding(json.loads(json.dumps(plan))))
    if difference is not None and not overwrite:
        raise OtherOutputError(f"{out} was made with other options ({difference}): {ADVICE}")
    if difference is not None:
        return "replaced"
    return "finished" if problems and not any(problems.values()) else "resumed"


def _check_free(out: Path, others: Iterable[Path]) -> None:
    """Raise InputError if anything but locks and temporary files is where an output is to be written."""
    if is_folder(out):
        own = {entry.name for entry, _ in temporaries(out)}
        foreign = min(
            {path.name for path in out.glob("*") if not path.name.endswith(LOCK)} - own, default=None
        )
        if foreign is not None:
            raise InputError(
                f"{out} holds {foreign!r} and no {RECORD}, so it is not ours: choose another --out"
            )
    for path in () if is_folder(out) else (out, *others):
        if path.exists():
            raise InputError(f"{path} was not written by this command: move it, or choose another --out")


def _difference(old: Mapping[str, Any], new: Mapping[str, Any]) -> str | None:
    """The first setting that differs between two plans, with both of its values."""
    for key in {**old, **new}:
        if old.get(key) != new.get(key):
            return f"{key} {_shorten(old.get(key))}, not {_shorten(new.get(key))}"
    return None


def _shorten(value: object) -> str:
    text = "none" if value is None or value == [] else repr(value)
    # Filters are written in full: what differs may stand in the middle.
    return text if len(text) <= 40 or isinstance(value, list) else text[:18] + "…" + text[-12:]


def write_record(
    out: Path,
    plan: Mapping[str, Any],
    files: Mapping[str, FileRecord] = {},
    counts: Mapping[str, Any] = {},
) -> None:
    """Write the record of an output: its plan alone as it begins, with all of its files as it ends."""
    record = Record(plan=json.loads(json.dumps(plan)), files=files, counts=counts)
    write_if_changed(record_path(out), record.to_json())


def write_recorded(out: Path, plan: Mapping[str, Any], make: Callable[[], str], *, overwrite: bool) -> bool:
    """Make a text and write it with its record, unless this very one is there; returns whether it was made.

    Raises InputError as `claim` does.
    """
    with locked_file(out):
        if claim(out, plan, overwrite=overwrite) == "finished":
            return False
        text = make()
        out.unlink(missing_ok=True)  # or a kill would leave the old text with the new record
        sync_folder(out.parent)
        write_record(out, plan, {out.name: FileRecord.of(text.encode())})
        write_if_changed(out, text)
    return True
