"""Lines of text files, plain or compressed; what is no UTF-8 text is named with the way to make it so."""

import io
import re
from collections.abc import Iterator
from pathlib import Path

from augment.errors import InputError
from augment.files import MAX_LINE

CHUNK_BYTES = 1 << 20
MAX_DOCUMENT = 50_000_000
"""Characters of a document, which is held in memory several times."""
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
    """How to make UTF-8 of a text with its invalid bytes as surrogates.

    Names an encoding only if it is plain.
    """
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


def joined(lines: Iterator[str], name: str) -> str:
    """The text of a document; raises InputError if it has more than `MAX_DOCUMENT` characters."""
    parts, size = list[str](), 0
    for line in lines:
        parts.append(line)
        size += len(line) + 1
        if size > MAX_DOCUMENT:
            raise InputError(
                f"{name} is a document of more than {MAX_DOCUMENT // 1_000_000} million characters: split it"
            )
    return "\n".join(parts)
