"""Argument Facet Similarity (three topics, averaged) and UKP ASPECT: Spearman and Pearson of the cosine."""

from functools import partial

from trainers.evaluation.pairs import Benchmark, Layout, column_reader
from trainers.files import csv_rows

METRICS = ("all", "pearson", "mean", "pearson-mean")
SIMILAR = {"DTORCD": 0, "NS": 0, "SS": 1, "HS": 1}  # UKP ASPECT's labels as Reimers et al. 2019 join them


LATIN = partial(csv_rows, bytewise=True)
READ_AFS = column_reader("sentence_1", "sentence_2", "regression_label", rows=LATIN, partly=True)
READ_ASPECT = column_reader("topic", "sentence_1", "sentence_2", "label", labels=SIMILAR)

# One set a topic: the papers report the mean of the topics' correlations, which is the suite's average.
AFS = tuple(
    Benchmark(
        f"afs-{name.replace(' ', '-')}",
        f"AFS {name}",
        {name: 2000},
        "https://nlds.soe.ucsc.edu/node/44",
        (Layout(("afs", "AFS", "downstream/AFS"), (f"ArgPairs_{code}.csv",), READ_AFS),),
        exact=False,
    )
    for name, code in (("gun control", "GC"), ("gay marriage", "GM"), ("death penalty", "DP"))
)
ASPECT = Benchmark(
    "ukp-aspect",
    "UKP ASPECT",
    {
        "3d printing": 127,
        "Big data": 130,
        "Cloud storing": 128,
        "Cryptocurrency": 128,
        "Drones": 130,
        "Electric cars": 130,
        "Electronic voting": 130,
        "Fracking": 128,
        "Gene editing": 119,
        "Genetic diagnosis": 130,
        "Geoengineering": 129,
        "Gmo": 128,
        "Hydroelectric dams": 129,
        "Hydrogen fuel cells": 130,
        "Internet of things": 130,
        "Nanotechnology": 129,
        "Net neutrality": 130,
        "Offshore drilling": 129,
        "Organ donation": 130,
        "Public surveillance": 130,
        "Recycling": 130,
        "Robotic surgery": 129,
        "Social networks": 124,
        "Solar energy": 124,
        "Stem cell research": 127,
        "Tissue engineering": 130,
        "Virtual reality": 130,
        "Wind power": 127,
    },
    "https://tudatalib.ulb.tu-darmstadt.de/handle/tudatalib/1998",
    (Layout(("afs", "UKP_ASPECT", "ukp-aspect"), ("UKP_ASPECT.tsv",), READ_ASPECT),),
    counted=False,
    note="labels as 0 (DTORCD, NS) and 1 (SS, HS), as Reimers et al. 2019 join them; `mean` is over 28 topics",
)
BENCHMARKS = (*AFS, ASPECT)
