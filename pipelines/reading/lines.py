"""Lines of text out of plain, gzip and Zstandard files, with a precise word on what is wrong with one."""

import gzip
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, NamedTuple

from augment.errors import InputError, MissingExtraError

CHUNK_BYTES = 1 << 20
BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class Line(NamedTuple):
    """A line without its line end, and its number in the file, from 1."""

    number: int
    text: str


def read_lines(path: Path, name: str) -> Iterator[Line]:
    """Stream the lines of a UTF-8 file, which ends in `.gz` or `.zst` when it is compressed; errors call it `name`.

    Raises:
        InputError: Binary content, invalid UTF-8 (with line number and byte offset), a damaged or truncated archive.
        MissingExtraError: A `.zst` file without the package `zstandard`.
    """
    offset = 0
    for number, raw in enumerate(_raw_lines(path, name), start=1):
        body = raw.removeprefix(BYTE_ORDER_MARK) if number == 1 else raw
        yield Line(number, _decode(body, name, number, offset + len(raw) - len(body)))
        offset += len(raw)


def _decode(raw: bytes, name: str, number: int, offset: int) -> str:
    """`raw` as text; `offset` is where it starts in the (unpacked) file, in bytes."""
    at = raw.find(b"\0")
    if at >= 0:
        raise InputError(
            f"{name} is binary (NUL byte in line {number}, byte {offset + at}): give UTF-8 text, or a "
            ".gz, .zst, .csv, .tsv, .jsonl, .parquet or .arrow file named so"
        )
    try:
        return raw.decode("utf-8").rstrip("\r\n")
    except UnicodeDecodeError as error:
        raise InputError(
            f"{name}: invalid UTF-8 in line {number}, byte {offset + error.start} "
            f"(0x{raw[error.start]:02x}): convert it, e.g. iconv -f latin1 -t utf-8"
        ) from None


def _raw_lines(path: Path, name: str) -> Iterator[bytes]:
    number = 0
    try:
        for raw in _open_lines(path):
            number += 1
            yield raw
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise InputError(f"{name} is truncated or damaged after line {number} ({error}): get it again") from None


def _open_lines(path: Path) -> Iterator[bytes]:
    with path.open("rb") as stream:
        if path.suffix == ".gz":
            with gzip.GzipFile(fileobj=stream) as unpacked:
                yield from unpacked
        elif path.suffix == ".zst":
            yield from _split(_unpack_zstd(stream))
        else:
            yield from stream


def _split(chunks: Iterator[bytes]) -> Iterator[bytes]:
    """Cut chunks into lines that keep their line end."""
    rest: list[bytes] = []
    for chunk in chunks:
        *lines, last = chunk.split(b"\n")
        for line in lines:
            yield b"".join([*rest, line, b"\n"])
            rest = []
        rest.append(last)
    final = b"".join(rest)
    if final:
        yield final


def _unpack_zstd(stream: IO[bytes]) -> Iterator[bytes]:
    try:
        import zstandard
    except ImportError:
        raise MissingExtraError("reading .zst", "zstd") from None
    # The package's own stream reader ends quietly in the middle of a truncated frame; this does not.
    unpacker = zstandard.ZstdDecompressor().decompressobj()
    try:
        while chunk := stream.read(CHUNK_BYTES):
            while chunk:
                yield unpacker.decompress(chunk)
                chunk = unpacker.unused_data if unpacker.eof else b""
                if unpacker.eof and chunk:
                    unpacker = zstandard.ZstdDecompressor().decompressobj()
    except zstandard.ZstdError as error:
        raise zlib.error(str(error)) from None
    if not unpacker.eof:
        raise EOFError("the last frame has no end")
