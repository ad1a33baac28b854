"""QNLI dev: the area under the ROC curve of the cosine between a question and a sentence."""

from trainers.evaluation.pairs import Benchmark, HubCopy, Layout, column_reader

METRICS = ("auc",)
COUNTED = 0
COLUMNS = ("question", "sentence", "label")
LABELS = {"entailment": 1, "not_entailment": 0}
"""The sentence holds the answer, or does not. On the Hub the labels are numbers: 0 is entailment there."""

QNLI = Benchmark(
    "qnli", "QNLI dev", {"": 5463}, "https://dl.fbaipublicfiles.com/glue/data/QNLIv2.zip, or --data hf:nyu-mll",
    (Layout(("qnli", "QNLI", "glue/QNLI", "glue_data/QNLI"), ("dev.tsv",), column_reader(*COLUMNS, labels=LABELS)),),
    HubCopy("glue", "validation", "qnli", COLUMNS, {0: 1, 1: 0}), counted=False, binary=True,
)  # fmt: skip
BENCHMARKS = (QNLI,)
