"""Files that have no end, or unfold to more than fits, and what killed commands leave: bounded, refused or removed."""

import json
import os
import signal
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from foreigners import Augment, is_refused

from augment import protected_terms
from augment.view import ViewSpec, make_view
from pipelines.base.console import InputError
from pipelines.base.files import temporaries, write_page
from pipelines.base.recipe import parse_yaml
from pipelines.storage import shards as shards_module


def test_aliases_of_aliases_are_refused_before_they_unfold() -> None:
    bomb = "a: &a [x, x, x, x, x, x, x, x, x]\n"
    bomb += "".join(
        f"{new}: &{new} [{', '.join([f'*{old}'] * 9)}]\n"
        for old, new in zip("abcdefgh", "bcdefghi", strict=True)
    )
    with pytest.raises(ValueError, match="alias"):
        parse_yaml(bomb)
    assert parse_yaml("pattern: 'a*b'\nglob: x*") == {"pattern": "a*b", "glob": "x*"}


@pytest.mark.parametrize(
    "text",
    ["limit: 1\nlimit: 2", "min-words: 1\nmin_words: 2", '{"a": {"b": 1, "b": 2}}', "- {a: 1, a: 1}"],
)
def test_a_repeated_key_is_refused_and_in_the_head_of_a_page_it_is_none_of_ours(text: str) -> None:
    with pytest.raises(ValueError, match=r"'(limit|min_words|a|b)' is there twice: leave one out"):
        parse_yaml(text)
    assert parse_yaml(text, is_unique=False)


def test_a_recipe_with_a_repeated_key_is_one_line(augment: Augment, folder: Path) -> None:
    Path("a.txt").write_text("One two.\n")
    Path("r.yaml").write_text("limit: 1\nlimit: 2\n")
    is_refused(
        augment("ingest", "a.txt", "--config", "r.yaml"), "r.yaml is not a YAML recipe ('limit' is there twice"
    )


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="needs /dev/zero")
def test_endless_files_are_refused(augment: Augment, folder: Path) -> None:
    Path("a.txt").write_text("One two.\n")
    is_refused(augment("ingest", "a.txt", "--config", "/dev/zero"), "more than 16 million bytes")
    is_refused(augment("repeat", "a.txt", "--keep", "/dev/zero"), "more than 16 million bytes")
    is_refused(augment("ingest", "/dev/zero", "--out", "new"), "/dev/zero is a device, not a file")
    is_refused(
        augment("import-views", "a.txt", "--file", "/dev/zero", "--by", "x"),
        "/dev/zero is a device, not a file",
    )


def test_what_is_echoed_is_cut_in_one_place(augment: Augment, folder: Path) -> None:
    Path("a.txt").write_text("One two.\n")
    word, text = "x" * 6_000, "x y " * 1_500
    Path("r.yaml").write_text(json.dumps({"column": word}))
    commands = [
        ["ingest", word],
        ["ingest", f"hf:{word}"],
        ["ingest", "a.txt", "--column", word],
        ["ingest", "a.txt", "--out", word],
        ["ingest", "a.txt", "--config", word],
        ["ingest", "a.txt", "--config", "r.yaml"],
        ["ingest", f"--{word}"],
        ["repeat", "a.txt", "--keep", word],
        ["repeat", "a.txt", "--keep-pattern", f"({word}"],
        ["inspect", text],
        ["build-pairs", "a.txt", "--filter", text],
        ["build-pairs", "a.txt", "--view", word],
        [word],
    ]
    for command in commands:
        done = augment(*command)
        is_refused(done, "x")
        assert len(done.err.splitlines()[-1]) < 1_300
    is_refused(augment("inspect", "a\x1b[31m.arrow"), "a\\x1b[31m.arrow")


@pytest.mark.parametrize(
    ("command", "recipe", "expected"),
    [
        ("ingest a.txt", {"column": {"by": "foo"}}, "column is {'by': 'foo'}: write a single value"),
        ("ingest a.txt", {"limit": [1, 2]}, "limit is [1, 2]: write a single value"),
        ("ingest", {"sources": {"by": "foo"}}, "sources is {'by': 'foo'}"),
        ("repeat a.txt", {"keep_pattern": {"by": "foo"}}, "keep_pattern is {'by': 'foo'}"),
        ("import-views a.txt", {"by": "foo"}, "Missing option '--file'"),
    ],
)
def test_a_recipe_of_another_shape_is_told_in_the_words_of_its_options(
    augment: Augment, folder: Path, command: str, recipe: dict[str, Any], expected: str
) -> None:
    Path("a.txt").write_text("One two.\n")
    Path("r.json").write_text(json.dumps(recipe))
    is_refused(augment(*command.split(), "--config", "r.json"), expected)


def test_a_parameter_that_is_missing_is_named_without_the_others() -> None:
    with pytest.raises(InputError, match=r"^import-views: file is missing$"):
        make_view(ViewSpec("import-views", {"by": "foo"}))


def test_a_pattern_that_backtracks_without_end_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(protected_terms, "PATTERN_SECONDS", 0.2)
    view = make_view(ViewSpec("repeat", {"keep_pattern": "(a|aa)+$"}))
    with pytest.raises(InputError, match=r"takes more than 0.2 s on 'aaaa"):
        view(["a" * 200 + "b"], [1])
    for pattern in ("(" * 5_000 + ")" * 5_000, "("):
        with pytest.raises(InputError, match="is not a regular expression") as error:
            make_view(ViewSpec("repeat", {"keep_pattern": pattern}))
        assert len(str(error.value)) < 400


def test_an_export_that_is_there_is_complete_and_leaves_nothing(made: Augment) -> None:
    command = ["export", "data/pairs.arrow", "--to", "jsonl"]
    assert made(*command).code == 0
    content = Path("data/pairs.jsonl").read_bytes()
    left = Path(f"data/.pairs.jsonl.{os.getpid()}123456789.augment.tmp")
    left.write_text("what a killed run left")
    done = made(*command)
    assert (done.code, "already complete" in done.out) == (0, True)
    assert Path("data/pairs.jsonl").read_bytes() == content
    assert not left.exists()
    assert made("verify", "data/pairs.jsonl").code == 0
    is_refused(made(*command, "--limit", 5), "(--limit 50, not 5): choose another --out, or --overwrite it")
    Path("data/pairs.jsonl").write_bytes(content[:-1])
    is_refused(made(*command), "pairs.jsonl is not as it was written: move it, or choose another --out")
    is_refused(made("export", "data/sentences", "--out", "data/pairs.jsonl", "--to", "jsonl"), "not as it")


def test_a_page_that_is_written_again_clears_its_leftovers(tmp_path: Path) -> None:
    left = tmp_path / ".page.md.1123456789.augment.tmp"
    other = tmp_path / ".other.md.1123456789.augment.tmp"
    for path in (left, other):
        path.write_text("x")
    write_page(tmp_path / "page.md", "text")
    assert [path for path, _ in temporaries(tmp_path)] == [other]
    assert sorted(path.name for path in tmp_path.iterdir()) == [other.name, "page.md"]


def test_ctrl_c_in_ingest_leaves_no_writer_behind(
    augment: Augment, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A thread that Ctrl-C finds between its start and its registration is joined by nobody."""
    Path("a.txt").write_text("One.\nTwo.\n")
    Path("data/sentences").mkdir(parents=True)
    start, write = threading.Thread.start, shards_module._write_shard

    def start_and_stop(thread: threading.Thread) -> None:
        start(thread)
        os.kill(os.getpid(), signal.SIGINT)

    def write_late(*arguments: Any) -> Any:  # noqa: ANN401
        time.sleep(0.1)
        return write(*arguments)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(threading.Thread, "start", start_and_stop)
        patch.setattr(shards_module, "_write_shard", write_late)
        assert augment("ingest", "a.txt").code in (0, 130)
        time.sleep(0.3)
    done = augment("ingest", "a.txt")
    assert done.code == 0, done.err
