"""Graded pairs: every format by hand, the published files if they are here, scores against SciPy and scikit-learn."""

import gzip
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from known_vectors import parted, write_files
from scipy.stats import pearsonr, spearmanr
from sklearn.metrics import roc_auc_score

from pipelines.base.console import InputError
from trainers.encoders.vectors import Vectors
from trainers.scores import pairs as graded
from trainers.scores.pages.comparison import PAPERS, published_tables
from trainers.scores.pairs import Benchmark, Pair, Pairs, Subsets, read_pairs, score_binary, score_pairs
from trainers.scores.suites import afs, lexical, lexical_crosslingual, qnli, sts, sts_multilingual

SUITES = (sts, sts_multilingual, lexical, lexical_crosslingual, afs)
BENCHMARKS = {item.name: item for suite in SUITES for item in suite.BENCHMARKS} | {"qnli": qnli.BENCHMARKS[0]}
YEAR = replace(BENCHMARKS["sts12"], sizes={"MSRpar": 2, "surprise.OnWN": 1})
PUBLISHED = {
    "sts12": 3108,
    "sts13": 1500,
    "sts14": 3750,
    "sts15": 3000,
    "sts16": 1186,
    "stsb": 1379,
    "sickr": 4927,
}
PUBLISHED["stsb-dev"] = 1500
SICK = "pair_ID\tsentence_A\tsentence_B\trelatedness_score\tentailment_judgment\n"
QNLI = "index\tquestion\tsentence\tlabel\n"
AFS = "regression_label,datasetId_1,postId_1,sentenceId_1,similarity,x,y,z,sentence_id,sentence_1,sentence_2\n"
ASPECT = "topic\tsentence_1\tsentence_2\tlabel\n"
SCORES = "ID,ENG 1,ENG 2,PoS,ENG,EST\n1,arm,leg,nouns,2.5,1.5\n2,zero,one,nouns,0.5,3\n"
WORDS = 'ID,ENG 1,ENG 2,PoS,EST 1,EST 2\n2,zero,one,nouns,,"üks, ainus"\n1,arm,leg,nouns,käsi,jalg\n'


def small(name: str, **sizes: int) -> Benchmark:
    """Return a benchmark with these numbers of pairs in its subsets; two underscores stand for a hyphen in a name."""
    return replace(BENCHMARKS[name], sizes={subset.replace("__", "-"): size for subset, size in sizes.items()})


def found(benchmark: Benchmark, data: Path | str) -> Pairs:
    pairs = read_pairs(benchmark, str(data))
    assert isinstance(pairs, Pairs), pairs
    return pairs


def year(folder: str = "STS12-en-test", prefix: str = "STS") -> dict[str, str | bytes]:
    return {
        f"{folder}/{prefix}.input.MSRpar.txt": 'a "b\tc\nnever\tgraded\nd\u2028e\tf\thttp://x\n',
        f"{folder}/{prefix}.gs.MSRpar.txt": "4.5\n\n0\n",
        f"{folder}/{prefix}.input.surprise.OnWN.txt": "g\th\r\n",
        f"{folder}/{prefix}.gs.surprise.OnWN.txt": "2",
    }


FORMATS: dict[str, tuple[Benchmark, dict[str, str | bytes], list[tuple[str, str, float]]]] = {
    "a year without its ungraded lines, quotes and odd characters kept": (
        YEAR,
        year(),
        [('a "b', "c", 4.5), ("d\u2028e", "f", 0.0), ("g", "h", 2.0)],
    ),
    "STS-B, columns five to seven without quoting": (
        small("stsb", test=2),
        {
            "stsbenchmark/sts-test.csv": 'main-news\tx\t2016\t1\t4.200\t"Quoted at one end\tIt said "no".\n'
            "main-news\tx\t2016\t2\t0.0\tc\td\tsource\tsource\n"
        },
        [('"Quoted at one end', 'It said "no".', 4.2), ("c", "d", 0.0)],
    ),
    "SICK, columns by name": (
        small("sickr", test=1),
        {"SICK/SICK_test_annotated.txt": f"{SICK}6\tNo boy\tA group\t3.3\tNEUTRAL\n"},
        [("No boy", "A group", 3.3)],
    ),
    "a track whose grades are in the next folder": (
        small("sts17-en-ar", ar__en=1),
        {
            "STS2017.eval.v1.1/STS.input.track2.ar-en.txt": "one\twahid\n",
            "STS2017.gs/STS.gs.track2.ar-en.txt": "4.5\n",
        },
        [("one", "wahid", 4.5)],
    ),
    "a track from the extended collection": (
        small("sts17-en-es", es__en=1),
        {"STS2017-extended/STS.es-en.txt": "uno\tone\t3.2\n"},
        [("uno", "one", 3.2)],
    ),
    "a pair of languages of that collection": (
        small("sts17-en-de", en__de=1),
        {"STS2017-extended/STS.en-de.txt": "one\teins\t5\n"},
        [("one", "eins", 5.0)],
    ),
    "the Turkish track, of which the first pairs alone are graded": (
        small("sts17-en-tr", tr__en=1),
        {"sts17/STS.input.track6.tr-en.txt": "a\tb\nnever\tgraded\n", "sts17/STS.gs.track6.tr-en.txt": "2\n"},
        [("a", "b", 2.0)],
    ),
    "translations in quotes": (
        small("stsb-de", test=1),
        {"sts/stsb-multi-mt/stsb-de-test.csv": '"Ein Kind, allein.","Sie sagte ""nein"".",2.5\n'},
        [("Ein Kind, allein.", 'Sie sagte "nein".', 2.5)],
    ),
    "QNLI, entailment is the positive": (
        replace(qnli.BENCHMARKS[0], sizes={"": 2}),
        {
            "glue/QNLI/dev.tsv": f'{QNLI}0\tWho?\tA "quoted one.\tentailment\n1\tWhen?\tIt rains.\tnot_entailment\n'
        },
        [("Who?", 'A "quoted one.', 1.0), ("When?", "It rains.", 0.0)],
    ),
    "AFS, columns by name, without the ungraded": (
        replace(BENCHMARKS["afs-gun-control"], sizes={"gun control": 2}),
        {
            "afs/ArgPairs_GC.csv": AFS
            + '3.5,1,2,3,4,,,,9,"Guns, again",Arms\n,1,2,3,4,,,,9,never,graded\n0,1,2,3,4,,,,9,a,b\n'
        },
        [("Guns, again", "Arms", 3.5), ("a", "b", 0.0)],
    ),
    "UKP ASPECT, labels joined": (
        replace(BENCHMARKS["ukp-aspect"], sizes={"Drones": 3, "Gmo": 1}),
        {
            "afs/UKP_ASPECT.tsv": f"{ASPECT}Drones\ta\tb\tNS\nDrones\tc\td\tHS\nGmo\te\tf\tDTORCD\nDrones\tg\th\tSS\n"
        },
        [("a", "b", 0.0), ("c", "d", 1.0), ("g", "h", 1.0), ("e", "f", 0.0)],
    ),
    "SimLex-999, columns by name": (
        small("simlex999", english=2),
        {
            "simlex-999/SimLex-999.txt": "word1\tword2\tPOS\tSimLex999\tconc\n"
            "old\tnew\tA\t1.58\t2\nsmart\twise\tA\t9.2\t1\n"
        },
        [("old", "new", 1.58), ("smart", "wise", 9.2)],
    ),
    "Multi-SimLex, words and grades joined by their id": (
        small("multisimlex-eng", ENG=2),
        {"multi-simlex/scores.csv": SCORES, "multi-simlex/translation.csv": WORDS},
        [("arm", "leg", 2.5), ("zero", "one", 0.5)],
    ),
    "the Estonian zero that table readers lose": (
        small("multisimlex-est", EST=2),
        {"multi-simlex/scores.csv": SCORES, "multi-simlex/translation.csv": WORDS},
        [("käsi", "jalg", 1.5), ("null", "üks, ainus", 3.0)],
    ),
    # Pair 1 differs by 1.0, pair 2 by 2.5, pair 3 crosses as pair 1 does in one direction.
    "crossed languages: the mean grade, without what they grade apart": (
        replace(BENCHMARKS["multisimlex-eng-fra"], sizes={"ENG-EST": 3}),
        {
            "multi-simlex/scores.csv": "ID,ENG,EST\n1,2.5,1.5\n2,0.5,3\n3,4,4\n",
            "multi-simlex/translation.csv": "ID,ENG 1,ENG 2,EST 1,EST 2\n"
            "1,arm,leg,käsi,jalg\n2,a,b,c,d\n3,arm,foot,pihk,jalg\n",
        },
        [("arm", "jalg", 2.0), ("leg", "käsi", 2.0), ("foot", "pihk", 4.0)],
    ),
}


@pytest.mark.parametrize("kind", FORMATS)
def test_every_format_is_read_as_by_hand_gzipped_or_not(kind: str, tmp_path: Path) -> None:
    benchmark, files, expected = FORMATS[kind]
    read = found(benchmark, write_files(tmp_path, files))
    assert [tuple(pair) for pairs in read.subsets.values() for pair in pairs] == expected
    for path in [path for path in tmp_path.rglob("*") if path.is_file()]:
        path.with_name(f"{path.name}.gz").write_bytes(gzip.compress(path.read_bytes()))
        path.unlink()
    again = found(benchmark, tmp_path)
    assert (again.subsets, again.sha256()) == (read.subsets, read.sha256())


@pytest.mark.parametrize("parent", ["", "sts", "data/downstream/STS"])
@pytest.mark.parametrize("folder", YEAR.layouts[0].folders)
def test_the_usual_folders_are_searched(tmp_path: Path, parent: str, folder: str) -> None:
    (tmp_path / YEAR.layouts[0].folders[0]).mkdir()  # an empty folder does not hide a complete one
    write_files(tmp_path / parent, year(folder, "STS2016" if folder == "test-gold" else "STS"))
    assert found(YEAR, tmp_path).size == 3


def test_a_missing_set_says_what_is_missing_and_where_to_get_it(tmp_path: Path) -> None:
    absent = read_pairs(YEAR, str(tmp_path))
    assert f"STS12: no folder STS12-en-test or test-gold below {tmp_path}; get it from http" in str(absent)
    (write_files(tmp_path, year()) / "STS12-en-test" / "STS.gs.MSRpar.txt").unlink()
    assert "lacks STS*.gs.MSRpar.txt" in str(read_pairs(YEAR, str(tmp_path)))
    assert "QNLIv2.zip" in str(read_pairs(qnli.BENCHMARKS[0], str(tmp_path)))


def broken(name: str, files: dict[str, str | bytes], path: str, content: str | bytes, message: str) -> object:
    return pytest.param(name, {**files, path: content}, message, id=f"{name}: {message[:40]}")


SIMLEX = {"multi-simlex/scores.csv": SCORES, "multi-simlex/translation.csv": WORDS}
GS, INPUT = "STS12-en-test/STS.gs.MSRpar.txt", "STS12-en-test/STS.input.MSRpar.txt"
TRACK6 = {"sts17/STS.input.track6.tr-en.txt": "a\tb\nc\td\n"}
TOPIC, FACETS, PAPER = "afs/ArgPairs_GC.csv", "afs/UKP_ASPECT.tsv", "qnli/dev.tsv"


@pytest.mark.parametrize(
    ("name", "files", "message"),
    [
        broken("sts12", year(), GS, "4.5\n\n\n", r"STS12 MSRpar .*: 1 graded pairs, expected 2"),
        broken("sts12", year(), GS, "4.5\n0\n", "3 lines as in STS.gs.MSRpar.txt, expected 2"),
        broken("sts12", year(), GS, "4.5\n\nhigh\n", "line 3: expected two sentences and a grade, got"),
        broken("sts12", year(), INPUT, "a\tb\n\t\nalone\n", r"line 3: expected .*, got \['alone', '0'\]"),
        broken("sts12", year(), INPUT, b"a\tb\nc\td\n\xe9\tf\n", r"not UTF-8 text: byte 8 is 0xe9"),
        broken(
            "sickr", {}, "SICK/SICK_test_annotated.txt", "id\tone\n", "the columns sentence_A.* got 'id,one"
        ),
        broken("sickr", {}, "SICK/SICK_test_annotated.txt", SICK + "6\tNo\tA\n", "line 2: expected 5 columns"),
        broken(
            "sts17-en-tr", TRACK6, "sts17/STS.gs.track6.tr-en.txt", "2\n1\n3\n", "2 lines as in STS.gs.track6"
        ),
        broken("stsb-de", {}, "stsb-multi-mt/stsb-de-test.csv", "a,b,2.5\ne,f\n", "line 2: expected two"),
        broken(
            "multisimlex-eng",
            SIMLEX,
            "multi-simlex/translation.csv",
            WORDS.replace("1,arm", "3,arm"),
            "only one has",
        ),
        broken(
            "multisimlex-eng",
            SIMLEX,
            "multi-simlex/translation.csv",
            WORDS.replace("arm", ""),
            "line 3: expected two sentences and a grade",
        ),
        broken("afs-gun-control", {}, TOPIC, AFS, "AFS gun control .*: 0 graded pairs, expected 2000"),
        broken(
            "afs-gun-control",
            {},
            TOPIC,
            AFS + '1,1,2,3,4,,,,9,a,b\n1,1,2,3,4,,,,9,"c,d\n2,1,2,3,4,,,,9,e,f\n',
            "line 3: broken quotes",
        ),
        broken(
            "ukp-aspect",
            {},
            FACETS,
            ASPECT + "3d printing\ta\tb\tXX\n",
            "line 2: expected .* grade of DTORCD, NS",
        ),
        broken(
            "qnli", {}, PAPER, QNLI + "0\ta\tb\tmaybe\n", "line 2: expected .* of entailment, not_entailment"
        ),
    ],
)
def test_broken_files_are_refused(
    name: str, files: dict[str, str | bytes], message: str, tmp_path: Path
) -> None:
    benchmark = YEAR if name == "sts12" else BENCHMARKS[name]
    if name == "sts17-en-tr":
        benchmark = small(name, tr__en=1)
    with pytest.raises(InputError, match=message):
        read_pairs(benchmark, str(write_files(tmp_path, files)))


def test_the_checksum_depends_on_the_pairs_not_on_the_layout(tmp_path: Path) -> None:
    first = found(YEAR, write_files(tmp_path / "one", year()))
    one = first.sha256()
    assert (list(first.subsets), first.counted) == (["MSRpar", "OnWN"], True)
    folder = write_files(tmp_path / "two", year("test-gold"))
    assert found(YEAR, folder).sha256() == one
    write_files(folder, {"test-gold/STS.gs.surprise.OnWN.txt": "3"})
    assert found(YEAR, folder).sha256() != one
    # As stored results have it: subset, grade and both texts, without a subset's name for QNLI.
    assert found(YEAR, tmp_path / "one").lines[0] == 'MSRpar\t4.5\ta "b\tc\n'
    _, files, _ = FORMATS["QNLI, entailment is the positive"]
    read = found(replace(qnli.BENCHMARKS[0], sizes={"": 2}), write_files(tmp_path, files))
    assert read.lines[1] == "0\tWhen?\tIt rains.\n"


def test_which_copy_of_the_text_was_read_is_noted(tmp_path: Path) -> None:
    write_files(tmp_path, year())
    assert found(YEAR, tmp_path).note == graded.AS_WRITTEN
    write_files(tmp_path, {INPUT: "a b .\tc\nx\ty\nd e .\tf\n"})
    assert found(YEAR, tmp_path).note == graded.TOKENISED


def test_another_size_than_a_rounded_published_one_is_noted_and_not_averaged(tmp_path: Path) -> None:
    write_files(tmp_path, {TOPIC: AFS + "3.5,1,2,3,4,,,,9,a,b\n1,1,2,3,4,,,,9,c,d\n"})
    few = found(BENCHMARKS["afs-gun-control"], tmp_path)
    assert few.note == "2 graded pairs in this copy, the papers speak of 2000: not averaged"
    assert not few.counted
    whole = found(replace(BENCHMARKS["afs-gun-control"], sizes={"gun control": 2}), tmp_path)
    assert (whole.counted, whole.note) == (True, None)


@pytest.mark.parametrize("suite", SUITES, ids=lambda suite: suite.__name__.rpartition(".")[2])
def test_the_average_is_over_the_columns_of_the_papers_tables(suite: ModuleType) -> None:
    name = suite.__name__.rpartition(".")[2].replace("_", "-")
    columns = [set(column.sets) for table in published_tables(PAPERS, name) for column in table.heads]
    counted = {item.name for item in suite.BENCHMARKS if item.counted}
    # BSL's Table 3 averages none of the tracks of STS17.
    assert counted in columns or (name == "sts-multilingual" and all({each} in columns for each in counted))
    assert len({item.name for item in suite.BENCHMARKS}) == len(suite.BENCHMARKS)
    if name == "sts":
        assert {benchmark.name: sum(benchmark.sizes.values()) for benchmark in suite.BENCHMARKS} == PUBLISHED


@pytest.mark.parametrize("suite", [*SUITES, qnli], ids=lambda suite: suite.__name__.rpartition(".")[2])
def test_the_real_files_hold_the_published_counts(suite: ModuleType, research_data: Path) -> None:
    known = {item.name: item for item in suite.BENCHMARKS}
    read, missing = parted(read_pairs(item, str(research_data)) for item in suite.BENCHMARKS)
    sizes = {item.name: item.size for item in read if item.counted or known[item.name].exact}
    assert sizes == {item.name: sum(known[item.name].sizes.values()) for item in read}
    assert len(read) + len(missing) == len(known)
    assert all(item.where.startswith("http") for item in missing)
    by_name = {item.name: item for item in read}
    grades = {
        name: [pair.gold for pairs in item.subsets.values() for pair in pairs]
        for name, item in by_name.items()
    }
    for name, values in grades.items():
        top = {"simlex999": 10, "qnli": 1}.get(name, 6 if name.startswith("multisimlex") else 5)
        assert (1 if name == "sickr" else 0) <= min(values) <= max(values) <= top
    if suite is sts:
        assert set(by_name) == set(PUBLISHED)
        assert {item.note for item in read} == {graded.TOKENISED, None}
    if suite is sts_multilingual:
        first = "A person is on a baseball team.", "A person is playing basketball on a team.", 2.4
        assert by_name["sts17-en-en"].subsets["en-en"][0] == first
    if suite is afs:
        assert (sum(grades["ukp-aspect"]), len(by_name["ukp-aspect"].subsets)) == (841 + 460, 28)
    if suite is qnli:
        assert sum(grades["qnli"]) == 2702


DRAW = np.random.default_rng(3)
SIZES = {"one": 30, "two": 12}
TEXTS = [f"text {number}" for number in range(20)]
MATRIX = DRAW.normal(size=(20, 6)).astype(np.float32)
VECTORS = Vectors({text: row for row, text in enumerate(TEXTS)}, MATRIX)


def drawn(top: int = 6) -> Subsets:
    rows = {name: DRAW.integers(0, (20, 20, top), size=(size, 3)).tolist() for name, size in SIZES.items()}
    return {
        name: tuple(Pair(TEXTS[a], TEXTS[b], float(gold)) for a, b, gold in found)
        for name, found in rows.items()
    }


def by_hand(subsets: Subsets) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Return gold and cosines of each subset, written out in NumPy."""
    unit = MATRIX.astype(float) / np.linalg.norm(MATRIX.astype(float), axis=1, keepdims=True)
    rows = dict(zip(TEXTS, unit, strict=True))
    parts = {}
    for name, pairs in subsets.items():
        cosines = np.array([rows[pair.first] @ rows[pair.second] for pair in pairs])
        parts[name] = np.array([pair.gold for pair in pairs]), cosines.round(12)
    return parts


def test_the_metrics_are_those_of_scipy_and_the_predictions_reproduce_the_first() -> None:
    subsets = drawn()
    result = score_pairs(subsets, VECTORS)
    parts = by_hand(subsets)
    rho = {name: 100 * spearmanr(*part).statistic for name, part in parts.items()}
    r = {name: 100 * pearsonr(*part).statistic for name, part in parts.items()}
    gold, predicted = (np.concatenate([part[side] for part in parts.values()]) for side in (0, 1))
    expected = {
        "all": 100 * spearmanr(gold, predicted).statistic,
        "mean": (rho["one"] + rho["two"]) / 2,
        "weighted": (30 * rho["one"] + 12 * rho["two"]) / 42,
        "pearson": 100 * pearsonr(gold, predicted).statistic,
        "pearson-mean": (r["one"] + r["two"]) / 2,
        "pearson-weighted": (30 * r["one"] + 12 * r["two"]) / 42,
    }
    assert result.metrics == pytest.approx(expected, abs=1e-9)
    assert tuple(result.metrics)[:4] == graded.METRICS
    assert {name: dict(part) for name, part in result.parts.items()} == {
        name: pytest.approx({"spearman": rho[name], "pearson": r[name]}, abs=1e-9) for name in SIZES
    }
    assert result.predictions.statistic == "spearman"
    again = spearmanr(result.predictions.gold, result.predictions.predicted).statistic
    assert 100 * again == pytest.approx(result.metrics["all"], abs=1e-9)


def test_binary_grades_give_the_area_under_the_curve() -> None:
    subsets = drawn(2)
    result = score_binary(subsets, VECTORS)
    gold, predicted = (np.concatenate([part[side] for part in by_hand(subsets).values()]) for side in (0, 1))
    assert tuple(result.metrics) == qnli.METRICS
    assert result.metrics["auc"] == pytest.approx(100 * roc_auc_score(gold, predicted), abs=0.2)
    assert result.predictions.statistic == "auc"
    assert result.predictions.gold.tolist() == gold.tolist()


def test_equal_vectors_have_no_correlation_and_equal_grades_no_area() -> None:
    same = Vectors(VECTORS.rows, np.ones_like(MATRIX))
    assert set(score_pairs(drawn(), same).metrics.values()) == {None}
    assert score_binary(drawn(1), VECTORS).metrics == {"auc": None}


def test_cosines_that_differ_by_noise_alone_are_tied() -> None:
    """As of texts that differ in case: a tokenizer gives them the same tokens, their batches other rounding."""
    draw = np.random.default_rng(1)
    same = draw.standard_normal((8, 1, 6)) + 1e-7 * draw.standard_normal((8, 2, 6))
    other = draw.standard_normal((8, 2, 6))
    texts = [f"{place}-{side}" for place in range(16) for side in "ab"]
    rows = {text: row for row, text in enumerate(texts)}
    vectors = Vectors(rows, np.concatenate([same, other]).reshape(32, 6).astype(np.float32))
    pairs = [Pair(*texts[2 * place : 2 * place + 2], grade) for place, grade in enumerate(draw.random(16))]
    predicted = score_pairs({"": pairs}, vectors).predictions.predicted
    assert (predicted[:8] == 1).all()
    assert len({*predicted[8:]}) == 8
