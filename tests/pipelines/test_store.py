"""What is on disk: nobody else's is touched, nothing unfinished or altered is read, leftovers go."""

import errno
import json
import os
import resource
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from unittest import mock

import pyarrow as pa
import pytest
from foreigners import Augment, Start, content, done, is_refused, wait_for, write_stream

from augment.record import read_record
from pipelines.base.console import InputError
from pipelines.base.files import write_if_changed
from pipelines.base.record import write_record
from pipelines.storage.dataset import finished_dataset
from pipelines.storage.pair_files import PAIR_COLUMNS, read_pairs
from pipelines.storage.shards import commit_shards, read_table
from trainers.data.examples import from_text

SENTENCES, VIEW, PAIRS = Path("data/sentences"), Path("data/views/span-mask"), Path("data/pairs.arrow")


def flip(path: Path, place: int) -> None:
    content = bytearray(path.read_bytes())
    content[place] ^= 1
    path.write_bytes(content)


def stream(path: Path, rows: int, first: int = 0) -> None:
    texts = [f"sentence {number}" for number in range(first, first + rows)]
    write_stream(path, pa.table(dict.fromkeys(PAIR_COLUMNS, texts)), 10)


def cut_between_batches(path: Path) -> None:
    """Leave out the last batches and the end of a stream."""
    table = pa.ipc.open_stream(path.read_bytes()).read_all()
    sink = pa.BufferOutputStream()
    pa.ipc.new_stream(sink, table.schema).write_table(table.slice(0, 10))
    path.write_bytes(sink.getvalue().to_pybytes())


def test_of_temporaries_only_those_of_the_same_output_are_removed(made: Augment, folder: Path) -> None:
    others = [
        *(Path(f"data/.{name}.123.tmp/precious") for name in ("sentences", "sentences.backup")),
        Path("data/.sentences.v2.123.augment.tmp/precious"),
        *(
            Path(f"data/.{name}.1.augment.tmp")
            for name in ("pairs2.arrow", "pairs.jsonl", "pairs.v2", "sentences")
        ),
    ]
    for path in others:
        path.parent.mkdir(exist_ok=True)
        path.write_text("precious")
    ours = Path("data/.pairs.arrow.1.augment.tmp")
    ours.write_text("of a killed run")
    for run in (
        ["ingest", folder / "lines.txt", "--limit", 9, "--overwrite"],
        ["build-pairs", "--pairs", "self", "--overwrite"],
        ["build-pairs", "--pairs", "self", "--shards", 2],
    ):
        assert made(*run).code == 0
    is_refused(made("build-pairs", "--pairs", "self", "--out", "data"), "data is a folder")
    assert [path.read_text() for path in others] == ["precious"] * len(others)
    assert not ours.exists()


@pytest.mark.parametrize("command", ["ingest", "span-mask", "build-pairs"])
def test_overwrite_keeps_what_is_not_ours_in_a_dataset(made: Augment, folder: Path, command: str) -> None:
    made("build-pairs", "--pairs", "self", "--shards", 2)
    out = {"ingest": SENTENCES, "span-mask": VIEW, "build-pairs": Path("data/pairs")}[command]
    foreign = [out / name for name in ("notes.record.json", "data-99.arrow", "data-00007.arrow/notes.txt")]
    for path in foreign:
        path.parent.mkdir(exist_ok=True)
        path.write_text("precious")
    more = ["--pairs", "self", "--shards", 3] if command == "build-pairs" else [folder / "lines.txt"]
    assert made(command, *more, "--limit", 5, "--overwrite").code == 0
    assert json.loads(made("inspect", out, "--json").out)["rows"] == 5
    assert [path.read_text() for path in foreign] == ["precious"] * len(foreign)


def test_a_linked_folder_is_written_where_it_leads(augment: Augment, lines: Path) -> None:
    Path("disk").mkdir()
    for command in ("ingest", "span-mask"):
        (Path("disk") / command).mkdir()
        Path(command).symlink_to(f"disk/{command}")
        assert augment(command, lines, "--out", command).code == 0
        assert augment(command, lines, "--out", command, "--limit", 5, "--overwrite").code == 0
        assert Path(command).is_symlink()
        assert json.loads(augment("inspect", f"disk/{command}", "--json").out)["rows"] == 5


@pytest.mark.parametrize("lock", ["data/sentences/.augment.lock", "data/.pairs.arrow.augment.lock"])
def test_a_lock_follows_no_link_and_that_of_a_killed_process_holds_nobody_up(
    made: Augment, folder: Path, lock: str
) -> None:
    run = ["ingest", "lines.txt"] if "sentences" in lock else ["build-pairs", "--pairs", "self", "--overwrite"]
    Path("precious.txt").write_text("precious")
    Path(lock).symlink_to(folder / "precious.txt")
    is_refused(made(*run), lock)
    assert Path("precious.txt").read_text() == "precious"
    Path(lock).unlink()
    Path(lock).write_text('{"pid": 1')
    assert made(*run).code == 0
    assert not Path(lock).exists()


@pytest.mark.parametrize(("number", "code"), [(errno.ENOLCK, 0), (errno.EIO, 1)])
def test_only_a_file_system_without_locks_is_written_without_one(
    augment: Augment, lines: Path, caplog: pytest.LogCaptureFixture, number: int, code: int
) -> None:
    with mock.patch("fcntl.flock", side_effect=OSError(number, os.strerror(number))):
        done = augment("ingest", lines)
    is_made = code == 0
    assert (done.code, "has no locks" in caplog.text, (SENTENCES / "record.json").exists()) == (
        code,
        is_made,
        is_made,
    )
    assert is_made or os.strerror(number) in done.err


@pytest.mark.parametrize(
    ("command", "out"),
    [
        *(("ingest lines.txt", out) for out in ("/proc/x", "lines.txt", "lines.txt/x")),
        ("ingest missing.txt", "lines.txt"),
        ("identity missing.txt", "lines.txt"),
        ("build-pairs missing.txt --pairs self --shards 2", "lines.txt"),
    ],
)
def test_an_output_that_cannot_be_made_is_one_line_and_comes_first(
    augment: Augment, lines: Path, command: str, out: str
) -> None:
    is_refused(augment(*command.split(), "--out", out), f"{out} cannot be created: choose")


@pytest.mark.parametrize(
    "command", ["build-pairs --pairs self", "export data/sentences", "report data/sentences"]
)
def test_only_datasets_are_written_to_an_address(made: Augment, command: str) -> None:
    is_refused(
        made(*command.split(), "--out", "s3://views/x"),
        "only sentences and views can be written to an address",
    )
    assert not Path("s3:").exists()


def test_the_folder_that_one_is_in_can_be_the_output(
    augment: Augment, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "lines.txt").write_text("one\ntwo\n")
    (folder / "here").mkdir()
    monkeypatch.chdir(folder / "here")
    assert augment("ingest", "../lines.txt", "--out", ".").code == 0
    assert augment("ingest", "../lines.txt", "--out", ".", "--limit", 1, "--overwrite").code == 0
    assert augment("inspect", ".").code == 0
    assert augment("export", ".", "--to", "jsonl").out.startswith("1 row written to")
    assert Path("record.json").exists()


@pytest.mark.parametrize(
    ("command", "out", "name"),
    [
        ("build-pairs --pairs original --view span-mask", PAIRS, "pairs.card.md"),
        ("build-pairs --pairs original --view span-mask --overwrite", PAIRS, "pairs.card.md"),
        ("build-pairs --pairs original --view span-mask --overwrite", PAIRS, "pairs.recipe.json"),
        ("export data/sentences --to csv --out data/s.csv", Path("data/s.csv"), "s.csv.recipe.json"),
        (
            "export data/sentences --to csv --out data/s.csv --overwrite",
            Path("data/s.csv"),
            "s.csv.recipe.json",
        ),
    ],
)
def test_no_card_or_recipe_of_somebody_else_is_replaced(
    made: Augment, command: str, out: Path, name: str
) -> None:
    for path in (out, *out.parent.glob("pairs.*")):
        path.unlink(missing_ok=True)
    (out.parent / name).write_text('{"command": "mine"}')
    is_refused(made(*command.split()), name, "was not written by this command")
    assert (out.parent / name).read_text() == '{"command": "mine"}'
    assert not out.exists()


def test_two_files_of_pairs_never_share_a_recipe(made: Augment) -> None:
    whole = content(Path("data"))
    is_refused(
        made("build-pairs", "--pairs", "self", "--out", "data/pairs"),
        "pairs.record.json with pairs.arrow",
    )
    assert content(Path("data")) == whole


def test_an_unfinished_folder_of_pairs_is_refused(made: Augment) -> None:
    made("build-pairs", "--pairs", "self", "--shards", 3)
    record = read_record(Path("data/pairs/record.json"))
    assert record is not None
    write_record(Path("data/pairs"), record.plan)
    with pytest.raises(InputError, match="data/pairs is not finished"):
        read_pairs("data/pairs")
    for command in (["inspect", "data/pairs"], ["export", "data/pairs"], ["report", "data/pairs"]):
        is_refused(made(*command), "data/pairs is not finished", "run the command")


@pytest.mark.parametrize("place", [9, 300, -300, -1])
def test_a_changed_byte_is_found_at_the_door(made: Augment, place: int) -> None:
    flip(PAIRS, place)
    with pytest.raises(InputError, match=r"data/pairs\.arrow "):
        read_pairs(PAIRS)
    for command in ("inspect", "export", "report"):
        is_refused(made(command, PAIRS), "data/pairs.arrow")
    shard = SENTENCES / "data-00000.arrow"
    flip(shard, place)
    for command in (["inspect", SENTENCES], ["export", SENTENCES], ["report", SENTENCES], ["identity"]):
        is_refused(made(*command), str(shard), "altered")
    with pytest.raises(InputError, match=r"data-00000\.arrow is missing, altered or damaged"):
        from_text(SENTENCES)


FULL = {name: ["x"] for name in PAIR_COLUMNS}


def write_file(path: Path) -> None:
    """Write Arrow's other format, which is not a stream."""
    with pa.ipc.new_file(path, pa.table(FULL).schema) as writer:
        writer.write_table(pa.table(FULL))


@pytest.mark.parametrize(
    ("damage", "expected"),
    [
        (Path.unlink, "no pairs at"),
        (lambda path: path.write_bytes(b""), "cannot be read, or is damaged"),
        (lambda path: path.write_text("One.\n"), "give a dataset folder or an Arrow stream file"),
        (
            lambda path: path.write_bytes(path.read_bytes().replace(b"sentence 7", b"sentenc\xff 7")),
            "Invalid UTF8",
        ),
        (lambda path: path.write_bytes(path.read_bytes()[:-2_000]), ""),
        (cut_between_batches, "is cut short"),
        (write_file, "cannot be read, or is damaged"),
        (lambda path: write_stream(path, pa.table({"id": ["x"], "text": ["x"]})), "has no column 'view_a'"),
        (lambda path: write_stream(path, pa.table({**FULL, "view_b": [3]})), ""),
    ],
    ids=[
        "missing",
        "empty",
        "text",
        "no UTF-8",
        "cut",
        "cut between batches",
        "no stream",
        "columns",
        "numbers",
    ],
)
def test_pairs_that_cannot_be_read_are_one_line(
    augment: Augment, folder: Path, damage: Callable[[Path], object], expected: str
) -> None:
    path = folder / "alone.arrow"
    stream(path, 50)
    assert read_pairs(path).num_rows == 50
    damage(path)
    with pytest.raises(InputError, match=r"alone\.arrow") as caught:
        read_pairs(path)
    assert expected in str(caught.value)
    for command in ("inspect", "report", "export", *(["ingest"] if damage is cut_between_batches else [])):
        is_refused(augment(command, path), "alone.arrow")


def test_files_that_were_not_made_together_are_not_read_together(augment: Augment, lines: Path) -> None:
    run = ["build-pairs", lines, "--pairs", "self", "--filter", "length-ratio:unit=character"]
    assert augment(*run, "--rejects", "--limit", 40).code == 0
    expected = "data is not a dataset folder of twinviews"
    with pytest.raises(InputError, match=expected):
        read_pairs("data")
    for command in ("inspect", "report", "export"):
        is_refused(augment(command, "data"), expected)
    assert read_pairs("data/pairs.arrow").num_rows == 40


@pytest.mark.exhaustive
def test_sentences_overwritten_while_a_view_runs_stop_it(
    augment: Augment, start: Start, lines: Path, folder: Path
) -> None:
    augment("ingest", lines)
    process = start("slow", "--shard-size", 5, "--nap", 0.1, "--out", "out")
    wait_for(lambda: len(list(Path("out").glob("data-*.record.json"))) >= 2)
    (folder / "other.txt").write_text("\n".join(f"other {number}" for number in range(60)) + "\n")
    assert augment("ingest", "other.txt", "--overwrite").code == 0
    assert "data/sentences/data-00000.arrow is not as it was written" in done(process, code=2)
    assert not finished_dataset(Path("out"))


BROKEN = {
    "empty": "",
    "cut": '{"kind": "view", "na',
    "list": "[]",
    "number": "5",
    "nested": "[" * 100_000 + "]" * 100_000,
    "made": '{"made": {"plan": 5, "counts": 5, "sha256": [1]}}',
    "other": '{"statuses": 5, "rows": {}, "_data_files": {"a": 1}, "features": [], "shards": "x", "kind": [1]}',
}


OTHERS = ("card.md", "recipe.json", "state.json", "dataset_info.json", "data-00000.record.json")
BUILD = ("build-pairs", "--pairs", "original", "--view", "span-mask")
INGEST, MASK = ("ingest", "lines.txt"), ("span-mask", "lines.txt")


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("path", "command"),
    [
        *((f"sentences/{name}", INGEST) for name in OTHERS),
        *((f"views/span-mask/{name}", MASK) for name in OTHERS),
        ("sentences/record.json", (*INGEST, "--overwrite")),
        ("views/span-mask/record.json", (*MASK, "--overwrite")),
        *((f"pairs.{name}", (*BUILD, "--overwrite")) for name in ("record.json", "card.md", "recipe.json")),
    ],
)
def test_what_follows_from_the_rows_is_written_again(
    augment: Augment, lines: Path, path: str, command: tuple[str, ...]
) -> None:
    """What says whose the output is, with --overwrite alone."""
    augment(*MASK)
    augment(*BUILD)
    damaged, whole = Path("data") / path, content(Path("data"))
    for damage in (None, *(BROKEN.values() if damaged.suffix == ".json" else [])):
        flip(damaged, 1) if damage is None else damaged.write_text(damage)
        if "--overwrite" in command:
            is_refused(augment(*command[:-1]), path)
            # it may be somebody else's: --overwrite leaves it alone, and is not advised
            if damage is not None and damaged.name.endswith("record.json"):
                assert "overwrite" not in augment(*command).err
                damaged.write_bytes(whole[path])
        assert augment(*command).code == 0, damage
        assert content(Path("data")) == whole


def test_a_shard_is_written_and_a_file_compared_without_a_copy_of_it(folder: Path) -> None:
    size = 32 << 20
    table = pa.table({"id": ["x"] * 32, "text": ["y" * (size // 32)] * 32})
    pool, standard = pa.proxy_memory_pool(pa.default_memory_pool()), pa.default_memory_pool()
    content = b"z" * size
    Path("standing").write_bytes(b"Z" * size)
    pa.set_memory_pool(pool)
    tracemalloc.start()
    try:
        commit_shards(folder, {0: table})
        write_if_changed(Path("standing"), content)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
        pa.set_memory_pool(standard)
    assert peak + (pool.max_memory() or 0) < size // 2
    assert read_table(folder / "data-00000.arrow").equals(table)
    assert Path("standing").read_bytes() == content


def test_a_shard_whose_record_was_altered_is_made_again(augment: Augment, lines: Path) -> None:
    augment(*MASK)
    whole, path = content(Path("data")), Path("data/views/span-mask/data-00000.record.json")
    for is_finished in (True, False):
        record = json.loads(path.read_text())
        record["counts"]["statuses"]["ok"] += 1
        path.write_text(json.dumps(record, indent=2) + "\n")
        if not is_finished:
            write_record(path.parent, json.loads((path.parent / "record.json").read_text())["plan"])
            is_refused(augment("inspect", VIEW), "not finished")
        assert augment(*MASK).code == 0
        assert content(Path("data")) == whole


def test_a_shard_of_too_few_rows_is_made_again_though_its_record_fits(augment: Augment, lines: Path) -> None:
    augment(*MASK)
    whole, folder = content(Path("data")), Path(VIEW)
    commit_shards(folder, {0: read_table(folder / "data-00000.arrow").slice(1)})
    assert augment(*MASK).code == 0
    assert content(Path("data")) == whole


@pytest.mark.exhaustive
def test_a_full_disk_names_the_file_and_the_run_resumes(augment: Augment, lines: Path, folder: Path) -> None:
    """A limit on a file's size stands for a disk that is full: the same call fails, in the same place."""
    augment("ingest", lines)
    augment("span-mask")
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    (folder / "many.txt").write_text("".join(f"sentence number {number} of many\n" for number in range(5_000)))
    augment("ingest", "many.txt", "--out", "many")
    big = [(room, f"{room}.arrow") for room in (4_000, 9_000, 400_000)]
    for room, run, name in (
        *((n, ["build-pairs", "many", "--pairs", "self", "--rejects", "--out", o], f" {o}") for n, o in big),
        (1_500, ["ingest", lines, "--out", "more"], "data-00000.arrow"),
        (500, ["span-mask", "--out", "view"], "view/record.json"),
        (500, ["build-pairs", "--pairs", "original", "--view", "span-mask", "--out", "p.arrow"], "p.arrow"),
        (500, ["build-pairs", "--pairs", "self", "--shards", 2, "--out", "folder"], "folder/data"),
        (500, ["export", "data/sentences", "--to", "jsonl", "--out", "e.jsonl"], "e.jsonl"),
        (500, ["export", "data/sentences", "--to", "parquet", "--out", "e.parquet"], "e.parquet"),
        (500, ["report", "data/sentences", "--out", "r.html"], "r.html"),
    ):
        resource.setrlimit(resource.RLIMIT_FSIZE, (room, limits[1]))
        try:
            stopped = augment(*run)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        is_refused(stopped, name, "cannot be written (File too large)", code=1)
        assert augment(*run).code == 0
    assert list(Path().rglob("*.tmp")) == []
