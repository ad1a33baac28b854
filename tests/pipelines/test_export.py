"""Exports: files of every format, and datasets on the Hub, against a stand-in on localhost."""

import csv
import io
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from datetime import date
from pathlib import Path

import datasets
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml
from foreigners import Augment, is_refused, write_pairs
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from pipelines.storage.pair_files import PAIR_COLUMNS
from tests.standin_hub import StandinHub, standin_hub


@pytest.mark.parametrize("path", ["data/sentences", "data/views/span-mask", "data/pairs.arrow"])
@pytest.mark.parametrize("to", ["parquet", "jsonl", "csv"])
def test_export_holds_the_same_rows(made: Augment, path: str, to: str) -> None:
    done = made("export", path, "--to", to)
    assert done.code == 0
    target = Path(f"{path.removesuffix('.arrow')}.{to}")
    rows = (datasets.Dataset.from_file if path.endswith("arrow") else datasets.load_from_disk)(path).to_list()
    if to == "parquet":
        assert pq.read_table(target).to_pylist() == rows
    elif to == "jsonl":
        assert [json.loads(line) for line in target.read_text(encoding="utf-8").splitlines()] == rows
    else:
        with target.open(newline="", encoding="utf-8") as stream:
            assert [(row["id"], row["text"]) for row in csv.DictReader(stream)] == [
                (r["id"], r["text"]) for r in rows
            ]
    assert "already complete" in made("export", path, "--to", to).out
    is_refused(made("export", path, "--to", to, "--limit", 4), "other options (--limit ")
    assert made("export", path, "--to", to, "--limit", 5, "--overwrite").out.startswith("5 rows")


def test_a_view_is_exported_beside_the_columns_of_the_own_table(augment: Augment) -> None:
    """Rows of one text have its view each, those of no sentence none; the order is that of the table."""
    rows = [
        ("7", "A dog runs.", "x"),
        ("8", "A cat sleeps.", "y"),
        ("9", "", "x"),
        ("10", " A dog runs. ", "z"),
    ]
    table = [dict(zip(("id", "body", "user.name"), row, strict=True)) for row in rows]
    with Path("own.csv").open("w", newline="", encoding="utf-8") as stream:
        csv.writer(stream).writerows([table[0], *(row.values() for row in table)])
    Path("own.jsonl").write_text("\n".join(map(json.dumps, table)), encoding="utf-8")
    for name in ("own.csv", "own.jsonl"):
        made = [["ingest", name, "--column", "body", "--overwrite"], ["repeat", "--rate", 1, "--overwrite"]]
        made.append(["export", "data/views/repeat", "--to", "csv", "--carry", "--overwrite"])
        for command in made:
            assert augment(*command).code == 0
        with Path("data/views/repeat.csv").open(newline="", encoding="utf-8") as stream:
            exported = [*csv.DictReader(stream)]
        assert [{key: row[key] for key in table[0]} for row in exported] == table
        made_views = datasets.load_from_disk("data/views/repeat").to_list()
        assert len(made_views) == 2
        views = {row["text"]: (row["view"], row["status"]) for row in made_views}
        for row in exported:
            assert (row["view"], row["status"]) == views.get(row["body"].strip(), ("", ""))
    assert "nothing done" in augment(*made[2][:-1]).out
    split = ["ingest", "own.csv", "--column", "body", "--split", "sentences", "--out", "parts"]
    for command in (split, ["repeat", "parts", "--out", "of-parts"]):
        assert augment(*command).code == 0
    is_refused(augment("export", "of-parts", "--to", "csv", "--carry"), "parts of the tables' rows")
    is_refused(augment("export", "data/sentences", "--carry"), "data/sentences is no view of sentences")
    Path("own.jsonl").write_text(json.dumps({"body": "a dog", "status": "ok"}), encoding="utf-8")
    is_refused(
        augment("export", "data/views/repeat", "--to", "jsonl", "--carry"), "own.jsonl has changed since"
    )
    assert augment(*made[0]).code == augment(*made[1]).code == 0
    is_refused(augment(*made[2]), "own.jsonl has a column 'status': rename it")


CONTROLS = [chr(number) for number in (*range(1, 32), *range(127, 160), 0x2028, 0x2029)]
PIECES = st.lists(st.sampled_from([*CONTROLS, "\r\n", '"', ",", ";", "\ufeff", "a", "ä"]), max_size=6).map(
    "".join
)
TEXTS = PIECES.map("a{}b".format)


@pytest.mark.exhaustive
@pytest.mark.parametrize("to", ["parquet", "jsonl", "csv"])
@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(TEXTS, PIECES), min_size=1, max_size=20, unique_by=lambda row: row[0]))
@example([(f"a{control}b", control) for control in CONTROLS])
@example([("a\r\nb", "x\ry"), ("a\rb", "\n"), ('a"\r"b', ",\r")])
def test_what_is_exported_is_ingested_as_it_was(
    augment: Augment, to: str, sentences: list[tuple[str, str]]
) -> None:
    texts, labels = zip(*sentences, strict=True)
    pq.write_table(pa.table({"text": texts, "label": labels}), "source.parquet")
    assert augment("ingest", "source.parquet", "--overwrite").code == 0
    assert augment("export", "data/sentences", "--to", to, "--out", f"rows.{to}", "--overwrite").code == 0
    again = augment("ingest", f"rows.{to}", "--out", "again", "--overwrite")
    assert again.code == 0, again.err
    assert datasets.load_from_disk("again").to_list() == datasets.load_from_disk("data/sentences").to_list()


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
    table = pq.read_table("other.parquet")
    assert (table.num_rows, table.column_names) == (0, list(PAIR_COLUMNS))


def test_two_exports_never_share_a_recipe(made: Augment) -> None:
    assert made("export", "data/sentences", "--out", "rows").code == 0
    done = made("export", "data/sentences", "--out", "rows.arrow")
    is_refused(done, "would share rows.record.json with rows:")
    assert made("verify", "rows").code == 0


ROOT = Path(__file__).parents[2]


@pytest.fixture
def hub() -> Iterator[StandinHub]:
    with standin_hub() as hub:
        yield hub


def push(hub: StandinHub, *arguments: str, **more: str) -> "subprocess.CompletedProcess[str]":
    """`augment export` as a process: the Hub's client reads its settings when it is imported."""
    command = [sys.executable, "-c", "from pipelines.cli.app import main; main()", "export", *arguments]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), **hub.environment(), **more}
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


def test_pairs_become_a_private_dataset_with_parquet_and_a_card(made: Augment, hub: StandinHub) -> None:
    done = push(hub, "data/pairs.arrow", "--to", "hf:twins", "--license", "cc-by-4.0", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {"out": f"{hub.endpoint}/datasets/somebody/twins", "public": False}
    repository = hub.repositories["dataset/somebody/twins"]
    assert repository.settings["visibility"] == "private"
    assert set(repository.files) == {"README.md", "train.parquet"}
    pairs = datasets.Dataset.from_file("data/pairs.arrow").to_list()
    assert pq.read_table(io.BytesIO(repository.files["train.parquet"])).to_pylist() == pairs
    _, front, card = repository.files["README.md"].decode().split("---\n", 2)
    settings = yaml.safe_load(front)
    assert settings["license"] == "cc-by-4.0"
    assert settings["configs"][0]["data_files"][0]["path"] in repository.files
    assert card.strip() == Path("data/pairs.card.md").read_text().strip()
    assert sum("/commit/" in request for request in hub.requests) == 1


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("first", "other", "hint"),
    [("--public --license mit", "", "give --public"), ("", "--public --license mit", "leave")],
)
def test_a_repository_that_is_there_stays_unless_it_is_to_be_overwritten(
    made: Augment, hub: StandinHub, first: str, other: str, hint: str
) -> None:
    def again(*options: str) -> "subprocess.CompletedProcess[str]":
        return push(hub, "data/pairs.arrow", "--to", "hf:twins", *" ".join(options).split())

    seen = "public" if first else "private"
    url = f"{hub.endpoint}/datasets/somebody/twins"
    assert again(first).stdout == f"{url}: {seen}\n"
    before = dict(hub.repositories["dataset/somebody/twins"].files)
    refused = again(first, "--limit", "5")
    expected = f"error: {url} holds files: choose another name, or --overwrite it\n"
    assert (refused.returncode, refused.stderr) == (2, expected)
    refused = again(other, "--limit", "5", "--overwrite")
    assert (refused.returncode, f"{url} exists and is {seen}: {hint}" in refused.stderr) == (2, True)
    repository = hub.repositories["dataset/somebody/twins"]
    assert repository.files == before
    assert again(first, "--limit", "5", "--overwrite").stdout == f"{url}: {seen}\n"
    assert pq.read_table(io.BytesIO(repository.files["train.parquet"])).num_rows == 5


@pytest.mark.parametrize(
    ("name", "status", "offline", "expected"),
    [
        ("hf:no/such/name", 0, "0", "check the name (hf:OWNER/NAME)"),
        ("hf:twins", 403, "0", "403 Forbidden"),
        ("hf:twins", 0, "1", "`HF_HUB_OFFLINE`"),
    ],
)
def test_what_the_hub_refuses_is_one_line(
    made: Augment, hub: StandinHub, name: str, status: int, offline: str, expected: str
) -> None:
    hub.refusing = status
    done = push(hub, "data/pairs.arrow", "--to", name, HF_HUB_OFFLINE=offline)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr
    assert expected in done.stderr
    assert not any(repository.files for repository in hub.repositories.values())


def test_options_that_do_not_go_together_and_a_dry_run(made: Augment) -> None:
    assert "--to xml is not a format" in made("export", "data/pairs.arrow", "--to", "xml").err
    for options, expected in (
        (["hf:a", "--out", "b"], "--out b names a file"),
        (["hf:twins", "--public"], "--public needs the licence of the texts, as --license cc-by-4.0"),
        (["csv", "--public"], "--public, --license and --dry-run are for a dataset on the Hub, not --to csv"),
        (["csv", "--dry-run"], "not --to csv: leave them out"),
        (["parquet", "--license", "mit"], "not --to parquet: leave them out"),
    ):
        is_refused(made("export", "data/pairs.arrow", "--to", *options), expected)
    preview = made("export", "data/pairs.arrow", "--to", "hf:a", "--limit", 5, "--dry-run", "--json")
    assert json.loads(preview.out) == {"out": "hf:a", "rows": 5, "files to read": 1}
