"""One record says of an output what it is to who wants to write it."""

from collections.abc import Callable
from pathlib import Path

import pytest

from augment.errors import InputError
from augment.record import FileRecord
from pipelines.base.record import claim, is_unaltered, record_path, write_record

PLAN = {"kind": "export", "--to": "csv"}


@pytest.fixture
def out(tmp_path: Path) -> Path:
    """A file with its record."""
    path = tmp_path / "rows.csv"
    path.write_text("a,b\n")
    write_record(path, PLAN, {path.name: FileRecord.of(b"a,b\n")}, {"rows": 1})
    return path


@pytest.mark.parametrize(
    ("change", "plan", "overwrite", "status"),
    [
        (None, PLAN, False, "finished"),
        (Path.unlink, PLAN, False, "resumed"),
        (lambda path: path.write_text("mine"), PLAN, False, "is not as it was written: move it"),
        (lambda path: path.write_text("mine"), PLAN, True, "resumed"),
        (None, {**PLAN, "--to": "jsonl"}, False, "with other options (--to 'csv', not 'jsonl')"),
        (None, {**PLAN, "--to": "jsonl"}, True, "replaced"),
        (None, {"kind": "page"}, True, "holds export, not page"),
        (lambda path: record_path(path).unlink(), PLAN, True, "was not written by this command"),
        (lambda path: record_path(path).write_text("{}"), PLAN, True, "is not a record of ours"),
        (lambda path: flip(record_path(path)), PLAN, False, "is damaged, or of another version"),
        (lambda path: flip(record_path(path)), PLAN, True, "replaced"),
    ],
)
def test_a_file_is_claimed(
    out: Path,
    change: Callable[[Path], object] | None,
    plan: dict[str, str],
    overwrite: bool,
    status: str,
) -> None:
    if change is not None:
        change(out)
    before = {path: path.read_bytes() for path in out.parent.iterdir()}
    try:
        said: str = claim(out, plan, overwrite=overwrite)
    except InputError as error:
        said = str(error)
    assert said == status or (" " in status and status in said)
    assert {path: path.read_bytes() for path in out.parent.iterdir()} == before


def flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def test_every_flipped_bit_of_a_record_is_found(out: Path) -> None:
    path = record_path(out)
    content = path.read_bytes()
    assert is_unaltered(out)
    for place in range(len(content)):
        path.write_bytes(content[:place] + bytes([content[place] ^ 1 << place % 8]) + content[place + 1 :])
        with pytest.raises(InputError, match=r"is damaged|is not a record of ours"):
            is_unaltered(out)


def test_two_outputs_never_share_a_record(tmp_path: Path) -> None:
    write_record(tmp_path / "pairs.arrow", PLAN, {"pairs.arrow": FileRecord.of(b"")})
    with pytest.raises(InputError, match=r"pairs would share pairs\.record\.json with pairs\.arrow"):
        claim(tmp_path / "pairs", PLAN, overwrite=True)
