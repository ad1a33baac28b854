"""QNLI dev: the area under the ROC curve of the cosine between a question and a sentence."""

from trainers.scores.pairs import read_benchmarks, score_binary

METRICS = ("auc",)
BENCHMARKS = read_benchmarks("qnli", score_binary)
