"""Lines of text out of plain, gzip and Zstandard files, with a precise word on what is wrong with one."""

from collections.abc import Iterator
from pathlib import Path

from augment.errors import InputError

CHUNK_BYTES = 1 << 20
MAX_LINE_BYTES = 1 << 24
BYTE_ORDER_MARK = b"\xef\xbb\xbf"


def read_lines(path: Path, name: str) -> Iterator[list[str]]:
    r"""Stream the lines of a UTF-8 file, many at a time and without their ends; errors call it `name`.

    A line ends with \n, \r\n or \r. A file whose name ends in `.gz` or `.zst` is compressed.

    Raises:
        InputError: Binary content, invalid UTF-8 (with line number and byte offset), a line of more than
            MAX_LINE_BYTES, a damaged or truncated archive.
    """
    number = offset = 0  # lines and bytes that were read before
    try:
        for data in _whole_lines(_read_chunks(path)):
            mark = len(BYTE_ORDER_MARK) if not offset and data.startswith(BYTE_ORDER_MARK) else 0
            lines = data[mark:].splitlines()
            try:
                texts = b"\n".join(lines).decode().split("\n") if lines else []
            except UnicodeDecodeError:
                texts = []
            if b"\0" in data or len(texts) < len(lines) or max(map(len, lines), default=0) > MAX_LINE_BYTES:
                raise InputError(_fault(data[mark:], name, number, offset + mark))
            yield texts
            number, offset = number + len(lines), offset + len(data)
    except OSError as error:
        raise InputError(f"{name} is truncated or damaged after line {number} ({error}): get it again") from None


def _fault(data: bytes, name: str, number: int, offset: int) -> str:
    """What is wrong with the first bad line of `data`, before which there were so many lines and bytes."""
    for line in data.splitlines(keepends=True):
        number += 1
        body = line.rstrip(b"\r\n")
        if len(body) > MAX_LINE_BYTES:
            return f"{name}: line {number} is longer than {MAX_LINE_BYTES:,} bytes: give one sentence a line"
        if b"\0" in body:
            at = offset + body.find(b"\0")
            return f"{name} is binary (NUL byte in line {number}, byte {at}): give UTF-8 text"
        try:
            body.decode()
        except UnicodeDecodeError as error:
            where = f"line {number}, byte {offset + error.start} (0x{body[error.start]:02x})"
            return f"{name}: invalid UTF-8 in {where}: convert it, e.g. iconv -f latin1 -t utf-8"
        offset += len(line)
    return f"{name} cannot be read: give UTF-8 text"


def _whole_lines(chunks: Iterator[bytes]) -> Iterator[bytes]:
    """The same bytes cut behind line ends; what comes after a line that is too long is left out."""
    rest: list[bytes] = []
    for chunk in chunks:
        # A carriage return at the end of a chunk is a line end, or the first half of one.
        if rest and rest[-1].endswith(b"\r") and not chunk.startswith(b"\n"):
            yield b"".join(rest)
            rest = []
        end = max(chunk.rfind(b"\n"), chunk.rfind(b"\r", 0, -1)) + 1
        if end:
            yield b"".join([*rest, chunk[:end]])
            rest = []
        rest.append(chunk[end:])
        if sum(map(len, rest)) > MAX_LINE_BYTES + 1:
            break
    if final := b"".join(rest):
        yield final


def _read_chunks(path: Path) -> Iterator[bytes]:
    """The bytes of a file, unpacked as they come: a few bytes can unpack to very many."""
    import pyarrow as pa

    compression = {".gz": "gzip", ".zst": "zstd"}.get(path.suffix)
    with pa.input_stream(str(path), compression=compression) as stream:
        yield from iter(lambda: stream.read(CHUNK_BYTES), b"")
