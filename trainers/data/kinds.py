"""Which rows a training reads: pairs, sentences, words or graded pairs, as options and `Examples`."""

from pathlib import Path
from typing import Any

from pydantic import Field

from pipelines.console import InputError
from trainers.data.examples import Examples, from_strings, from_text
from trainers.data.labelled import parse_scale, read_graded
from trainers.data.pairs import PAIRS, from_pairs, read_parts
from trainers.data.words import read_words
from trainers.flags import Flag, Options, flags_of

SENTENCES = Path("data/sentences")
KINDS = ("views", "text", "words", "graded")
"""The kinds of data that an objective may read; each is named by the option of its name."""


class DataOptions(Options):
    """The data that a user asked for; None, or no views, takes what `augment` writes."""

    views: list[str] | None = Field(
        None,
        description="Pairs to train on: a pairs.arrow file or folder; give it again to train on several. Without "
        "weights all rows are taken, with them as many as fit the proportion, none twice. [data/pairs.arrow]",
        json_schema_extra={"metavar": "FILE[=WEIGHT]"},
    )
    text: Path | None = Field(
        None, description="Sentences, one a line (.gz too), or a dataset folder. [data/sentences]"
    )
    words: str | None = Field(
        None,
        description="Words, one a line, or the most frequent ones of a language (en: 10,000 of them); en:5000 takes "
        "5,000, en:10001-20000 those ranks.",
        json_schema_extra={"metavar": "FILE|LANG[:N]"},
    )
    graded: Path | None = Field(
        None, description="Graded pairs: STS-B's own file, or TSV or CSV with score, sentence1 and sentence2."
    )
    scale: str | None = Field(
        None,
        description="Least and greatest score of --graded. [0:5 for STS-B's own file, 1:5 for SICK's, else 0:1]",
        json_schema_extra={"metavar": "LOW:HIGH"},
    )
    limit: int | None = Field(
        None, ge=1, description="Take N rows only: the first, or of several files each one's share."
    )


def data_flags(reads: tuple[str, ...]) -> dict[str, Flag]:
    """Return the options by which data of the kinds `reads` is named; the keys are fields of `DataOptions`."""
    named = {"limit", *reads, *(["scale"] if "graded" in reads else [])}
    return {key: flag for key, flag in flags_of(DataOptions).items() if key in named}


def read_examples(options: DataOptions, reads: tuple[str, ...], seed: int = 1) -> tuple[Examples, dict[str, Any]]:
    """Read the data that the options name, or that of the first kind in `reads` if they name none.

    Args:
        options: The data's options.
        reads: The kinds that the objective reads, the usual one first.
        seed: Decides which rows of a mixture are left out.

    Returns:
        The examples, and the options that name them again, by field of `DataOptions`.

    Raises:
        InputError: Two kinds at once, nothing that could be read, or data that cannot be used.
    """
    named = [kind for kind in KINDS if getattr(options, kind) not in (None, [], ())]
    if len(named) > 1:
        raise InputError(f"--{' and --'.join(named)}: give one of them")
    kind = named[0] if named else reads[0]
    if kind not in reads:
        raise InputError(f"--{kind} does not go with this objective, which reads --{' or --'.join(reads)}")
    if options.scale is not None and kind != "graded":
        raise InputError(f"--scale {options.scale} is for --graded: leave it out")
    if not named and kind not in ("views", "text"):
        raise InputError(f"no data: give --{kind}")
    return _read(kind, options, seed)


def _read(kind: str, options: DataOptions, seed: int) -> tuple[Examples, dict[str, Any]]:
    if kind == "views":
        parts = read_parts(options.views or [PAIRS.as_posix()])
        return from_pairs(parts, options.limit, seed), {"views": [str(part) for part in parts]}
    if kind == "text":
        path = options.text or SENTENCES
        return from_text(path, options.limit), {"text": path.as_posix()}
    if kind == "words":
        return from_strings(read_words(str(options.words))[: options.limit]), {"words": options.words}
    scale = None if options.scale is None else parse_scale(options.scale)
    graded = Path(options.graded or "")
    examples, (low, high) = read_graded(graded, scale, options.limit)
    return examples, {"graded": graded.as_posix(), "scale": f"{low:g}:{high:g}"}
