"""Datasets on the Hub, against a stand-in on localhost."""

import io
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
import yaml

from tests.standin_hub import StandinHub, standin_hub

Augment = Callable[..., Any]
ROOT = Path(__file__).parents[2]


@pytest.fixture
def hub() -> Iterator[StandinHub]:
    with standin_hub() as hub:
        yield hub


@pytest.fixture
def pairs(augment: Augment, lines: Path) -> Augment:
    assert augment("build-pairs", lines, "--pairs", "self").code == 0
    return augment


def export(hub: StandinHub, *arguments: str, **more: str) -> "subprocess.CompletedProcess[str]":
    """`augment export` as a process: the Hub's client reads its settings when it is imported."""
    command = [sys.executable, "-c", "from pipelines.cli import main; main()", "export", *arguments]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), **hub.environment(), **more}
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


def test_pairs_become_a_private_dataset_with_parquet_and_a_card(pairs: Augment, hub: StandinHub) -> None:
    done = export(hub, "data/pairs.arrow", "--to", "hf:twins", "--license", "cc-by-4.0", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {"out": f"{hub.endpoint}/datasets/somebody/twins", "public": False}
    repository = hub.repositories["dataset/somebody/twins"]
    assert repository.settings["visibility"] == "private"
    assert set(repository.files) == {"README.md", "train.parquet"}
    assert pq.read_table(io.BytesIO(repository.files["train.parquet"])).num_rows == 60
    _, front, card = repository.files["README.md"].decode().split("---\n", 2)
    settings = yaml.safe_load(front)
    assert (settings["license"], settings["size_categories"]) == ("cc-by-4.0", ["n<1K"])
    assert settings["configs"][0]["data_files"][0]["path"] in repository.files
    assert card.strip() == Path("data/pairs.card.md").read_text().strip()
    assert sum("/commit/" in request for request in hub.requests) == 1


@pytest.mark.parametrize(("first", "other", "hint"), [("--public", "", "give --public"), ("", "--public", "leave")])
def test_a_repository_that_is_there_stays_unless_it_is_to_be_overwritten(
    pairs: Augment, hub: StandinHub, first: str, other: str, hint: str
) -> None:
    def push(*options: str) -> "subprocess.CompletedProcess[str]":
        return export(hub, "data/pairs.arrow", "--to", "hf:twins", *filter(None, options))

    seen = "public" if first else "private"
    url = f"{hub.endpoint}/datasets/somebody/twins"
    assert push(first).stdout == f"{url}: {seen}\n"
    before = dict(hub.repositories["dataset/somebody/twins"].files)
    refused = push(first, "--limit", "5")
    assert (refused.returncode, refused.stderr) == (
        2,
        f"error: {url} holds files: choose another name, or --overwrite it\n",
    )
    refused = push(other, "--limit", "5", "--overwrite")
    assert (refused.returncode, f"{url} exists and is {seen}: {hint}" in refused.stderr) == (2, True)
    repository = hub.repositories["dataset/somebody/twins"]
    assert repository.files == before
    assert push(first, "--limit", "5", "--overwrite").stdout == f"{url}: {seen}\n"
    assert pq.read_table(io.BytesIO(repository.files["train.parquet"])).num_rows == 5


@pytest.mark.parametrize(
    ("name", "status", "offline", "expected"),
    [
        ("hf:no/such/name", 0, "0", "write hf:OWNER/NAME"),
        ("hf:twins", 403, "0", "no token that may write there (status 403)"),
        ("hf:twins", 0, "1", "HF_HUB_OFFLINE is set"),
    ],
)
def test_what_the_hub_refuses_is_one_line(
    pairs: Augment, hub: StandinHub, name: str, status: int, offline: str, expected: str
) -> None:
    hub.refusing = status
    done = export(hub, "data/pairs.arrow", "--to", name, HF_HUB_OFFLINE=offline)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr
    assert expected in done.stderr
    assert not any(repository.files for repository in hub.repositories.values())


def test_options_that_do_not_go_together_and_a_dry_run(pairs: Augment) -> None:
    assert "--to xml is not a format" in pairs("export", "data/pairs.arrow", "--to", "xml").err
    for options, expected in (
        (["hf:a", "--out", "b"], "--out b is a file"),
        (["csv", "--public"], "--public and --license are for a dataset on the Hub, not --to csv"),
        (["parquet", "--license", "mit"], "not --to parquet: leave them out"),
    ):
        refused = pairs("export", "data/pairs.arrow", "--to", *options)
        assert (refused.code, expected in refused.err) == (2, True)
    preview = pairs("export", "data/pairs.arrow", "--to", "hf:a", "--limit", 5, "--dry-run", "--json")
    assert json.loads(preview.out) == {"out": "hf:a", "rows": 5, "files to read": 1}
