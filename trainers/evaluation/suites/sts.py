"""STS12-16, STS-B, SICK-R: Spearman and Pearson of the cosine, subsets joined in three ways."""

from collections.abc import Iterator
from pathlib import Path

from trainers.evaluation.pairs import Benchmark, Layout, Pair, checked_pair, column_reader
from trainers.files import check_count, file_lines, tsv_rows

SENTEVAL = "https://huggingface.co/datasets/princeton-nlp/datasets-for-simcse/resolve/main/senteval.tar"
SEMEVAL = "http://ixa2.si.ehu.es/stswiki/images"


def read_gold(subset: str, texts: Path, gold: Path, *, rest: bool = False) -> Iterator[Pair]:
    """Tab-separated pairs and their grades, empty for pairs never graded; with `rest`, more texts may follow."""
    pairs, grades = file_lines(texts), file_lines(gold)
    if not (rest and len(pairs) > len(grades)):
        check_count(texts, len(pairs), len(grades), f"lines as in {gold.name}")
    for number, (pair, grade) in enumerate(zip(pairs, grades, strict=False), 1):
        if grade.strip():
            yield checked_pair(f"{texts} line {number}", pair.split("\t")[:2], grade)


def read_stsb(subset: str, path: Path) -> Iterator[Pair]:
    """STS-B: genre, file, year, id, score, two sentences, sometimes their sources; quotes are ordinary characters."""
    for number, fields in tsv_rows(path):
        yield checked_pair(f"{path} line {number}", fields[5:7], "".join(fields[4:5]))


def _year(year: int, original: str, archive: str, sizes: dict[str, int]) -> Benchmark:
    # The original archive of 2016 has the year in its file names.
    files = ("STS*.input.{}.txt", "STS*.gs.{}.txt")
    return Benchmark(
        f"sts{year}",
        f"STS{year}",
        sizes,
        f"{SENTEVAL} or {SEMEVAL}/{archive}",
        (Layout((f"STS{year}-en-test", original), files, read_gold),),
        cased=True,
    )


def _stsb(name: str, title: str, split: str, size: int, *, counted: bool) -> Benchmark:
    layout = Layout(("stsbenchmark", "STSBenchmark", "STS-B"), ("sts-{}.csv",), read_stsb)
    return Benchmark(
        name, title, {split: size}, f"{SEMEVAL}/4/48/Stsbenchmark.tar.gz", (layout,), counted=counted
    )


_SICK = column_reader("sentence_A", "sentence_B", "relatedness_score")
STSB = _stsb("stsb", "STS-B", "test", 1379, counted=True)
STSB_TRAIN = _stsb("stsb-train", "STS-B train", "train", 5749, counted=False)
BENCHMARKS: tuple[Benchmark, ...] = (
    _year(
        12,
        "test-gold",
        "4/40/STS2012-en-test.zip",
        {"MSRpar": 750, "MSRvid": 750, "SMTeuroparl": 459, "surprise.OnWN": 750, "surprise.SMTnews": 399},
    ),
    # The fourth subset of 2013, SMT, has sentences that only the LDC may distribute; the papers leave it out
    # too.
    _year(13, "test-gs", "2/2f/STS2013-en-test.zip", {"FNWN": 189, "headlines": 750, "OnWN": 561}),
    _year(
        14,
        "sts-en-test-gs-2014",
        "8/8c/STS2014-en-test.zip",
        {"deft-forum": 450, "deft-news": 300, "headlines": 750, "images": 750, "OnWN": 750, "tweet-news": 750},
    ),
    _year(
        15,
        "test_evaluation_task2a",
        "d/da/STS2015-en-test.zip",
        {"answers-forums": 375, "answers-students": 750, "belief": 375, "headlines": 750, "images": 750},
    ),
    _year(
        16,
        "sts2016-english-with-gs-v1.0",
        "9/98/STS2016-en-test.zip",
        {
            "answer-answer": 254,
            "headlines": 249,
            "plagiarism": 230,
            "postediting": 244,
            "question-question": 209,
        },
    ),
    STSB,
    Benchmark(
        "sickr",
        "SICK-R",
        {"test": 4927},
        "http://alt.qcri.org/semeval2014/task1/data/uploads/sick_test_annotated.zip",
        (Layout(("SICK",), ("SICK_test_annotated.txt",), _SICK),),
    ),
    _stsb("stsb-dev", "STS-B dev", "dev", 1500, counted=False),
)
