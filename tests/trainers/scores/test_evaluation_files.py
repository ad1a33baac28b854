"""What evaluations read: CSV and gzipped files, drafts, and what identifies an encoder."""

import gzip
import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pipelines.base.console import InputError
from pipelines.base.files import atomic_write
from trainers.encoders.model import EmbeddingModel, load_model
from trainers.files import csv_rows, file_lines
from trainers.scores.suites.afs import READ_AFS
from trainers.scores.suites.lexical import read_multi_simlex
from trainers.scores.suites.sts_multilingual import read_translated


def test_a_killed_writer_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "sts.json"
    path.write_text("old")
    code = (
        "import os, sys; from pathlib import Path; from pipelines.base.files import atomic_write\n"
        "with atomic_write(Path(sys.argv[1])) as stream: stream.write(b'half'); stream.flush(); os.kill(os.getpid(), 9)"
    )
    assert subprocess.run([sys.executable, "-c", code, str(path)], check=False).returncode == -9
    assert path.read_text() == "old"
    with atomic_write(path) as stream:
        stream.write(b"new")
    assert path.read_text() == "new"


AFS = "regression_label,sentence_1,sentence_2\n"
BROKEN = {"behind a quote": '"a"b', "unclosed": '"a'}


def write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8", newline="")
    return path


def test_line_ends_in_quotes_are_kept_and_rows_have_the_numbers_of_their_first_lines(tmp_path: Path) -> None:
    path = write(tmp_path / "x.csv", '"two\nlines",1\r\n"odd\u2028end",2\n"three\r\nmore\nlines",3\nlast,4')
    assert csv_rows(path) == [
        (1, ["two\nlines", "1"]),
        (3, ["odd\u2028end", "2"]),
        (4, ["three\nmore\nlines", "3"]),
        (7, ["last", "4"]),
    ]
    with pytest.raises(InputError, match="line 1: expected two sentences and a grade"):
        list(read_translated("", path))


def read_words(path: Path) -> object:
    return list(read_multi_simlex("ENG", write(path.with_name("scores.csv"), "ID,ENG\n1,2\n"), path))


@pytest.mark.parametrize("broken", BROKEN.values(), ids=list(BROKEN))
@pytest.mark.parametrize(
    ("read", "text"),
    [
        (lambda path: list(read_translated("", path)), "a,b,1\n{},d,2\ne,f,3\n"),
        (lambda path: list(READ_AFS("", path)), AFS + "{},a,b\n1,c,d\n"),
        (read_words, "ID,ENG 1,ENG 2\n1,{},b\n2,c,d\n"),
    ],
    ids=["translated", "afs", "multi-simlex"],
)
def test_broken_quotes_have_a_line(
    tmp_path: Path, read: Callable[[Path], object], text: str, broken: str
) -> None:
    with pytest.raises(InputError, match=r"x\.csv line 2: broken quotes"):
        read(write(tmp_path / "x.csv", text.format(broken)))


@pytest.mark.parametrize("place", [10, 40])
def test_a_damaged_gzip_file_is_refused(tmp_path: Path, place: int) -> None:
    raw = bytearray(gzip.compress("".join(f"{number * 7919 % 997} words\n" for number in range(500)).encode()))
    raw[place] ^= 0xFF
    (tmp_path / "x.txt.gz").write_bytes(raw)
    with pytest.raises(InputError, match=r"cannot read .*x\.txt\.gz: "):
        file_lines(tmp_path / "x.txt.gz")


def test_whatever_changes_a_vector_changes_the_identity(tiny_mlm: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(tiny_mlm, tmp_path / "copy")

    def card_of(encoder: EmbeddingModel) -> str:
        return json.dumps({key: value for key, value in encoder.card().items() if key != "name"})

    def identity(path: Path = copy, pooling: Any = "mean", **more: Any) -> str:  # noqa: ANN401 - the options
        return card_of(load_model(str(path), pooling=pooling, **more))

    usual = identity()
    assert usual == identity(tiny_mlm)
    others = [identity(pooling="cls"), identity(precision="bf16")]
    encoder = load_model(str(copy), pooling="mean")
    encoder.model.max_seq_length = 7
    others.append(card_of(encoder))
    tokenizer = json.loads((copy / "tokenizer.json").read_text())
    tokenizer["normalizer"] = None
    (copy / "tokenizer.json").write_text(json.dumps(tokenizer))
    others.append(identity())
    shutil.copy(tiny_mlm / "tokenizer.json", copy)
    assert identity() == usual
    weights = bytearray((copy / "model.safetensors").read_bytes())
    weights[-1] ^= 1
    (copy / "model.safetensors").write_bytes(weights)
    others.append(identity())
    assert len({usual, *others}) == 1 + len(others)
