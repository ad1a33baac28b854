"""Which rows a training reads: pairs, sentences, words, random strings or graded pairs, as options and `Examples`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from pipelines.console import InputError
from trainers.data.examples import Examples, from_strings, from_text
from trainers.data.labelled import parse_scale, read_graded
from trainers.data.mixture import PAIRS, mixed_pairs, read_parts
from trainers.data.words import random_strings, read_words
from trainers.flags import Flag

SENTENCES = Path("data/sentences")
KINDS = {"views": "views", "text": "text", "words": "words", "random": "random_strings", "graded": "graded"}
"""The kinds of data that an objective may read, and the option that names each."""


def _flag(kind: Any, help: str, **flag: Any) -> dict[str, Flag]:  # noqa: ANN401 - a type, and Flag's fields
    return {"flag": Flag(kind, help, **flag)}


@dataclass(frozen=True, slots=True)
class DataOptions:
    """The data that a user asked for; None, or no views, takes what `augment` writes. Every field is an option."""

    views: Sequence[str] | None = field(
        default=None,
        metadata=_flag(
            list[str] | None,
            "Pairs to train on: a pairs.arrow file or folder; give it again to train on several. Without weights all "
            "rows are taken, with them as many as fit the proportion, none twice. [data/pairs.arrow]",
            metavar="FILE[=WEIGHT]",
        ),
    )
    text: Path | None = field(
        default=None,
        metadata=_flag(Path | None, "Sentences, one a line (.gz too), or a dataset folder. [data/sentences]"),
    )
    words: str | None = field(
        default=None,
        metadata=_flag(
            str | None,
            "Words, one a line, or the most frequent ones of a language (en: 10,000 of them); en:5000 takes 5,000, "
            "en:10001-20000 those ranks.",
            metavar="FILE|LANG[:N]",
        ),
    )
    random_strings: int | None = field(
        default=None,
        metadata=_flag(int | None, "Train on this many random strings, which mean nothing.", least=2),
    )
    graded: Path | None = field(
        default=None,
        metadata=_flag(
            Path | None, "Graded pairs: STS-B's own file, or TSV or CSV with score, sentence1 and sentence2."
        ),
    )
    scale: str | None = field(
        default=None,
        metadata=_flag(
            str | None,
            "Least and greatest score of --graded. [0:5 for STS-B's own file, 1:5 for SICK's, else 0:1]",
            metavar="LOW:HIGH",
        ),
    )
    limit: int | None = field(
        default=None,
        metadata=_flag(int | None, "Take N rows only: the first, or of several files each one's share.", least=1),
    )


def data_flags(reads: tuple[str, ...]) -> dict[str, Flag]:
    """Return the options by which data of the kinds `reads` is named; the keys are fields of `DataOptions`."""
    named = {"limit", *(KINDS[kind] for kind in reads), *(["scale"] if "graded" in reads else [])}
    return {found.name: found.metadata["flag"] for found in fields(DataOptions) if found.name in named}


def read_examples(options: DataOptions, reads: tuple[str, ...], seed: int = 1) -> tuple[Examples, dict[str, Any]]:
    """Read the data that the options name, or that of the first kind in `reads` if they name none.

    Args:
        options: The data's options.
        reads: The kinds that the objective reads, the usual one first.
        seed: Decides random strings, and which rows of a mixture are left out.

    Returns:
        The examples, and the options that name them again, by field of `DataOptions`.

    Raises:
        InputError: Two kinds at once, nothing that could be read, or data that cannot be used.
    """
    named = [kind for kind, key in KINDS.items() if getattr(options, key) not in (None, [], ())]
    if len(named) > 1:
        raise InputError(f"{' and '.join(_option(KINDS[kind]) for kind in named)}: give one of them")
    kind = named[0] if named else reads[0]
    if kind not in reads:
        raise InputError(
            f"{_option(KINDS[kind])} does not go with this objective, which reads "
            + " or ".join(_option(KINDS[known]) for known in reads)
        )
    if options.scale is not None and kind != "graded":
        raise InputError(f"--scale {options.scale} is for --graded: leave it out")
    return _READERS[kind](options, seed)


def _option(key: str) -> str:
    return "--" + key.replace("_", "-")


def _views(options: DataOptions, seed: int) -> tuple[Examples, dict[str, Any]]:
    parts = read_parts(options.views or [PAIRS.as_posix()])
    return mixed_pairs(parts, options.limit, seed), {"views": [str(part) for part in parts]}


def _text(options: DataOptions, seed: int) -> tuple[Examples, dict[str, Any]]:
    path = options.text or SENTENCES
    return from_text(path, options.limit), {"text": path.as_posix()}


def _words(options: DataOptions, seed: int) -> tuple[Examples, dict[str, Any]]:
    if options.words is None:
        raise InputError("no words: give --words a file with one a line, or a language such as en:10000")
    return from_strings(read_words(options.words)[: options.limit]), {"words": options.words}


def _random(options: DataOptions, seed: int) -> tuple[Examples, dict[str, Any]]:
    if options.random_strings is None:
        raise InputError("no data: give --random-strings the number of them, e.g. 10000")
    count = min(options.random_strings, options.limit or options.random_strings)
    return from_strings(random_strings(count, seed)), {"random_strings": options.random_strings}


def _graded(options: DataOptions, seed: int) -> tuple[Examples, dict[str, Any]]:
    if options.graded is None:
        raise InputError("no graded pairs: give --graded a file, such as STS-B's sts-train.csv")
    scale = None if options.scale is None else parse_scale(options.scale)
    examples, (low, high) = read_graded(options.graded, scale, options.limit)
    return examples, {"graded": options.graded.as_posix(), "scale": f"{low:g}:{high:g}"}


_READERS: Mapping[str, Callable[[DataOptions, int], tuple[Examples, dict[str, Any]]]] = {
    "views": _views,
    "text": _text,
    "words": _words,
    "random": _random,
    "graded": _graded,
}
