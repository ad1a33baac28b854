"""Pairs of words: the readers against files by hand, the published files if they are here."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import typer
from scipy.stats import spearmanr

from pipelines.console import InputError, call
from trainers.evaluation.benchmarks import LEXICAL, MIRROR_LANGUAGES, MULTI_SIMLEX_LANGUAGES, Benchmark
from trainers.evaluation.cli import evaluate
from trainers.evaluation.graded import Graded, GradedSet
from trainers.evaluation.lexical import read_crossed_simlex, read_multi_simlex, read_simlex
from trainers.evaluation.local import read_local
from trainers.evaluation.suites import lexical_crosslingual

SIDES = ("first", "second")
SIMLEX = "word1\tword2\tPOS\tSimLex999\tconc\nold\tnew\tA\t1.58\t2.7\nsmart\twise\tA\t9.2\t1.7\n"
SCORES = "ID,ENG 1,ENG 2,PoS,ENG,EST\n1,arm,leg,nouns,2.5,1.5\n2,zero,one,nouns,0.5,3\n"
WORDS = 'ID,ENG 1,ENG 2,PoS,EST 1,EST 2\n2,zero,one,nouns,,"üks, ainus"\n1,arm,leg,nouns,käsi,jalg\n'


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    (tmp_path / "scores.csv").write_text(SCORES)
    (tmp_path / "translation.csv").write_text(WORDS)
    return tmp_path / "scores.csv", tmp_path / "translation.csv"


def test_simlex_by_its_header(tmp_path: Path) -> None:
    (tmp_path / "s.txt").write_text(SIMLEX)
    assert list(read_simlex(tmp_path / "s.txt")) == [Graded("old", "new", 1.58), Graded("smart", "wise", 9.2)]


def test_multi_simlex_joins_words_and_grades_by_their_id(files: tuple[Path, Path]) -> None:
    assert list(read_multi_simlex("ENG", *files)) == [Graded("arm", "leg", 2.5), Graded("zero", "one", 0.5)]


def test_the_estonian_zero_that_table_readers_lose_is_put_back(files: tuple[Path, Path]) -> None:
    assert list(read_multi_simlex("EST", *files)) == [Graded("käsi", "jalg", 1.5), Graded("null", "üks, ainus", 3.0)]


def test_crossed_pairs_have_the_mean_grade_and_leave_out_what_two_languages_grade_apart(tmp_path: Path) -> None:
    scores = tmp_path / "scores.csv"
    words = tmp_path / "translation.csv"
    # Pair 1 differs by 1.0, pair 2 by 2.5, pair 3 crosses as pair 1 does in one direction.
    scores.write_text("ID,ENG,EST\n1,2.5,1.5\n2,0.5,3\n3,4,4\n")
    words.write_text("ID,ENG 1,ENG 2,EST 1,EST 2\n1,arm,leg,käsi,jalg\n2,a,b,c,d\n3,arm,foot,pihk,jalg\n")
    assert list(read_crossed_simlex("ENG-EST", scores, words)) == [
        Graded("arm", "jalg", 2.0), Graded("leg", "käsi", 2.0), Graded("foot", "pihk", 4.0),
    ]  # fmt: skip


@pytest.mark.parametrize("benchmark", lexical_crosslingual.BENCHMARKS, ids=lambda benchmark: benchmark.name)
def test_our_crossing_of_the_published_files_gives_as_many_pairs_as_before(
    research_data: Path, benchmark: Benchmark
) -> None:
    """A check against regression: the counts are of our own rule, the authors publish none."""
    graded = read_local(benchmark, research_data)
    assert isinstance(graded, GradedSet)
    assert graded.size == benchmark.pairs


@pytest.mark.parametrize(
    ("scores", "words", "message"),
    [
        (SCORES.replace(",ENG,EST", ",XXX,EST"), WORDS, "scores.csv has no column ENG"),
        (SCORES, WORDS.replace("1,arm", "3,arm"), r"scores.csv line 2: no pair '1' in translation.csv"),
        (SCORES.replace("2,zero,one,nouns,0.5,3\n", ""), WORDS, r"translation.csv line 2: no grade of pair '2'"),
        (SCORES.replace("2.5", "high"), WORDS, "line 3: the score 'high' is no number"),
        (SCORES, WORDS.replace("arm", ""), "line 3: expected two sentences, got"),
        (SCORES.replace(",2.5,1.5", ",2.5"), WORDS, "line 2: 5 columns, its header has 6"),
    ],
)
def test_broken_files_are_named_with_their_line(
    files: tuple[Path, Path], scores: str, words: str, message: str
) -> None:
    files[0].write_text(scores)
    files[1].write_text(words)
    with pytest.raises(InputError, match=message):
        list(read_multi_simlex("ENG", *files))


def write_lexical(root: Path) -> None:
    """Write both benchmarks at their published sizes."""
    draw = np.random.default_rng(0)
    codes = list(MULTI_SIMLEX_LANGUAGES)
    (root / "multi-simlex").mkdir(parents=True)
    (root / "simlex-999").mkdir()
    scores, words = [",".join(["ID", *codes])], [",".join(["ID", *(f"{code} {i}" for code in codes for i in (1, 2))])]
    for row in range(1888):
        scores.append(",".join([f"{row}", *(f"{grade:.3f}" for grade in draw.uniform(0, 6, len(codes)))]))
        words.append(",".join([f"{row}", *("abcdefgh"[i % 8] * (row % 5 + 1) for i in range(2 * len(codes)))]))
    (root / "multi-simlex" / "scores.csv").write_text("\n".join(scores))
    (root / "multi-simlex" / "translation.csv").write_text("\n".join(words))
    lines = [
        "\t".join(["".join(draw.choice(list("abcdefgh"), size=5)) for _ in range(2)] + [f"{draw.uniform(0, 10):.2f}"])
        for _ in range(999)
    ]
    (root / "simlex-999" / "SimLex-999.txt").write_text("\n".join(["word1\tword2\tSimLex999", *lines]) + "\n")


def test_the_suite_averages_the_languages_of_mirror_bert(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_lexical(tmp_path / "lexical")
    Path("letters.py").write_text("def count(texts):\n    return [[t.count(c) for c in 'abcdefgh'] for t in texts]\n")
    app = typer.Typer()
    app.command()(evaluate)
    assert call(app, ["letters:count", "--suite", "lexical", "--data", str(tmp_path), "--json"]) == 0
    values = json.loads(capsys.readouterr().out)
    assert list(values["sets"]) == [benchmark.name for benchmark in LEXICAL]
    counted = [f"multisimlex-{code.lower()}" for code in MIRROR_LANGUAGES]
    assert [name for name, item in values["sets"].items() if item["counted"]] == counted
    assert values["average"]["sets"] == values["average"]["of"] == 8
    assert not values["sets"]["simlex999"]["counted"]
    graded = read_local(LEXICAL[-1], tmp_path)
    assert isinstance(graded, GradedSet)
    pairs = graded.subsets["english"]
    one, two = (np.array([[getattr(pair, side).count(c) for c in "abcdefgh"] for pair in pairs]) for side in SIDES)
    # Cosines that are equal by arithmetic must be ties here too.
    cosines = ((one * two).sum(1) / np.sqrt((one**2).sum(1) * (two**2).sum(1))).round(9)
    expected = 100 * spearmanr([pair.gold for pair in pairs], cosines).statistic
    assert values["sets"]["simlex999"]["figures"]["all"] == pytest.approx(expected, abs=0.05)


def test_a_wrong_count_names_both_numbers(tmp_path: Path) -> None:
    write_lexical(tmp_path)
    path = tmp_path / "simlex-999" / "SimLex-999.txt"
    path.write_text("\n".join(path.read_text().splitlines()[:-1]))
    with pytest.raises(InputError, match=r"SimLex-999 english in .*: 998 graded pairs, expected 999"):
        read_local(LEXICAL[-1], tmp_path)


@pytest.mark.parametrize("benchmark", LEXICAL, ids=lambda benchmark: benchmark.name)
def test_the_published_files_are_read(research_data: Path, benchmark: object) -> None:
    graded = read_local(benchmark, research_data)  # type: ignore[arg-type]
    assert isinstance(graded, GradedSet)
    assert graded.size == graded.benchmark.pairs
    top = 10 if graded.benchmark.name == "simlex999" else 6
    assert all(0 <= pair.gold <= top for pairs in graded.subsets.values() for pair in pairs)
