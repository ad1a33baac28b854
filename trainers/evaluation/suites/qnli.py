"""QNLI dev: the area under the ROC curve of the cosine between a question and a sentence."""

from __future__ import annotations

from pathlib import Path

from trainers.evaluation.answers import AnswerSet, read_qnli, read_qnli_hub
from trainers.evaluation.hub import HUB
from trainers.evaluation.task import Missing

FIGURES = ("auc",)
COUNTED = 0


def find(data: str) -> tuple[list[AnswerSet], list[Missing]]:
    """Read it from a folder, or from the Hub; raises InputError for a malformed file or a wrong count."""
    hub = data.startswith(HUB)
    read = read_qnli_hub(data.removeprefix(HUB)) if hub else read_qnli(Path(data).expanduser())
    return ([read], []) if isinstance(read, AnswerSet) else ([], [read])
