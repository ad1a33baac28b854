import gzip
from collections.abc import Callable
from pathlib import Path

import pytest
import wordfreq
from datasets import Dataset, DatasetDict
from small_trainings import write_columns, write_pairs

from pipelines.base.console import InputError
from trainers.data.examples import Examples, Texts
from trainers.data.reading import KINDS, numbers_in, read_examples, read_words
from trainers.settings import DataOptions, data_keys

NAMES = ("id", "text", "view_a", "view_b", "view_a_name", "view_b_name")


def pairs_file(path: Path, count: int, missing: tuple[int, ...] = (), **more: list[str | None]) -> Path:
    """Row i of file f is the source `f i` with the views `f i a` and `f i b`."""
    texts = [f"{path.stem} {row}" for row in range(count)]
    rows = [(text, f"{text} a", None if row in missing else f"{text} b") for row, text in enumerate(texts)]
    return write_pairs(path, rows, **more)


def read(reads: tuple[str, ...] = KINDS, **wanted: object) -> Examples:
    return read_examples(DataOptions(**wanted), reads)[0]


def views(examples: Examples) -> list[tuple[str, str, str]]:
    return list(zip(examples.texts, examples.left, examples.right, strict=True))


def from_each(examples: Examples) -> dict[str, int]:
    stems = [text.split()[0] for text in examples.texts]
    return {stem: stems.count(stem) for stem in dict.fromkeys(stems)}


def refused(message: str, **wanted: object) -> str:
    """Return the one-line message for data that cannot be used."""
    with pytest.raises(InputError, match=message) as caught:
        read(**wanted)
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.fixture
def big(tmp_path: Path) -> Path:
    return pairs_file(tmp_path / "big.arrow", 40)


@pytest.fixture
def small(tmp_path: Path) -> Path:
    return pairs_file(tmp_path / "small.arrow", 10)


def test_one_file_of_pairs_is_read_in_its_order_and_gaps_are_counted(tmp_path: Path) -> None:
    path = pairs_file(tmp_path / "f.arrow", 6, missing=(1, 4))
    examples = read(views=[str(path)], limit=5)
    assert views(examples) == [(f"f {row}", f"f {row} a", f"f {row} b") for row in (0, 2, 3)]
    assert examples.dropped == 2
    taken = examples.take([2, 0])
    assert views(taken) == [views(examples)[2], views(examples)[0]]
    assert (taken.left[1], taken.left[-1], taken.left[:1]) == ("f 0 a", "f 0 a", ["f 3 a"])
    without_source = pairs_file(tmp_path / "g.arrow", 2, text=[None, ""])
    assert list(read(views=[str(without_source)]).texts) == ["g 0 a", "g 1 a"]


def test_hard_negatives_are_read_where_there_are_any(tmp_path: Path, big: Path) -> None:
    plain = pairs_file(tmp_path / "hard.arrow", 3)
    (tmp_path / "with").mkdir()
    path = pairs_file(tmp_path / "with" / "hard.arrow", 3, negative=["x", None, " "])
    examples = read(views=[str(path)])
    assert list(examples.negatives[0]) == ["x", "", ""]
    assert list(examples.take([2, 0]).negatives[0]) == ["", "x"]
    assert examples.digest() != read(views=[str(plain)]).digest()
    assert read(views=[str(plain)]).negatives == ()
    assert list(read(views=[str(big), str(path)]).negatives[0]) == [""] * 40 + ["x", "", ""]


def test_labels_are_read_where_there_are_any(tmp_path: Path, big: Path) -> None:
    labelled = str(pairs_file(tmp_path / "labels.arrow", 3, label=["x", None, " "]))
    assert list(read(views=[labelled]).classes) == ["x", "", ""]
    assert read(views=[str(big)]).classes is None
    mixed = read(views=[labelled, str(big)])
    assert list(mixed.classes)[:4] == ["x", "", "", ""]
    assert list(mixed.take([3, 0]).classes) == ["", "x"]
    for label, classes in ((1, ["x", "", "", "1"]), (1.5, ["x", "", "", ""])):
        numbers = write_columns(tmp_path / "numbers.arrow", **{name: ["a"] for name in NAMES}, label=[label])
        assert list(read(views=[labelled, str(numbers)]).classes) == classes


def test_pairs_stay_in_their_file(big: Path, small: Path) -> None:
    for files in ([big], [big, small]):
        left = read(views=[str(file) for file in files]).left
        assert isinstance(left, Texts)
        assert [Path(file["filename"]) for file in left.rows.cache_files] == files


@pytest.mark.parametrize(
    ("limit", "expected"), [(None, {"big": 40, "small": 10}), (20, {"big": 20, "small": 10})]
)
def test_several_files_are_read_one_after_the_other(
    big: Path, small: Path, limit: int | None, expected: dict[str, int]
) -> None:
    examples = read(views=[str(big), str(small)], limit=limit)
    assert from_each(examples) == expected
    assert all(left == f"{text} a" for text, left in zip(examples.texts, examples.left, strict=True))
    refused("no pairs at 'nothing.arrow'", views=[str(big), "nothing.arrow"])


def cut(path: Path, share: float) -> None:
    whole = pairs_file(path, 3).read_bytes()
    path.write_bytes(whole[: int(len(whole) * share)])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda path: path.write_text("hello"), "cannot be read, or is damaged"),
        (lambda path: cut(path, 0.1), "cannot be read, or is damaged"),
        (lambda path: cut(path, 1 - 1e-9), "or is damaged"),
        (lambda path: write_columns(path, **{name: [1, 2] for name in NAMES}), "holds int64, not text"),
        (lambda path: write_columns(path, id=["0"], text=["a"], view_a=["b"]), "has no column 'view_b'"),
        (lambda path: pairs_file(path, 0), "holds no pairs"),
        (lambda path: write_pairs(path, [("a", None, "b"), ("c", " ", "d")]), "has no row with two views"),
    ],
)
def test_broken_pairs_name_the_file(
    tmp_path: Path, big: Path, make: Callable[[Path], object], message: str
) -> None:
    bad = tmp_path / "bad.arrow"
    make(bad)
    assert str(bad) in refused(message, views=[str(big), str(bad)])


@pytest.mark.parametrize("kind", ["views", "text", "words", "graded"])
def test_the_returned_options_read_the_same_data_again(
    kind: str, big: Path, small: Path, tmp_path: Path
) -> None:
    text, graded = tmp_path / "text.txt", tmp_path / "graded.tsv"
    text.write_text("one\ntwo\nthree\n")
    graded.write_text("score\tsentence1\tsentence2\n2\ta\tb\n4\tc\td\n")
    wanted = {
        "views": DataOptions(views=[str(big), str(small)], limit=7),
        "text": DataOptions(text=text, limit=2),
        "words": DataOptions(words=str(text), limit=2),
        "graded": DataOptions(graded=graded, scale="0:5"),
    }[kind]
    examples, where = read_examples(wanted, (kind,))
    again = {key: Path(value) if key in ("text", "graded") else value for key, value in where.items()}
    assert set(where) <= data_keys((kind,))
    found, there = read_examples(DataOptions(**again, limit=wanted.limit), (kind,))
    assert (views(found), there) == (views(examples), where)


def test_without_data_and_pairs_the_ingested_sentences_are_read_and_it_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Dataset.from_dict({"text": ["one", "two"]}).save_to_disk("data/sentences")
    capsys.readouterr()
    examples, data = read_examples(DataOptions(), ("views", "text"))
    assert (list(examples.texts), data) == (["one", "two"], {"text": "data/sentences"})
    assert capsys.readouterr().err == "no pairs at data/pairs.arrow: reading data/sentences\n"
    with pytest.raises(InputError, match="no pairs at"):
        read_examples(DataOptions(), ("views",))
    pairs_file(Path("data/pairs.arrow"), 3)
    assert read_examples(DataOptions(), ("views", "text"))[1] == {"views": ["data/pairs.arrow"]}


def test_the_default_is_what_augment_writes(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    pairs_file(tmp_path / "data" / "pairs.arrow", 3)
    for nothing in (None, []):
        examples, where = read_examples(DataOptions(views=nothing), ("views", "text"))
        assert (len(examples), where) == (3, {"views": ["data/pairs.arrow"]})


@pytest.mark.parametrize(
    ("dataset", "message"),
    [
        (Dataset.from_dict({"text": [1, 2]}), "has no column 'text' of strings"),
        (Dataset.from_dict({"words": ["a"]}), r"has no column 'text' of strings, only \['words'\]"),
        (
            DatasetDict(train=Dataset.from_dict({"text": ["a"]}), test=Dataset.from_dict({"text": ["b"]})),
            "folder has 2 splits: give those you mean, of .*folder/train, .*folder/test",
        ),
        (Dataset.from_dict({"text": [" ", None]}), "holds no sentence"),
    ],
    ids=["numbers", "another column", "splits", "blank"],
)
def test_a_folder_without_sentences_is_one_line(
    tmp_path: Path, dataset: Dataset | DatasetDict, message: str
) -> None:
    refused("neither a `Dataset` directory", text=tmp_path)
    dataset.save_to_disk(str(tmp_path / "folder"))
    refused(message, text=tmp_path / "folder")


def test_of_a_dataset_with_one_split_that_is_read(tmp_path: Path) -> None:
    DatasetDict(train=Dataset.from_dict({"text": ["a", "b"]})).save_to_disk(str(tmp_path / "dd"))
    assert list(read(text=tmp_path / "dd").texts) == ["a", "b"]


@pytest.mark.parametrize("name", ["c.srt", "c.VTT", "c.eml", "c.mbox", "c.pdf", "c.xlsx", "c.srt.gz"])
def test_text_is_refused_by_the_endings_that_ingest_refuses(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text("1\n00:00:01,000 --> 00:00:02,000\nA dog runs.\n")
    refused(rf"{name} is not read: save it as CSV, text or HTML, or rename it", text=tmp_path / name)


@pytest.mark.parametrize(
    ("cells", "numbers"),
    [
        ("40 960 1,000", [40, 960, 1000]),
        ("-1,000 12,500 7", [-1000, 12500, 7]),
        ("0,250 1,000", [0.25, 1.0]),
        ("1,000 2,5 3", [1.0, 2.5, 3.0]),
        ("1,000 1234,500", [1.0, 1234.5]),
        ("1,000% 5%", [1000, 5]),
    ],
)
def test_a_comma_is_one_of_thousands_where_every_one_can_be(cells: str, numbers: list[float]) -> None:
    assert numbers_in(cells.split())[0] == numbers


def test_every_line_end_ends_a_sentence_and_a_limit_is_of_sentences(tmp_path: Path) -> None:
    path = tmp_path / "text.txt"
    path.write_bytes("\ufeffone\n \ntwo\r\nthree\nfour\u2028still four\r\n".encode())
    assert read(text=path).texts == ["one", "two", "three", "four\u2028still four"]
    some = read(text=path, limit=2)
    assert (some.texts, some.dropped, read(text=path, limit=1).dropped) == (["one", "two"], 1, 0)


def test_rows_that_are_taken_share_their_columns_as_before(tmp_path: Path) -> None:
    path = tmp_path / "text.txt"
    path.write_text("one\ntwo\nthree\n")
    taken = read(text=path).take([2, 0])
    assert taken.texts == ["three", "one"]
    assert taken.right is taken.left is taken.texts


STSB = 'main-news\tMSRpar\t2012\t7\t{}\tHe said "no.\tShe said yes.\tsource\n'


@pytest.mark.parametrize(
    ("text", "scale", "labels"),
    [
        (STSB.format("2.500") + "\n" + STSB.format("5"), None, [0.5, 1.0]),
        (
            "pair_ID\tsentence_A\tsentence_B\trelatedness_score\tx\n1\ta\tb\t4.6\tN\n2\tc\td\t1\tN\n",
            None,
            [0.9, 0.0],
        ),
        ('sentence1,sentence2,score\n"a, b",c,0.25\nd,e,1\n', None, [0.25, 1.0]),
        ("score\tsentence1\tsentence2\n3\ta\tb\n4\tc\td\n", "2:4", [0.5, 1.0]),
        ("\nscore\ts1\ts2\n\n0.75\tc\td\n", None, [0.75]),
        ('a,"b, c",4.0\nd,e,0\n', "0:5", [0.8, 0.0]),
        ("\n0.5\ta\tb\n\n0.75\tc\td\n", None, [0.5, 0.75]),
        ('sentence1;sentence2;score\n"a; b";c, d;0.25\nd;e;1\n', None, [0.25, 1.0]),
        ("s1;s2;score\na;b;0,25\nd;e;1\n", None, [0.25, 1.0]),
        ("a\tb\t0,25\nd\te\t1,0\n", None, [0.25, 1.0]),
        ("s1,s2,score\na,b,25%\nd,e,4 %\n", None, [0.25, 0.04]),
        ("s1,s2,score\na,b,25%\nd,e,4%\n", "0:50", [0.5, 0.08]),
        ("score\ts1\ts2\n0.5\ta\tb\nnan\tc\td\n0.1\t\td\ngood\te\tf\n1\tg\t\n0.75\ti\tj\n", None, [0.5, 0.75]),
    ],
    ids=[
        "stsb",
        "sick",
        "csv",
        "scale",
        "blank lines",
        "no header",
        "score first",
        "semicolons",
        "decimal commas",
        "decimal commas without a header",
        "percent signs",
        "percent signs and a scale",
        "unusable rows",
    ],
)
def test_layouts_of_graded_pairs(tmp_path: Path, text: str, scale: str | None, labels: list[float]) -> None:
    (tmp_path / "graded.tsv.gz").write_bytes(gzip.compress(text.encode()))
    examples = read(graded=tmp_path / "graded.tsv.gz", scale=scale)
    assert examples.labels == pytest.approx(labels)
    assert len(examples.left) == len(examples.right) == len(labels)
    assert examples.dropped == (4 if "good" in text else 0)
    assert examples.texts == examples.left
    assert read(graded=tmp_path / "graded.tsv.gz", scale=scale, limit=1).labels == examples.labels[:1]
    plain = Examples(examples.texts, examples.left, examples.right)
    assert examples.digest() != plain.digest()
    if "MSRpar" in text:
        # In columns separated by tabs, a quotation mark is a character.
        assert (examples.left[0], examples.right[0]) == ('He said "no.', "She said yes.")


@pytest.mark.parametrize("ending", ["jsonl", "parquet", "csv"])
def test_graded_pairs_come_in_any_format_of_tables(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"graded.{ending}"
    rows = {"Grade": [0.25, 1.0, None], "text1": ["a", "b", "c"], "text2": [" d ", "e", "f"]}
    table = Dataset.from_dict(rows)
    getattr(table, f"to_{ending.removesuffix('l')}")(str(path))
    examples = read(graded=path)
    assert (examples.left, examples.right) == (["a", "b"], ["d", "e"])
    assert (examples.labels, examples.dropped) == ([0.25, 1.0], 1)


@pytest.mark.parametrize("row", ["1\ta", "1\ta\tb\tc"])
def test_a_row_of_graded_pairs_with_other_cells_than_the_header_is_named(tmp_path: Path, row: str) -> None:
    (tmp_path / "graded.tsv").write_text(f"score\tsentence1\tsentence2\n0\ta\tb\n{row}\n")
    refused("line 3 has . cells, but", graded=tmp_path / "graded.tsv")


@pytest.mark.parametrize(
    ("text", "scale", "message"),
    [
        (
            "score\tsentence1\tsentence2\n3\ta\tb\n",
            None,
            "line 2: the score 3 is not on the scale 0:1: .* --scale 0:5",
        ),
        (STSB.format(1) + STSB.format(-1), None, "line 2: the score -1 is not on the scale 0:5"),
        ("score\tsentence1\tsentence2\nnan\ta\tb\n1\ta\t\n", None, "holds no graded pair"),
        ("score\tsentence1\tsentence2\n", None, "holds no graded pair"),
        ("", None, r"is empty \(0 bytes\)"),
        ("score\tsentence1\tsentence2\n1\ta\0\tb\n", None, r"is binary \(NUL byte in line 2\)"),
        ("what\tis\tthis\n1\ta\tb\n", None, r"begins 'what \| is \| this': expected a header"),
        ('score,sentence1,sentence2\n1,"a"b,c\n', None, "the row that begins in line 2 is not valid CSV"),
        (STSB.format(1), "5:0", "--scale 5:0: write the least and the greatest score"),
    ],
)
def test_broken_graded_pairs_are_one_line(tmp_path: Path, text: str, scale: str | None, message: str) -> None:
    (tmp_path / "graded.tsv").write_text(text, encoding="utf-8")
    refused(message, graded=tmp_path / "graded.tsv", scale=scale)


@pytest.mark.parametrize("name", ["words.txt", "words:2"])
def test_words_are_those_of_a_file_or_the_most_frequent_of_a_language(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text("the\nof\n\n and \nnaïve\nto\n", encoding="utf-8")
    assert read_words(str(tmp_path / name)) == ["the", "of", "and", "naïve", "to"]
    assert read(words=str(tmp_path / name), limit=2).texts == ["the", "of"]
    words = read_words("en")
    assert words == wordfreq.top_n_list("en", 10_000)
    assert read_words("en:50") == words[:50]


def test_missing_words_are_one_line(tmp_path: Path) -> None:
    (tmp_path / "empty.txt").write_text("\n \n")
    refused("there are only 0 words", words=str(tmp_path / "empty.txt"))
    for words in ("nothing.txt", "et:10", "en:0", "en:x"):
        refused(f"--words {words}: give a file, or LANGUAGE or LANGUAGE:N of ar, ", words=words)
    refused("there are only [0-9,]+ words", words="en:90000000")
