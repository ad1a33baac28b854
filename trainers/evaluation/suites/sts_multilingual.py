"""STS17 in eight language pairs; Spanish and Russian STS, translated STS-B: Spearman and Pearson of the cosine."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

from trainers.evaluation.pairs import Benchmark, Layout, Pair, checked_pair
from trainers.evaluation.suites.sts import SEMEVAL, read_gold
from trainers.files import Rows, csv_rows, tsv_rows

_STS17 = "https://alt.qcri.org/semeval2017/task1/data/uploads/sts2017.eval.v1.1.zip and sts2017.gs.zip"
_EXTENDED = "https://public.ukp.informatik.tu-darmstadt.de/reimers/sentence-transformers/datasets/STS2017-extended.zip"
_MULTI_MT = "https://github.com/PhilipMay/stsb-multi-mt"
_MULTI_MT_FOLDERS = ("stsb-multi-mt", "stsb_multi_mt", "stsb-multi-mt/data")
_MSRVID = "http://files.deeppavlov.ai/datasets/STS2012_MSRvid_translated.tar.gz"


def read_scored_lines(subset: str, path: Path, rows: Callable[[Path], Rows] = tsv_rows) -> Iterator[Pair]:
    """Two sentences and their grade a line, separated by tabs or as `rows` reads them."""
    for number, cells in rows(path):
        yield checked_pair(f"{path} line {number}", cells[:-1], "".join(cells[-1:]))


def _sts17(name: str, file: str, track: str = "") -> Benchmark:
    """Return a pair of languages: a track of SemEval-2017 Task 1, or from Reimers & Gurevych 2020's collection."""
    extended = Layout(("STS2017-extended", "sts17"), (f"STS.{file}.txt",), read_scored_lines)
    benchmark = Benchmark(f"sts17-{name}", f"STS17 {name.upper()}", {name: 250}, _EXTENDED, (extended,))
    if not track:
        return benchmark
    # Only the first pairs of the Turkish track are graded.
    read = partial(read_gold, rest=True) if track.startswith("track6") else read_gold
    files = (f"STS.input.{track}.txt", f"STS.gs.{track}.txt")
    layout = Layout(("sts17", "STS2017.eval.v1.1", "STS2017"), files, read, ("../STS2017.gs", "STS2017.gs"))
    return replace(benchmark, sizes={track.split(".")[1]: 250}, where=_STS17, layouts=(layout, extended))


# In the order of the BSL paper's Table 3, which has no average; the suite's is over these eight.
STS17 = (
    _sts17("en-en", "en-en", "track5.en-en"),
    _sts17("es-es", "es-es", "track3.es-es"),
    _sts17("ar-ar", "ar-ar", "track1.ar-ar"),
    _sts17("en-ar", "en-ar", "track2.ar-en"),
    _sts17("en-de", "en-de"),
    _sts17("en-tr", "en-tr", "track6.tr-en"),
    _sts17("en-es", "es-en", "track4a.es-en"),
    _sts17("en-fr", "fr-en"),
)


def _gold(
    name: str, title: str, sizes: dict[str, int], folders: tuple[str, ...], where: str, note: str | None = None
) -> Benchmark:
    layout = Layout(folders, ("STS.input.{}.txt", "STS.gs.{}.txt"), read_gold)
    return Benchmark(name, title, sizes, where, (layout,), counted=False, note=note)


MONOLINGUAL = (
    _gold(
        "sts14-es", "STS14 ES", {"news": 480, "wikipedia": 324},
        ("sts-es-test.2014", "STS2014-es-test", "sts-es-test", "STS14-es-test"), f"{SEMEVAL}/9/9a/STS2014-es-test.zip",
    ),
    _gold(
        "sts15-es", "STS15 ES", {"newswire": 500, "wikipedia": 251}, ("STS2015-es-test", "sts2015-es", "STS15-es-test"),
        f"{SEMEVAL}/9/9d/STS2015-es-test.zip",
    ),
    _gold(
        "sts12-ru", "STS12 MSRvid RU", {"MSRvid": 750}, ("STS2012_MSRvid_translated",), _MSRVID,
        "translated by machine and checked by hand; Mirror-BERT's Russian STS",
    ),
)  # fmt: skip


read_translated = partial(read_scored_lines, rows=csv_rows)
STSB = tuple(
    Benchmark(
        f"stsb-{language}{ending}", f"STS-B {language.upper()}{ending.replace('-', ' ')}", {split: size}, _MULTI_MT,
        (Layout(_MULTI_MT_FOLDERS, (f"stsb-{language}-{{}}.csv",), read_translated),),
        counted=False, note=None if language == "en" else "machine translated (DeepL)",
    )
    for split, ending, size in (("test", "", 1379), ("dev", "-dev", 1500))
    for language in ("en", "de", "es", "fr", "ru")
)  # fmt: skip
BENCHMARKS = (*STS17, *MONOLINGUAL, *STSB)
