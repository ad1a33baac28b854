"""Lines of text from plain, gzip and Zstandard files, with exact errors."""

import codecs
from collections.abc import Iterator
from io import IncrementalNewlineDecoder
from pathlib import Path

from augment.errors import InputError

CHUNK_BYTES = 1 << 20
MAX_LINE = 1 << 24
"""Characters; a small archive can unpack to an endless line."""


def read_lines(path: Path, name: str) -> Iterator[list[str]]:
    r"""Stream the lines of a UTF-8 file, many at a time and without their ends; errors call it `name`.

    A line ends with \n, \r\n or \r. A file whose name ends in `.gz` or `.zst` is compressed. Raises InputError for
    binary content, invalid UTF-8, a line longer than MAX_LINE, and a damaged or truncated archive.
    """
    import pyarrow as pa

    decoder = IncrementalNewlineDecoder(codecs.getincrementaldecoder("utf-8-sig")(), translate=True)
    number = size = 0  # lines and bytes so far
    data, rest = b" ", ""
    try:
        with pa.input_stream(str(path), compression={".gz": "gzip", ".zst": "zstd"}.get(path.suffix)) as stream:
            while data:
                data = stream.read(CHUNK_BYTES)
                size += len(data)
                text = rest + decoder.decode(data, final=not data)
                *lines, rest = found = text.split("\n")
                if "\0" in text:
                    line = number + 1 + text[: text.index("\0")].count("\n")
                    raise InputError(f"{name} is binary (NUL byte in line {line}): give UTF-8 text")
                if max(map(len, found)) > MAX_LINE:
                    line = number + 1 + next(place for place, each in enumerate(found) if len(each) > MAX_LINE)
                    raise InputError(f"{name}: line {line} is longer than {MAX_LINE:,} characters: split it")
                if lines:
                    yield lines
                number += len(lines)
        if rest:
            yield [rest]
    except UnicodeDecodeError as error:
        line = number + len((error.object[: error.start] + b"x").splitlines())
        byte = size - len(error.object) + error.start
        raise InputError(
            f"{name}: invalid UTF-8 in line {line}, byte {byte} (0x{error.object[error.start]:02x}): "
            "convert it, e.g. iconv -f latin1 -t utf-8"
        ) from None
    except OSError as error:
        raise InputError(f"{name} is truncated or damaged after line {number} ({error}): get it again") from None
