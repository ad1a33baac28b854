"""What people read, cards and pages, holds names and hashes; recipes keep the paths."""

import html
import json
from pathlib import Path

import pytest
from foreigners import Augment

from augment.view import ViewSpec
from pipelines.base.files import without_paths
from pipelines.storage.card import public_name, public_plan, public_value
from pipelines.storage.dataset import Plan

SECRET = ("secretshare", "A Client", "somebody")


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("/home/somebody/A Client/x.csv", "x.csv"),
        ("../../mnt/secretshare/x.csv", "x.csv"),
        ("s3://secretshare/x.jsonl", "x.jsonl"),
        ("C:\\Users\\somebody\\x.csv", "x.csv"),
        ("hf:owner/name:config", "hf:owner/name:config"),
        ("hf:/home/somebody/set", "hf:set"),
        ("sentence-transformers/all-MiniLM-L6-v2", "sentence-transformers/all-MiniLM-L6-v2"),
        ("starter", "starter"),
    ],
)
def test_a_name_for_others_is_the_last_part_of_a_path(name: str, shown: str) -> None:
    assert public_name(name) == shown


def test_paths_inside_a_text_become_names() -> None:
    text = "encoder=/home/somebody/enc,min=0.6 | ~/secretshare/a.csv ../x/y.md 3/4 and/or https://a.b/c <!-- x -->"
    assert without_paths(text) == "encoder=enc,min=0.6 | a.csv y.md 3/4 and/or https://a.b/c <!-- x -->"


def test_cards_and_pages_hold_names_and_no_markup(augment: Augment, folder: Path) -> None:
    home = folder / "somebody" / "A Client" / "secretshare"
    home.mkdir(parents=True)
    source, keep = home / "<script>a|b.txt", home / "terms.txt"
    source.write_text("One two three four.\nFive six seven eight.\n")
    keep.write_text("two\n")
    assert augment("span-mask", source, "--keep", keep, "--seed", 1).code == 0
    assert augment("build-pairs", "--pairs", "original", "--view", "span-mask").code == 0
    table = home / "t.csv"
    table.write_text("a,b\nOne.,Two.\nThree.,Four.\n")
    done = augment("build-pairs", table, "--pairs", "columns", "--columns", "a,b", "--out", "data/more.arrow")
    assert done.code == 0, done.err
    assert augment("report", "data/sentences").code == 0
    pages = [path for path in Path("data").rglob("*") if path.suffix in (".md", ".html")]
    assert len(pages) >= 7
    for path in pages:
        text = path.read_text(encoding="utf-8")
        assert not [word for word in SECRET if word in text], path
        assert "<script>a" not in text, path
    assert "&lt;script&gt;a\\|b.txt" in Path("data/sentences/card.md").read_text()
    assert json.loads(Path("data/sentences/recipe.json").read_text())["sources"] == [str(source)]
    assert augment("verify", "data").code == 0


def test_sentences_of_split_files_name_no_folder(augment: Augment, folder: Path) -> None:
    paths = [folder / "somebody" / part / "notes.md" for part in ("secretshare", "A Client")]
    for number, path in enumerate(paths):
        path.parent.mkdir(parents=True)
        path.write_text(f"The end of {number}. The start of {number}.\n"[: None if number else 13])
    assert augment("ingest", *paths, "--split", "sentences").code == 0
    assert augment("export", "data/sentences", "--to", "jsonl", "--out", "out.jsonl").code == 0
    assert not [word for word in SECRET if word in Path("out.jsonl").read_text()]


def test_patterns_are_as_written_and_paths_in_arguments_are_names(augment: Augment, folder: Path) -> None:
    pattern = r"[A-Z]+\d+|\d+/\d+|a|b"
    Path("in.txt").write_text("One two A12 four.\n")
    assert augment("repeat", "in.txt", "--keep-pattern", pattern).code == 0
    assert augment("report", "data/views/repeat").code == 0
    card, page = (
        Path("data/views/repeat/card.md").read_text(),
        Path("data/views/repeat.report.html").read_text(),
    )
    assert pattern.replace("|", "\\|") in card
    assert pattern.replace("|", "%7C") in card
    assert html.escape(pattern) in page
    params = {
        "keep_pattern": pattern,
        "arguments": {"model_path": "/home/somebody/A Client/model", "aug_p": 0.3},
    }
    params |= {"list": ["~/secretshare/a.bin"], "text": "3/4 and/or"}
    shown = public_value(params)
    assert shown["arguments"] == {"model_path": "model", "aug_p": 0.3}
    assert (shown["list"], shown["text"], shown["keep_pattern"]) == (["a.bin"], "3/4 and/or", pattern)
    signature = ViewSpec("nlpaug", params).signature()
    plan = Plan(kind="view", name="nlpaug", params=params, signature=signature, shard_size=1, inputs=())
    assert public_plan(plan).signature == ViewSpec("nlpaug", shown).signature()
