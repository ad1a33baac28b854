"""The local readers on small files in each layout, and on the real ones if they are here."""

from __future__ import annotations

import gzip
from dataclasses import replace
from pathlib import Path

import pytest

from pipelines.console import InputError
from trainers.evaluation.benchmarks import SAMPLE, STS, Benchmark
from trainers.evaluation.folders import PARENTS
from trainers.evaluation.graded import Graded, GradedSet
from trainers.evaluation.local import AS_WRITTEN, TOKENISED, read_local, read_sample
from trainers.evaluation.task import Missing

YEAR = Benchmark(
    "sts12", "STS12", {"MSRpar": 2, "surprise.OnWN": 1}, ("STS12-en-test", "test-gold"), ("", ""), "URL", cased=True
)
STSB = Benchmark("stsb", "STS-B", {"test": 2}, ("stsbenchmark",), ("", ""), "URL", "sts-test.csv", layout="stsb")
SICK = Benchmark("sickr", "SICK-R", {"test": 1}, ("SICK",), ("", ""), "URL", "SICK_test_annotated.txt", layout="sick")
SICK_HEAD = "pair_ID\tsentence_A\tsentence_B\trelatedness_score\tentailment_judgment\n"
PUBLISHED = {
    "sts12": 3108, "sts13": 1500, "sts14": 3750, "sts15": 3000, "sts16": 1186, "stsb": 1379, "sickr": 4927,
    "stsb-dev": 1500,
}  # fmt: skip


def write_year(folder: Path, prefix: str = "STS") -> Path:
    folder.mkdir(parents=True)
    (folder / f"{prefix}.input.MSRpar.txt").write_text(
        'a "b\tc\nnever\tgraded\nd\u2028e\tf\thttp://x\n', encoding="utf-8"
    )
    (folder / f"{prefix}.gs.MSRpar.txt").write_text("4.5\n\n0\n")
    (folder / f"{prefix}.input.surprise.OnWN.txt").write_text("g\th\r\n")
    (folder / f"{prefix}.gs.surprise.OnWN.txt").write_text("2")
    return folder


def found(benchmark: Benchmark, data: Path) -> GradedSet:
    graded = read_local(benchmark, data)
    assert isinstance(graded, GradedSet)
    return graded


def test_a_year_skips_ungraded_lines_and_keeps_quotes_and_odd_characters(tmp_path: Path) -> None:
    write_year(tmp_path / "STS12-en-test")
    graded = found(YEAR, tmp_path)
    assert graded.subsets == {
        "MSRpar": (Graded('a "b', "c", 4.5), Graded("d\u2028e", "f", 0.0)),
        "OnWN": (Graded("g", "h", 2.0),),
    }
    assert sorted(graded.files) == sorted(path.name for path in (tmp_path / "STS12-en-test").iterdir())
    assert graded.counted


@pytest.mark.parametrize("parent", PARENTS)
@pytest.mark.parametrize("folder", YEAR.folders)
def test_the_usual_places_are_searched(tmp_path: Path, parent: str, folder: str) -> None:
    write_year(tmp_path / parent / folder)
    assert found(YEAR, tmp_path).size == 3


def test_an_empty_folder_does_not_hide_a_complete_one(tmp_path: Path) -> None:
    (tmp_path / YEAR.folders[0]).mkdir()
    write_year(tmp_path / "sts" / YEAR.folders[0])
    assert found(YEAR, tmp_path).size == 3


def test_the_file_names_of_2016_are_known(tmp_path: Path) -> None:
    write_year(tmp_path / "test-gold", prefix="STS2016")
    assert found(YEAR, tmp_path).size == 3


def test_stsb_columns_five_to_seven_without_quoting(tmp_path: Path) -> None:
    (tmp_path / "stsbenchmark").mkdir()
    (tmp_path / "stsbenchmark" / "sts-test.csv").write_text(
        'main-news\tx\t2016\t1\t4.200\t"Quoted at one end\tIt said "no".\n'
        "main-news\tx\t2016\t2\t0.0\tc\td\tsource\tsource\n"
    )
    assert found(STSB, tmp_path).subsets["test"] == (
        Graded('"Quoted at one end', 'It said "no".', 4.2), Graded("c", "d", 0.0),
    )  # fmt: skip


def test_sick_columns_by_name(tmp_path: Path) -> None:
    (tmp_path / "SICK").mkdir()
    (tmp_path / "SICK" / "SICK_test_annotated.txt").write_text(SICK_HEAD + "6\tNo boy\tA group\t3.3\tNEUTRAL\n")
    assert found(SICK, tmp_path).subsets["test"] == (Graded("No boy", "A group", 3.3),)


def test_a_wrong_count_names_both_numbers(tmp_path: Path) -> None:
    folder = write_year(tmp_path / "STS12-en-test")
    (folder / "STS.gs.MSRpar.txt").write_text("4.5\n\n\n")
    with pytest.raises(InputError, match=r"STS12 MSRpar .*: 1 graded pairs, expected 2"):
        read_local(YEAR, tmp_path)


def test_a_missing_file_and_a_missing_folder_say_what_and_where_from(tmp_path: Path) -> None:
    absent = read_local(YEAR, tmp_path)
    assert isinstance(absent, Missing)
    assert str(absent) == f"STS12: no folder STS12-en-test or test-gold below {tmp_path}; to be had from URL"
    (write_year(tmp_path / "STS12-en-test") / "STS.gs.MSRpar.txt").unlink()
    partly = read_local(YEAR, tmp_path)
    assert isinstance(partly, Missing)
    assert "lacks STS.gs.MSRpar.txt" in str(partly)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("STS.gs.MSRpar.txt", b"4.5\n0\n", "3 lines, STS.gs.MSRpar.txt has 2"),
        ("STS.gs.MSRpar.txt", b"4.5\n\nhigh\n", "line 3: the score 'high' is no number"),
        ("STS.gs.MSRpar.txt", b"nan\n\n1\n", "line 1: the score 'nan' is no number"),
        ("STS.input.MSRpar.txt", b"a\tb\n\t\nalone\n", r"line 3: expected two sentences, got \['alone'\]"),
        ("STS.input.MSRpar.txt", b"a\tb\nc\td\n\xe9\tf\n", r"no UTF-8 \(byte 8\)"),
    ],
)
def test_malformed_lines_are_named(tmp_path: Path, name: str, content: bytes, message: str) -> None:
    (write_year(tmp_path / "STS12-en-test") / name).write_bytes(content)
    with pytest.raises(InputError, match=message):
        read_local(YEAR, tmp_path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "expected the columns sentence_A"),
        ("id\tone\ttwo\n", "begins 'id.*expected the columns sentence_A"),
        (SICK_HEAD + "6\tNo boy\tA group\n", "line 2: 3 columns, its header has 5"),
    ],
)
def test_a_sick_file_of_another_shape_is_refused(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "SICK").mkdir()
    (tmp_path / "SICK" / "SICK_test_annotated.txt").write_text(text)
    with pytest.raises(InputError, match=message):
        read_local(SICK, tmp_path)


def test_the_checksum_depends_on_the_pairs_not_on_the_layout(tmp_path: Path) -> None:
    write_year(tmp_path / "one" / "STS12-en-test")
    folder = write_year(tmp_path / "two" / "test-gold")
    assert found(YEAR, tmp_path / "one").sha256() == found(YEAR, tmp_path / "two").sha256()
    (folder / "STS.gs.surprise.OnWN.txt").write_text("3")
    assert found(YEAR, tmp_path / "one").sha256() != found(YEAR, tmp_path / "two").sha256()


def test_which_copy_of_the_text_was_read_is_noted(tmp_path: Path) -> None:
    folder = write_year(tmp_path / "STS12-en-test")
    assert found(YEAR, tmp_path).note == AS_WRITTEN
    (folder / "STS.input.MSRpar.txt").write_text("a b .\tc\nx\ty\nd e .\tf\n")
    assert found(YEAR, tmp_path).note == TOKENISED


def test_another_distribution_is_read_where_the_first_is_absent(tmp_path: Path) -> None:
    other = replace(YEAR, sizes={"x": 2}, folders=("one-file",), file="x.txt", layout="scored-lines")
    either = replace(YEAR, sizes={"x": 2}, folders=("two-files",), copies=(other,))
    (tmp_path / "one-file").mkdir()
    (tmp_path / "one-file" / "x.txt").write_text("a\tb\t1.5\nc\td\t2\n")
    graded = found(either, tmp_path)
    assert graded.subsets["x"] == (Graded("a", "b", 1.5), Graded("c", "d", 2.0))
    assert graded.benchmark is either
    (tmp_path / "two-files").mkdir()
    for kind, text in (("input", "e\tf\ng\th\n"), ("gs", "1\n2\n")):
        (tmp_path / "two-files" / f"STS.{kind}.x.txt").write_text(text)
    assert found(either, tmp_path).subsets["x"][0] == Graded("e", "f", 1.0)
    (tmp_path / "two-files" / "STS.gs.x.txt").unlink()
    (tmp_path / "one-file" / "x.txt").unlink()
    assert "two-files lacks STS.gs.x.txt" in str(read_local(either, tmp_path))


def test_a_gzipped_file_is_read_and_a_broken_one_is_refused(tmp_path: Path) -> None:
    benchmark = replace(YEAR, sizes={"x": 1}, folders=("f",), file="x.txt", layout="scored-lines")
    (tmp_path / "f").mkdir()
    (tmp_path / "f" / "x.txt.gz").write_bytes(gzip.compress(b"a\tb\t1\n"))
    assert found(benchmark, tmp_path).subsets["x"] == (Graded("a", "b", 1.0),)
    (tmp_path / "f" / "x.txt.gz").write_bytes(gzip.compress(b"a\tb\t1\n")[:-9])
    with pytest.raises(InputError, match=r"x.txt.gz is no whole gzip file"):
        read_local(benchmark, tmp_path)


def test_the_sizes_are_the_published_ones() -> None:
    assert {benchmark.name: benchmark.pairs for benchmark in STS} == PUBLISHED
    assert sum(benchmark.counted for benchmark in STS) == 7


def test_the_bundled_sample_reads_and_is_not_called_a_benchmark() -> None:
    sample = read_sample()
    assert sample.size == SAMPLE.pairs
    assert "no benchmark" in str(sample.note)
    assert not sample.counted


@pytest.mark.parametrize("benchmark", STS, ids=lambda benchmark: benchmark.name)
def test_the_real_files_hold_the_published_counts(benchmark: Benchmark, research_data: Path) -> None:
    graded = found(benchmark, research_data)
    assert graded.size == PUBLISHED[benchmark.name]
    golds = [pair.gold for pairs in graded.subsets.values() for pair in pairs]
    low, high = (1, 5) if benchmark.name == "sickr" else (0, 5)
    assert min(golds) >= low
    assert max(golds) <= high
    assert graded.note == (TOKENISED if benchmark.cased else None)
