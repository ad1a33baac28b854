"""STS17 in eight language pairs; Spanish and Russian STS, translated STS-B: Spearman and Pearson of the cosine."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

from pipelines.console import InputError
from trainers.evaluation.pairs import METRICS as METRICS
from trainers.evaluation.pairs import Benchmark, Pair, Pairs, checked_pair, read_all
from trainers.evaluation.reading import csv_rows, tsv_rows
from trainers.evaluation.suites.sts import SEMEVAL, read_gold
from trainers.evaluation.task import Missing

_STS17 = "https://alt.qcri.org/semeval2017/task1/data/uploads/sts2017.eval.v1.1.zip and sts2017.gs.zip"
_EXTENDED = "https://public.ukp.informatik.tu-darmstadt.de/reimers/sentence-transformers/datasets/STS2017-extended.zip"
_MULTI_MT = "https://github.com/PhilipMay/stsb-multi-mt"
_MSRVID = "http://files.deeppavlov.ai/datasets/STS2012_MSRvid_translated.tar.gz"
_TRANSLATED = "machine translated (DeepL)"


def read_scored_lines(subset: str, path: Path) -> Iterator[Pair]:
    """Two sentences and their grade a line, separated by tabs."""
    for number, (*texts, grade) in tsv_rows(path):
        yield checked_pair(path, number, texts, grade)


def read_translated(subset: str, path: Path, other: Path | None = None) -> Iterator[Pair]:
    """Comma-separated with quotes: two sentences and a grade; with `other`, the second sentence of its same line."""
    rows = csv_rows(path)
    others = rows if other is None else csv_rows(other)
    if len(rows) != len(others):
        raise InputError(f"{path} has {len(rows)} rows, {other} has {len(others)}: both must be of one release")
    for (number, fields), (_, beside) in zip(rows, others, strict=True):
        if len(fields) != 3 or len(beside) != 3 or fields[2] != beside[2]:
            raise InputError(f"{path} line {number}: expected two sentences and their grade, got {fields!r}")
        yield checked_pair(path, number, [fields[0], beside[1]], fields[2])


def _extended(name: str, file: str) -> Benchmark:
    """Return a language pair of Reimers & Gurevych 2020's collection: all of STS17 and what they translated."""
    return Benchmark(
        f"sts17-{name}", f"STS17 {name.upper()}", {name: 250}, ("STS2017-extended", "sts17"), _EXTENDED,
        read_scored_lines, f"STS.{file}.txt", hub=("sts17-crosslingual-sts", "test"), hub_config=file,
    )  # fmt: skip


def _track(track: str, name: str, file: str) -> Benchmark:
    """Return a track of SemEval-2017 Task 1, also read from that collection."""
    collection = replace(_extended(name, file), sizes={track.split(".")[1]: 250})
    return replace(
        collection, folders=("sts17", "STS2017.eval.v1.1", "STS2017"), where=_STS17, file=f"STS.input.{track}.txt",
        # Of the Turkish track only the first pairs are graded.
        read=partial(read_gold, rest=True) if track.startswith("track6") else read_gold,
        beside=(f"STS.gs.{track}.txt",), beside_in=("../STS2017.gs", "STS2017.gs"), copies=(collection,),
    )  # fmt: skip


# In the order of the BSL paper's Table 3, which averages none; the suite's average is over these eight.
STS17 = (
    _track("track5.en-en", "en-en", "en-en"),
    _track("track3.es-es", "es-es", "es-es"),
    _track("track1.ar-ar", "ar-ar", "ar-ar"),
    _track("track2.ar-en", "en-ar", "en-ar"),
    _extended("en-de", "en-de"),
    _track("track6.tr-en", "en-tr", "en-tr"),
    _track("track4a.es-en", "en-es", "es-en"),
    _extended("en-fr", "fr-en"),
)
NEWS = replace(
    _track("track4b.es-en", "en-es-news", "es-en"), title="STS17 EN-ES news", hub=None, hub_config=None, copies=(),
    counted=False, note="track 4b: machine translation with grades of its quality; papers report 4a",
)  # fmt: skip
MONOLINGUAL = (
    Benchmark(
        "sts14-es", "STS14 ES", {"news": 480, "wikipedia": 324},
        ("sts-es-test.2014", "STS2014-es-test", "sts-es-test", "STS14-es-test"), f"{SEMEVAL}/9/9a/STS2014-es-test.zip",
        read_gold, counted=False,
    ),
    Benchmark(
        "sts15-es", "STS15 ES", {"newswire": 500, "wikipedia": 251}, ("STS2015-es-test", "sts2015-es", "STS15-es-test"),
        f"{SEMEVAL}/9/9d/STS2015-es-test.zip", read_gold, counted=False,
    ),
    Benchmark(
        "sts12-ru", "STS12 MSRvid RU", {"MSRvid": 750}, ("STS2012_MSRvid_translated",), _MSRVID, read_gold,
        counted=False, note="translated by machine and checked by hand; Mirror-BERT's Russian STS",
    ),
)  # fmt: skip


def _translated(language: str, split: str, pairs: int) -> Benchmark:
    dev = " dev" if split == "dev" else ""
    return Benchmark(
        f"stsb-{language}{dev.replace(' ', '-')}", f"STS-B {language.upper()}{dev}", {split: pairs},
        ("stsb-multi-mt", "stsb_multi_mt", "stsb-multi-mt/data"), _MULTI_MT, read_translated,
        f"stsb-{language}-{split}.csv", hub=("stsb_multi_mt", split), hub_config=language, counted=False,
        note=None if language == "en" else _TRANSLATED,
    )  # fmt: skip


def _crossed(language: str) -> Benchmark:
    """Return English first sentences with the translations of the second ones: a stand-in for a cross-lingual test."""
    return replace(
        _translated(language, "test", 1379), name=f"stsb-en-{language}", title=f"STS-B EN-{language.upper()}", hub=None,
        hub_config=None, file="stsb-en-test.csv", beside=(f"stsb-{language}-test.csv",),
        note=f"English first sentences, second ones {_TRANSLATED}",
    )  # fmt: skip


STSB = (
    *(_translated(language, "test", 1379) for language in ("en", "de", "es", "fr", "ru")),
    *(_crossed(language) for language in ("de", "es", "fr", "ru")),
    *(_translated(language, "dev", 1500) for language in ("en", "de", "es", "fr", "ru")),
)
BENCHMARKS = (*STS17, NEWS, *MONOLINGUAL, *STSB)
COUNTED = len(STS17)


def find(data: str) -> tuple[list[Pairs], list[Missing]]:
    """Read the sets from a folder or the Hub; raises InputError for a malformed file or a wrong count."""
    return read_all(BENCHMARKS, data)
