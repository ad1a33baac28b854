"""Argument Facet Similarity (three topics, averaged) and UKP ASPECT: Spearman and Pearson of the cosine."""

from collections.abc import Iterator
from pathlib import Path

from trainers.evaluation.pairs import Benchmark, Layout, Pair, checked_pair
from trainers.files import columns, csv_rows, tsv_rows

METRICS = ("all", "pearson", "mean", "pearson-mean")
SIMILAR = {"DTORCD": 0, "NS": 0, "SS": 1, "HS": 1}  # UKP ASPECT's labels as Reimers et al. 2019 join them


def read_afs(subset: str, path: Path) -> Iterator[Pair]:
    """Argument Facet Similarity: CSV, UTF-8 or latin-1, columns by the header line; ungraded pairs are left out."""
    names = ("sentence_1", "sentence_2", "regression_label")
    for number, (*texts, grade) in columns(path, csv_rows(path, bytewise=True), names):
        if grade.strip():
            yield checked_pair(f"{path} line {number}", texts, grade)


def read_aspect(subset: str, path: Path) -> Iterator[Pair]:
    """UKP ASPECT: tab-separated topic, two sentences and label, below a header; the pairs of the topic `subset`."""
    for number, (topic, *texts, label) in columns(path, tsv_rows(path), ("topic", "sentence_1", "sentence_2", "label")):
        if topic == subset:
            yield checked_pair(f"{path} line {number}", texts, label, SIMILAR)


# One set a topic: the papers report the mean of the topics' correlations, which is the suite's average.
AFS = tuple(
    Benchmark(
        f"afs-{name.replace(' ', '-')}", f"AFS {name}", {name: 2000}, "https://nlds.soe.ucsc.edu/node/44",
        (Layout(("afs", "AFS", "downstream/AFS"), (f"ArgPairs_{code}.csv",), read_afs),), exact=False,
    )
    for name, code in (("gun control", "GC"), ("gay marriage", "GM"), ("death penalty", "DP"))
)  # fmt: skip
ASPECT = Benchmark(
    "ukp-aspect", "UKP ASPECT",
    {
        "3d printing": 127, "Big data": 130, "Cloud storing": 128, "Cryptocurrency": 128, "Drones": 130,
        "Electric cars": 130, "Electronic voting": 130, "Fracking": 128, "Gene editing": 119, "Genetic diagnosis": 130,
        "Geoengineering": 129, "Gmo": 128, "Hydroelectric dams": 129, "Hydrogen fuel cells": 130,
        "Internet of things": 130, "Nanotechnology": 129, "Net neutrality": 130, "Offshore drilling": 129,
        "Organ donation": 130, "Public surveillance": 130, "Recycling": 130, "Robotic surgery": 129,
        "Social networks": 124, "Solar energy": 124, "Stem cell research": 127, "Tissue engineering": 130,
        "Virtual reality": 130, "Wind power": 127,
    },
    "https://tudatalib.ulb.tu-darmstadt.de/handle/tudatalib/1998",
    (Layout(("afs", "UKP_ASPECT", "ukp-aspect"), ("UKP_ASPECT.tsv",), read_aspect),), counted=False,
    note="labels as 0 (DTORCD, NS) and 1 (SS, HS), as Reimers et al. 2019 join them; `mean` is over 28 topics",
)  # fmt: skip
BENCHMARKS = (*AFS, ASPECT)
