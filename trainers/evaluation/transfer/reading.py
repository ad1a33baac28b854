"""Read SentEval's classification sets from a folder, in the layouts of its archive."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

from pipelines.console import InputError
from trainers.evaluation.folders import whole_folder
from trainers.evaluation.graded import file_sha256
from trainers.evaluation.lines import file_lines
from trainers.evaluation.task import Missing
from trainers.evaluation.transfer.labelled import Labelled, LabelledSet
from trainers.evaluation.transfer.sets import QUESTION_TYPES, File, Layout, Part, TransferSet

PARENTS = ("", "senteval", "SentEval", "downstream", "data/downstream", "SentEval/data/downstream")
"""Where the folders of the sets stand below a data folder."""

Read = Callable[[File, str], Labelled]


def read_folder(about: TransferSet, data: Path) -> LabelledSet | Missing:
    """Read one set from below `data`, or say what is missing.

    Raises:
        InputError: A line is malformed, or a file holds another number of items than published.
    """
    folder = whole_folder(about.folders, data, partial(_absent, about), PARENTS)
    if isinstance(folder, str):
        return about.missing(folder)
    parts: dict[Part, tuple[Labelled, ...]] = {}
    for file in about.files:
        parts[file.part] = parts.get(file.part, ()) + _read(folder / file.name, file, about.layout)
    return LabelledSet(
        about, parts, str(folder), files={file.name: file_sha256(folder / file.name) for file in about.files}
    )


def _absent(about: TransferSet, folder: Path) -> list[str]:
    return [file.name for file in about.files if not (folder / file.name).is_file()]


def _read(path: Path, file: File, layout: Layout) -> tuple[Labelled, ...]:
    header = layout == "mrpc"
    # As they were published, and as SentEval reads them: TREC is latin-1.
    lines = file_lines(path, bytewise=layout in ("classes", "trec"))[header:]
    if len(lines) != file.items:
        raise InputError(f"{path}: {len(lines)} items, expected {file.items}: get the original files again")
    items = []
    for number, line in enumerate(lines, 1 + header):
        try:
            items.append(_READERS[layout](file, line))
        except ValueError:
            raise InputError(f"{path} line {number}: {line[:60]!r} is no {_EXPECTED[layout]}") from None
    return tuple(items)


def _words(text: str) -> str:
    """Return the words of a text with one space between them: SentEval gives its encoders lists of words."""
    return " ".join(text.split())


def _class(file: File, line: str) -> Labelled:
    return Labelled(_words(line), file.label)


def _trec(_file: File, line: str) -> Labelled:
    kind, rest = line.split(":", 1)
    _finer, question = rest.split(" ", 1)
    return Labelled(_words(question), QUESTION_TYPES.index(kind))


def _mrpc(_file: File, line: str) -> Labelled:
    quality, _one, _two, first, second = line.split("\t")
    return Labelled(_words(first), ("0", "1").index(quality), _words(second))


def _sst2(_file: File, line: str) -> Labelled:
    text, label = line.split("\t")
    return Labelled(_words(text), ("0", "1").index(label.strip()))


def _sst5(_file: File, line: str) -> Labelled:
    label, text = line.split(" ", 1)
    return Labelled(_words(text), ("0", "1", "2", "3", "4").index(label))


_READERS: dict[Layout, Read] = {"classes": _class, "trec": _trec, "mrpc": _mrpc, "sst2": _sst2, "sst5": _sst5}
_EXPECTED: dict[Layout, str] = {
    "classes": "sentence",
    "trec": "TYPE:type and a question",
    "mrpc": "row of quality (0 or 1), two numbers and two sentences",
    "sst2": "sentence and a label of 0 or 1, a tab between them",
    "sst5": "label from 0 to 4 and a sentence, a space between them",
}
