"""The untokenised text of STS12-16 and the multilingual sets: small files in each layout, the real ones if here."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from pipelines.console import InputError
from trainers.evaluation.benchmarks import Benchmark
from trainers.evaluation.graded import Graded, GradedSet
from trainers.evaluation.local import AS_WRITTEN, TOKENISED, read_local
from trainers.evaluation.suites import sts, sts_multilingual, sts_untokenised
from trainers.evaluation.suites.sts_multilingual import MONOLINGUAL, NEWS, STS17, STSB
from trainers.evaluation.task import Missing

BY_NAME = {item.name: item for item in (*STS17, NEWS, *MONOLINGUAL, *STSB)}
UNTOKENISED = {item.name: item for item in sts_untokenised.BENCHMARKS}


def small(benchmark: Benchmark, sizes: dict[str, int]) -> Benchmark:
    return replace(benchmark, sizes=sizes, copies=tuple(replace(copy, sizes=sizes) for copy in benchmark.copies))


def found(benchmark: Benchmark, data: Path) -> GradedSet:
    graded = read_local(benchmark, data)
    assert isinstance(graded, GradedSet), graded
    return graded


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def test_grade_and_pair_on_one_line_without_the_ungraded(tmp_path: Path) -> None:
    write(
        tmp_path / "sts/raw-brmson/2015/belief.test.tsv", "4.20\tIt\u2019s a dog.\tA dog.\n\tnever\tgraded\n0\ta\tb\n"
    )
    graded = found(small(UNTOKENISED["sts15"], {"belief": 2}), tmp_path)
    assert graded.subsets == {"belief": (Graded("It\u2019s a dog.", "A dog.", 4.2), Graded("a", "b", 0.0))}
    assert graded.note == AS_WRITTEN


def test_the_tests_of_2016_are_put_together_from_stsb_and_its_companion_in_the_order_of_their_ids(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "sts"
    news = "main-news\theadlines\t2016\t{}\t{}\t{}\t{}\n"
    write(folder / "stsbenchmark/sts-train.csv", news.format("0002", 3, "c", "d") + news.format("0001", 2, "a", "b"))
    write(folder / "stsbenchmark/sts-dev.csv", "main-news\theadlines\t2015\t0003\t5\tof another\tyear\n")
    write(folder / "stsbenchmark/sts-test.csv", news.format("0003", 4, "e", "f"))
    write(folder / "stscompanion/sts-mt.csv", "postediting\t2016\t0001\t1\tg\th\tsource\n")
    write(folder / "stscompanion/sts-other.csv", "plagiarism\t2016\t0001\t5\tof another\tfile\n")
    graded = found(small(UNTOKENISED["sts16"], {"headlines": 3, "postediting": 1}), tmp_path)
    assert [pair.gold for pair in graded.subsets["headlines"]] == [2.0, 3.0, 4.0]
    assert graded.subsets["postediting"] == (Graded("g", "h", 1.0),)
    assert len(graded.files) == 5


def test_the_untokenised_suite_does_not_read_sentevals_copy(tmp_path: Path) -> None:
    write(tmp_path / "STS12-en-test" / "STS.input.x.txt", "a .\tb\n")
    write(tmp_path / "STS12-en-test" / "STS.gs.x.txt", "1\n")
    missing = read_local(small(UNTOKENISED["sts12"], {"x": 1}), tmp_path)
    assert isinstance(missing, Missing)
    assert "senteval" not in str(missing)


def test_both_copies_hold_the_same_pairs_with_other_text(research_data: Path) -> None:
    tokenised = {item.name: item for item in sts.find(str(research_data))[0]}
    written, missing = sts_untokenised.find(str(research_data))
    assert not missing
    assert [item.name for item in written] == ["sts12", "sts13", "sts14", "sts15", "sts16", "stsb", "sickr"]
    for item in written:
        twin = tokenised[item.name]
        assert item.size == twin.size
        for name, pairs in item.subsets.items():
            grades = sorted(pair.gold for pair in twin.subsets[name])
            assert sorted(pair.gold for pair in pairs) == pytest.approx(grades, abs=0.0051)
        if item.benchmark.cased:
            assert (twin.note, item.note) == (TOKENISED, AS_WRITTEN)
            assert item.sha256() != twin.sha256()


def test_the_grades_of_a_track_may_lie_in_the_folder_beside(tmp_path: Path) -> None:
    write(tmp_path / "STS2017.eval.v1.1/STS.input.track2.ar-en.txt", "one\twahid\n")
    write(tmp_path / "STS2017.gs/STS.gs.track2.ar-en.txt", "4.5\n")
    assert found(small(BY_NAME["sts17-en-ar"], {"ar-en": 1}), tmp_path).subsets == {
        "ar-en": (Graded("one", "wahid", 4.5),)
    }


def test_a_track_is_also_read_from_the_extended_collection(tmp_path: Path) -> None:
    write(tmp_path / "STS2017-extended/STS.es-en.txt", "uno\tone\t3.2\n")
    write(tmp_path / "STS2017-extended/STS.en-de.txt", "one\teins\t5\n")
    assert found(small(BY_NAME["sts17-en-es"], {"es-en": 1}), tmp_path).size == 1
    assert found(small(BY_NAME["sts17-en-de"], {"en-de": 1}), tmp_path).subsets["en-de"] == (
        Graded("one", "eins", 5.0),
    )


def test_only_the_first_pairs_of_the_turkish_track_are_graded(tmp_path: Path) -> None:
    benchmark = small(BY_NAME["sts17-en-tr"], {"tr-en": 1})
    write(tmp_path / "sts17/STS.input.track6.tr-en.txt", "a\tb\nnever\tgraded\n")
    write(tmp_path / "sts17/STS.gs.track6.tr-en.txt", "2\n")
    assert found(benchmark, tmp_path).subsets["tr-en"] == (Graded("a", "b", 2.0),)
    write(tmp_path / "sts17/STS.gs.track6.tr-en.txt", "2\n1\n3\n")
    with pytest.raises(InputError, match=r"has 2 lines, STS.gs.track6.tr-en.txt has 3"):
        read_local(benchmark, tmp_path)


def test_translated_pairs_are_quoted_and_cross_line_by_line(tmp_path: Path) -> None:
    folder = tmp_path / "sts/stsb-multi-mt"
    write(folder / "stsb-en-test.csv", '"A girl, alone.","She said ""no"".",2.5\nc,d,0\n')
    write(folder / "stsb-de-test.csv", "Ein Kind.,Nein.,2.5\ne,f,0\n")
    german, crossed = (small(BY_NAME[name], {"test": 2}) for name in ("stsb-de", "stsb-en-de"))
    assert found(german, tmp_path).subsets["test"][0] == Graded("Ein Kind.", "Nein.", 2.5)
    assert found(crossed, tmp_path).subsets["test"] == (Graded("A girl, alone.", "Nein.", 2.5), Graded("c", "f", 0.0))
    write(folder / "stsb-de-test.csv", "Ein Kind.,Nein.,2.5\ne,f,1\n")
    with pytest.raises(InputError, match="line 2: expected two sentences and their grade"):
        read_local(crossed, tmp_path)
    write(folder / "stsb-de-test.csv", "Ein Kind.,Nein.,2.5\n")
    with pytest.raises(InputError, match=r"has 2 rows, .*stsb-de-test.csv has 1"):
        read_local(crossed, tmp_path)


def test_a_wrong_count_names_both_numbers(tmp_path: Path) -> None:
    write(tmp_path / "STS2017-extended/STS.en-de.txt", "one\teins\t5\n")
    with pytest.raises(InputError, match=r"STS17 EN-DE en-de in .*: 1 graded pairs, expected 250"):
        read_local(BY_NAME["sts17-en-de"], tmp_path)


def test_the_average_is_over_the_columns_of_the_papers_table() -> None:
    counted = [item.title for item in sts_multilingual.BENCHMARKS if item.counted]
    pairs = ("EN-EN", "ES-ES", "AR-AR", "EN-AR", "EN-DE", "EN-TR", "EN-ES", "EN-FR")
    assert counted == [f"STS17 {pair}" for pair in pairs]
    assert sts_multilingual.COUNTED == 8
    assert len({item.name for item in sts_multilingual.BENCHMARKS}) == len(sts_multilingual.BENCHMARKS)


def test_the_real_multilingual_sets_are_read_and_the_absent_say_where_from(research_data: Path) -> None:
    sets, missing = sts_multilingual.find(str(research_data))
    assert {item.name: item.size for item in sets} == {item.name: item.benchmark.pairs for item in sets}
    assert len(sets) + len(missing) == len(sts_multilingual.BENCHMARKS)
    assert all(item.where.startswith("http") for item in missing)
    english = next(item for item in sets if item.name == "sts17-en-en")
    assert english.subsets["en-en"][0] == Graded(
        "A person is on a baseball team.", "A person is playing basketball on a team.", 2.4
    )
