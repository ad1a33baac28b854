"""Arguments: the published columns on a file by hand, labels mapped, the topics averaged."""

from __future__ import annotations

import gzip
from dataclasses import replace
from pathlib import Path

import pytest

from pipelines.console import InputError
from trainers.evaluation.graded import Graded, GradedSet
from trainers.evaluation.local import read_local
from trainers.evaluation.suites import afs
from trainers.evaluation.suites.afs import AFS, ASPECT

HEAD = "regression_label,datasetId_1,postId_1,sentenceId_1,similarity,x,y,z,sentence_id,sentence_1,sentence_2\n"
ASPECTS = (
    "topic\tsentence_1\tsentence_2\tlabel\nDrones\ta\tb\tNS\nDrones\tc\td\tHS\nGmo\te\tf\tDTORCD\nDrones\tg\th\tSS\n"
)


def found(benchmark: object, data: Path) -> GradedSet:
    graded = read_local(benchmark, data)  # type: ignore[arg-type]
    assert isinstance(graded, GradedSet), graded
    return graded


def write_topic(folder: Path, code: str, rows: list[tuple[str, str, str]]) -> Path:
    folder.mkdir(exist_ok=True)
    lines = [f'{grade},1,2,3,4,,,,9,"{one}","{two}"\n' for grade, one, two in rows]
    path = folder / f"ArgPairs_{code}.csv"
    path.write_text(HEAD + "".join(lines))
    return path


def test_columns_by_name_and_pairs_without_a_grade_left_out(tmp_path: Path) -> None:
    write_topic(tmp_path / "afs", "GC", [("3.5", "Guns, again", "Arms"), ("", "never", "graded"), ("0", "a", "b")])
    graded = found(replace(AFS[0], sizes={"gun control": 2}), tmp_path)
    assert graded.subsets == {"gun control": (Graded("Guns, again", "Arms", 3.5), Graded("a", "b", 0.0))}
    assert graded.note is None


def test_another_number_of_pairs_is_remarked_with_both_numbers_and_not_averaged(tmp_path: Path) -> None:
    write_topic(tmp_path / "afs", "GC", [("3.5", "a", "b"), ("1", "c", "d")])
    few = found(AFS[0], tmp_path)
    assert few.note == "2 graded pairs in this copy, the papers speak of 2000: not averaged"
    assert not few.counted
    whole = found(replace(AFS[0], sizes={"gun control": 2}), tmp_path)
    assert whole.counted


@pytest.mark.parametrize("rows", [[], [("3.5", "a", "b")], [("3.5", "a", "b"), ("", "never", "graded")]])
def test_fewer_pairs_than_a_correlation_needs_are_refused(tmp_path: Path, rows: list[tuple[str, str, str]]) -> None:
    write_topic(tmp_path / "afs", "GC", rows)
    with pytest.raises(InputError, match=r"AFS gun control .*: [01] graded pairs, expected 2000"):
        read_local(AFS[0], tmp_path)


def test_an_unclosed_quote_does_not_swallow_the_rows_behind_it(tmp_path: Path) -> None:
    path = write_topic(tmp_path / "afs", "GC", [("3.5", "a", "b"), ("1", "c", "d"), ("2", "e", "f")])
    path.write_text(path.read_text().replace('"c"', '"c'))
    with pytest.raises(InputError, match="line 3: broken quotes"):
        read_local(AFS[0], tmp_path)


def test_a_gzipped_topic_is_read(tmp_path: Path) -> None:
    path = write_topic(tmp_path / "afs", "GC", [("3.5", "a", "caf\u00e9"), ("1", "c", "d")])
    path.with_name(f"{path.name}.gz").write_bytes(gzip.compress(path.read_bytes()))
    path.unlink()
    assert found(AFS[0], tmp_path).subsets["gun control"][0] == Graded("a", "caf\u00e9", 3.5)


def test_mangled_quotes_are_mended_in_either_encoding(tmp_path: Path) -> None:
    path = write_topic(tmp_path / "afs", "GC", [("1", "QUOTE", "caf\u00e9")])
    for encoding in ("latin-1", "utf-8"):
        text = path.read_text(encoding="utf-8").replace("QUOTE", "It\x89\xdb\xaas \x89\xdb\xcfold\x89\xdb\x9d")
        path.write_bytes(text.encode(encoding))
        pair = found(replace(AFS[0], sizes={"gun control": 1}), tmp_path).subsets["gun control"][0]
        assert (pair.first, pair.second) == ("It\u2019s \u201cold\u201d", "caf\u00e9")
        path.write_text(path.read_bytes().decode(encoding), encoding="utf-8")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (HEAD.replace("sentence_2", "other") + "1,1,2,3,4,,,,9,a,b\n", "has no column sentence_2"),
        (HEAD + "1,a,b\n", "line 2: 3 columns, its header has 11"),
        (HEAD + "high,1,2,3,4,,,,9,a,b\n", "line 2: the score 'high' is no number"),
        ("", "has no column sentence_1, sentence_2, regression_label"),
    ],
)
def test_files_of_another_shape_are_refused(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "afs").mkdir()
    (tmp_path / "afs" / "ArgPairs_GC.csv").write_text(text)
    with pytest.raises(InputError, match=message):
        read_local(AFS[0], tmp_path)


def test_labels_become_similar_or_not_topic_by_topic(tmp_path: Path) -> None:
    (tmp_path / "afs").mkdir()
    path = tmp_path / "afs" / "UKP_ASPECT.tsv"
    path.write_text(ASPECTS)
    small = replace(ASPECT, sizes={"Drones": 3, "Gmo": 1})
    graded = found(small, tmp_path)
    assert {name: [pair.gold for pair in pairs] for name, pairs in graded.subsets.items()} == {
        "Drones": [0.0, 1.0, 1.0], "Gmo": [0.0],
    }  # fmt: skip
    path.write_text(ASPECTS.replace("\tHS", "\tXX"))
    with pytest.raises(InputError, match="line 3: the label 'XX' is none of DTORCD, NS, SS, HS"):
        read_local(small, tmp_path)


def test_the_three_topics_are_averaged_and_the_other_corpus_is_not(research_data: Path) -> None:
    sets, missing = afs.find(str(research_data))
    assert [item.name for item in afs.BENCHMARKS if item.counted] == [
        "afs-gun-control", "afs-gay-marriage", "afs-death-penalty",
    ]  # fmt: skip
    assert afs.COUNTED == 3
    aspect = next(item for item in sets if item.name == "ukp-aspect")
    assert (aspect.size, len(aspect.subsets)) == (3595, 28)
    assert sum(pair.gold for pairs in aspect.subsets.values() for pair in pairs) == 841 + 460
    assert len(sets) + len(missing) == 4
