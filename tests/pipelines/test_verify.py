"""`augment verify` names every file that is not as it was written."""

import json
import os
import shutil
from pathlib import Path

import pyarrow as pa
import pytest
from foreigners import Augment, is_refused, make

from augment.errors import InputError
from augment.record import RECORD, FileRecord, Record, check_folder_files, file_records, read_record
from pipelines.base.files import sibling_path
from pipelines.base.record import write_record
from pipelines.outputs.verify import verify

VIEW, PAIRS, FOLDER = Path("data/views/span-mask"), Path("data/pairs.arrow"), Path("data/folder.arrow")
EXPORT, REJECTS = Path("data/pairs.jsonl"), Path("data/pairs.rejects.arrow")
OUTPUTS = (Path("data/sentences"), VIEW, PAIRS, FOLDER, EXPORT)


@pytest.fixture(scope="module")
def outputs_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with every kind of output, of four sentences."""
    folder = tmp_path_factory.mktemp("outputs")
    (folder / "four.jsonl").write_text(
        '{"text": "One two."}\n{"text": "A", "label": "x"}\n"Bird"\n"A"\n"Long is art."\n'
    )
    common = [
        "--pairs",
        "original",
        "--view",
        "span-mask",
        "--no-default-filters",
        "--filter",
        "length-ratio:max=1.5",
    ]
    make(
        folder,
        ["span-mask", "four.jsonl"],
        ["build-pairs", *common, "--rejects"],
        ["build-pairs", *common, "--shards", 2, "--out", FOLDER],
        ["export", PAIRS, "--to", "jsonl"],
    )
    return folder


@pytest.fixture
def outputs(augment: Augment, folder: Path, outputs_once: Path) -> Augment:
    """`augment` where there is every kind of output."""
    shutil.copytree(outputs_once, folder, dirs_exist_ok=True)
    return augment


def files_of(output: Path) -> list[Path]:
    if output.is_dir():
        return sorted(path for path in output.rglob("*") if path.is_file())
    endings = ("record.json", "recipe.json", "card.md")
    beside_it = [sibling_path(output, ending) for ending in endings]
    return [path for path in (output, *beside_it, *([REJECTS] if output == PAIRS else [])) if path.is_file()]


def problems(*paths: Path) -> dict[Path, str]:
    return {file: problem for file, problem in verify(paths).items() if problem is not None}


SLOW = [pytest.param(output, id=str(output)) for output in OUTPUTS]


@pytest.mark.exhaustive
@pytest.mark.parametrize("output", SLOW)
def test_every_flipped_byte_is_found_in_its_file(outputs: Augment, output: Path) -> None:
    assert not problems(output)
    for path in files_of(output):
        content = path.read_bytes()
        # Of a page and of a shard nothing but a hash is compared.
        step = {".html": 97, ".arrow": 13}.get(path.suffix, 1)
        with path.open("r+b", buffering=0) as stream:
            for place in range(0, len(content), step):
                os.pwrite(stream.fileno(), bytes([content[place] ^ 1 << place % 8]), place)
                assert problems(output) == {path: "damaged"}, f"byte {place} of {path}"
                os.pwrite(stream.fileno(), content[place : place + 1], place)
    assert not problems(output)


def test_what_is_missing_or_unfinished_is_named(outputs: Augment) -> None:
    for output in OUTPUTS:
        for path in files_of(output):
            if path == sibling_path(output, "record.json") or path.name == "report.html.record.json":
                continue  # nothing names it
            kept = path.with_name("kept")
            path.rename(kept)
            assert problems(output) == {path: "missing"}
            kept.rename(path)
    assert not problems(*OUTPUTS)


def test_a_stopped_run_is_unfinished_and_its_shards_are_verified(outputs: Augment, folder: Path) -> None:
    record = read_record(FOLDER / "record.json")
    assert record is not None
    write_record(FOLDER, record.plan)
    for name in ("card.md", "data-00001.record.json"):
        (FOLDER / name).unlink()
    expected = {FOLDER / "record.json": "unfinished"}
    assert problems(FOLDER) == expected
    shard = FOLDER / "data-00000.arrow"
    shard.write_bytes(shard.read_bytes()[:-1])
    assert problems(FOLDER) == {**expected, shard: "damaged"}


def test_a_folder_of_outputs_is_looked_through(outputs: Augment, folder: Path) -> None:
    assert verify([Path("data")]).keys() >= {file for output in OUTPUTS for file in files_of(output)}
    assert not problems(Path("data"))
    (Path("data") / "notes.arrow").write_bytes(b"somebody else's")
    (Path("data") / "mine.recipe.json").write_text("{}")
    (Path("data") / "record.json").write_text("[]")
    assert not problems(Path("data"))
    REJECTS.write_bytes(REJECTS.read_bytes()[:-1])
    PAIRS.unlink()
    other = REJECTS.with_name("other.arrow")
    with pa.ipc.new_stream(other, pa.schema({"word": pa.string()})):
        pass
    assert other not in problems(Path("data"))
    assert problems(Path("data")).items() >= {REJECTS: "damaged", PAIRS: "missing"}.items()


def test_a_linked_folder_is_looked_through(outputs: Augment, folder: Path) -> None:
    VIEW.rename(folder / "disk")
    VIEW.symlink_to(folder / "disk")
    (folder / "disk/back").symlink_to(folder / "data")  # a loop
    assert not problems(Path("data"))
    (VIEW / "card.md").unlink()
    assert problems(Path("data")) == {VIEW / "card.md": "missing"}


def test_verify_says_it_in_lines_and_by_its_exit_code(outputs: Augment, folder: Path) -> None:
    done = outputs("verify", *OUTPUTS)
    assert (done.code, done.out.count("\n")) == (0, 1)
    assert done.out.endswith("files verified: no problems\n")
    shard = VIEW / "data-00000.arrow"
    shard.write_bytes(shard.read_bytes()[:-1])
    (VIEW / "card.md").unlink()
    done = outputs("verify", "data")
    assert done.code == 1
    *named, summary = done.out.splitlines()
    assert named == [f"damaged: {shard}", f"missing: {VIEW}/card.md"]
    assert summary.endswith("files verified: 2 problems")
    found = json.loads(outputs("verify", VIEW, "--json").out)["problems"]
    assert found == {str(shard): "damaged", f"{VIEW}/card.md": "missing"}


def test_one_of_a_thing_is_said_in_the_singular(augment: Augment, folder: Path) -> None:
    (folder / "one.txt").write_text("One dog runs.\n")
    assert "\n1 sentence in 1 shard: written\n" in augment("ingest", "one.txt").out
    done = augment("build-pairs", "--pairs", "original", "--view", "span-mask")
    assert "the missing view span-mask (1 sentence) in" in done.err
    assert "1 row written to" in augment("export", "data/sentences").out
    PAIRS.write_bytes(b"")
    assert augment("verify", PAIRS).out.endswith("files verified: 1 problem\n")


def test_the_worst_of_two_verdicts_on_a_file_counts(outputs: Augment) -> None:
    shard, other = FOLDER / "data-00000.arrow", FOLDER / "other"
    write_record(other, {"kind": "export"}, {shard.name: FileRecord(sha256="0" * 64)})
    assert problems(FOLDER) == {shard: "damaged"}


@pytest.mark.parametrize("path", ["nowhere", "lines.txt", ".", "copy.arrow"])
def test_what_is_none_of_ours_is_bad_input(augment: Augment, lines: Path, path: str) -> None:
    if path == "copy.arrow":
        augment("build-pairs", lines, "--pairs", "self")
        Path("copy.arrow").write_bytes(PAIRS.read_bytes())
    is_refused(augment("verify", path), "error: there is no")


def test_a_model_is_verified_by_the_hashes_beside_it(augment: Augment, folder: Path) -> None:
    run = folder / "runs/one"
    (run / "1_Pooling").mkdir(parents=True)
    files = {"model.safetensors": b"weights", "config.json": b"{}", "1_Pooling/config.json": b"{ }"}
    for name, content in files.items():
        (run / name).write_bytes(content)
    (run / RECORD).write_text(Record(files=file_records(run)).to_json())
    (run / "README.md").write_text("for people")
    for path in (*(run / name for name in files), run / RECORD):
        content = path.read_bytes()
        for place in range(len(content)):
            path.write_bytes(content[:place] + bytes([content[place] ^ 1 << place % 8]) + content[place + 1 :])
            assert problems(folder / "runs"), f"byte {place} of {path}"
            with pytest.raises(
                InputError, match=r"is not as it was written|is damaged|is not a record of ours"
            ):
                check_folder_files(run)
        path.write_bytes(content)
        assert not problems(folder / "runs")
    (run / "config.json").unlink()
    assert problems(run) == {run / "config.json": "missing"}
