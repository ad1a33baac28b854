"""Which rows a training reads: pairs or plain sentences, as options and as `Examples`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from pipelines.console import InputError
from trainers.examples import Examples, from_pairs, from_text
from trainers.flags import Flag

PAIRS = Path("data/pairs.arrow")
SENTENCES = Path("data/sentences")


@dataclass(frozen=True, slots=True)
class Wanted:
    """The data that a user asked for; None takes what `augment` writes."""

    views: Path | None = None
    text: Path | None = None
    limit: int | None = None


def data_flags(reads: tuple[str, ...]) -> dict[str, Flag]:
    """Return the options by which data of the kinds `reads` is named; the keys are fields of `Wanted`."""
    views = {"views": Flag(Path | None, "Pairs to train on: a pairs.arrow file or folder. [data/pairs.arrow]")}
    text = {"text": Flag(Path | None, "Sentences, one a line (.gz too), or a dataset folder. [data/sentences]")}
    return {
        **(views if "views" in reads else {}),
        **(text if "text" in reads else {}),
        "limit": Flag(int | None, "Take the first N rows only.", least=1),
    }


def read_examples(wanted: Wanted, reads: tuple[str, ...]) -> tuple[Examples, dict[str, str]]:
    """Read what is wanted, of the first kind in `reads` if nothing is named; returns it and where it lies.

    Raises:
        InputError: Two kinds at once, or data that cannot be used.
    """
    if wanted.views is not None and wanted.text is not None:
        raise InputError(f"--views {wanted.views} and --text {wanted.text}: give one of them")
    kind = "views" if wanted.views is not None else "text" if wanted.text is not None else reads[0]
    if kind == "views":
        path = wanted.views or PAIRS
        if not path.exists():
            raise InputError(f"no pairs at {str(path)!r}: run `augment build-pairs`, or give --views FILE")
        return from_pairs(path, wanted.limit), {"views": path.as_posix()}
    path = wanted.text or SENTENCES
    return from_text(path, wanted.limit), {"text": path.as_posix()}
