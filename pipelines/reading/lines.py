"""Lines of text out of plain, gzip and Zstandard files, with a precise word on what is wrong with one."""

import gzip
import re
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, NamedTuple

from augment.errors import InputError, MissingExtraError

CHUNK_BYTES = 1 << 20
# 2 KiB of Zstandard can unpack to 64 MiB, and the package hands over what a chunk unpacks to in one piece.
ZSTD_CHUNK_BYTES = 1 << 11
MAX_LINE_BYTES = 1 << 24
BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_LINE = re.compile(rb"([^\r\n]*+)([\r\n]++)")


class Line(NamedTuple):
    """A line without its line end, and its number in the file, from 1; empty lines in a row are one that repeats."""

    number: int
    text: str
    repeats: int = 1


def read_lines(path: Path, name: str, max_line_bytes: int = MAX_LINE_BYTES) -> Iterator[Line]:
    r"""Stream the lines of a UTF-8 file, which ends in `.gz` or `.zst` when it is compressed; errors call it `name`.

    A line ends with \n, \r\n or \r.

    Raises:
        InputError: Binary content, invalid UTF-8 (with line number and byte offset), a line of more than
            `max_line_bytes`, a damaged or truncated archive.
        MissingExtraError: A `.zst` file without the package `zstandard`.
    """
    number = 0
    try:
        for number, offset, body, repeats in _cut_lines(_read_chunks(path), max_line_bytes):
            if len(body) > max_line_bytes:
                raise InputError(
                    f"{name}: line {number} is longer than {max_line_bytes:,} bytes: give one sentence a line, "
                    "or raise --max-line-bytes of `augment ingest`"
                )
            mark = len(BYTE_ORDER_MARK) if number == 1 and body.startswith(BYTE_ORDER_MARK) else 0
            yield Line(number, _decode(body[mark:], name, number, offset + mark), repeats)
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise InputError(f"{name} is truncated or damaged after line {number} ({error}): get it again") from None


def _decode(raw: bytes, name: str, number: int, offset: int) -> str:
    """`raw` as text; `offset` is where it starts in the (unpacked) file, in bytes."""
    at = raw.find(b"\0")
    if at >= 0:
        raise InputError(
            f"{name} is binary (NUL byte in line {number}, byte {offset + at}): give UTF-8 text, or a "
            ".gz, .zst, .csv, .tsv, .jsonl, .parquet or .arrow file named so"
        )
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InputError(
            f"{name}: invalid UTF-8 in line {number}, byte {offset + error.start} "
            f"(0x{raw[error.start]:02x}): convert it, e.g. iconv -f latin1 -t utf-8"
        ) from None


def _cut_lines(chunks: Iterator[bytes], most: int) -> Iterator[tuple[int, int, bytes, int]]:
    """Cut bytes into lines: number, offset, bytes without the line end, and how often the line, if empty, repeats.

    No chunk is empty. A line that has grown longer than `most` comes unfinished.
    """
    number, offset, after_return = 1, 0, False
    rest: list[bytes] = []
    for chunk in chunks:
        if after_return and chunk.startswith(b"\n"):
            chunk, offset = chunk[1:], offset + 1
        after_return = chunk.endswith(b"\r")
        end = max(chunk.rfind(b"\n"), chunk.rfind(b"\r")) + 1
        whole, rest = (b"".join([*rest, chunk[:end]]), [chunk[end:]]) if end else (b"", [*rest, chunk])
        for match in _LINE.finditer(whole):
            body, ends = match.groups()
            breaks = 1 if len(ends) == 1 else ends.count(b"\n") + ends.count(b"\r") - ends.count(b"\r\n")
            if body:
                yield number, offset + match.start(), body, 1
            if blank := breaks - bool(body):
                yield number + bool(body), offset + match.start(2), b"", blank
            number += breaks
        offset += len(whole)
        if sum(map(len, rest)) > most:
            break
    if final := b"".join(rest):
        yield number, offset, final, 1


def _read_chunks(path: Path) -> Iterator[bytes]:
    with path.open("rb") as stream:
        if path.suffix == ".gz":
            with gzip.GzipFile(fileobj=stream) as unpacked:
                yield from iter(lambda: unpacked.read(CHUNK_BYTES), b"")
        elif path.suffix == ".zst":
            yield from _unpack_zstd(stream)
        else:
            yield from iter(lambda: stream.read(CHUNK_BYTES), b"")


def _unpack_zstd(stream: IO[bytes]) -> Iterator[bytes]:
    try:
        import zstandard
    except ImportError:
        raise MissingExtraError("reading .zst", "zstd") from None
    # The package's own stream reader ends quietly in the middle of a truncated frame; this does not.
    unpacker = zstandard.ZstdDecompressor().decompressobj()
    try:
        while chunk := stream.read(ZSTD_CHUNK_BYTES):
            while chunk:
                if unpacked := unpacker.decompress(chunk):
                    yield unpacked
                chunk = unpacker.unused_data if unpacker.eof else b""
                if unpacker.eof and chunk:
                    unpacker = zstandard.ZstdDecompressor().decompressobj()
    except zstandard.ZstdError as error:
        raise zlib.error(str(error)) from None
    if not unpacker.eof:
        raise EOFError("the last frame has no end")
