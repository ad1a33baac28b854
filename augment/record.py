"""The record of an output: what it was asked to be, its files with their hashes and rows, and counts, as JSON.

It lies in an output's folder, or beside a file. Its last line is a checksum of all the others.
"""

import hashlib
import json
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal, TypeAlias

from pydantic import BaseModel, NonNegativeInt

from augment.errors import InputError
from augment.files import RECORD, sha256_of
from augment.version import __version__

MARKS = (b'{\n  "twinviews": "', b',\n  "checksum": "')
"""How every record begins, and how its last line begins; a damaged one that has either is ours."""
CARD = "README.md"
"""The card of a model, which people edit."""
Problem: TypeAlias = Literal["damaged", "missing", "unfinished"]


class DamagedRecord(InputError):
    """A record of ours that is not as it was written, or of another version."""


class FileRecord(BaseModel, frozen=True, extra="forbid"):
    """The sha256 of a file, and its rows if it holds rows."""

    sha256: str
    rows: NonNegativeInt | None = None

    @classmethod
    def of(cls, content: bytes) -> "FileRecord":
        """That of a file with this content."""
        return cls(sha256=hashlib.sha256(content).hexdigest())


class Record(BaseModel, frozen=True, extra="forbid"):
    """What an output was asked to be, and once it is written, its files by their paths from the record, and counts.

    The record of a part, such as one shard, has no plan.
    """

    twinviews: str = __version__
    plan: Mapping[str, Any] = {}
    files: Mapping[str, FileRecord] = {}
    counts: Mapping[str, Any] = {}

    def to_json(self) -> str:
        """The text of its file."""
        files = {name: file.model_dump(exclude_none=True) for name, file in self.files.items()}
        content = json.dumps({**self.model_dump(), "files": files}, ensure_ascii=False, indent=2)
        checksum = hashlib.sha256(content.encode()).hexdigest()
        return content.removesuffix("\n}") + f',\n  "checksum": "{checksum}"\n}}\n'


def read_record(path: Path) -> Record | None:
    """The record in a file, None if there is no file.

    Raises DamagedRecord for one that is not as it was written, InputError for another file or one that cannot
    be read.
    """
    try:
        content = path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise InputError(
            f"{path} cannot be read ({error.strerror}): mend that, or choose another path"
        ) from None
    with suppress(ValueError, KeyError, TypeError, RecursionError):
        values = json.loads(content)
        del values["checksum"]
        record = Record.model_validate(values)
        if record.to_json().encode() == content:
            return record
    if any(mark in content for mark in MARKS):
        raise DamagedRecord(
            f"{path} is damaged, or of another version: choose another --out, or --overwrite it"
        )
    raise InputError(f"{path} is not a record of ours: choose another path")


def file_records(folder: Path, *others: Path) -> dict[str, FileRecord]:
    """Of all files in a folder, and of others that it will be put beside, the hashes by name."""
    paths = {path.relative_to(folder).as_posix(): path for path in folder.rglob("*") if path.is_file()}
    paths |= {path.name: path for path in others if path.is_file()}
    paths.pop(RECORD, None)
    return {name: FileRecord(sha256=sha256_of(path)) for name, path in sorted(paths.items())}


def record_folder(folder: Path) -> None:
    """Write the record of a folder that holds all of its files."""
    (folder / RECORD).write_text(Record(files=file_records(folder)).to_json(), encoding="utf-8")


def checked_files(folder: Path, record: Record) -> dict[Path, Problem | None]:
    """The files of a record in this folder, and what is wrong with each."""
    return {folder / name: _problem(folder / name, file.sha256) for name, file in record.files.items()}


def _problem(path: Path, sha256: str) -> Problem | None:
    if not path.is_file():
        return "damaged" if path.exists() else "missing"
    return None if sha256_of(path) == sha256 else "damaged"


def check_folder_files(
    folder: Path, advice: str = f"make it again, or remove {RECORD} if you have changed it"
) -> None:
    """Raise InputError for a folder with a file that is not as its record says, if it has one, but for a card."""
    record = read_record(folder / RECORD)
    for path, problem in checked_files(folder, record).items() if record else ():
        if problem and path.name != CARD:
            raise InputError(f"{path} is not as it was written, by {folder / RECORD}: {advice}")
