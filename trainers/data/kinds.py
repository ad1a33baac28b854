"""Which rows a training reads: pairs, sentences, words, random strings or graded pairs, as options and `Examples`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
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
"""The kinds of data that an objective may read, and the field of `Wanted` that asks for each."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """The data that a user asked for; None, or no views, takes what `augment` writes."""

    views: Sequence[str] | None = None
    text: Path | None = None
    words: str | None = None
    random_strings: int | None = None
    graded: Path | None = None
    scale: str | None = None
    limit: int | None = None


def data_flags(reads: tuple[str, ...]) -> dict[str, Flag]:
    """Return the options by which data of the kinds `reads` is named; the keys are fields of `Wanted`."""
    flags = {
        "views": Flag(
            list[str] | None,
            "Pairs to train on: a pairs.arrow file or folder; give it again to train on several. Without weights all "
            "rows are taken, with them as many as fit the proportion, none twice. [data/pairs.arrow]",
            metavar="FILE[=WEIGHT]",
        ),
        "text": Flag(Path | None, "Sentences, one a line (.gz too), or a dataset folder. [data/sentences]"),
        "words": Flag(
            str | None,
            "Words, one a line, or the most frequent ones of a language (en: 10,000 of them); en:5000 takes 5,000, "
            "en:10001-20000 those ranks.",
            metavar="FILE|LANG[:N]",
        ),
        "random_strings": Flag(int | None, "Train on this many random strings, which mean nothing.", least=2),
        "graded": Flag(
            Path | None, "Graded pairs: STS-B's own file, or TSV or CSV with score, sentence1 and sentence2."
        ),
        "scale": Flag(
            str | None,
            "Least and greatest score of --graded. [0:5 for STS-B's own file, 1:5 for SICK's, else 0:1]",
            metavar="LOW:HIGH",
        ),
    }
    wanted = {KINDS[kind] for kind in reads} | ({"scale"} if "graded" in reads else set())
    return {
        **{key: flag for key, flag in flags.items() if key in wanted},
        "limit": Flag(int | None, "Take N rows only: the first, or of several files each one's share.", least=1),
    }


def read_examples(wanted: Wanted, reads: tuple[str, ...], seed: int = 1) -> tuple[Examples, dict[str, Any]]:
    """Read what is wanted, of the first kind in `reads` if nothing is named.

    Args:
        wanted: The data's options.
        reads: The kinds that the objective reads, the usual one first.
        seed: Decides random strings, and which rows of a mixture are left out.

    Returns:
        The examples, and the options that name them again, by field of `Wanted`.

    Raises:
        InputError: Two kinds at once, nothing that could be read, or data that cannot be used.
    """
    asked = [(kind, field) for kind, field in KINDS.items() if getattr(wanted, field) not in (None, [], ())]
    if len(asked) > 1:
        raise InputError(f"{' and '.join(map(_option, [field for _, field in asked]))}: give one of them")
    kind = asked[0][0] if asked else reads[0]
    if kind not in reads:
        raise InputError(
            f"{_option(KINDS[kind])} does not go with this objective, which reads "
            + " or ".join(_option(KINDS[known]) for known in reads)
        )
    if wanted.scale is not None and kind != "graded":
        raise InputError(f"--scale {wanted.scale} is for --graded: leave it out")
    return _READERS[kind](wanted, seed)


def _option(field: str) -> str:
    return "--" + field.replace("_", "-")


def _views(wanted: Wanted, seed: int) -> tuple[Examples, dict[str, Any]]:
    parts = read_parts(wanted.views or [PAIRS.as_posix()])
    return mixed_pairs(parts, wanted.limit, seed), {"views": [str(part) for part in parts]}


def _text(wanted: Wanted, seed: int) -> tuple[Examples, dict[str, Any]]:
    path = wanted.text or SENTENCES
    return from_text(path, wanted.limit), {"text": path.as_posix()}


def _words(wanted: Wanted, seed: int) -> tuple[Examples, dict[str, Any]]:
    if wanted.words is None:
        raise InputError("no words: give --words a file with one a line, or a language such as en:10000")
    return from_strings(read_words(wanted.words)[: wanted.limit]), {"words": wanted.words}


def _random(wanted: Wanted, seed: int) -> tuple[Examples, dict[str, Any]]:
    if wanted.random_strings is None:
        raise InputError("no data: give --random-strings the number of them, e.g. 10000")
    count = min(wanted.random_strings, wanted.limit or wanted.random_strings)
    return from_strings(random_strings(count, seed)), {"random_strings": wanted.random_strings}


def _graded(wanted: Wanted, seed: int) -> tuple[Examples, dict[str, Any]]:
    if wanted.graded is None:
        raise InputError("no graded pairs: give --graded a file, such as STS-B's sts-train.csv")
    scale = None if wanted.scale is None else parse_scale(wanted.scale)
    examples, (low, high) = read_graded(wanted.graded, scale, wanted.limit)
    return examples, {"graded": wanted.graded.as_posix(), "scale": f"{low:g}:{high:g}"}


_READERS: Mapping[str, Callable[[Wanted, int], tuple[Examples, dict[str, Any]]]] = {
    "views": _views,
    "text": _text,
    "words": _words,
    "random": _random,
    "graded": _graded,
}
