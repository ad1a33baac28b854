"""Looking into datasets and taking them elsewhere."""

import csv
import json
import os
import pty
import re
import subprocess
import sys
import unicodedata
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import datasets
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from foreigners import write_stream

from pipelines import export
from pipelines.console import harmless
from pipelines.pairs import PAIR_COLUMNS

Augment = Callable[..., Any]


@pytest.mark.parametrize(
    ("path", "kind", "count"),
    [
        ("data/sentences", "sentences", ("kept", 60)),
        ("data/views/span-mask", "view", ("rows", 60)),
        ("data/pairs.arrow", "pairs", ("pairs", 60)),
    ],
)
def test_inspect_tells_kind_counts_and_sample(made: Augment, path: str, kind: str, count: tuple[str, int]) -> None:
    seen = json.loads(made("inspect", path, "--rows", 7, "--json").out)
    assert (seen["kind"], seen["rows"], len(seen["sample"])) == (kind, 60, 7)
    assert seen["counts"][count[0]] == count[1]
    assert len({row["id"] for row in seen["sample"]}) == 7
    shown = made("inspect", path, "--rows", 7)
    assert shown.code == 0
    assert all(row["id"] in shown.out for row in seen["sample"])


def test_inspect_marks_the_changed_words(augment: Augment, folder: Path) -> None:
    path = write_pairs([("a big dog runs", "a small dog runs")])
    assert "  other     a [-big-]{+small+} dog runs\n" in augment("inspect", path).out


def write_pairs(rows: list[tuple[str, str | None]], **columns: list[Any]) -> Path:
    """Pairs of a sentence with one view of it, as somebody else might write them."""
    texts = [text for text, _ in rows]
    names = (["original"] * len(rows), ["other"] * len(rows))
    values = ([f"{number:016x}" for number in range(len(rows))], texts, texts, [view for _, view in rows], *names)
    strings = [pa.array(each, pa.string()) for each in values]
    path = Path("other.arrow")
    write_stream(path, pa.table({**dict(zip(PAIR_COLUMNS, strings, strict=True)), **columns}))
    return path


def test_inspect_has_statistics(made: Augment) -> None:
    seen = json.loads(made("inspect", "data/views/span-mask", "--sample", 10, "--json").out)
    found = seen["statistics"]
    assert (found["rows"], found["sampled"], found["measures"]["chrF, view ~ text"]["n"]) == (60, 10, 10)
    pairs = json.loads(made("inspect", "data/pairs.arrow", "--json").out)["statistics"]
    assert pairs["shares"]["view_a equals the sentence"] == [60, 60]
    shown = made("inspect", "data/pairs.arrow", "--sample", 10).out
    assert re.search(r"chrF, b ~ a  +\d", shown)
    assert "statistics over 10 of 60 rows, drawn with seed 0; chrF nrefs:1|" in shown


def test_rows_are_spread_evenly_or_drawn_by_a_seed(made: Augment) -> None:
    def ids(*options: object) -> list[str]:
        return [row["id"] for row in json.loads(made("inspect", "data/pairs.arrow", "--json", *options).out)["sample"]]

    everything = ids("--rows", 60)
    assert ids("--rows", 6) == everything[::10]
    drawn = ids("--rows", 6, "--seed", 1)
    assert drawn == ids("--rows", 6, "--seed", 1) != ids("--rows", 6, "--seed", 2)
    assert sorted(drawn, key=everything.index) == drawn


def test_rejects_and_further_columns_are_shown(augment: Augment) -> None:
    path = write_pairs(
        [("a dog", "one dog"), ("a cat", None)], reason=["too alike", "other failed"], chrf=[51.234, None]
    )
    done = augment("inspect", path)
    assert done.code == 0
    assert "0000000000000000  reason too alike  chrf 51.2" in done.out
    assert "0000000000000001  reason other failed\n" in done.out
    assert "column chrf" in done.out


@pytest.mark.parametrize("harm", ["cut", "numbers", "nothing"])
def test_pairs_that_cannot_be_read_are_one_line(augment: Augment, harm: str) -> None:
    path = write_pairs([("a dog " * 100, "one dog")] * 50)
    if harm == "cut":
        path.write_bytes(path.read_bytes()[:-5_000])
    elif harm == "numbers":
        write_stream(path, pa.table({**{name: ["x"] for name in PAIR_COLUMNS}, "view_b": [3]}))
    else:
        path.write_bytes(b"")
    for command in ("inspect", "report"):
        done = augment(command, path)
        assert done.code == 2
        assert re.fullmatch(r"error: .*other\.arrow.*\n", done.err)


HOSTILE = [
    ("a dog runs", "a \x1b[31mred\x1b[0m dog\x07 \x9b2J runs"),
    ("evil \u202eoverride\u202c and \u2066isolate", "line\u2028separator\r\nand\ttab"),
    ("soft\u00adhyphen", "zero\u200bwidth\ufeff"),
    ("x" * 100_000, "x" * 50_000 + " " + "y" * 50_000),
]


def test_no_control_character_of_the_data_reaches_the_terminal(augment: Augment) -> None:
    path = write_pairs(HOSTILE, label=["\x1b[2J", "b", "b", "b"], view_b_name=["other", "\x1b[2J", "other", "other"])
    assert json.loads(augment("inspect", path, "--json").out)["sample"][0]["view_b"] == HOSTILE[0][1]
    for options in ([], ["--json"]):
        done = augment("inspect", path, *options)
        assert done.code == 0
        assert {char for char in done.out if unicodedata.category(char) in ("Cc", "Cf", "Zl", "Zp")} == {"\n"}
    assert "\\x1b[31mred\\x1b[0m" in augment("inspect", path).out


def test_scripts_and_emoji_are_shown_as_they_are() -> None:
    text = "हिन्दी नी\u200dला می\u200cخواهم \u200fא 👩‍👩‍👧 🇩🇪 👍🏽 ✔️ é 中文"
    assert harmless(text) == text


def colored(pieces: str) -> str:
    return pieces.replace("<", "\x1b[9;31m").replace("{", "\x1b[1;32m").replace(">", "\x1b[0m")


@pytest.mark.parametrize(("environment", "has_color"), [({}, True), ({"NO_COLOR": "1"}, False)])
def test_a_terminal_has_colours_and_wrapped_lines(folder: Path, environment: dict[str, str], has_color: bool) -> None:
    path = write_pairs(
        [("one two three four five six seven eight nine ten eleven", "one two three 4 five"), ("狗" * 90, "猫")]
    )
    said = on_a_terminal({"COLUMNS": "60", "TERM": "xterm", **environment}, "inspect", str(path))
    assert (colored("<four>{4>") in said) == has_color
    assert ("[-four-]{+4+}" in said) == (not has_color)
    rows = re.sub(r"\x1b\[[0-9;]*m", "", said).split("0000000000000000")[1].splitlines()
    widths = [sum(1 + (unicodedata.east_asian_width(char) == "W") for char in line) for line in rows]
    assert max(widths) <= 60
    assert any(line.startswith("            ") and line.strip() for line in rows)


def on_a_terminal(environment: dict[str, str], *arguments: str) -> str:
    """What `augment` says when stdout is a terminal."""
    master, slave = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-c", "from pipelines.cli import main; main()", *arguments],
        stdout=slave,
        stderr=subprocess.DEVNULL,
        env={"PATH": os.environ["PATH"], "PYTHONPATH": str(Path(__file__).parents[2]), **environment},
    )
    os.close(slave)
    said = b""
    try:
        while part := os.read(master, 65_536):
            said += part
    except OSError:  # how Linux says that the other end is closed
        pass
    finally:
        os.close(master)
    assert process.wait(60) == 0
    return said.decode().replace("\r\n", "\n")


@pytest.mark.parametrize("path", ["data/sentences", "data/views/span-mask", "data/pairs.arrow"])
@pytest.mark.parametrize("to", ["parquet", "jsonl", "csv"])
def test_export_holds_the_same_rows(made: Augment, path: str, to: str) -> None:
    done = made("export", path, "--to", to)
    assert done.code == 0
    target = Path(f"{path.removesuffix('.arrow')}.{to}")
    rows = (
        datasets.Dataset.from_file(path).to_list()
        if path.endswith("arrow")
        else datasets.load_from_disk(path).to_list()
    )
    if to == "parquet":
        assert pq.read_table(target).to_pylist() == rows
    elif to == "jsonl":
        assert [json.loads(line) for line in target.read_text(encoding="utf-8").splitlines()] == rows
    else:
        with target.open(newline="", encoding="utf-8") as stream:
            assert [(row["id"], row["text"]) for row in csv.DictReader(stream)] == [(r["id"], r["text"]) for r in rows]
    refused = made("export", path, "--to", to)
    assert (refused.code, "exists" in refused.err) == (2, True)
    assert made("export", path, "--to", to, "--limit", 5, "--overwrite").out.startswith("5 rows")


def test_columns_of_dates_and_objects_can_be_exported(augment: Augment) -> None:
    path = write_pairs([("a dog", "one dog")], day=[date(2026, 11, 22)], more=[{"day": date(2026, 11, 23)}])
    for to in ("jsonl", "csv"):
        assert augment("export", path, "--to", to).code == 0
    row = json.loads(Path("other.jsonl").read_text())
    assert (row["day"], row["more"]) == ("2026-11-22", {"day": "2026-11-23"})
    (cells,) = csv.DictReader(Path("other.csv").read_text().splitlines())
    assert (cells["day"], cells["more"]) == ("2026-11-22", '{"day": "2026-11-23"}')


def test_pairs_without_rows_can_be_exported(augment: Augment) -> None:
    assert augment("export", write_pairs([])).out == "0 rows written to other.parquet\n"
    assert (pq.read_table("other.parquet").num_rows, group_sizes("other.parquet")) == (0, [])
    assert pq.read_schema("other.parquet").names == list(PAIR_COLUMNS)


def group_sizes(path: str) -> list[int]:
    metadata = pq.read_metadata(path)
    return [metadata.row_group(number).num_rows for number in range(metadata.num_row_groups)]


def test_a_parquet_export_has_row_groups_of_a_size(made: Augment, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(export, "GROUP_BYTES", 2_000)
    assert made("export", "data/sentences", "--to", "parquet").out.startswith("60 rows")
    sizes = group_sizes("data/sentences.parquet")
    assert len(sizes) > 1
    assert min(sizes[:-1]) > 5
    assert sum(sizes) == 60
    assert pq.read_table("data/sentences.parquet").to_pylist() == datasets.load_from_disk("data/sentences").to_list()
