"""Sources of every format become the same sentences, normalised, counted, deduplicated."""

import gzip
import io
import json
import unicodedata
from datetime import date
from decimal import Decimal
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import datasets
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import xxhash
from foreigners import Augment, Start, content, is_refused, write_stream
from hypothesis import given
from hypothesis import strategies as st

from augment.view import normalise, row_id
from pipelines.base.tables import lines as lines_module
from pipelines.sentences import ingest as ingest_module
from pipelines.sentences.selection import Seen

TEXTS = ['A cat, "sleeping".', "Zwei Bäume", "A dog."]


def rows(path: Path = Path("data/sentences")) -> list[dict[str, Any]]:
    return datasets.load_from_disk(str(path)).to_list()


@given(
    st.text(st.characters(exclude_categories=["Cs"])),
    st.sampled_from(["", " ", "\t", "\n", "\u00a0", "\u2003"]),
)
def test_id_depends_on_the_normalised_text_alone(text: str, space: str) -> None:
    once = normalise(text)
    assert normalise(once) == once == once.strip()
    assert unicodedata.is_normalized("NFC", once)
    assert normalise(space + unicodedata.normalize("NFD", text) + space) == once
    assert row_id(once) == f"{xxhash.xxh64_intdigest(once.encode()):016x}"


def test_empty_lines_and_duplicates_are_dropped_and_counted(augment: Augment, folder: Path) -> None:
    (folder / "a.txt").write_text("\ufeffOne.\n\n  One.  \r\nCafe\u0301\n   \nCafé\nTwo.", encoding="utf-8")
    done = augment("ingest", "a.txt", "--json")
    assert done.code == 0
    counts = json.loads(done.out)
    assert (counts["read"], counts["kept"], counts["empty"], counts["duplicate"]) == (7, 3, 2, 2)
    assert [row["text"] for row in rows()] == ["One.", "Café", "Two."]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize(
    ("name", "lines"),
    [
        ("a.txt", ["One.", "", "", "Two."]),
        ("a.txt.gz", ["One.", "", "", "Two."]),
        ("a.csv", ["text,number", "One.,1", "", "", "Two.,2"]),
        ("a.tsv", ["text\tnumber", "One.\t1", "", "", "Two.\t2"]),
        ("a.jsonl", ['{"text": "One."}', "", "", '{"text": "Two."}']),
    ],
)
def test_every_line_end_gives_the_same_rows(
    augment: Augment, folder: Path, name: str, lines: list[str], end: str
) -> None:
    data = "".join(line + end for line in lines).encode()
    (folder / name).write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    counts = json.loads(augment("ingest", name, "--json").out)
    assert (counts["read"], counts["kept"], counts["empty"]) == (4, 2, 2)
    assert [row["text"] for row in rows()] == ["One.", "Two."]


@given(st.text("äb\r\n"), st.integers(1, 5))
def test_lines_do_not_depend_on_how_the_file_is_cut_into_chunks(whole: str, size: int) -> None:
    expected = io.StringIO(whole, newline=None).read().removesuffix("\n").split("\n") if whole else []
    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(lines_module, "CHUNK_BYTES", size)
        path = Path(folder, "lines.txt")
        path.write_text(whole, newline="")
        assert [line for lines in lines_module.read_lines(path, "lines.txt") for line in lines] == expected
        with_ends = [line for lines in lines_module.read_lines(path, "lines.txt", ends=True) for line in lines]
        assert with_ends == io.StringIO(whole, newline="").readlines()


def write(folder: Path, ending: str) -> str:
    path, plain = folder / f"s.{ending}", "\n".join(TEXTS) + "\n"
    parts, table = (plain[:9].encode(), plain[9:].encode()), pa.table({"text": TEXTS, "number": [1, 2, 3]})
    if ending == "parquet":
        pq.write_table(table, path)
    elif ending == "feather":
        with pa.ipc.new_file(path, table.schema) as writer:
            writer.write_table(table)
    elif ending == "arrow":
        write_stream(path, table)
    else:
        content = {
            "txt": plain,
            # Two members, as `cat a.gz b.gz` leaves them.
            "txt.gz": b"".join(map(gzip.compress, parts)),
            "txt.zst": b"".join(pa.compress(part, "zstd", asbytes=True) for part in parts),
            "csv": 'number,text\n1,"A cat, ""sleeping""."\n2,Zwei Bäume\n3,A dog.\n',
            "tsv": "number\tTEXT\n" + "".join(f"1\t{text}\n" for text in TEXTS),
            "jsonl": "".join(json.dumps({"text": text, "n": 1}) + "\n" for text in TEXTS),
        }[ending]
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path.name


@pytest.mark.parametrize(
    "ending", ["txt", "txt.gz", "txt.zst", "csv", "tsv", "jsonl", "parquet", "arrow", "feather"]
)
def test_every_format_gives_the_same_sentences(augment: Augment, folder: Path, ending: str) -> None:
    done = augment("ingest", write(folder, ending))
    assert (done.code, done.err) == (0, "")
    assert [(row["id"], row["text"]) for row in rows()] == [(row_id(text), text) for text in TEXTS]


def test_stdin_is_a_source_in_any_format(start: Start) -> None:
    process = start("ingest", "-", "--format", "jsonl")
    _, said = process.communicate('{"text": "One."}\n{"text": "Two."}\n')
    assert (process.returncode, said) == (0, "")
    assert [row["text"] for row in rows()] == ["One.", "Two."]


def test_several_sources_are_one_dataset_without_duplicates(augment: Augment, folder: Path) -> None:
    (folder / "a.txt").write_text("One.\nTwo.\n")
    (folder / "b.csv").write_text("text,label\nTwo.,x\nThree.,y\n")
    assert augment("ingest", "a.txt", "b.csv").code == 0
    assert [(row["text"], row["label"]) for row in rows()] == [("One.", None), ("Two.", None), ("Three.", "y")]


def test_a_label_may_hold_what_json_has_no_form_for(augment: Augment, folder: Path) -> None:
    label = [[date(2026, 11, 22)], [Decimal("1.50")], [b"x"]]
    for number, each in enumerate(label):
        pq.write_table(pa.table({"text": [f"row {number}"], "label": [each]}), folder / f"{number}.parquet")
    assert augment("ingest", "0.parquet", "1.parquet", "2.parquet").code == 0
    assert [row["label"] for row in rows()] == ['["2026-11-22"]', '["1.50"]', "[\"b'x'\"]"]


@pytest.mark.parametrize("name", ["column", "label-column"])
def test_text_has_no_columns_to_choose(augment: Augment, name: str) -> None:
    for file in ("s.txt", "s.md"):
        Path(file).write_text("One.\nTwo.\n", encoding="utf-8")
    Path("t.csv").write_text("text,body\nOne.,Two.\n", encoding="utf-8")
    for files in (["s.txt"], ["s.md", "s.txt"]):
        is_refused(augment("ingest", *files, f"--{name}", "body"), f"--{name} body: {files[0]} is read as")
    assert augment("ingest", "s.txt", "t.csv", f"--{name}", "body").code == 0


def test_a_label_is_kept_when_present(augment: Augment, folder: Path) -> None:
    (folder / "a.jsonl").write_text('{"sentence": "One.", "gold": 1}\n{"sentence": "Two."}\n')
    assert augment("ingest", "a.jsonl", "--label-column", "gold").code == 0
    assert [{**row, "id": ""} for row in rows()] == [
        {"id": "", "text": "One.", "label": "1"},
        {"id": "", "text": "Two.", "label": None},
    ]


@pytest.mark.parametrize(
    ("content", "column", "expected"),
    [
        ("body,stars\nfine,1\ngood,2\n", "body", ["fine", "good"]),
        ("body,stars\nfine,1\n", "2", ["stars", "1"]),
        ("text,stars\nfine,1\n", "2", ["1"]),
        ("fine\ngood\n", None, ["fine", "good"]),
        ("sentence\nfine\n", None, ["fine"]),
        ("text;stars\nfine, good;1,5\n", None, ["fine, good"]),
        ("text,stars\nfine,1,,\n", None, ["fine"]),
        ("1,fine\n2,good\n", "2", ["fine", "good"]),
        ('text\n\n"One\n\n\ntwo"\n\nThree.\n', None, ["One\n\n\ntwo", "Three."]),
    ],
)
def test_csv_header_is_a_first_row_that_names_a_wanted_column(
    augment: Augment, folder: Path, content: str, column: str | None, expected: list[str]
) -> None:
    (folder / "a.csv").write_text(content)
    assert augment("ingest", "a.csv", *(["--column", column] if column else [])).code == 0
    assert [row["text"] for row in rows()] == expected


@pytest.mark.parametrize("first", [0, 5, 9])
@pytest.mark.parametrize("shard_size", [2, 4, 100])
def test_shards_have_labels_that_come_late(
    augment: Augment, folder: Path, first: int, shard_size: int
) -> None:
    lines = [{"text": f"row {n}", **({"label": str(n)} if n >= first else {})} for n in range(10)]
    (folder / "a.jsonl").write_text("\n".join(map(json.dumps, lines)))
    augment("ingest", "a.jsonl", "--shard-size", shard_size)
    assert [(row["text"], row["label"]) for row in rows()] == [
        (row["text"], row.get("label")) for row in lines
    ]
    assert datasets.load_from_disk("data/sentences").column_names == ["id", "text", "label"]


@pytest.mark.parametrize("limit", [1, 2, 4, None])
def test_nothing_behind_the_limit_counts(
    augment: Augment, folder: Path, monkeypatch: pytest.MonkeyPatch, limit: int | None
) -> None:
    monkeypatch.setattr(ingest_module, "BATCH_ROWS", 3)
    (folder / "a.jsonl").write_text('"a"\n"a"\n\n"b"\n\n"c"\n"b"\n"d"\n\nnonsense\n')
    more = [] if limit is None else ["--limit", limit]
    done = augment("ingest", "a.jsonl", *more, "--json")
    if limit is None:
        assert (done.code, "line 10 is not JSON" in done.err) == (2, True)
        return
    counts = json.loads(done.out)
    expected = {1: (1, 1, 0, 0), 2: (4, 2, 1, 1), 4: (8, 4, 2, 2)}[limit]
    assert tuple(counts[name] for name in ("read", "kept", "empty", "duplicate")) == expected


def test_a_failed_ingest_keeps_the_old_sentences_or_leaves_nothing(augment: Augment, folder: Path) -> None:
    (folder / "old.txt").write_text("One.\n")
    (folder / "new.jsonl").write_text('"a"\n"b"\n"c"\nnonsense\n')
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ingest_module, "BATCH_ROWS", 2)  # the bad line comes after the first shard
        is_refused(augment("ingest", "new.jsonl", "--shard-size", 2), "line 4 is not JSON")
        assert content(Path("data")) == {}
        augment("ingest", "old.txt")
        before = content(Path("data"))
        is_refused(augment("ingest", "new.jsonl", "--shard-size", 2, "--overwrite"), "line 4 is not JSON")
    is_refused(
        augment("ingest", "data/sentences/data-00000.arrow", "--overwrite"), "is part of data/sentences"
    )
    assert content(Path("data")) == before


BATCHES = st.lists(st.lists(st.integers(0, 60) | st.integers(2**64 - 9, 2**64 - 1), max_size=40), max_size=12)


@given(BATCHES)
def test_the_first_of_each_hash_is_new(batches: list[list[int]]) -> None:
    known: set[int] = set()
    seen = Seen()
    for batch in batches:
        expected = [value not in known and value not in batch[:place] for place, value in enumerate(batch)]
        assert seen.add(batch) == expected
        known.update(batch)
