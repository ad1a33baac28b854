"""The page on the architecture names every folder of the packages, and only files that are there."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")


def test_every_folder_of_code_is_named() -> None:
    named = set(re.findall(r"^\| `([a-z_/]+)/` \|", PAGE, re.MULTILINE))
    packages = ("augment", "pipelines", "trainers")
    there = {str(path.parent.relative_to(ROOT)) for each in packages for path in (ROOT / each).rglob("*.py")}
    assert named == there


def test_every_file_that_is_named_is_there() -> None:
    files = re.findall(r"\b((?:augment|pipelines|trainers)/[\w/]+\.py)\b", PAGE)
    assert len(files) > 10
    for file in files:
        assert list(ROOT.glob(file.replace("NAME", "*"))), f"{file} is not there"
