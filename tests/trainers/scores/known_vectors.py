"""What tests of evaluations share: an encoder whose vectors are given, words, files, and the command."""

from collections.abc import Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from small_trainings import train

from trainers.scores.task import Missing, Task

evaluate = partial(train, "evaluate")

VOCABULARY = (
    "the a cat dog man woman runs sleeps eats sings fast slowly here there red old young train plays stops"
)
WORDS = VOCABULARY.split()


class Known:
    """An encoder that knows its texts' vectors, the rows of an array or of a sparse matrix."""

    name = title = "known"
    device = "cpu"

    def __init__(self, texts: list[str], matrix: Any) -> None:  # noqa: ANN401 - either kind
        self.rows = {text: row for row, text in enumerate(texts)}
        self.matrix = matrix

    def encode(self, texts: Any, advance: Any = None) -> Any:  # noqa: ANN401 - any list, no bar
        return self.matrix[[self.rows[text] for text in texts]]

    def card(self) -> dict[str, Any]:
        return {}


def write_files(folder: Path, files: Mapping[str, str | bytes], encoding: str = "utf-8") -> Path:
    """Write files, by their paths below a folder, and return the folder."""
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode(encoding))
    return folder


def parted(read: Iterable[Task | Missing]) -> tuple[list[Any], list[Missing]]:
    """Return the sets of a suite that were found, and those that are missing."""
    items = list(read)
    return [item for item in items if isinstance(item, Task)], [
        item for item in items if isinstance(item, Missing)
    ]
