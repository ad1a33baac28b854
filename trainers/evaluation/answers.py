"""QNLI: questions with sentences that hold the answer or do not, scored by the area under the ROC curve."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from pipelines.console import InputError
from trainers.evaluation.folders import whole_folder
from trainers.evaluation.graded import file_sha256
from trainers.evaluation.hub import HUB, first_line, load_columns
from trainers.evaluation.lines import check_width, columns_of, file_lines
from trainers.evaluation.metrics import auc
from trainers.evaluation.task import Items, Missing, Result

if TYPE_CHECKING:
    from trainers.evaluation.vectors import Vectors

NAME, TITLE, SIZE = "qnli", "QNLI dev", 5463
FOLDERS = ("qnli", "QNLI", "glue/QNLI", "glue_data/QNLI")
FILE = "dev.tsv"
HUB_NAME, HUB_CONFIG, HUB_SPLIT = "glue", "qnli", "validation"
WHERE = "https://dl.fbaipublicfiles.com/glue/data/QNLIv2.zip, or --data hf:nyu-mll"
COLUMNS = ("question", "sentence", "label")
POSITIVE = {"entailment": 1, "not_entailment": 0}
"""The sentence holds the answer, or does not. On the Hub the labels are numbers: 0 is entailment there."""


@dataclass(frozen=True, slots=True)
class Answer:
    """A question, a sentence, and whether the sentence holds the answer (1) or not (0)."""

    question: str
    sentence: str
    label: int


@dataclass(frozen=True, slots=True)
class AnswerSet:
    """Questions with sentences; a `Task` whose figure is `auc`, of the cosine, x 100.

    As in Li et al. 2020 and Mirror-BERT: no training, the cosine of the question's and the sentence's vectors.
    """

    answers: tuple[Answer, ...]
    source: str
    files: Mapping[str, str] = field(default_factory=dict)
    name: str = NAME
    title: str = TITLE
    note: str | None = None
    counted: bool = False

    @property
    def size(self) -> int:
        """The number of questions."""
        return len(self.answers)

    def texts(self) -> Iterable[str]:
        """Yield every question and sentence."""
        for answer in self.answers:
            yield answer.question
            yield answer.sentence

    def sha256(self) -> str:
        """Return a checksum of the items themselves, the same in any layout."""
        digest = hashlib.sha256()
        for item in self.answers:
            digest.update(f"{item.label}\t{item.question}\t{item.sentence}\n".encode())
        return digest.hexdigest()

    def score(self, vectors: Vectors, seed: int) -> Result:
        """Return the area under the ROC curve x 100 of the cosines; nothing is drawn."""
        gold = np.array([answer.label for answer in self.answers], dtype=np.float64)
        predicted = vectors.cosines(
            [answer.question for answer in self.answers], [answer.sentence for answer in self.answers]
        )
        area = auc(gold, predicted)
        return Result({"auc": None if area is None else 100 * area}, Items("auc", gold, predicted))


def read_qnli(data: Path) -> AnswerSet | Missing:
    """Read GLUE's `QNLI/dev.tsv` from below `data`, or say what is missing.

    Raises:
        InputError: The file is malformed, or holds another number of questions than published.
    """
    folder = whole_folder(FOLDERS, data, lambda place: [] if (place / FILE).is_file() else [FILE])
    if isinstance(folder, str):
        return Missing(NAME, TITLE, folder, WHERE)
    path = folder / FILE
    header, *lines = [line.split("\t") for line in file_lines(path)] or [[]]
    columns = columns_of(path, header, COLUMNS)
    answers = []
    for number, fields in enumerate(lines, 2):
        check_width(path, number, fields, header)
        question, sentence, label = (fields[column] for column in columns)
        answers.append(_checked(f"{path} line {number}", question, sentence, POSITIVE.get(label), label))
    return _whole(answers, str(path.parent), {path.name: file_sha256(path)})


def read_qnli_hub(organisation: str) -> AnswerSet | Missing:
    """Read the validation split of `organisation/glue`, configuration `qnli`, or say why it cannot be had.

    Raises:
        InputError: It has other columns, labels or another number of rows than it should have.
    """
    source = f"{organisation}/{HUB_NAME}"
    try:
        rows, revision = load_columns(source, HUB_CONFIG, HUB_SPLIT, COLUMNS)
    except (OSError, ValueError) as error:
        return Missing(NAME, TITLE, f"cannot load {source} ({first_line(error)})", WHERE)
    positive = {0: 1, 1: 0}
    answers = [
        _checked(
            f"{source} row {number}", question, sentence, positive.get(label) if isinstance(label, int) else None, label
        )
        for number, (question, sentence, label) in enumerate(rows)
    ]
    return _whole(answers, f"{HUB}{source}", revision)


def _checked(place: str, question: object, sentence: object, positive: int | None, label: object) -> Answer:
    texts = [text.strip() if isinstance(text, str) else "" for text in (question, sentence)]
    if not all(texts):
        raise InputError(f"{place}: expected a question and a sentence, got {question!r} and {sentence!r}")
    if positive is None:
        raise InputError(f"{place}: the label {label!r} is neither {' nor '.join(POSITIVE)}")
    return Answer(texts[0], texts[1], positive)


def _whole(answers: list[Answer], source: str, files: Mapping[str, str]) -> AnswerSet:
    if len(answers) != SIZE:
        raise InputError(f"{TITLE} in {source}: {len(answers)} questions, expected {SIZE}: get the original file again")
    return AnswerSet(tuple(answers), source, files)
