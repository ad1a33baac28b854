"""Files of evaluations: whole or not at all, rows of CSV files and lines of gzipped ones."""

import gzip
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from pipelines.console import InputError
from trainers.evaluation.reading import csv_rows
from trainers.evaluation.suites.afs import read_afs
from trainers.evaluation.suites.lexical import read_multi_simlex
from trainers.evaluation.suites.sts_multilingual import read_translated
from trainers.files import STALE, file_lines, whole_file


def test_a_killed_writer_leaves_the_old_file_and_a_draft_that_goes_when_it_is_old(tmp_path: Path) -> None:
    path = tmp_path / "sts.json"
    path.write_text("old")
    code = (
        "import os, sys; from pathlib import Path; from trainers.files import whole_file\n"
        "with whole_file(Path(sys.argv[1])) as stream: stream.write(b'half'); stream.flush(); os.kill(os.getpid(), 9)"
    )
    assert subprocess.run([sys.executable, "-c", code, str(path)], check=False).returncode == -9
    assert path.read_text() == "old"
    (draft,) = set(tmp_path.iterdir()) - {path}
    for age, left in ((STALE - 60, {path, draft}), (STALE + 60, {path})):
        os.utime(draft, (time.time() - age,) * 2)
        with whole_file(path) as stream:
            stream.write(b"new")
        assert set(tmp_path.iterdir()) == left
    assert path.read_text() == "new"


AFS = "regression_label,sentence_1,sentence_2\n"
BROKEN = {"behind a quote": '"a"b', "unclosed": '"a'}


def write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8", newline="")
    return path


def test_a_line_end_between_quotes_is_kept_and_rows_have_the_lines_they_begin_in(tmp_path: Path) -> None:
    path = write(tmp_path / "x.csv", '"two\nlines",1\r\n"odd\u2028end",2\n"three\r\nmore\nlines",3\nlast,4')
    assert csv_rows(path) == [
        (1, ["two\nlines", "1"]), (3, ["odd\u2028end", "2"]), (4, ["three\nmore\nlines", "3"]), (7, ["last", "4"]),
    ]  # fmt: skip
    with pytest.raises(InputError, match="line 1: expected two sentences and their grade"):
        list(read_translated("", path))


def read_words(path: Path) -> object:
    return list(read_multi_simlex("ENG", write(path.with_name("scores.csv"), "ID,ENG\n1,2\n"), path))


@pytest.mark.parametrize("broken", BROKEN.values(), ids=list(BROKEN))
@pytest.mark.parametrize(
    ("read", "text"),
    [
        (lambda path: list(read_translated("", path)), "a,b,1\n{},d,2\ne,f,3\n"),
        (lambda path: list(read_afs("", path)), AFS + "{},a,b\n1,c,d\n"),
        (read_words, "ID,ENG 1,ENG 2\n1,{},b\n2,c,d\n"),
    ],
    ids=["translated", "afs", "multi-simlex"],
)
def test_broken_quotes_have_a_line(tmp_path: Path, read: Callable[[Path], object], text: str, broken: str) -> None:
    with pytest.raises(InputError, match=r"x\.csv line 2: broken quotes"):
        read(write(tmp_path / "x.csv", text.format(broken)))


@pytest.mark.parametrize("place", [10, 40])
def test_a_damaged_gzip_file_is_refused(tmp_path: Path, place: int) -> None:
    raw = bytearray(gzip.compress("".join(f"{number * 7919 % 997} words\n" for number in range(500)).encode()))
    raw[place] ^= 0xFF
    (tmp_path / "x.txt.gz").write_bytes(raw)
    with pytest.raises(InputError, match=r"cannot read .*x\.txt\.gz: "):
        file_lines(tmp_path / "x.txt.gz")


def test_what_is_not_utf8_is_refused_or_read_byte_by_byte(tmp_path: Path) -> None:
    (tmp_path / "x.txt").write_bytes(b"caf\xe9\n")
    assert file_lines(tmp_path / "x.txt", bytewise=True) == ["caf\u00e9"]
    with pytest.raises(InputError, match="not UTF-8 text: byte 3 is 0xe9"):
        file_lines(tmp_path / "x.txt")
