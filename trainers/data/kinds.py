"""The data of a training: pairs, sentences, words or graded pairs, as options and as `Examples`."""

import csv
import math
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pydantic import Field

from pipelines.console import InputError
from trainers.data.examples import Examples, from_pairs, from_text
from trainers.files import file_lines
from trainers.flags import Flag, Options, flags_of

PAIRS, SENTENCES = "data/pairs.arrow", Path("data/sentences")
KINDS = ("views", "text", "words", "graded")
"""The kinds of data that an objective may read; the option of the same name names the data."""
MOST_FREQUENT = 10_000
"""How many words of a language are taken by default, as in Mirror-BERT."""
SCORES = ("score", "similarity_score", "relatedness_score", "similarity", "label", "gold", "grade")
FIRST = ("sentence1", "sentence_1", "sentence_a", "text1", "text_a", "premise", "question1", "s1")
SECOND = ("sentence2", "sentence_2", "sentence_b", "text2", "text_b", "hypothesis", "question2", "s2")

Scale = tuple[float, float]


class DataOptions(Options):
    """The data of a training; without any, what `augment` writes by default."""

    views: list[str] | None = Field(None, description="Pairs; again as FILE=WEIGHT for a mixture. [data/pairs.arrow]")
    text: Path | None = Field(None, description="Sentences, one a line, or a dataset folder. [data/sentences]")
    words: str | None = Field(None, description="Words, one a line, or a language's most frequent ones: en, en:5000.")
    graded: Path | None = Field(None, description="Graded pairs: a TSV or CSV file such as STS-B's or SICK's.")
    scale: str | None = Field(None, description="LOW:HIGH of --graded. [STS-B's file 0:5, SICK's 1:5, others 0:1]")
    limit: int | None = Field(None, ge=1, description="Take N rows only: the first, or of several files their share.")


def data_flags(reads: tuple[str, ...]) -> dict[str, Flag]:
    """Return the options that name data of the kinds `reads`, by field of `DataOptions`."""
    named = {"limit", *reads, *(["scale"] if "graded" in reads else [])}
    return {key: flag for key, flag in flags_of(DataOptions).items() if key in named}


def read_examples(options: DataOptions, reads: tuple[str, ...], seed: int = 1) -> tuple[Examples, dict[str, Any]]:
    """Read the data that the options name, by default that of the first of the kinds `reads`.

    Returns the examples, and the options that name the same data, by field of `DataOptions`. `seed` decides which rows
    of a mixture are left out. Raises InputError: two kinds at once, nothing to read, or data that cannot be used.
    """
    named = [kind for kind in KINDS if getattr(options, kind) not in (None, [], ())]
    if len(named) > 1:
        raise InputError(f"--{' and --'.join(named)}: give one of them")
    kind = named[0] if named else reads[0]
    if kind == "views":
        views = options.views or [PAIRS]
        return from_pairs(views, options.limit, seed), {"views": views}
    if kind == "text":
        path = options.text or SENTENCES
        return from_text(path, options.limit), {"text": path.as_posix()}
    if options.words is not None:
        words = read_words(options.words)[: options.limit]
        return Examples(words, words, words), {"words": options.words}
    if options.graded is None:
        raise InputError(f"no data: give --{kind}")
    scale = None if options.scale is None else parse_scale(options.scale)
    examples, (low, high) = read_graded(options.graded, scale, options.limit)
    return examples, {"graded": options.graded.as_posix(), "scale": f"{low:g}:{high:g}"}


def read_words(written: str) -> list[str]:
    """Return the words that `FILE` or `LANGUAGE` names, most frequent first, or with `:N` the first N.

    `FILE` has one word a line (`names.txt`); `LANGUAGE` is one of the wordfreq package (`en`), of which 10,000 are
    taken by default. Raises InputError: no such file or language, or fewer words than asked for.
    """
    name, count = written, 0
    match = re.fullmatch(r"(.+):([1-9]\d*)", written)
    if match is not None and not Path(written).is_file():
        name, count = match[1], int(match[2])
    if Path(name).is_file():
        words = [word for line in file_lines(Path(name)) if (word := line.strip())]
    else:
        import wordfreq

        # wordfreq itself would take a related language instead, or English.
        known = wordfreq.available_languages()
        if name not in known:
            raise InputError(f"--words {written}: no file {name!r}, and the languages are {', '.join(sorted(known))}")
        words = wordfreq.top_n_list(name, count or MOST_FREQUENT)
    if not words or len(words) < count:
        raise InputError(f"--words {written}: {name} has only {len(words):,} words")
    return words[: count or None]


def read_graded(path: Path, scale: Scale | None = None, limit: int | None = None) -> tuple[Examples, Scale]:
    """Read graded pairs; returns them, with labels in [0, 1], and the scale that their scores were on.

    The file (UTF-8, also .gz) is tab-separated, where a quotation mark is an ordinary character, or else
    comma-separated with quotes. Its layout is STS-B's own (score in column 5, sentences in 6 and 7; 0 to 5), or has a
    header that names the columns (score or relatedness_score, sentence1, sentence2 and the like; SICK's is 1 to 5), or
    three columns without a header, the score first or last. The ends of `scale` become 0 and 1; None is that of the
    layout, else 0 to 1. Raises InputError: no such file, another layout, a broken line, or a score off the scale.
    """
    if not path.is_file():
        raise InputError(f"no graded pairs at {str(path)!r}: give a TSV or CSV file with --graded")
    rows = _cells(path)
    (grade_at, first_at, second_at), header, usual = _layout(path, rows[0][1] if rows else [])
    low, high = scale or usual
    left, right, labels = [], [], []
    for number, cells in rows[header:][:limit]:
        cells = [cell.strip() for cell in cells] + [""] * (max(grade_at, first_at, second_at) + 1 - len(cells))
        score = _number(cells[grade_at])
        if math.isnan(score) or not (cells[first_at] and cells[second_at]):
            raise InputError(f"{path} line {number}: no score and two sentences: fix the line, or remove it")
        if not low <= score <= high:
            raise InputError(
                f"{path} line {number}: the score {score:g} is not on the scale {low:g}:{high:g}: give the right one, "
                "e.g. --scale 0:5"
            )
        left.append(cells[first_at])
        right.append(cells[second_at])
        labels.append((score - low) / (high - low))
    if not left:
        raise InputError(f"{path} holds no graded pair: a score and two sentences a line are expected")
    return Examples(left, left, right, labels=labels), (low, high)


def parse_scale(written: str) -> Scale:
    """Return the ends of `LOW:HIGH`; raises InputError unless these are two numbers, the first below the second."""
    low, _, high = written.partition(":")
    if not _number(low) < _number(high):
        raise InputError(f"--scale {written}: write the least and the greatest score, e.g. 0:5")
    return float(low), float(high)


def _cells(path: Path) -> list[tuple[int, list[str]]]:
    """Return the cells of every line that is not blank, with the line's number."""
    lines = [f"{line}\n" for line in file_lines(path)]
    csv.field_size_limit(sys.maxsize)
    if "\t" in next((line for line in lines if line.strip()), ""):
        reader = csv.reader(lines, delimiter="\t", quoting=csv.QUOTE_NONE)
    else:
        reader = csv.reader(lines, strict=True)
    try:
        return [(reader.line_num, cells) for cells in reader if any(cells)]
    except csv.Error as error:
        raise InputError(f"{path} line {reader.line_num} is not valid CSV ({error}): fix the line") from None


def _layout(path: Path, opening: Sequence[str]) -> tuple[Sequence[int], int, Scale]:
    """Return the columns of score and sentences, the number of header lines, and the scale of the layout."""
    names = [cell.strip().lower() for cell in opening]
    known = (next((name for name in kind if name in names), None) for kind in (SCORES, FIRST, SECOND))
    columns = [names.index(name) for name in known if name is not None]
    if len(names) >= 7 and not math.isnan(_number(names[4])):
        return (4, 5, 6), 0, (0.0, 5.0)
    if len(columns) == 3:
        return columns, 1, (1.0, 5.0) if names[columns[0]] == "relatedness_score" else (0.0, 1.0)
    numbers = [not math.isnan(_number(name)) for name in names]
    if numbers in ([True, False, False], [False, False, True]):
        return (0, 1, 2) if numbers[0] else (2, 0, 1), 0, (0.0, 1.0)
    raise InputError(
        f"{path} begins {' | '.join(opening)[:80]!r}: expected a header with score, sentence1 and sentence2, or "
        "STS-B's columns, or a score and two sentences"
    )


def _number(cell: str) -> float:
    """Return the finite number in a cell, NaN where there is none."""
    try:
        number = float(cell)
    except ValueError:
        return math.nan
    return number if math.isfinite(number) else math.nan
