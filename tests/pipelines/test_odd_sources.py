"""Tables, documents and texts as people have them: read as they were meant, or refused by what is wrong."""

import bz2
import csv
import gzip
import io
import json
import time
import zipfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import datasets
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from foreigners import Augment, is_refused
from hypothesis import given, settings
from hypothesis import strategies as st

from augment.view import normalise
from pipelines.base.tables import lines as lines_module
from pipelines.base.tables.arrow import arrow_table
from pipelines.base.tables.delimited import open_delimited
from pipelines.sentences import ingest as ingest_module
from pipelines.sentences.documents import document_paragraphs, language_code


def rows(path: str = "data/sentences") -> list[tuple[str, str | None]]:
    return [(row["text"], row.get("label")) for row in datasets.load_from_disk(path).to_list()]


def counts(augment: Augment, *arguments: object) -> dict[str, Any]:
    done = augment("ingest", *arguments, "--json", "--overwrite")
    assert done.code == 0, done.err
    loaded: dict[str, Any] = json.loads(done.out)
    return loaded


PLAIN = [('She said "no".', "a"), ("Tea, or milk.", "b")]


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("min.tsv", 'text\tlabel\r\n"She said ""no""."\ta\r\nTea, or milk.\tb\r\n', PLAIN),
        ("all.tsv", '"text"\t"label"\n"She said ""no""."\t"a"\n"Tea, or milk."\t"b"\n', PLAIN),
        (
            "cut.tsv",
            'text\tlabel\n"One\ttab."\ta\n"Two\nlines."\tb\n',
            [("One\ttab.", "a"), ("Two\nlines.", "b")],
        ),
        ("empty.tsv", 'text\tlabel\n\t\n"""Yes"" 2"\ta\n', [('"Yes" 2', "a")]),
        ("corpus.tsv", 'text\tlabel\n"I came,\ta\nhe left."\tb\n', [('"I came,', "a"), ('he left."', "b")]),
        (
            "open.tsv",
            'text\tlabel\n"Yes" he said.\ta\n6" pipe\tb\n',
            [('"Yes" he said.', "a"), ('6" pipe', "b")],
        ),
        ("pipe.csv", 'text|label\nShe said "no".|a\nTea, or milk.|b\n', PLAIN),
        ("tab.csv", 'text\tlabel\n"She said ""no""."\ta\nTea, or milk.\tb\n', PLAIN),
        ("mixed.csv", 'label;text;note, if any\na;"She said ""no"".";\nb;Tea, or milk.;x\n', PLAIN),
        ("blank.csv", 'label, text\na, "She said ""no""."\nb, "Tea, or milk."\n', PLAIN),
        ("blank_rows.csv", 'label,text\na, "She said ""no""."\nb, "Tea, or milk."\n', PLAIN),
        ("commas.tsv", 'text,label\n"She said ""no"".",a\n"Tea, or milk.",b\n', PLAIN),
    ],
)
def test_tables_of_every_dialect_are_read_as_written(
    augment: Augment, folder: Path, name: str, content: str, expected: list[tuple[str, str]]
) -> None:
    Path(name).write_bytes(content.encode())
    done = augment("ingest", name)
    assert (done.code, done.err) == (0, "")
    assert rows() == expected


@pytest.mark.parametrize(("name", "mark"), [("a.tsv", "\t"), ("a.csv", ","), ("b.csv", "|")])
def test_a_row_with_surplus_cells_is_refused(augment: Augment, folder: Path, name: str, mark: str) -> None:
    Path(name).write_text(mark.join(["text", "label"]) + "\n" + mark.join(["A b.", "x", "y"]) + "\n")
    is_refused(augment("ingest", name), f"{name}: line 2 has 3 cells, but the first row has 2")


CELLS = st.lists(
    st.tuples(st.text("ab,;\n\"' é", min_size=1).filter(str.strip), st.sampled_from("xyz")), max_size=5
)


@settings(max_examples=50, deadline=None)
@given(
    st.lists(CELLS, min_size=1, max_size=4),
    st.sampled_from(["", "\ufeff"]),
    st.sampled_from(["text", "Sentence"]),
)
def test_joined_tables_give_the_rows_of_their_parts(parts: list[list[Any]], mark: str, title: str) -> None:
    table = ""
    for part in parts:
        stream = io.StringIO()
        csv.writer(stream).writerows([(title, "label"), *part])
        table += mark + stream.getvalue()
    skipped = Counter[str]()
    lines = table.removeprefix("\ufeff").splitlines(True)
    joined = open_delimited("csv", lambda: iter(lines), "all.csv", ["text", "sentence", "label"], skipped)
    found = joined.rows({"text": joined.names[0], "label": "label"}, ["text"])
    assert [(row["text"], row["label"]) for row in found] == [tuple(row) for part in parts for row in part]
    assert skipped["repeated header"] == len(parts) - 1


def test_a_repeated_header_is_counted_and_another_one_is_an_error(augment: Augment, folder: Path) -> None:
    one = "text,label\nOne bus.,a\nTwo cars.,b\n"
    Path("all.csv.gz").write_bytes(
        gzip.compress(one.encode()) + gzip.compress(one.replace("text", " Text").encode())
    )
    found = counts(augment, "all.csv.gz")
    assert (found["read"], found["kept"], found["repeated header"]) == (4, 2, 1)
    assert rows() == [("One bus.", "a"), ("Two cars.", "b")]
    for other in ("label,text", "sentence,label", "label,text,id"):
        Path("all.csv").write_text(f"{one}{other}\na,b\n")
        is_refused(augment("ingest", "all.csv", "--out", "no"), "line 4 ")
    Path("words.csv").write_text("word,text\ntext,The text is long.\nlabel,A label.\n")
    assert counts(augment, "words.csv")["kept"] == 2


def test_a_row_that_is_no_csv_is_named_by_its_first_line(augment: Augment, folder: Path) -> None:
    Path("open.csv").write_text('text,label\n"An unclosed quote, here.,x\nFine row.,y\nAnother row.,z\n')
    is_refused(augment("ingest", "open.csv"), "the row that begins in line 2 is not valid CSV")


def test_names_without_a_known_ending_are_told_by_their_content(augment: Augment, folder: Path) -> None:
    table = "text;label\nOne bus.;a\n"
    for name, content in {
        "a.bak": table,
        "a": table.replace(";", ","),
        "a.old": '"id"\t"text"\n1\tOne bus.\n',
    }.items():
        Path(name).write_text(content)
        is_refused(
            augment("ingest", name), f"{name} begins with the header of a table: give --format csv or tsv"
        )
    Path("a.gz").write_bytes(gzip.compress(table.encode()))
    is_refused(augment("ingest", "a.gz"), "a.gz begins with the header of a table")
    pq.write_table(pa.table({"text": ["One bus."]}), "a.pq")
    Path("a.pq").rename("b.bak")
    pq.write_table(pa.table({"text": ["Two cars."]}), "a.pq")
    Path("notes").write_text("A text, or so.\nlabel\n")
    assert counts(augment, "a.pq", "b.bak", "notes")["kept"] == 4


def test_utf_32_is_sent_to_utf_32(augment: Augment, folder: Path) -> None:
    for name, encoding in {
        "utf-32": "utf-32",
        "utf-32be": "utf-32",
        "utf-16": "utf-16",
        "utf-16be": "utf-16",
    }.items():
        mark = "\ufeff" if name.endswith("be") else ""
        Path("a.txt").write_bytes(f"{mark}A plain line.\n".encode(name))
        is_refused(augment("ingest", "a.txt"), f"iconv -f {encoding} -t utf-8")


def test_direction_marks_change_only_right_to_left_text(augment: Augment, folder: Path) -> None:
    hebrew = "\u05e9\u05dc\u05d5\u05dd (\u200eA\u200f)"
    texts = [
        "Hello there.",
        "\u200eHello there.",
        "Hello\u202a there\u200f.",
        hebrew,
        hebrew.replace("\u200f", ""),
    ]
    Path("a.txt").write_text("\n".join(texts), encoding="utf-8")
    found = counts(augment, "a.txt")
    assert (found["kept"], found["duplicate"]) == (3, 2)


def test_a_letter_keeps_thirty_accents(augment: Augment, folder: Path) -> None:
    started = time.process_time()
    assert normalise("a" + "\u0301\u0323" * 1_000_000) == normalise("a" + "\u0301\u0323" * 15)
    assert time.process_time() - started < 3
    assert normalise("e\u0301" * 40) == "é" * 40


def test_whole_floats_are_the_integers_of_other_files(augment: Augment, folder: Path) -> None:
    texts = [f"Sentence {number}." for number in range(8)]
    for name, values in {"a": [0, 1, 2], "b": [0.0, None, 1e16], "c": [1.5, 2.0]}.items():
        pq.write_table(pa.table({"text": [texts.pop() for _ in values], "label": values}), f"{name}.parquet")
    Path("d.csv").write_text("text,label\nA csv.,1.0\nAnother csv.,1.50\nA third csv.,v1.0\n")
    Path("e.jsonl").write_text('{"text": "A json.", "label": 2.0}\n')
    assert counts(augment, "a.parquet", "b.parquet", "c.parquet", "d.csv", "e.jsonl")["kept"] == 12
    labels = [label for _, label in rows()]
    assert labels == ["0", "1", "2", "0", None, "10000000000000000", "1.5", "2", "1", "1.50", "v1.0", "2"]


@pytest.mark.parametrize("ending", ["csv", "tsv", "jsonl", "json", "parquet", "arrow"])
@pytest.mark.parametrize("names", [("Text", "LABEL"), ("sentence", " Label ")])
def test_the_case_of_a_column_is_no_matter_in_any_format(
    augment: Augment, folder: Path, ending: str, names: tuple[str, str]
) -> None:
    records = [dict(zip(names, row, strict=True)) for row in PLAIN]
    path, table = folder / f"t.{ending}", pa.Table.from_pylist(records)
    if ending in ("csv", "tsv"):
        with path.open("w", newline="") as stream:
            csv.writer(stream, delimiter="," if ending == "csv" else "\t").writerows([names, *PLAIN])
    elif ending in ("json", "jsonl"):
        path.write_text(json.dumps(records) if ending == "json" else "\n".join(map(json.dumps, records)))
    elif ending == "parquet":
        pq.write_table(table, path)
    else:
        with pa.ipc.new_stream(path, table.schema) as writer:
            writer.write_table(table)
    assert augment("ingest", path).code == 0
    assert rows() == PLAIN
    twice = folder / "twice.jsonl"
    twice.write_text(json.dumps({names[0]: "A.", "LABEL": "x", "Label": "y"}))
    is_refused(augment("ingest", twice, "--out", "twice"), "2 columns of the name 'label'")


def test_front_matter_is_a_mapping_and_a_line_break_ends_no_sentence() -> None:
    rule = "---\nThe first part is prose.\n\n---\nThe second too.\n"
    assert list(document_paragraphs(rule, "markdown")) == ["The first part is prose.", "The second too."]
    for front in ("---\ntitle: x\ntags: [a]\n---\n", "---  \n# none\ntitle: x\n--- \n", "---\n---\n"):
        assert list(document_paragraphs(f"{front}Kept.", "markdown")) == ["Kept."]
    assert list(document_paragraphs("---\ntitle: x\n---", "markdown")) == []
    for broken in (
        "One sentence<br>over lines.",
        "One sentence  \nover lines.",
        "One sentence\\\nover lines.",
    ):
        assert list(document_paragraphs(broken, "markdown")) == ["One sentence over lines."]
    page = "<p>One<br/>sentence.<br><br>Another<br> \n<BR>third.</p>"
    assert list(document_paragraphs(page, "html")) == ["One sentence.", "Another", "third."]


CONFLICTS = {
    "a.csv": "text,label\nOK thanks.,agree\nOK thanks., close \nOK thanks.,agree \nFine.,agree\n",
    "a.jsonl": '{"text": "OK thanks."}\n{"text": "OK thanks.", "label": "x"}\n{"text": "OK thanks."}\n"Fine."\n',
    "a.tsv": "text\tlabel\nOK thanks.\tBye.\nOK thanks.\tMore?\nOK thanks.\tBye.\nFine.\tBye.\n",
}


@pytest.mark.parametrize("name", CONFLICTS)
def test_a_text_with_two_labels_is_counted_apart(augment: Augment, folder: Path, name: str) -> None:
    Path(name).write_text(CONFLICTS[name])
    found = counts(augment, name)
    assert (found["read"], found["kept"], found["duplicate"], found["conflict"]) == (4, 2, 1, 1)


def test_labels_are_trimmed_alike_in_every_format(augment: Augment, folder: Path) -> None:
    values = ["x", " x", "x ", "\tx\n"]
    pq.write_table(pa.table({"text": ["1", "2", "3", "4"], "label": values}), "a.parquet")
    Path("a.jsonl").write_text(
        "".join(json.dumps({"text": f"j{n}", "label": v}) + "\n" for n, v in enumerate(values))
    )
    assert augment("ingest", "a.parquet", "a.jsonl").code == 0
    assert {label for _, label in rows()} == {"x"}


def test_what_cannot_be_seen_is_taken_out(augment: Augment, folder: Path) -> None:
    family, persian = "👩\u200d👩\u200d👧", "می\u200cخواهم"
    lines = [
        "\u200b",
        "\u2060\x01",
        "\u200e",
        "\u200d",
        "\ufe0f \u200f",
        "A\u00adb c.\u200b",
        "Ab c.",
        "\ufeffAb \x7fc.",
    ]
    Path("a.txt").write_text("\n".join([*lines, family, persian, "a\tb"]) + "\n", encoding="utf-8")
    found = counts(augment, "a.txt")
    assert (found["kept"], found["empty"], found["duplicate"]) == (4, 5, 2)
    assert [text for text, _ in rows()] == ["Ab c.", family, persian, "a\tb"]
    assert normalise("e\u200b\u0301") == "é"
    assert normalise("the ﬁrst oﬃce of a ﬂeet") == "the first office of a fleet"


def test_columns_inside_others_are_read_by_dotted_names(augment: Augment, folder: Path) -> None:
    records = [
        {
            "translation": {"en": "The fog.", "de": "Nebel."},
            "talk": [{"by": "u", "text": "Hi."}, {"by": "a", "text": "Yo."}],
        },
        {"translation": {"en": "The sea.", "de": None}, "talk": [{"by": "u", "text": "Well."}]},
    ]
    pq.write_table(pa.Table.from_pylist(records), "a.parquet")
    Path("a.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    Path("a.json").write_text(json.dumps(records, indent=2))
    for name in ("a.parquet", "a.jsonl", "a.json"):
        out = f"{name}.out"
        columns = ["--column", "translation.en", "--label-column", "translation.de"]
        assert augment("ingest", name, *columns, "--out", out).code == 0
        texts = [(row["text"], row["label"]) for row in datasets.load_from_disk(out).to_list()]
        assert texts == [("The fog.", "Nebel."), ("The sea.", None)]
        done = augment(
            "ingest", name, "--column", "talk.text", "--label-column", "talk.by", "--out", f"{name}.talk"
        )
        assert done.code == 0, done.err
        assert rows(f"{name}.talk") == [("Hi.", "u"), ("Yo.", "a"), ("Well.", "u")]
        is_refused(augment("ingest", name), "'translation.en'", "'talk.text'", "--column")


def test_numbers_of_classes_become_their_names(augment: Augment, folder: Path) -> None:
    features = datasets.Features(
        {"text": datasets.Value("string"), "label": datasets.ClassLabel(names=["neg", "pos"])}
    )
    made = datasets.Dataset.from_dict(
        {"text": ["Bad.", "Good.", "Hm."], "label": [0, 1, -1]}, features=features
    )
    made.to_parquet("a.parquet")
    made.save_to_disk("saved")
    for name in ("a.parquet", "saved/data-00000-of-00001.arrow"):
        assert augment("ingest", name, "--overwrite").code == 0
        assert rows() == [("Bad.", "neg"), ("Good.", "pos"), ("Hm.", None)]


CLASS = datasets.ClassLabel(names=["neg", "pos"])


@pytest.mark.parametrize(
    ("features", "values", "column", "expected"),
    [
        ({"meta": {"class": CLASS}}, [{"class": 0}, {"class": -1}], "meta.class", ["neg", None]),
        ({"a": {"b": {"c": CLASS}}}, [{"b": {"c": 1}}, {"b": None}], "a.b.c", ["pos", None]),
        ({"tags": datasets.List(CLASS)}, [[1, 0], []], "tags", ['["pos", "neg"]', "[]"]),
        ({"parts": datasets.List({"c": CLASS})}, [[{"c": 1}], None], "parts.c", ["pos", None]),
    ],
)
def test_classes_inside_a_column_are_named(
    augment: Augment,
    folder: Path,
    features: dict[str, Any],
    values: list[Any],
    column: str,
    expected: list[str | None],
) -> None:
    (name,) = features
    made = datasets.Dataset.from_dict(
        {"text": ["One.", "Two."], name: values},
        features=datasets.Features({"text": datasets.Value("string"), **features}),
    )
    made.to_parquet("a.parquet")
    assert augment("ingest", "a.parquet", "--label-column", column).code == 0
    assert rows() == [*zip(["One.", "Two."], expected, strict=True)]


@pytest.mark.parametrize("feature", [[{"c": {}}], {"feature": {"c": {}}, "_type": "Sequence"}])
def test_classes_in_lists_of_older_files_are_named(feature: list[Any] | dict[str, Any]) -> None:
    """A sequence of structs was recorded, and stored, as a struct of lists."""
    value = [{"c": 1}] if isinstance(feature, list) else {"c": [1]}
    classes = {"names": ["neg", "pos"], "_type": "ClassLabel"}
    recorded = json.loads(json.dumps(feature).replace("{}", json.dumps(classes)))
    columns = pa.table({"text": ["One."], "parts": [value]}).replace_schema_metadata(
        {"huggingface": json.dumps({"info": {"features": {"parts": recorded}}})}
    )
    table = arrow_table("old", columns.schema, lambda _: columns.to_batches())
    [(_, record)] = table.records(["text", "parts"])
    assert record["parts"] in ([{"c": "pos"}], {"c": ["pos"]})


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.csv", 'sep=;\ntext;label\n"One; two, three.";a\nFour.;b\n'),
        ("a.csv", "\ufeffSEP=|\r\nlabel|text\r\na|One; two, three.\r\nb|Four.\r\n"),
        ("a.csv", '"sep=\t"\ntext\tlabel\nOne; two, three.\ta\nFour.\tb\n'),
        ("a.tsv", "sep=^\nlabel^text\na^One; two, three.\nb^Four.\n"),
        ("a.csv", 'sep=;\ntext;label\n"One; two, three.";a\nsep=;\ntext;label\nFour.;b\n'),
    ],
)
def test_excels_line_says_the_delimiter(augment: Augment, folder: Path, name: str, content: str) -> None:
    Path(name).write_text(content, newline="")
    assert augment("ingest", name).code == 0
    assert rows() == [("One; two, three.", "a"), ("Four.", "b")]
    Path("a.txt").write_text(content, newline="")
    is_refused(augment("ingest", "a.txt"), "begins with the header of a table: give --format csv or tsv")


@pytest.mark.parametrize(
    ("lines", "empty"),
    [
        (['{"text": "A.", "label": "a"}', '{"label": "b"}', '{"Text": "B."}'], 1),
        (['{"label": "b"}', '{"id": 1, "text": "A."}', '{"text": null}', '{"TEXT": "B."}', "{}"], 3),
        (['{"id": 1}', '"A."', '{"text": "B."}', ""], 2),
        (['{"text": "A."}', *['{"id": 1}'] * 10_001, '{"text": "B."}'], 10_001),
    ],
)
def test_lines_without_the_key_are_empty(augment: Augment, folder: Path, lines: list[str], empty: int) -> None:
    Path("a.jsonl").write_text("\n".join(lines) + "\n")
    for column in ([], ["--column", "text"]):
        found = counts(augment, "a.jsonl", *column)
        assert (found["read"], found["empty"]) == (empty + 2, empty)
        assert [text for text, _ in rows()] == ["A.", "B."]
    Path("none.jsonl").write_text('{"id": 1}\n{"label": "b"}\n')
    is_refused(
        augment("ingest", "none.jsonl", "--column", "text", "--out", "b"),
        "has no column 'text', only 'id', 'label'",
    )


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("a.jsonl", '{"text": "A."}\n{"text": 3}\n', "line 2: 'text' is 3, of type int, not text"),
        ("a.jsonl", '{"text": NaN}\n', "line 1: 'text' is nan, a missing value"),
        ("a.json", '[\n {"text": "A."},\n {"text": 4}\n]\n', "item 2: 'text' is 4"),
        ("a.json", '[\n {"text": "A."},\n {"text" "B."}\n]\n', "line 3 is not JSON"),
        ("a.csv", "text,text\nA.,B.\n", "2 columns of the name 'text'"),
    ],
)
def test_the_cause_of_an_unreadable_row_is_named(
    augment: Augment, folder: Path, name: str, content: str, expected: str
) -> None:
    Path(name).write_text(content)
    is_refused(augment("ingest", name), expected)


def test_two_columns_of_one_name_and_columns_without_type_are_one_line(augment: Augment, folder: Path) -> None:
    text = pa.array(["A."])
    pq.write_table(pa.Table.from_arrays([text, text], names=["text", "text"]), "two.parquet")
    is_refused(augment("ingest", "two.parquet"), "2 columns of the name 'text'")
    pq.write_table(pa.table({"text": pa.nulls(2)}), "null.parquet")
    is_refused(augment("ingest", "null.parquet"), "column 'text' is null, not string")
    pq.write_table(pa.table({"text": text, "label": pa.nulls(1)}), "label.parquet")
    assert augment("ingest", "label.parquet").code == 0
    Path("nan.jsonl").write_text('{"text": "A.", "label": NaN}\n{"text": "B.", "label": 1}\n')
    assert augment("ingest", "nan.jsonl", "--overwrite").code == 0
    assert rows() == [("A.", None), ("B.", "1")]


def test_folders_of_save_to_disk_are_read(augment: Augment, folder: Path) -> None:
    parts = {name: datasets.Dataset.from_dict({"text": [f"The {name}."]}) for name in ("train", "test")}
    datasets.DatasetDict(parts).save_to_disk("both")
    datasets.DatasetDict(train=parts["train"]).save_to_disk("one")
    parts["train"].save_to_disk("single", num_shards=1)
    for name, expected in {
        "both/train": "The train.",
        "both/test": "The test.",
        "one": "The train.",
        "single": "The train.",
    }.items():
        assert augment("ingest", name, "--overwrite").code == 0
        assert rows() == [(expected, None)]
    is_refused(augment("ingest", "both"), "both has 2 splits: give those you mean, of both/train, both/test")
    is_refused(augment("ingest", "single", "--out", "single", "--overwrite"), "single is part of single")
    Path("single/data-00000-of-00001.arrow").unlink()
    is_refused(augment("ingest", "single"), "cannot load 'single'")


def test_sentences_of_a_second_file_go_beside_its_view(augment: Augment, folder: Path) -> None:
    for name in ("a", "b", "c"):
        Path(f"{name}.txt").write_text(f"The file {name}.\n")
        for _ in range(2):
            assert augment("identity", f"{name}.txt", "--out", f"views/{name}").code == 0
    assert rows() == [("The file a.", None)]
    assert rows("views/b.sentences") == [("The file b.", None)]
    assert not Path("views/a.sentences").exists()
    is_refused(augment("identity", "b.txt"), "data/sentences was made with other options")
    is_refused(
        augment("identity", "c.txt", "--out", "views/b"), "views/b.sentences was made with other options"
    )


SPLIT = {
    "de": "Im 19. Jahrhundert war Ruhe. Die 1. Bundesliga ruht am 3. Mai. Siehe Abb. 3. Es waren 12. Dann kam Dr. Ott.",
    "fr": "M. Dupont rit. Le Dr. Blanc vit av. J.-C. Il est né en 1999. Mme. Roy dort.",
    "en": "Dr. Who is here. It cost approx. 5 dollars. Prices rose 3 pct. vs. May. He said no. Then he left.",
}


@pytest.mark.parametrize(
    ("language", "number"), [("de", 5), ("de-DE", 5), ("deu", 5), ("DE", 5), ("fr_FR", 4), ("en", 5)]
)
def test_titles_and_ordinals_end_no_sentence(
    augment: Augment, folder: Path, language: str, number: int
) -> None:
    Path("a.txt").write_text(SPLIT[language[:2].lower()], encoding="utf-8")
    assert augment("ingest", "a.txt", "--split", "sentences", "--language", language).code == 0
    assert len(rows()) == number, rows()


@pytest.mark.parametrize("language", ["german", "xx", "../../etc", "", "d e"])
def test_an_unknown_language_is_refused(augment: Augment, folder: Path, language: str) -> None:
    Path("a.txt").write_text("One. Two.")
    is_refused(
        augment("ingest", "a.txt", "--split", "sentences", "--language", language), "no code of a language"
    )
    assert language_code("zh-Hans") == "zh"


@pytest.mark.parametrize(
    "change", [lambda text: text + "More.\n", lambda text: text[:5], lambda text: "Other.\n"]
)
@pytest.mark.parametrize("limit", [[], ["--limit", 2]])
def test_a_source_that_changes_while_it_is_read_is_refused(
    augment: Augment,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    change: Callable[[str], str],
    limit: list[Any],
) -> None:
    source = Path("a.txt")
    source.write_text("One.\nTwo.\nThree.\n")
    check = ingest_module.check_source

    def then_change(*arguments: Any) -> Any:  # noqa: ANN401
        checked = check(*arguments)
        source.write_text("One.\nTwo.\n" + change(source.read_text()))
        return checked

    monkeypatch.setattr(ingest_module, "check_source", then_change)
    is_refused(augment("ingest", "a.txt", *limit), "a.txt changed while it was read", code=1)
    assert not Path("data").exists()


def test_archives_and_encodings_are_named_where_they_are_plain(augment: Augment, folder: Path) -> None:
    text = "One line.\n" * 9
    Path("a.txt").write_bytes(gzip.compress(text.encode()))
    Path("b.txt").write_bytes(bz2.compress(text.encode()))
    with zipfile.ZipFile("c.csv", "w") as archive:
        archive.writestr("c.csv", text)
    for name, kind in (("a.txt", "gzip"), ("b.txt", "bzip2"), ("c.csv", "zip")):
        is_refused(augment("ingest", name), f"{name} is a {kind} archive: unpack it")
    western = "The café’s price – “5 €” – is fair, they said on Monday morning."
    Path("w.txt").write_bytes(western.encode("cp1252"))
    is_refused(augment("ingest", "w.txt"), "iconv -f cp1252 -t utf-8")
    for encoding, words in {
        "cp1251": "Сегодня – хорошая погода.",
        "gbk": "今天天气很好。",
        "mac-roman": "Der Bäcker öffnet früh, sagt er.",
        "latin1": "Der Bäcker öffnet früh, sagt er.",
        "shift-jis": "今日はいい天気です。",
    }.items():
        Path("e.txt").write_bytes(words.encode(encoding))
        done = augment("ingest", "e.txt")
        is_refused(done, "e.txt: invalid UTF-8 in line 1", "convert it from its encoding")
        assert "iconv" not in done.err


@pytest.mark.exhaustive
def test_a_document_over_the_bound_is_refused_by_name(
    augment: Augment, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "A word.\n\n" * 200_000
    page = json.dumps([{"text": "A word."}] * 70_000, indent=2)
    Path("a.md").write_text(text)
    Path("a.html.gz").write_bytes(gzip.compress(text.encode()))
    Path("a.json").write_text(page)
    Path("a.txt").write_text(text)
    monkeypatch.setattr(lines_module, "MAX_DOCUMENT", 1_000_000)
    for name in ("a.md", "a.html.gz", "a.json"):
        is_refused(augment("ingest", name), f"{name} is a document of more than 1 million")
    assert augment("ingest", "a.txt").code == 0


@pytest.mark.parametrize("name", ["evil", "evil/evil.py"])
def test_a_script_of_a_dataset_is_not_run(augment: Augment, folder: Path, name: str) -> None:
    (folder / "evil").mkdir()
    script = "import datasets as d, pathlib\npathlib.Path('ran').touch()\n\n\nclass Evil(d.GeneratorBasedBuilder): ..."
    (folder / "evil/evil.py").write_text(script)
    is_refused(augment("ingest", f"hf:./{name}"), f"cannot load 'hf:./{name}'", "check name, config and split")
    assert not Path("ran").exists()
