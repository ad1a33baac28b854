"""QNLI dev: the area under the ROC curve of the cosine between a question and a sentence."""

from trainers.evaluation.pairs import Benchmark, Layout, column_reader

METRICS = ("auc",)
LABELS = {"entailment": 1, "not_entailment": 0}  # the sentence contains the answer, or does not
_READ = column_reader("question", "sentence", "label", labels=LABELS)

QNLI = Benchmark(
    "qnli",
    "QNLI dev",
    {"": 5463},
    "https://dl.fbaipublicfiles.com/glue/data/QNLIv2.zip",
    (Layout(("qnli", "QNLI", "glue/QNLI", "glue_data/QNLI"), ("dev.tsv",), _READ),),
    counted=False,
    binary=True,
)
BENCHMARKS = (QNLI,)
