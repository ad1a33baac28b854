"""Lines of a benchmark's file, and a graded pair checked, with errors that name the file and the line."""

from __future__ import annotations

import math
from pathlib import Path

from pipelines.console import InputError
from trainers.evaluation.graded import Graded


def file_lines(path: Path) -> list[str]:
    """Return the lines of a UTF-8 file; raises InputError where it is none."""
    # Not splitlines: some sentences hold characters that it takes for the end of a line.
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is no UTF-8 (byte {error.start}): get the original file again") from None
    lines = text.replace("\r\n", "\n").split("\n")
    return lines[:-1] if lines[-1] == "" else lines


def checked_pair(path: Path, number: int, texts: list[str], grade: str) -> Graded:
    """Return a pair of texts with its grade; raises InputError unless there are two, and a number."""
    if len(texts) != 2 or not all(text.strip() for text in texts):
        raise InputError(f"{path} line {number}: expected two sentences, got {texts!r}")
    try:
        gold = float(grade)
    except ValueError:
        gold = math.nan
    if not math.isfinite(gold):
        raise InputError(f"{path} line {number}: the score {grade!r} is no number")
    return Graded(texts[0].strip(), texts[1].strip(), gold)
