"""MR, CR, SUBJ, MPQA, SST-2, TREC, MRPC: accuracy of logistic regression on frozen vectors, as SentEval.

Conneau & Kiela 2018; the classification tables of Zhang et al. 2020 (IS-BERT) and Zhang et al. 2021 (BSL).
"""

from __future__ import annotations

from pathlib import Path

from trainers.evaluation.hub import HUB
from trainers.evaluation.task import Missing
from trainers.evaluation.transfer.hub import read_hub
from trainers.evaluation.transfer.labelled import FIGURES as FIGURES
from trainers.evaluation.transfer.labelled import LabelledSet
from trainers.evaluation.transfer.reading import read_folder
from trainers.evaluation.transfer.sets import TRANSFER

COUNTED = sum(about.counted for about in TRANSFER)


def find(data: str) -> tuple[list[LabelledSet], list[Missing]]:
    """Read the sets from a folder or the Hub; raises InputError for a malformed file or a wrong count."""
    if data.startswith(HUB):
        read = [read_hub(about, data.removeprefix(HUB)) for about in TRANSFER]
    else:
        read = [read_folder(about, Path(data).expanduser()) for about in TRANSFER]
    found = [item for item in read if isinstance(item, LabelledSet)]
    return found, [item for item in read if isinstance(item, Missing)]
