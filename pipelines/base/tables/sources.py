"""Sources of text and tables: files, Hub datasets and stdin.

Their format is given, or told by name or content.
"""

import hashlib
import json
import re
import shutil
import sys
from collections import Counter
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext, suppress
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias, get_args

from augment.errors import InputError, TwinviewsError, describe
from augment.files import check_end
from pipelines.base.files import is_remote, resolve_path, sha256_of
from pipelines.base.tables.lines import CHUNK_BYTES, read_lines

Format: TypeAlias = Literal["text", "markdown", "html", "csv", "tsv", "jsonl", "parquet", "arrow"]
TEXT_FORMATS = ("text", "markdown", "html")
DELIMITED = ("csv", "tsv")
ENDINGS: Mapping[str, Format] = {
    **{f".{format}": format for format in get_args(Format)},
    ".md": "markdown",
    ".htm": "html",
    ".json": "jsonl",
    ".ndjson": "jsonl",
    ".feather": "arrow",
    ".pq": "parquet",
}
OFFICE_ENDING = re.compile(r"\.(docx?|eml|epub|mbox|msg|od[pst]|pdf|pptx?|rtf|srt|vtt|xlsx?)")
MAGIC: Mapping[bytes, Format] = {b"PAR1": "parquet", b"ARROW1": "arrow"}
"""How files begin whose names need no ending."""
TABLE_HEADER = re.compile(
    r"\"?sep=[^\w\"]\"?\s*|"
    r"(?=.*\b(?:text|sentence|label)\b)\"?\w[\w.-]*\"?(?:\s*[,;\t|]\s*\"?\w[\w.-]*\"?)+",
    re.IGNORECASE,
)
SAVED_FILES = ("state.json", "dataset_dict.json")
"""What a folder of `save_to_disk` has one of."""
HUB = "hf:"
STDIN = "-"
SAMPLE = "sample:sentences"
SAMPLE_FILE = Path(__file__).parents[2] / "sample" / "sentences.txt"


class Source(NamedTuple):
    """A source that exists: its name as given, the file it is read from, its format, and the sha256 of its content."""

    name: str
    path: Path
    format: Format | Literal["dataset"]
    sha256: str
    skipped: Counter[str]
    """What the last reading left out or mended, by reason."""

    def check_unchanged(self) -> None:
        """Raise TwinviewsError if the file is no longer the one that was hashed."""
        if self.format == "dataset":
            return
        if not self.path.is_file() or sha256_of(self.path) != self.sha256:
            raise TwinviewsError(f"{self.name} changed while it was read: run the same command again")


def check_source(name: str, spool: Path, format: Format | None = None, *, is_table: bool = False) -> Source:
    """Find and hash a file, "-" for stdin, `hf:NAME` or the bundled `sample:sentences`.

    A dataset of the Hub, or in a folder of `save_to_disk`, has its fingerprint for a hash. Of what `is_table`,
    the first line that is not blank tells JSONL, TSV and CSV apart. What can be read only once (stdin, pipes)
    is first copied into the folder `spool`. Raises InputError if there is nothing to read.
    """
    path = SAMPLE_FILE if name == SAMPLE else resolve_path(name)
    is_stdin = name == STDIN
    label = "stdin" if is_stdin else name
    try:
        if name.startswith(HUB) or any((path / saved_file).is_file() for saved_file in SAVED_FILES):
            fingerprint = str(load_named(name)._fingerprint)
            digest = hashlib.sha256(fingerprint.encode()).hexdigest()
            return Source(name, path, "dataset", digest, Counter())
        if not is_stdin and path.is_dir():
            raise InputError(f"{name} is a folder: give the files in it, e.g. {path / '*.txt'}")
        if not is_stdin and not path.exists():
            advice = "check the path, or write hf:NAME for a dataset on the Hub"
            if "*" in name:
                advice = "patterns are the shell's; for files in folders of folders, give $(find FOLDER -name '*.md')"
            raise InputError(f"no file {name!r}: {advice}")
        if is_stdin or is_remote(path) or not path.is_file():
            if not is_stdin and not is_remote(path):
                check_end(path)
            copy = spool / f"{len(list(spool.iterdir()))}{path.suffix}"
            source: AbstractContextManager[Any] = (
                nullcontext(sys.stdin.buffer) if is_stdin else path.open("rb")
            )
            with copy.open("wb") as target, source as stream:
                shutil.copyfileobj(stream, target, CHUNK_BYTES)
            path = copy
        if path.stat().st_size == 0:
            raise InputError(f"{label} is empty (0 bytes): check the path")
        digest = sha256_of(path)
    except OSError as error:
        raise InputError(
            f"cannot read {label} ({error.strerror}): check the path and its permissions"
        ) from None
    return Source(label, path, format or _find_format(label, path, is_table=is_table), digest, Counter())


def format_of(name: str) -> Format | None:
    """The format that a name's ending says; raises InputError for one of office and mail programs."""
    ending = Path(name.removesuffix(".gz").removesuffix(".zst")).suffix.lower()
    if OFFICE_ENDING.fullmatch(ending):
        raise InputError(
            f"{name} is not read: save it as CSV, text or HTML, or rename it if its ending is wrong"
        )
    return ENDINGS.get(ending)


def _find_format(label: str, path: Path, *, is_table: bool) -> Format:
    """The format by a name's ending, or else of a table by its first line."""
    format = format_of(label)
    if format and not (is_table and format in DELIMITED):
        return format
    with path.open("rb") as stream:
        start = stream.read(6)
    if format := next((format for mark, format in MAGIC.items() if start.startswith(mark)), None):
        return format
    line = ""
    with suppress(InputError):  # the reader of text says it
        line = next(filter(str.strip, next(read_lines(path, label), [])), "")
    is_json = False
    with suppress(ValueError, RecursionError):
        is_json = line.lstrip().startswith("{") and isinstance(json.loads(line), dict)
    if is_table:
        return "jsonl" if is_json else "tsv" if "\t" in line else "csv"
    if is_json:
        raise InputError(f"{label} begins with a JSON object: give --format jsonl, or else --format text")
    if TABLE_HEADER.fullmatch(line):
        raise InputError(
            f"{label} begins with the header of a table: give --format csv or tsv, or else --format text"
        )
    return "text"


def load_named(name: str) -> Any:  # noqa: ANN401 - a datasets.Dataset
    """The dataset of the Hub, or in a folder of `save_to_disk`, of this name."""
    return _load_hub(name) if name.startswith(HUB) else _load_saved(Path(name))


@lru_cache(maxsize=8)  # a run reads its sources several times, and loading one asks the Hub
def _load_hub(name: str) -> Any:  # noqa: ANN401 - a datasets.Dataset
    """The dataset that `hf:NAME[:CONFIG][:SPLIT]` names.

    One extra part is a split unless a config has its name.
    """
    from datasets import get_dataset_config_names, load_dataset

    path, *parts = name.removeprefix(HUB).split(":")
    if not path or len(parts) > 2:
        raise InputError(f"{name!r}: write hf:NAME, hf:NAME:CONFIG, hf:NAME:SPLIT or hf:NAME:CONFIG:SPLIT")
    try:
        has_config = len(parts) == 2 or (parts and parts[0] in get_dataset_config_names(path))
        config = parts.pop(0) if has_config else None
        return load_dataset(path, config, split=parts[0] if parts else "train")
    except Exception as error:  # scripts, damaged files, no network: the library's errors have no common root
        raise InputError(
            f"cannot load {name!r} ({describe(error)}): check name, config and split, and the network"
        ) from None


def _load_saved(path: Path) -> Any:  # noqa: ANN401 - a datasets.Dataset
    """The dataset in a folder of `save_to_disk`; raises InputError for one of several splits, naming them."""
    from datasets import DatasetDict, load_from_disk

    try:
        saved = load_from_disk(str(path))
    except Exception as error:  # the library's errors have no common root
        advice = "save it again, or run `augment ingest` to make one"
        raise InputError(f"cannot load {str(path)!r} ({describe(error)}): {advice}") from None
    if not isinstance(saved, DatasetDict):
        return saved
    if len(saved) == 1:
        return saved.popitem()[1]
    splits = ", ".join(str(path / split) for split in saved)
    raise InputError(f"{path} has {len(saved)} splits: give those you mean, of {splits}")
