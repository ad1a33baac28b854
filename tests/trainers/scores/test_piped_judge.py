"""`--judge -`, and other tables whose names say nothing of their format."""

import io
import json
import sys
from pathlib import Path

import pytest
from small_trainings import Capsys, train

from trainers.scores.tables.judge import read_judge

ROWS = [(f"a text, number {number}", f"label {number % 2}") for number in range(12)]
TABLES = {
    "csv": "text,label\n" + "".join(f'"{text}",{label}\n' for text, label in ROWS),
    "semicolons": "text;label\n" + "".join(f'"{text}";{label}\n' for text, label in ROWS),
    "tsv": "label\ttext\n" + "".join(f"{label}\t{text}\n" for text, label in ROWS),
    "jsonl": "".join(json.dumps({"text": text, "label": label}) + "\n" for text, label in ROWS),
}


@pytest.mark.parametrize("format", TABLES)
@pytest.mark.parametrize("name", ["-", "table", "table.txt"])
def test_a_table_is_told_by_its_first_line(format: str, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    content = TABLES[format].encode()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
    if name != "-":
        Path(name).write_bytes(content)
    suite = read_judge(name)
    assert suite.tasks[0].size == 12
    assert sorted(suite.tasks[0].texts) == sorted(text for text, _ in ROWS)


def test_what_is_no_table_is_one_line(tiny_mlm: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capsys) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"one sentence\nanother one\n")))
    assert train("evaluate", tiny_mlm, "--judge", "-") == 2
    assert "- has the columns one sentence: expected text and label; " in capsys.readouterr().err
