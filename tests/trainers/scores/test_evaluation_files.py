"""What evaluations read and keep: CSV and gzipped files, drafts, the vector cache."""

import gzip
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pipelines.base.console import InputError
from pipelines.base.files import atomic_write
from trainers.encoders import vectors as cache
from trainers.encoders.functions import FunctionEncoder
from trainers.encoders.model import load_model
from trainers.encoders.vectors import Advance, cached, still
from trainers.files import STALE_SECONDS, csv_rows, file_lines, remove_stale
from trainers.scores.suites.afs import READ_AFS
from trainers.scores.suites.lexical import read_multi_simlex
from trainers.scores.suites.sts_multilingual import read_translated


def test_a_killed_writer_leaves_the_old_file_and_a_draft_that_is_removed_when_stale(tmp_path: Path) -> None:
    path = tmp_path / "sts.json"
    path.write_text("old")
    code = (
        "import os, sys; from pathlib import Path; from pipelines.base.files import atomic_write\n"
        "with atomic_write(Path(sys.argv[1])) as stream: stream.write(b'half'); stream.flush(); os.kill(os.getpid(), 9)"
    )
    assert subprocess.run([sys.executable, "-c", code, str(path)], check=False).returncode == -9
    assert path.read_text() == "old"
    (draft,) = set(tmp_path.iterdir()) - {path}
    for age, left in ((STALE_SECONDS - 60, {path, draft}), (STALE_SECONDS + 60, {path})):
        os.utime(draft, (time.time() - age,) * 2)
        remove_stale(tmp_path)
        with atomic_write(path) as stream:
            stream.write(b"new")
        assert set(tmp_path.iterdir()) == left
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


TEXTS = ["a cat", "the dog runs", "the old man", "a"]
NAME = "0123456789abcdef0123456789abcdef"


class Counting:
    """An encoder of a known identity that remembers what it was asked for."""

    name = title = "counting"

    def __init__(self, identity: str = NAME) -> None:
        self.identity = identity
        self.asked: list[str] = []

    def encode(self, texts: Sequence[str], advance: Advance = still) -> np.ndarray:
        self.asked += texts
        advance(len(texts))
        return np.array([[len(text), text.count("a"), 0.1] for text in texts], np.float32).reshape(-1, 3)

    def card(self) -> dict[str, Any]:
        return {"name": self.name}

    def fingerprint(self) -> str:
        return self.identity


def test_a_text_is_encoded_once_over_several_evaluations(tmp_path: Path) -> None:
    encoder = Counting()
    done: list[int] = []
    first = cached(encoder, tmp_path).encode(TEXTS[:2])
    again = cached(encoder, tmp_path).encode([*TEXTS, TEXTS[3]], done.append)
    assert sorted(encoder.asked) == sorted(TEXTS)
    assert np.array_equal(again, Counting().encode([*TEXTS, TEXTS[3]]))
    assert np.array_equal(again[:2], first)
    assert sum(done) == 4
    assert again.dtype == np.float32
    assert cached(encoder, tmp_path).encode([]).shape == (0, 3)
    cached(Counting(NAME[::-1]), tmp_path).encode(TEXTS)
    assert sorted(path.name for path in tmp_path.iterdir()) == [NAME, NAME[::-1]]


def test_whatever_changes_a_vector_changes_the_identity(tiny_mlm: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(tiny_mlm, tmp_path / "copy")

    def identity(path: Path = copy, pooling: Any = "mean", **more: Any) -> str | None:  # noqa: ANN401 - the options
        return load_model(str(path), pooling=pooling, **more).fingerprint()

    usual = identity()
    assert usual == identity(batch_tokens=2) == identity(tiny_mlm)
    others = [identity(pooling="cls"), identity(precision="bf16")]
    encoder = load_model(str(copy), pooling="mean")
    encoder.model.max_seq_length = 7
    others.append(encoder.fingerprint())
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


def test_vectors_of_an_encoder_without_an_identity_are_not_cached(tmp_path: Path) -> None:
    encoder = FunctionEncoder(lambda texts: [[1.0] for _ in texts], "mine")
    assert cached(encoder, tmp_path) is encoder
    unknown = Counting()
    unknown.fingerprint = lambda: None  # type: ignore[assignment, method-assign, return-value]
    assert cached(unknown, tmp_path) is unknown


@pytest.mark.parametrize("damage", ["cut", "empty", "flipped", "other", "array", "pickle"])
def test_a_damaged_shard_is_encoded_again(
    tmp_path: Path, damage: str, capsys: pytest.CaptureFixture[str]
) -> None:
    cached(Counting(), tmp_path).encode(TEXTS)
    (shard,) = (tmp_path / NAME).glob("*.npz")
    whole = shard.read_bytes()
    if damage == "array":
        with shard.open("wb") as stream:
            np.save(stream, np.ones(3))
    elif damage == "pickle":
        np.savez(shard, keys=np.array([{}]), vectors=np.array([{}]))
    else:
        middle = whole.index(np.float32(0.1).tobytes())
        flipped = whole[:middle] + bytes([whole[middle] ^ 255]) + whole[middle + 1 :]
        shard.write_bytes({"cut": whole[:-40], "empty": b"", "flipped": flipped, "other": b"text"}[damage])
    encoder = Counting()
    assert np.array_equal(cached(encoder, tmp_path).encode(TEXTS), Counting().encode(TEXTS))
    assert len(encoder.asked) == len(TEXTS)
    assert f"{shard} is damaged and ignored" in capsys.readouterr().err


def test_an_interrupted_evaluation_continues_where_it_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cache, "CHUNK", 2)

    class Interrupted(Counting):
        def encode(self, texts: Sequence[str], advance: Advance = still) -> np.ndarray:
            if self.asked:
                raise KeyboardInterrupt
            return super().encode(texts, advance)

    with pytest.raises(KeyboardInterrupt):
        cached(Interrupted(), tmp_path).encode(TEXTS)
    encoder = Counting()
    assert np.array_equal(cached(encoder, tmp_path).encode(TEXTS), Counting().encode(TEXTS))
    assert sorted(encoder.asked) == ["a", "a cat"]


@pytest.mark.exhaustive
def test_processes_that_write_at_once_leave_whole_shards(tmp_path: Path) -> None:
    script = (
        "import sys; from pathlib import Path; sys.path.insert(0, sys.argv[1]);"
        "from tests.trainers.evaluation.test_evaluation_files import Counting;"
        "from trainers.encoders.vectors import cached;"
        "[cached(Counting(), Path(sys.argv[2])).encode([f'{sys.argv[3]} {i} {j}' for j in range(50)] + ['both'])"
        " for i in range(20)]"
    )
    root = str(Path(__file__).parents[3])
    running = [subprocess.Popen([sys.executable, "-c", script, root, str(tmp_path), name]) for name in "xy"]
    assert [process.wait(timeout=120) for process in running] == [0, 0]
    encoder = Counting()
    texts = [f"{name} {i} {j}" for name in "xy" for i in range(20) for j in range(50)]
    assert np.array_equal(cached(encoder, tmp_path).encode(texts), Counting().encode(texts))
    assert encoder.asked == []
    assert not list((tmp_path / NAME).glob(".*"))


def test_a_cache_that_cannot_be_written_is_noted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").write_text("")
    vectors = cached(Counting(), tmp_path / "file").encode(TEXTS)
    assert np.array_equal(vectors, Counting().encode(TEXTS))
    assert "cannot keep vectors in" in capsys.readouterr().err
