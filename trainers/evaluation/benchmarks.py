"""What is known about each benchmark before it is read: its subsets, sizes, usual folders and where it is to be had."""

from __future__ import annotations

from dataclasses import dataclass

from trainers.evaluation.task import Missing

SENTEVAL = "https://huggingface.co/datasets/princeton-nlp/datasets-for-simcse/resolve/main/senteval.tar"
SEMEVAL = "http://ixa2.si.ehu.es/stswiki/images"


@dataclass(frozen=True, slots=True)
class Benchmark:
    """One benchmark: `sizes` maps each subset, by the name in its files, to its number of graded pairs.

    `layout` names the reader in `trainers.evaluation.layouts`. `file` is its one file below the folder, with `beside`
    what is read together with it, there or in one of the folders `beside_in`; without `file` each subset has files of
    its own. `copies` are other distributions of the same pairs, read where this one is absent.

    `hub` is the data set's name below an organisation (`mteb`) and the split, None where it is on no Hub in this form;
    `hub_config` its configuration, `hub_rows` the pairs of that copy. `counted`: part of the suite's average. `exact`:
    False where only a rounded size is published, so that another count is no error, but not averaged. `cased`: the
    same pairs circulate as they were written and tokenised, so that the note says which were read.
    """

    name: str
    title: str
    sizes: dict[str, int]
    folders: tuple[str, ...]
    hub: tuple[str, str] | None
    where: str
    file: str | None = None
    hub_rows: int | None = None
    counted: bool = True
    beside: tuple[str, ...] = ()
    layout: str = "gold"
    beside_in: tuple[str, ...] = ()
    hub_config: str | None = None
    copies: tuple[Benchmark, ...] = ()
    exact: bool = True
    cased: bool = False
    note: str | None = None

    @property
    def pairs(self) -> int:
        """The published number of graded pairs."""
        return sum(self.sizes.values())

    @staticmethod
    def label(subset: str) -> str:
        """Return a subset's name as papers print it."""
        return subset.removeprefix("surprise.")

    def missing(self, reason: str, where: str | None = None) -> Missing:
        """Return that it could not be found, for `reason`; it is to be had from `where`, or the original address."""
        return Missing(self.name, self.title, reason, where or self.where)


def _year(year: int, original: str, archive: str, sizes: dict[str, int]) -> Benchmark:
    return Benchmark(
        name=f"sts{year}",
        title=f"STS{year}",
        sizes=sizes,
        folders=(f"STS{year}-en-test", original),
        hub=(f"sts{year}-sts", "test"),
        where=f"{SENTEVAL} or {SEMEVAL}/{archive}",
        cased=True,
    )


_STSB_FOLDERS = ("stsbenchmark", "STSBenchmark", "STS-B")
_STSB_WHERE = f"{SEMEVAL}/4/48/Stsbenchmark.tar.gz"
_SICK_WHERE = "http://alt.qcri.org/semeval2014/task1/data/uploads/sick_test_annotated.zip"

STS: tuple[Benchmark, ...] = (
    _year(
        12, "test-gold", "4/40/STS2012-en-test.zip",
        {"MSRpar": 750, "MSRvid": 750, "SMTeuroparl": 459, "surprise.OnWN": 750, "surprise.SMTnews": 399},
    ),
    # The fourth subset of 2013, SMT, has sentences that only the LDC may give out; the papers leave it out too.
    _year(13, "test-gs", "2/2f/STS2013-en-test.zip", {"FNWN": 189, "headlines": 750, "OnWN": 561}),
    _year(
        14, "sts-en-test-gs-2014", "8/8c/STS2014-en-test.zip",
        {"deft-forum": 450, "deft-news": 300, "headlines": 750, "images": 750, "OnWN": 750, "tweet-news": 750},
    ),
    _year(
        15, "test_evaluation_task2a", "d/da/STS2015-en-test.zip",
        {"answers-forums": 375, "answers-students": 750, "belief": 375, "headlines": 750, "images": 750},
    ),
    _year(
        16, "sts2016-english-with-gs-v1.0", "9/98/STS2016-en-test.zip",
        {"answer-answer": 254, "headlines": 249, "plagiarism": 230, "postediting": 244, "question-question": 209},
    ),
    Benchmark(
        "stsb", "STS-B", {"test": 1379}, _STSB_FOLDERS, ("stsbenchmark-sts", "test"), _STSB_WHERE, "sts-test.csv",
        layout="stsb",
    ),
    # The Hub's copy joins train, trial and test, without a column that tells them apart: it is another test.
    Benchmark(
        "sickr", "SICK-R", {"test": 4927}, ("SICK",), ("sickr-sts", "test"), _SICK_WHERE,
        "SICK_test_annotated.txt", hub_rows=9927, layout="sick",
    ),
    Benchmark(
        "stsb-dev", "STS-B dev", {"dev": 1500}, _STSB_FOLDERS, ("stsbenchmark-sts", "validation"), _STSB_WHERE,
        "sts-dev.csv", counted=False, layout="stsb",
    ),
)  # fmt: skip

MULTI_SIMLEX_LANGUAGES = {
    "ENG": "English", "FRA": "French", "EST": "Estonian", "ARA": "Arabic", "CMN": "Mandarin", "RUS": "Russian",
    "SPA": "Spanish", "POL": "Polish", "CYM": "Welsh", "FIN": "Finnish", "HEB": "Hebrew", "SWA": "Kiswahili",
    "YUE": "Cantonese",
}  # fmt: skip
MIRROR_LANGUAGES = ("ENG", "FRA", "EST", "ARA", "CMN", "RUS", "SPA", "POL")
"""The languages over which Mirror-BERT averages; the others are reported beside them."""

LEXICAL: tuple[Benchmark, ...] = (
    *(
        Benchmark(
            f"multisimlex-{code.lower()}", f"Multi-SimLex {code}", {code: 1888}, ("multi-simlex", "Multi-SimLex"),
            None, "https://multisimlex.com", "scores.csv", counted=code in MIRROR_LANGUAGES,
            beside=("translation.csv",), layout="multi-simlex",
        )
        for code in MULTI_SIMLEX_LANGUAGES
    ),
    Benchmark(
        "simlex999", "SimLex-999", {"english": 999}, ("simlex-999", "SimLex-999"), None,
        "https://fh295.github.io/SimLex-999.zip", "SimLex-999.txt", counted=False,
        layout="simlex",
    ),
)  # fmt: skip

SAMPLE = Benchmark("sample", "smoke test", {"sample": 300}, (), None, "part of this package", counted=False)
