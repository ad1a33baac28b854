import gzip
from pathlib import Path

import pytest

from pipelines.console import InputError
from trainers.data.examples import Examples
from trainers.data.kinds import DataOptions, read_examples


def read(path: Path, **wanted: object) -> Examples:
    return read_examples(DataOptions(graded=path, **wanted), ("graded",))[0]


def graded(tmp_path: Path, text: str, name: str = "graded.tsv", **wanted: object) -> Examples:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return read(path, **wanted)


STSB = 'main-news\tMSRpar\t2012\t7\t{}\tHe said "no.\tShe said yes.\tsource\n'


@pytest.mark.parametrize(
    ("text", "scale", "labels"),
    [
        (STSB.format("2.500") + STSB.format("5"), None, [0.5, 1.0]),
        ("pair_ID\tsentence_A\tsentence_B\trelatedness_score\tx\n1\ta\tb\t4.6\tN\n2\tc\td\t1\tN\n", None, [0.9, 0.0]),
        ('sentence1,sentence2,score\n"a, b",c,0.25\nd,e,1\n', None, [0.25, 1.0]),
        ("score\tsentence1\tsentence2\n3\ta\tb\n4\tc\td\n", "2:4", [0.5, 1.0]),
        ('a,"b, c",4.0\nd,e,0\n', "0:5", [0.8, 0.0]),
        ("\n0.5\ta\tb\n\n0.75\tc\td\n", None, [0.5, 0.75]),
    ],
    ids=["stsb", "sick", "csv", "scale", "no header", "score first"],
)
def test_graded_pairs_are_read_in_every_known_layout(
    tmp_path: Path, text: str, scale: str | None, labels: list[float]
) -> None:
    examples = graded(tmp_path, text, scale=scale)
    assert examples.labels == pytest.approx(labels)
    assert len(examples.left) == len(examples.right) == len(labels)
    assert examples.texts == examples.left


def test_a_quotation_mark_is_a_character_where_tabs_part_the_columns(tmp_path: Path) -> None:
    examples = graded(tmp_path, STSB.format(1) + STSB.format(2))
    assert examples.left == ['He said "no.'] * 2
    assert examples.right == ["She said yes."] * 2


def test_compressed_graded_pairs_and_a_limit(tmp_path: Path) -> None:
    path = tmp_path / "train.tsv.gz"
    path.write_bytes(gzip.compress((STSB.format(1) * 3).encode()))
    assert read(path, limit=2).labels == [0.2, 0.2]


@pytest.mark.parametrize(
    ("text", "scale", "message"),
    [
        ("score\tsentence1\tsentence2\n3\ta\tb\n", None, "line 2: the score 3 is not on the scale 0:1: .* --scale 0:5"),
        (STSB.format(1) + STSB.format(-1), None, "line 2: the score -1 is not on the scale 0:5"),
        (STSB.format(1) + STSB.format("nan"), None, "line 2: no score and two sentences in columns 5, 6, 7"),
        (STSB.format(1) + "a\tb\n", None, "line 2: no score and two sentences"),
        ("score\tsentence1\tsentence2\n1\ta\t \n", None, "line 2: no score and two sentences"),
        ("score\tsentence1\tsentence2\n", None, "holds no graded pair"),
        ("", None, "begins '': expected a header"),
        ("score\tsentence1\tsentence2\n1\ta\0\tb\n", None, "is binary, not text: it holds NUL bytes"),
        ("what\tis\tthis\n1\ta\tb\n", None, "begins 'what | is | this': expected a header"),
        ('score,sentence1,sentence2\n1,"a"b,c\n', None, "line 2 is not valid CSV"),
        (STSB.format(1), "5:0", "--scale 5:0: write the least and the greatest score"),
    ],
)
def test_graded_pairs_that_cannot_be_used_are_one_line(
    tmp_path: Path, text: str, scale: str | None, message: str
) -> None:
    with pytest.raises(InputError, match=message.replace("|", r"\|")) as caught:
        graded(tmp_path, text, scale=scale)
    assert "\n" not in str(caught.value)


def test_graded_pairs_that_are_not_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no graded pairs at"):
        read(tmp_path / "nothing.tsv")
