"""The vector cache: the same vectors, fewer texts encoded, and nothing that a damaged file can do."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from trainers.embedding import vectors as cache
from trainers.embedding.baselines import function_encoder
from trainers.embedding.model import load_model
from trainers.embedding.vectors import Advance, cached, still

Capsys = pytest.CaptureFixture[str]

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
    usual = load_model(str(copy), pooling="mean").fingerprint()
    assert usual == load_model(str(copy), pooling="mean", batch_tokens=2).fingerprint()
    assert usual == load_model(str(tiny_mlm), pooling="mean").fingerprint()
    others = [
        load_model(str(copy), pooling="cls").fingerprint(),
        load_model(str(copy), pooling="mean", precision="bf16").fingerprint(),
    ]
    encoder = load_model(str(copy), pooling="mean")
    encoder.model.max_seq_length = 7
    others.append(encoder.fingerprint())
    tokenizer = json.loads((copy / "tokenizer.json").read_text())
    tokenizer["normalizer"] = None
    (copy / "tokenizer.json").write_text(json.dumps(tokenizer))
    others.append(load_model(str(copy), pooling="mean").fingerprint())
    shutil.copy(tiny_mlm / "tokenizer.json", copy)
    assert load_model(str(copy), pooling="mean").fingerprint() == usual
    weights = bytearray((copy / "model.safetensors").read_bytes())
    weights[-1] ^= 1
    (copy / "model.safetensors").write_bytes(weights)
    others.append(load_model(str(copy), pooling="mean").fingerprint())
    assert len({usual, *others}) == 1 + len(others)


def test_what_could_be_another_encoder_next_time_is_not_kept(tmp_path: Path) -> None:
    encoder = function_encoder(lambda texts: [[1.0] for _ in texts], "mine")
    assert cached(encoder, tmp_path) is encoder
    unknown = Counting()
    unknown.fingerprint = lambda: None  # type: ignore[assignment, method-assign, return-value]
    assert cached(unknown, tmp_path) is unknown


@pytest.mark.parametrize("damage", ["cut", "empty", "flipped", "other", "array", "pickle"])
def test_a_damaged_shard_is_encoded_again(tmp_path: Path, damage: str, capsys: Capsys) -> None:
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


def test_an_interrupted_evaluation_goes_on_where_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
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


def test_processes_that_write_at_once_leave_whole_shards(tmp_path: Path) -> None:
    script = (
        "import sys; from pathlib import Path; sys.path.insert(0, sys.argv[1]);"
        "from tests.trainers.evaluation.test_vector_cache import Counting;"
        "from trainers.embedding.vectors import cached;"
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


def test_what_a_killed_evaluation_left_is_deleted_by_a_later_one(tmp_path: Path) -> None:
    cached(Counting(), tmp_path).encode(TEXTS)
    draft = tmp_path / NAME / ".0.npz.1000000001.augment.tmp"
    draft.write_bytes(b"half")
    os.utime(draft, (0, 0))
    cached(Counting(), tmp_path).encode(TEXTS)
    assert not draft.exists()


def test_a_cache_that_cannot_be_written_costs_a_note_and_no_score(tmp_path: Path, capsys: Capsys) -> None:
    (tmp_path / "file").write_text("")
    vectors = cached(Counting(), tmp_path / "file").encode(TEXTS)
    assert np.array_equal(vectors, Counting().encode(TEXTS))
    assert "cannot keep vectors in" in capsys.readouterr().err
