"""Argument Facet Similarity (three topics, averaged) and UKP ASPECT: Spearman and Pearson of the cosine."""

from functools import partial

from trainers.files import csv_rows
from trainers.scores.pairs import column_reader, read_benchmarks

METRICS = ("all", "pearson", "mean", "pearson-mean")
LATIN = partial(csv_rows, bytewise=True)
READ_AFS = column_reader("sentence_1", "sentence_2", "regression_label", rows=LATIN, partly=True)
BENCHMARKS = read_benchmarks("afs", afs=READ_AFS)
