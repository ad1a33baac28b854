"""Sources of sentences: text, tables, documents, Hub datasets and stdin, in the format of a name's ending or given."""

import csv
import hashlib
import io
import json
import re
import shutil
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from functools import lru_cache, partial
from itertools import chain, repeat
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal, NamedTuple, TypeAlias, get_args

from augment.errors import InputError, TwinviewsError, describe, warn_once
from augment.files import MAX_LINE, check_end
from pipelines.base.files import is_remote, resolve_path, sha256_of
from pipelines.options import MAX_DOCUMENT, Format
from pipelines.sentences.delimited import read_cells
from pipelines.sentences.documents import document_paragraphs, paragraphs, split_sentences
from pipelines.sentences.rows import (
    ColumnChoice,
    Columns,
    Row,
    Rows,
    collect,
    read_columns,
    read_json,
    rows_of,
)

TEXT_FORMATS = ("text", "markdown", "html")
ENDINGS: Mapping[str, Format] = {
    **{f".{format}": format for format in get_args(Format)},
    ".md": "markdown",
    ".htm": "html",
    ".json": "jsonl",
    ".ndjson": "jsonl",
    ".feather": "arrow",
    ".pq": "parquet",
}
OFFICE_ENDINGS = (
    ".doc",
    ".docx",
    ".epub",
    ".odp",
    ".ods",
    ".odt",
    ".pdf",
    ".ppt",
    ".pptx",
    ".rtf",
    ".xls",
    ".xlsx",
)
MAGIC: Mapping[bytes, Format] = {b"PAR1": "parquet", b"ARROW1": "arrow"}
"""How files begin whose names need no ending."""
TABLE_HEADER = re.compile(
    r"(?=.*\b(?:text|sentence|label)\b)\"?\w[\w.-]*\"?(?:\s*[,;\t|]\s*\"?\w[\w.-]*\"?)+", re.IGNORECASE
)
CHUNK_BYTES = 1 << 20
ARCHIVES = {
    b"\x1f\x8b": "gzip",
    b"BZh": "bzip2",
    b"PK\3\4": "zip",
    b"\xfd7zXZ": "xz",
    b"\x28\xb5\x2f\xfd": "zstd",
    b"7z\xbc\xaf": "7-zip",
}
CP1252 = re.compile(rb"[\x80\x82\x84\x85\x91-\x97\x99]")
"""The euro sign, quotes and dashes, which Windows' Western code page has where Latin-1 has control
characters."""
NOT_CP1252 = re.compile(rb"[\x81\x83\x86-\x90\x98\x9a-\x9f]|[A-Za-z][\x80-\x91\x93-\x99][a-z]")
"""Such bytes that it has for rare letters or not at all, and quotes inside a word."""
HUB = "hf:"
STDIN = "-"
SAMPLE = "sample:sentences"
SAMPLE_FILE = Path(__file__).parents[1] / "sample" / "sentences.txt"
TableSource: TypeAlias = str | Path | Mapping[str, Sequence[Any]]
"""A file or the like, or columns by name, as pandas' `DataFrame` and a `datasets.Dataset` have them too."""


class Source(NamedTuple):
    """A source that exists: its name as given, the file it is read from, its format, and the sha256 of its content."""

    name: str
    path: Path
    format: Format | Literal["hub"]
    sha256: str
    skipped: Counter[str]
    """Rows that the last reading left out, by reason."""

    def check_unchanged(self) -> None:
        """Raise TwinviewsError if the file is no longer the one that was hashed."""
        if self.format != "hub" and not (self.path.is_file() and sha256_of(self.path) == self.sha256):
            raise TwinviewsError(f"{self.name} changed while it was read: run the same command again")


def check_source(name: str, spool: Path, format: Format | None = None, *, is_table: bool = False) -> Source:
    """Find and hash a file, "-" for stdin, `hf:NAME` (hashed by its fingerprint) or the bundled `sample:sentences`.

    Of what `is_table` but has no ending that says so, the first line tells JSONL, TSV and CSV apart. What can
    be read only once (stdin, pipes) is first copied into the folder `spool`. Raises InputError if there is
    nothing to read.
    """
    if name.startswith(HUB):
        fingerprint = str(load_hub(name)._fingerprint)
        return Source(name, Path(), "hub", hashlib.sha256(fingerprint.encode()).hexdigest(), Counter())
    path = SAMPLE_FILE if name == SAMPLE else resolve_path(name)
    is_stdin = name == STDIN
    label = "stdin" if is_stdin else name
    try:
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
            raise InputError(f"{label} is empty (0 bytes): give one sentence a line")
        digest = sha256_of(path)
    except OSError as error:
        raise InputError(
            f"cannot read {label} ({error.strerror}): check the path and its permissions"
        ) from None
    return Source(label, path, format or _find_format(label, path, is_table=is_table), digest, Counter())


def _find_format(label: str, path: Path, *, is_table: bool) -> Format:
    """The format by a name's ending, or else of a table by its first line."""
    ending = Path(label.removesuffix(".gz").removesuffix(".zst")).suffix.lower()
    if ending in ENDINGS:
        return ENDINGS[ending]
    if ending in OFFICE_ENDINGS:
        raise InputError(
            f"{label} is not read: save it as CSV, text or HTML, or give --format if its ending is wrong"
        )
    with path.open("rb") as stream:
        start = stream.read(6)
    if format := next((format for mark, format in MAGIC.items() if start.startswith(mark)), None):
        return format
    line = ""
    with suppress(InputError):  # the reader of text says it
        line = next(read_lines(path, label), [""])[0]
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


def read_rows(
    source: Source,
    columns: ColumnChoice,
    language: str | None = None,
    document: str = "",
    max_document: int = MAX_DOCUMENT,
) -> Iterator[Rows]:
    """Stream a source's rows, empty ones included; a paragraph of Markdown or HTML is one.

    With a `language`, text is read by paragraphs too, and every row is split into its sentences, which are
    placed in `document`. Raises InputError if the content is not what the format says, or a column is missing.
    """
    import pyarrow as pa

    # A quote that is never closed makes one cell of all lines after it.
    csv.field_size_limit(MAX_LINE)
    count = 0
    source.skipped.clear()
    try:
        rows = _read(source, columns, max_document, by_paragraph=language is not None)
        if language is not None:
            rows = split_sentences(rows, language, document, by_row=source.format not in TEXT_FORMATS)
        for batch in collect(rows):
            yield batch
            count += len(batch.texts)
        source.check_unchanged()
        if headers := source.skipped["header"]:
            warn_once("%s: left out %s", source.name, f"{headers:,} repeated header" + "s" * (headers > 1))
    except (pa.ArrowException, OSError, ValueError, OverflowError, RecursionError) as error:
        raise InputError(
            f"{source.name} cannot be read as {source.format}, or is damaged after row {count:,} ({error}): "
            "get it again, or give --format"
        ) from None


def _read(source: Source, columns: ColumnChoice, max_document: int, *, by_paragraph: bool) -> Iterator[Row]:
    format, name = source.format, source.name
    if format == "hub":
        table = load_hub(name).with_format("arrow")
        schema = table.features.arrow_schema
        return rows_of(lambda batch_size, columns: table.iter(batch_size=batch_size), schema, name, columns)
    if format in ("parquet", "arrow"):
        return read_columns(format, source.path, name, columns)
    if format in ("csv", "tsv"):
        open_lines = partial(read_lines, source.path, name, ends=True)
        return read_cells(format, lambda: chain.from_iterable(open_lines()), name, columns, source.skipped)
    texts: Iterator[str] = chain.from_iterable(read_lines(source.path, name))
    whole = partial(_joined, name=name, limit=max_document * 1_000_000)
    if format == "jsonl":
        return read_json(texts, name, columns, whole)
    if format != "text":
        texts = document_paragraphs(whole(texts), format, mark_headings=by_paragraph)  # type: ignore[arg-type]
    elif by_paragraph:
        texts = paragraphs(texts)
    return zip(texts, repeat(None), repeat(None), strict=False)


def _joined(lines: Iterator[str], name: str, limit: int) -> str:
    """The text of a document; raises InputError if it has more than `limit` characters."""
    parts, size = list[str](), 0
    for line in lines:
        parts.append(line)
        size += len(line) + 1
        if size > limit:
            raise InputError(
                f"{name} is a document of more than {limit // 1_000_000:,} million characters, too much to hold"
                ": split it, or give a larger --max-document"
            )
    return "\n".join(parts)


@lru_cache(maxsize=8)  # a run reads its sources several times, and loading one asks the Hub
def load_hub(name: str) -> Any:  # noqa: ANN401 - a datasets.Dataset
    """The dataset that `hf:NAME[:CONFIG][:SPLIT]` names; one extra part is a split unless a config has its name."""
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


def _compression(path: Path, name: str) -> str | None:
    """How a file is compressed, by its ending; raises InputError if it begins like another archive."""
    compression = {".gz": "gzip", ".zst": "zstd"}.get(path.suffix)
    with path.open("rb") as stream:
        start = stream.read(8)
    archive = next((kind for mark, kind in ARCHIVES.items() if start.startswith(mark)), compression)
    if archive != compression:
        endings = {"gzip": ", or end its name in .gz", "zstd": ", or end its name in .zst"}
        raise InputError(f"{name} is a {archive} archive: unpack it{endings.get(archive or '', '')}")
    return compression


def read_lines(path: Path, name: str, *, ends: bool = False) -> Iterator[list[str]]:
    r"""Stream the lines of a UTF-8 file, many at a time, with or without their `ends`; errors call it `name`.

    A line ends with \n, \r\n or \r. A file whose name ends in `.gz` or `.zst` is compressed. Raises InputError
    for binary content, invalid UTF-8, a line longer than MAX_LINE, and a damaged or truncated archive.
    """
    import pyarrow as pa

    lines: list[str] = []
    number = 0  # of the lines before these

    def line_with(text: str) -> int:
        return number + next(place for place, line in enumerate(lines, 1) if text in line)

    try:
        compression = _compression(path, name)
        with pa.input_stream(str(path), compression=compression) as stream:
            reader = io.TextIOWrapper(stream, "utf-8-sig", "surrogateescape", newline="" if ends else None)
            while text := reader.read(CHUNK_BYTES) + reader.readline(MAX_LINE + 1):
                lines = (
                    io.StringIO(text, newline="").readlines() if ends else text.removesuffix("\n").split("\n")
                )
                text.encode()
                if "\0" in text:
                    raise InputError(
                        f"{name} is binary (NUL byte in line {line_with(chr(0))}): give UTF-8 text"
                    )
                if len(longest := max(lines, key=len)) > MAX_LINE:
                    line = line_with(longest)
                    raise InputError(f"{name}: line {line} is longer than {MAX_LINE:,} characters: split it")
                yield lines
                number += len(lines)
    except UnicodeEncodeError as error:
        letter = error.object[error.start]
        raise InputError(
            f"{name}: invalid UTF-8 in line {line_with(letter)} (byte 0x{ord(letter) - 0xDC00:02x})"
            f": {_encoding_advice(error.object)}"
        ) from None
    except OSError as error:
        raise InputError(
            f"{name} is truncated or damaged after line {number} ({error}): get it again"
        ) from None


def _encoding_advice(text: str) -> str:
    """How to make UTF-8 of a text with its invalid bytes as surrogates; names an encoding only if it is plain."""
    raw = text.encode("utf-8", "surrogateescape")
    if raw.startswith((b"\xff\xfe\0\0", b"\0\0\xfe\xff")):
        encoding = "utf-32"
    elif raw.startswith((b"\xff\xfe", b"\xfe\xff")):
        encoding = "utf-16"
    elif (
        CP1252.search(raw)
        and not NOT_CP1252.search(raw)
        and 5 * len(re.findall(rb"[\x80-\xff]", raw)) < len(raw)
    ):
        encoding = "cp1252"
    else:
        return "convert it from its encoding to UTF-8"
    return f"convert it, e.g. iconv -f {encoding} -t utf-8"


def _single_rows(source: Source, columns: ColumnChoice) -> Iterator[Row]:
    for batch in read_rows(source, columns):
        yield from zip(batch.texts, batch.labels, batch.pairs, strict=True)


def table_cells(
    table: TableSource, choose: Callable[[Sequence[str]], Sequence[str]]
) -> tuple[str, list[tuple[str, ...]]]:
    """Return the sha256 of a table ("" in memory), and the chosen cells of each row, stripped.

    `choose` maps the names of its columns to those of a text, a value of any type, a second text, and any
    number of further values ("": none, of empty cells). Raises InputError as `augment ingest` does, and for a
    table that cannot be read.
    """
    import pyarrow as pa

    chosen: list[str] = []

    def columns(names: Sequence[str], place: int = 1) -> Columns:
        chosen[:] = choose(names)
        return Columns(chosen[0], chosen[place], chosen[2])

    try:
        with TemporaryDirectory() as spool:
            if isinstance(table, str | Path):
                source = check_source(str(table), Path(spool), is_table=True)
                digest, read = source.sha256, partial(_single_rows, source)
            else:
                arrow = pa.table(table.with_format("arrow")[:] if hasattr(table, "with_format") else table)
                digest, read = "", partial(rows_of, lambda **_: arrow.to_batches(), arrow.schema, "the table")
            rows = [*read(columns)]
            cells: list[Sequence[str | None]] = [*zip(*rows, strict=True)] or [(), (), ()]
            # A row has one value at a time: the further ones are read again.
            for place, name in enumerate(chosen[3:], 3):
                again = read(partial(columns, place=place)) if name else ()
                cells.append([row[1] for row in again] or [None] * len(rows))
            return digest, [tuple((cell or "").strip() for cell in row) for row in zip(*cells, strict=True)]
    except InputError as error:  # these options are those of `augment ingest`
        raise InputError(re.sub(r"(, or|:) give --(column|format)( text)?$", "", str(error))) from None
    except (pa.ArrowException, TypeError, ValueError) as error:
        raise InputError(
            f"the table cannot be read ({error}): give columns of one length and type by name"
        ) from None
