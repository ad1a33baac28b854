from fractions import Fraction
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipelines.console import InputError
from trainers.data.examples import Examples, Texts
from trainers.data.kinds import KINDS, DataOptions, data_flags, read_examples
from trainers.data.pairs import Part, read_parts, shares

NAMES = ("id", "text", "view_a", "view_b", "view_a_name", "view_b_name")


def pairs_file(path: Path, count: int, missing: tuple[int, ...] = ()) -> Path:
    """Row i of file f is the source `f i` with the views `f i a` and `f i b`."""
    texts = [f"{path.stem} {row}" for row in range(count)]
    right = [None if row in missing else f"{text} b" for row, text in enumerate(texts)]
    columns = [texts, texts, [f"{text} a" for text in texts], right, ["a"] * count, ["b"] * count]
    table = pa.table({name: pa.array(column, pa.string()) for name, column in zip(NAMES, columns, strict=True)})
    with path.open("wb") as sink, pa.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table)
    return path


def read(seed: int = 1, reads: tuple[str, ...] = KINDS, **wanted: object) -> Examples:
    return read_examples(DataOptions(**wanted), reads, seed)[0]


def views(examples: Examples) -> list[tuple[str, str, str]]:
    return list(zip(examples.texts, examples.left, examples.right, strict=True))


def from_each(examples: Examples) -> dict[str, int]:
    stems = [text.split()[0] for text in examples.texts]
    return {stem: stems.count(stem) for stem in dict.fromkeys(stems)}


@pytest.fixture
def big(tmp_path: Path) -> Path:
    return pairs_file(tmp_path / "big.arrow", 40)


@pytest.fixture
def small(tmp_path: Path) -> Path:
    return pairs_file(tmp_path / "small.arrow", 10)


def test_flags_are_fields_of_what_is_wanted() -> None:
    assert set(data_flags(KINDS)) == set(DataOptions.model_fields)
    assert set(data_flags(("views",))) == {"views", "limit"}
    assert set(data_flags(("graded",))) == {"graded", "scale", "limit"}


def test_one_file_of_pairs_is_read_in_its_order_and_gaps_are_counted(tmp_path: Path) -> None:
    path = pairs_file(tmp_path / "f.arrow", 6, missing=(1, 4))
    examples = read(views=[str(path)], limit=5)
    assert views(examples) == [(f"f {row}", f"f {row} a", f"f {row} b") for row in (0, 2, 3)]
    assert examples.dropped == 2
    taken = examples.take([2, 0])
    assert views(taken) == [views(examples)[2], views(examples)[0]]
    assert (taken.left[1], taken.left[-1], taken.left[:1]) == ("f 0 a", "f 0 a", ["f 3 a"])


def test_hard_negatives_are_read_where_there_are_any(tmp_path: Path, big: Path) -> None:
    path = pairs_file(tmp_path / "hard.arrow", 3)
    with pa.memory_map(str(path)) as source:
        table = pa.ipc.open_stream(source).read_all()
    table = table.append_column("negative", pa.array(["x", None, " "], pa.string()))
    with (tmp_path / "with.arrow").open("wb") as sink, pa.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table)
    examples = read(views=[str(tmp_path / "with.arrow")])
    assert list(examples.negatives) == ["x", "", ""]
    assert list(examples.take([2, 0]).negatives) == ["", "x"]
    assert examples.digest() != read(views=[str(path)]).digest()
    assert read(views=[str(path)]).negatives is None
    mixed = read(views=[str(big), str(tmp_path / "with.arrow")])
    assert list(mixed.negatives) == [""] * 40 + ["x", "", ""]


def test_pairs_stay_in_their_file(big: Path, small: Path) -> None:
    for files in ([str(big)], [f"{big}=1", f"{small}=1"]):
        examples = read(views=files)
        assert isinstance(examples.left, Texts)
        assert [Path(file["filename"]) for file in examples.left.rows.cache_files] == [
            Path(file.partition("=")[0]) for file in files
        ]


def test_a_source_that_is_missing_is_the_left_view(tmp_path: Path) -> None:
    columns = {"text": [None, ""], "view_a": ["a", "b"], "view_b": ["c", "d"]}
    table = pa.table({**{name: ["x", "y"] for name in NAMES}, **columns})
    with (tmp_path / "f.arrow").open("wb") as sink, pa.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table)
    assert list(read(views=[str(tmp_path / "f.arrow")]).texts) == ["a", "b"]


def test_files_without_weights_are_taken_whole(big: Path, small: Path) -> None:
    examples = read(views=[str(big), str(small)])
    assert from_each(examples) == {"big": 40, "small": 10}
    assert from_each(read(views=[str(big), str(small)], limit=20)) == {"big": 16, "small": 4}


@pytest.mark.parametrize(
    ("weights", "expected"),
    [
        (("=1", "=1"), {"big": 10, "small": 10}),
        (("=3", ""), {"big": 30, "small": 10}),
        (("=8", "=1"), {"big": 40, "small": 5}),
        (("=0.5", "=1/2"), {"big": 10, "small": 10}),
    ],
)
def test_weights_are_proportions_and_no_row_comes_twice(
    big: Path, small: Path, weights: tuple[str, str], expected: dict[str, int]
) -> None:
    examples = read(views=[f"{big}{weights[0]}", f"{small}{weights[1]}"])
    assert from_each(examples) == expected
    assert len(set(examples.texts)) == len(examples)
    assert all(left == f"{text} a" for text, left in zip(examples.texts, examples.left, strict=True))


def test_a_mixture_is_drawn_by_the_seed_and_is_part_of_the_digest(big: Path, small: Path) -> None:
    even = [f"{big}=1", f"{small}=1"]
    assert views(read(views=even, seed=3)) == views(read(views=even, seed=3)) != views(read(views=even, seed=4))
    digests = {read(views=views, seed=seed).digest() for views in (even, [f"{big}=2", f"{small}=1"]) for seed in (3, 4)}
    assert len(digests) == 4


@settings(deadline=None)
@given(
    st.lists(st.tuples(st.integers(1, 500), st.fractions(Fraction(1, 50), 50)), min_size=2, max_size=4),
    st.none() | st.integers(1, 800),
)
def test_shares_are_proportional_within_a_row_and_never_more_than_there_is(
    parts: list[tuple[int, Fraction]], limit: int | None
) -> None:
    rows, weights = [count for count, _ in parts], [weight for _, weight in parts]
    counts = shares(rows, weights, limit)
    total, whole = sum(counts), sum(weights)
    assert all(0 <= count <= most for count, most in zip(counts, rows, strict=True))
    assert all(abs(count - total * weight / whole) < 1 for count, weight in zip(counts, weights, strict=True))
    # One row more in all would be too many for some part, or more than was asked for.
    assert total == limit or any((total + 1) * w / whole > most for most, w in zip(rows, weights, strict=True))


def test_a_file_may_have_an_equals_sign_in_its_name(tmp_path: Path) -> None:
    path = pairs_file(tmp_path / "lr=2", 3)
    assert read_parts([str(path)]) == [Part(path)]
    assert read_parts([f"{path}=4"]) == [Part(path, Fraction(4))]


@pytest.mark.parametrize(
    ("views", "message"),
    [
        (["{big}=0"], "the weight '0' is no number above 0"),
        (["{big}=1/0"], "the weight '1/0' is no number above 0"),
        (["{big}="], "the weight '' is no number above 0"),
        (["{big}", "{big}=2"], "is given twice"),
        (["{big}", "nothing.arrow"], "no pairs at 'nothing.arrow'"),
    ],
)
def test_parts_that_cannot_be_mixed_are_one_line(big: Path, views: list[str], message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        read(views=[view.format(big=big) for view in views])
    assert "\n" not in str(caught.value)


CUTS = {"cut in the schema": 0.1, "cut in the rows": 0.9, "cut at the end": 1 - 1e-9}


def broken_pairs(path: Path, kind: str) -> Path:
    whole = pairs_file(path, 3).read_bytes()
    if kind in CUTS:
        path.write_bytes(whole[: int(len(whole) * CUTS[kind])])
    elif kind == "text":
        path.write_text("no arrow\n")
    elif kind == "column":
        table = pa.table({"id": ["0"], "text": ["a"], "view_a": ["b"]})
        with path.open("wb") as sink, pa.ipc.new_stream(sink, table.schema) as stream:
            stream.write_table(table)
    elif kind == "numbers":
        table = pa.table({name: [1, 2] for name in NAMES})
        with path.open("wb") as sink, pa.ipc.new_stream(sink, table.schema) as stream:
            stream.write_table(table)
    elif kind == "empty":
        pairs_file(path, 0)
    else:
        pairs_file(path, 2, missing=(0, 1))
    return path


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("cut in the schema", "is no Arrow IPC stream"),
        ("cut in the rows", "or is damaged"),
        ("cut at the end", "or is damaged"),
        ("numbers", "holds int64, text is wanted"),
        ("text", "is no Arrow IPC stream"),
        ("column", "has no column 'view_b'"),
        ("empty", "holds no pairs"),
        ("blank", "has no row with two views"),
    ],
)
def test_broken_pairs_are_one_line_that_names_the_file(tmp_path: Path, big: Path, kind: str, message: str) -> None:
    path = broken_pairs(tmp_path / "bad.arrow", kind)
    with pytest.raises(InputError, match=message) as caught:
        read(views=[str(big), str(path)])
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("kind", ["views", "text", "words", "graded"])
def test_the_options_that_come_back_name_the_same_data_again(kind: str, big: Path, small: Path, tmp_path: Path) -> None:
    text = tmp_path / "text.txt"
    text.write_text("one\ntwo\nthree\n")
    graded = tmp_path / "graded.tsv"
    graded.write_text("score\tsentence1\tsentence2\n2\ta\tb\n4\tc\td\n")
    wanted = {
        "views": DataOptions(views=[f"{big}=2", f"{small}=1/2"], limit=7),
        "text": DataOptions(text=text, limit=2),
        "words": DataOptions(words=f"{text}:2-3"),
        "graded": DataOptions(graded=graded, scale="0:5"),
    }[kind]
    examples, where = read_examples(wanted, (kind,), seed=9)
    again = {key: Path(value) if key in ("text", "graded") else value for key, value in where.items()}
    assert set(where) <= set(data_flags((kind,)))
    found, there = read_examples(DataOptions(**again, limit=wanted.limit), (kind,), seed=9)
    assert (views(found), there) == (views(examples), where)


def test_nothing_named_takes_what_augment_writes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data").mkdir()
    pairs_file(tmp_path / "data" / "pairs.arrow", 3)
    for nothing in (None, []):
        examples, where = read_examples(DataOptions(views=nothing), ("views", "text"), 1)
        assert (len(examples), where) == (3, {"views": ["data/pairs.arrow"]})


@pytest.mark.parametrize(
    ("wanted", "reads", "message"),
    [
        ({"views": ["a"], "text": Path("b")}, ("views", "text"), "^--views and --text: give one of them$"),
        ({"text": Path("b")}, ("views",), "^--text does not go with this objective, which reads --views$"),
        ({"text": Path("b"), "scale": "0:5"}, ("text", "graded"), "^--scale 0:5 is for --graded"),
        ({"text": Path("missing.txt")}, ("text",), "^no sentences at 'missing.txt'"),
        ({}, ("graded",), "^no data: give --graded"),
        ({}, ("words",), "^no data: give --words"),
    ],
)
def test_data_that_cannot_be_asked_for_is_one_line(
    wanted: dict[str, object], reads: tuple[str, ...], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        read(reads=reads, **wanted)


def test_labels_are_part_of_the_digest() -> None:
    plain = Examples(["a"], ["a"], ["b"], 0)
    digests = {plain.digest(), *(Examples(["a"], ["a"], ["b"], 0, [label]).digest() for label in (0.0, 0.5))}
    assert len(digests) == 3


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"text": [1, 2]}, "the column 'text' holds int"),
        ({"words": ["a"]}, "has no column 'text', only words"),
        (None, "holds several datasets .train."),
        ({"text": [" ", None]}, "holds no sentence"),
        ("file", "is no dataset folder"),
    ],
    ids=["numbers", "another column", "splits", "blank", "no dataset"],
)
def test_a_folder_that_is_no_dataset_of_sentences_is_one_line(tmp_path: Path, columns: object, message: str) -> None:
    from datasets import Dataset, DatasetDict

    folder = tmp_path / "folder"
    if columns == "file":
        folder.mkdir()
        (folder / "text.txt").write_text("a sentence\n")
    elif columns is None:
        DatasetDict({"train": Dataset.from_dict({"text": ["a"]})}).save_to_disk(str(folder))
    else:
        Dataset.from_dict(columns).save_to_disk(str(folder))
    with pytest.raises(InputError, match=message) as caught:
        read(reads=("text",), text=folder)
    assert "\n" not in str(caught.value)


def test_every_line_end_ends_a_sentence(tmp_path: Path) -> None:
    path = tmp_path / "old-mac.txt"
    path.write_bytes("\ufeffone\rtwo\r\nthree\nfour\u2028still four\r".encode())
    assert read(text=path).texts == ["one", "two", "three", "four\u2028still four"]
