"""Files of evaluations: drafts that killed processes leave, and whole files in their place."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from pathlib import Path

import pytest

from trainers.files import whole_file


@pytest.fixture
def killed() -> int:
    """The number of a process that is gone."""
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid


def test_the_next_writer_of_a_file_clears_what_killed_ones_left_of_it(tmp_path: Path, killed: int) -> None:
    here = platform.node()
    left = [f".sts.json.{killed}@{here}.tmp", f".sts.json.{killed}.tmp"]
    kept = [
        f".sts.md.{killed}@{here}.tmp", f".sts.json.{killed}@not-{here}.tmp", f".sts.json.{os.getppid()}@{here}.tmp",
        "sts.json.tmp",
    ]  # fmt: skip
    for name in (*left, *kept):
        (tmp_path / name).write_text("")
    with whole_file(tmp_path / "sts.json") as stream:
        stream.write(b"{}")
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([*kept, "sts.json"])


def test_a_killed_writer_leaves_the_old_file_and_the_next_one_clears_its_draft(tmp_path: Path) -> None:
    path = tmp_path / "sts.json"
    path.write_text("old")
    code = (
        "import os, sys; from pathlib import Path; from trainers.files import whole_file\n"
        "with whole_file(Path(sys.argv[1])) as stream: stream.write(b'half'); stream.flush(); os.kill(os.getpid(), 9)"
    )
    assert subprocess.run([sys.executable, "-c", code, str(path)], check=False).returncode == -9
    assert path.read_text() == "old"
    assert len(list(tmp_path.iterdir())) == 2
    with whole_file(path) as stream:
        stream.write(b"new")
    assert [item.name for item in tmp_path.iterdir()] == ["sts.json"]
    assert path.read_text() == "new"
