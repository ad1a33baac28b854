"""`train compare --out`: what is written, what is left alone, and that nothing stays behind."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest
from file_limits import no_file_above
from made_items import compare

PAPER = ("--suite", "qnli", "--with", "mirror")


def test_a_page_is_replaced_and_nothing_else_is_left(tmp_path: Path) -> None:
    (tmp_path / "page.md").write_text("old")
    assert compare(*PAPER, "--out", "page.md") == 0
    assert (tmp_path / "page.md").read_text().startswith("# Comparison")
    assert [path.name for path in tmp_path.iterdir()] == ["page.md"]


@pytest.mark.parametrize("there", [True, False])
def test_a_link_is_written_through(there: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "pages").mkdir()
    if there:
        (tmp_path / "pages" / "real.md").write_text("old")
    (tmp_path / "link.md").symlink_to("pages/real.md")
    assert compare(*PAPER, "--out", "link.md") == 0
    assert capsys.readouterr().err == "written: link.md\n"
    assert (tmp_path / "link.md").is_symlink()
    assert (tmp_path / "pages" / "real.md").read_text().startswith("# Comparison")
    assert [path.name for path in (tmp_path / "pages").iterdir()] == ["real.md"]


@pytest.mark.parametrize(
    ("out", "why"),
    [
        ("pipe", "it is no regular file"),
        ("to-pipe", "it is no regular file"),
        ("round", "it is no regular file"),
        ("folder", "it is a folder"),
        ("gone/page.md", "there is no folder 'gone'"),
        ("file/page.md", "there is no folder 'file'"),
        ("n" * 250, "File name too long"),
    ],
)
def test_what_is_no_place_for_a_page_is_left_alone(
    out: str, why: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "to-pipe").symlink_to("pipe")
    (tmp_path / "round").symlink_to("round")
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_text("kept")
    before = sorted(path.name for path in tmp_path.iterdir())
    assert compare(*PAPER, "--out", out) == 2
    assert capsys.readouterr().err == f"error: cannot write '{out}' ({why}): give another file with --out\n"
    assert sorted(path.name for path in tmp_path.iterdir()) == before
    assert stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)
    assert (tmp_path / "round").is_symlink()
    assert (tmp_path / "file").read_text() == "kept"


def test_a_disk_without_room_is_no_mistake_of_the_user(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "page.md").write_text("old")
    with no_file_above(100):
        assert compare(*PAPER, "--out", "page.md") == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("error: cannot write 'page.md' (File too large)")
    assert [path.name for path in tmp_path.iterdir()] == ["page.md"]
    assert (tmp_path / "page.md").read_text() == "old"
