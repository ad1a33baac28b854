"""The command line: help, exit codes, streams, and one line for what a user can get wrong."""

import errno
import gzip
import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch
import typer
from foreigners import Augment, Start, is_refused, write_stream
from standin_llm import standin

from augment.view import VIEWS
from pipelines.base.console import InputError, TwinviewsError, call
from pipelines.cli.app import build_app
from pipelines.storage.dataset import open_dataset

COMMANDS = sorted(typer.main.get_command(build_app()).commands)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_with_an_example(augment: Augment, command: str) -> None:
    done = augment(command, "--help")
    assert (done.code, done.err) == (0, "")
    assert f"Example: augment {command}" in " ".join(done.out.split())
    assert "0" * 9 not in done.out  # a bound that stands for none


def test_options_are_grouped_and_defaults_have_one_style(augment: Augment) -> None:
    helps = {command: augment(command, "--help").out for command in COMMANDS}
    headings = {
        name: re.findall(r"^([A-Z]\w+)(?:, .*)?:$", text, re.MULTILINE) for name, text in helps.items()
    }
    assert headings["span-mask"] == ["Arguments", "Options", "Output", "Running"]
    assert headings["build-pairs"] == ["Arguments", "Options", "Output", "Running", "Filters"]
    assert all(
        names.index("Output") < names.index("Running") for names in headings.values() if "Running" in names
    )
    for text in helps.values():
        assert not re.search(r"default:|by default|if not given", " ".join(text.split()))
    assert "else bsl]" in " ".join(helps["build-pairs"].split())


def test_summaries_of_commands_are_whole_and_filters_show_their_defaults(augment: Augment) -> None:
    overview = " ".join(augment("--help").out.partition("Commands:")[2].split())
    assert "..." not in overview
    assert "inspect Show what a dataset holds: counts, where it comes from, statistics, and rows" in overview
    filters = augment("build-pairs", "--help").out
    assert "near-duplicates:threshold=0.8,n=5," in filters
    assert "chrf:min=,max= " in filters


@pytest.mark.parametrize("command", VIEWS.usable_names())
def test_the_example_of_a_view_command_is_accepted(augment: Augment, lines: Path, command: str) -> None:
    Path("llm.jsonl").write_text('{"text": "A dog runs.", "view": "One dog runs."}\n')
    line = augment(command, "--help").out.split("Example: augment ")[1].split()
    with standin() as server:  # which one view asks
        asked = ["--url", server.url] if command == "rewrite" else []
        done = augment(*line, *asked, lines, "--limit", 3)
    if "WordNet was not found" in done.err:
        pytest.skip(done.err)
    assert done.code == 0, done.err


@pytest.mark.parametrize(
    ("error", "code", "line"),
    [
        (InputError("no file 'x':\n  check it"), 2, "error: no file 'x': check it\n"),
        (TwinviewsError("a view failed"), 1, "error: a view failed\n"),
        (OSError(errno.ENOSPC, "No space left on device"), 1, "error: [Errno 28] No space left on device\n"),
        (KeyboardInterrupt(), 130, "stopping; run the same command again to resume\n"),
    ],
)
def test_errors_become_one_line_and_an_exit_code(
    error: BaseException, code: int, line: str, capsys: pytest.CaptureFixture[str]
) -> None:
    app = typer.Typer()

    @app.command()
    def fail() -> None:
        raise error

    app.command("other")(lambda: None)
    assert call(app, ["fail"]) == code
    assert capsys.readouterr().err == line


@pytest.mark.parametrize(
    "allocate",
    [lambda: bytearray(2**62), lambda: np.empty(2**62, np.int8), lambda: torch.empty(2**62, dtype=torch.int8)],
    ids=["python", "numpy", "torch"],
)
def test_lack_of_memory_is_one_line(
    allocate: Callable[[], object], capsys: pytest.CaptureFixture[str]
) -> None:
    app = typer.Typer()
    app.command()(allocate)
    assert call(app, ["--"]) == 1
    assert (
        capsys.readouterr().err == "error: out of memory: use smaller batches or a machine with more memory\n"
    )


def endless() -> None:
    endless()


@pytest.mark.parametrize(
    ("bug", "error", "text"),
    [
        (lambda: torch.zeros(2) @ torch.zeros(3), RuntimeError, "size"),
        (endless, RecursionError, "recursion depth"),
    ],
    ids=["shapes", "recursion"],
)
def test_a_bug_keeps_its_traceback(bug: Callable[[], object], error: type[Exception], text: str) -> None:
    app = typer.Typer()
    app.command()(bug)
    with pytest.raises(error, match=text):
        call(app, ["--"])


@pytest.mark.skipif(not Path("/dev/full").is_char_device(), reason="there is no /dev/full")
@pytest.mark.parametrize("arguments", [["inspect", "data/sentences", "--json"], ["views"]])
def test_results_that_cannot_be_written_are_one_line(
    arguments: list[str], lines: Path, augment: Augment
) -> None:
    augment("ingest", lines)
    command = [sys.executable, "-c", "from pipelines.cli.app import main; main()", *arguments]
    known = {"PYTHONPATH": str(Path(__file__).parents[2])}
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, env=known, check=False)
    assert (done.returncode, done.stderr) == (1, "error: cannot write to stdout (No space left on device)\n")


def test_a_closed_pipe_is_silent(lines: Path, augment: Augment, start: Start) -> None:
    augment("ingest", lines)
    process = start("inspect", "data/sentences", "--json")
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    assert process.stderr.read() == ""
    assert process.wait(60) == 1


def no_utf8(*columns: str) -> pa.Table:
    """Strings that Arrow takes on trust: the last column's second one is Latin-1."""
    offsets = pa.py_buffer(b"\0\0\0\0\4\0\0\0\x09\0\0\0")
    bad = pa.Array.from_buffers(pa.string(), 2, [None, offsets, pa.py_buffer("fineBäume".encode("latin-1"))])
    return pa.table({**{name: ["a", "b"] for name in columns[:-1]}, columns[-1]: bad})


def half(data: bytes) -> bytes:
    return data[: len(data) // 2]


NUMBERS = "\n".join(map(str, range(200_000))).encode()
BAD: list[tuple[str, bytes | Callable[[Path], None] | None, str]] = [
    ("missing.txt", None, "no file 'missing.txt'"),
    ("empty.txt", b"", "empty.txt is empty (0 bytes)"),
    ("blank.txt", b"\n  \n\n", "no sentences to keep in blank.txt (3 lines"),
    ("folder", Path.mkdir, "folder is a folder"),
    ("nul.txt", b"fine\nwith \0 inside\n", "nul.txt is binary (NUL byte in line 2)"),
    ("utf16.txt", "One.\nTwo.\n".encode("utf-16-le"), "utf16.txt is binary"),
    ("latin.txt", "fine\nBäume\n".encode("latin-1"), "invalid UTF-8 in line 2 (byte 0xe4)"),
    ("excel.txt", "One.\nTwo.\n".encode("utf-16"), "convert it, e.g. iconv -f utf-16 -t utf-8"),
    ("bom.txt", b"\xef\xbb\xbffine\n\xff\n", "invalid UTF-8 in line 2 (byte 0xff)"),
    ("cut.txt.gz", half(gzip.compress(NUMBERS)), "cut.txt.gz is truncated or damaged"),
    ("fake.txt.gz", b"no gzip at all\n", "fake.txt.gz is truncated or damaged after line 0"),
    ("cut.txt.zst", half(pa.compress(NUMBERS, "zstd", asbytes=True)), "cut.txt.zst is truncated or damaged"),
    ("lines", b'{"text": "One."}\n{"text": "Two."}\n', "lines begins with a JSON object: give --format jsonl"),
    ("fake.xlsx", b"text\nOne.\n", "fake.xlsx is not read: save it as CSV"),
    ("mail.eml", b"From: a\n\nHi.\n", "mail.eml is not read: save it as CSV, text"),
    ("mail.mbox", b"From a\nFrom: a\n\nHi.\n", "mail.mbox is not read"),
    ("a.srt", b"1\n00:00:01,000 --> 00:00:03,000\nHello.\n", "a.srt is not read"),
    ("a.vtt", b"WEBVTT\n\n00:01.000 --> 00:03.000\nHello.\n", "a.vtt is not read"),
    ("notes/**/*.md", None, "patterns are the shell's"),
    ("two.csv", b"a,b\n1,2\n", "a header if --column names one of them) has the columns '1', '2'"),
    (
        "unquoted.csv",
        b"text\nOne, two.\n",
        "line 2 has 2 cells, but the first row has 1: put texts with commas in",
    ),
    ("list.json", b'[["One."]]\n', "list.json: item 1 is a list"),
    ("short.csv", b"id,text\n1,fine\n2\n", "short.csv: line 3 has 1 cells"),
    ("quote.csv", b'text\n"never closed\n', "quote.csv: the row that begins in line 2 is not valid CSV"),
    ("bad.jsonl", b'{"text": "fine"}\n{"text": \n', "bad.jsonl: line 2 is not JSON"),
    ("list.jsonl", b"[1]\n", "list.jsonl: item 1 is a int"),
    ("keys.jsonl", b'{"a": "x", "b": "y"}\n', "keys.jsonl has the columns 'a', 'b'"),
    ("number.jsonl", b'{"text": 5}\n', "number.jsonl: line 1: 'text' is 5, of type int"),
    ("half.jsonl", b'{"text": "\\ud800"}\n', "half.jsonl: line 1 holds half a surrogate pair"),
    ("halflabel.jsonl", b'{"text": "a", "label": "\\ud800"}\n', "line 1 holds half a surrogate pair"),
    ("deep.jsonl", b'{"text": "a", "more": ' + b"[" * 200_000 + b"]" * 200_000 + b"}\n", "line 1 is not JSON"),
    ("ids.jsonl", b'{"id": "secret"}\n', "ids.jsonl has the columns 'id': say which with --column"),
    (
        "long.txt",
        b"fine\n\n" + b"x" * (1 << 23) + b"x\n",
        "long.txt: line 3 is longer than 8,388,608 characters",
    ),
    ("endless.txt.gz", gzip.compress(b"fine\n" + b"x" * (1 << 26)), "endless.txt.gz: line 2 is longer than"),
    (
        "open.csv",
        b'text\n"' + b"never closed\n" * 1_500_000,
        "is not valid CSV (field larger than field limit",
    ),
    ("latin.parquet", lambda path: pq.write_table(no_utf8("text"), path), "cannot be read as parquet"),
    (
        "latinlabel.parquet",
        lambda path: pq.write_table(no_utf8("text", "label"), path),
        "cannot be read as parquet",
    ),
    ("latin.arrow", lambda path: write_stream(path, no_utf8("text")), "cannot be read as arrow"),
    (
        "numbers.parquet",
        lambda path: pq.write_table(pa.table({"n": [1]}), path),
        "column 'n' is int64, not string",
    ),
    ("fake.parquet", b"no parquet\n", "fake.parquet cannot be read as parquet"),
    ("fake.arrow", b"no arrow at all\n", "fake.arrow cannot be read as arrow"),
]


def is_one_line(done: Any, *expected: str) -> None:  # noqa: ANN401 - an Outcome
    is_refused(done, *expected)
    assert (done.out, done.err.count("\n")) == ("", 1)


@pytest.mark.parametrize(("name", "content", "expected"), BAD, ids=[name for name, *_ in BAD])
def test_bad_source_is_one_line_and_nothing_is_written(
    augment: Augment, folder: Path, name: str, content: bytes | Callable[[Path], None] | None, expected: str
) -> None:
    if callable(content):
        content(folder / name)
    elif content is not None:
        (folder / name).write_bytes(content)
    before = sorted(folder.rglob("*"))
    for command in ("ingest", "identity"):
        is_one_line(augment(command, name), expected)
        assert sorted(folder.rglob("*")) == before


def test_a_named_column_that_no_row_has_is_an_error(augment: Augment, folder: Path) -> None:
    (folder / "a.csv").write_text("text,category\nOne here.,x\n")
    (folder / "a.jsonl").write_text('{"text": "Two here."}\n{"text": "Three here.", "category": "x"}\n')
    pq.write_table(pa.table({"text": ["Four here."], "category": ["y"]}), folder / "a.parquet")
    (folder / "plain.txt").write_text("Five here.\n")
    for name in ("a.csv", "a.jsonl", "a.parquet"):
        refused = augment("ingest", name, "--label-column", "categroy")
        is_one_line(refused, f"{name} has nothing in a column 'categroy': check --label-column")
    assert not Path("data").exists()
    files = ("a.csv", "a.jsonl", "a.parquet", "plain.txt")
    assert augment("ingest", *files, "--label-column", "category").code == 0
    assert sorted(filter(None, open_dataset(Path("data/sentences")).read(0, 9)["label"].to_pylist())) == [
        "x",
        "x",
        "y",
    ]


def test_json_lines_from_stdin_need_their_format(start: Start) -> None:
    for options, code in (([], 2), (["--format", "jsonl"], 0)):
        process = start("ingest", "-", *options)
        _, err = process.communicate('{"text": "One here."}\n', timeout=60)
        assert (process.returncode, "give --format jsonl" in err) == (code, code == 2)


def test_a_file_of_another_format_is_not_called_damaged(augment: Augment, folder: Path) -> None:
    (folder / "pairs.csv").write_text("view_a,view_b\nOne here.,One there.\n")
    message = "pairs.csv is a .csv file, not an Arrow stream"
    is_one_line(augment("inspect", "pairs.csv"), message, "augment build-pairs")


def test_a_missing_column_is_named_with_those_that_are_there(augment: Augment, folder: Path) -> None:
    (folder / "a.csv").write_text("one,text\n1,fine\n")
    (folder / "a.jsonl").write_text('{"one": "1", "text": "fine"}\n')
    pq.write_table(pa.table({"one": ["1"], "text": ["fine"]}), folder / "a.parquet")
    for name in ("a.csv", "a.jsonl", "a.parquet"):
        is_one_line(augment("ingest", name, "--column", "body"), "no column 'body'", "'one', 'text'")
    assert not Path("data").exists()


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["nonsense"], "No such command 'nonsense'"),
        (["span-mask", "--limit", "0"], "--limit"),
        (["span-mask", "--unit", "page"], "--unit"),
        (["identity", "--nonsense"], "--nonsense"),
        (["ingest"], "SOURCE"),
        (["build-pairs", "--pairs", "all"], "'--pairs': 'all' is not one of 'best', 'bsl',"),
        (["build-pairs", "--pairs", "original"], "pairs original take 1 or more views, not 0"),
        (
            ["build-pairs", "--filter", "chrf:most=3"],
            "chrf:most=3: most='3': unknown parameter (it takes min, max)",
        ),
        (["build-pairs", "--view", "identity"], "pairs bsl take 2 views, not 1"),
        (["build-pairs", "--pairs", "original", "--view", "nonsense"], "no view dataset 'nonsense'"),
        (["inspect", "nowhere"], "nowhere does not exist: check the path"),
        (["export", "nowhere"], "nowhere does not exist"),
        (
            ["identity", "--config", "nowhere.yaml"],
            "nowhere.yaml is not a YAML recipe ([Errno 2] No such file",
        ),
        (["ingest", "a.txt", "--limit", "1" + "0" * 20], "--limit"),
        (["ingest", "a.txt", "--shard-size", "1" + "0" * 20], "--shard-size"),
        (["span-mask", "--seed", "1" + "0" * 20], "--seed"),
        (["backtranslate", "--pivot", ","], "language ',': not a language code"),
        (
            ["identity", "--device", "cpu"],
            "--device cpu: identity runs no model with these options: leave it out",
        ),
        (["span-mask", "--batch-tokens", "9"], "--batch-tokens 9: span-mask runs no model"),
        (["nlpaug", "--augmenter", "KeyboardAug", "--device", "cpu"], "--device cpu: nlpaug runs no model"),
        (["nlpaug", "--augmenter", "KeyboardAug", "--batch-tokens", "9"], "it takes one sentence at a time"),
        (["identity", "--seed", "1"], "--seed 1: identity draws nothing with these options"),
        (["import-views", "--file", "x.jsonl", "--by", "a,b"], "by='a,b'"),
        (["ingest", "b\udce4ume.txt"], r"the argument 'b\xe4ume.txt' is not UTF-8"),
        (["span-mask", "--out", "b\udce4ume"], r"the argument 'b\xe4ume' is not UTF-8"),
        (["ingest", "x" * 300], "File name too long"),
    ],
)
def test_bad_usage_is_one_line(augment: Augment, arguments: list[str], expected: str) -> None:
    is_one_line(augment(*arguments), expected)
    assert not Path("data").exists()


@pytest.mark.parametrize("out", ["data/*", "data/[a]", "data/a?"])
def test_characters_of_a_pattern_in_a_path_are_themselves(augment: Augment, lines: Path, out: str) -> None:
    assert augment("ingest", lines, "--out", out).code == 0
    assert augment("build-pairs", out, "--pairs", "self", "--out", f"{out}.arrow").code == 0
    assert json.loads(augment("inspect", f"{out}.arrow", "--json").out)["rows"] == 60


@pytest.mark.parametrize(
    "command", ["ingest lines.txt", "identity lines.txt", "build-pairs --pairs self", "export data/sentences"]
)
def test_what_is_not_ours_is_left_alone(augment: Augment, lines: Path, command: str) -> None:
    augment("ingest", lines)
    mine = Path("mine/thesis.txt") if lines.name in command else Path("mine")
    mine.parent.mkdir(exist_ok=True)
    mine.write_text("precious")
    for extra in ([], ["--overwrite"]):
        is_one_line(augment(*command.split(), "--out", "mine", *extra), mine.name)
    assert mine.read_text() == "precious"
    assert mine == Path("mine") or [*mine.parent.iterdir()] == [mine]
