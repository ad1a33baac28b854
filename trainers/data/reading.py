"""The data of a training: pairs, sentences, words or graded pairs, as options and as `Examples`."""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any, TypeAlias

from pipelines.base.console import InputError, note, note_once
from pipelines.base.tables.columns import find_columns, header_names
from pipelines.base.tables.reader import opened
from pipelines.base.tables.table import Table
from trainers.data.examples import Examples, from_pairs, from_text
from trainers.data.tables import GRADED, stripped
from trainers.files import file_lines
from trainers.settings import DataOptions

PAIRS, SENTENCES = "data/pairs.arrow", Path("data/sentences")
KINDS = (
    "views",
    "text",
    "words",
    "graded",
)  # of data that an objective may read, and the options that name it
Scale = tuple[float, float]
PERCENT: Scale = (0.0, 100.0)
DECIMAL_COMMA = re.compile(r"[-+]?\d*(,\d+)?")
THOUSANDS = re.compile(r"[-+]?(\d+|[1-9]\d{0,2},\d{3})")
Spellings: TypeAlias = Mapping[str, str]
"""The columns of a table that the user names, by what they hold."""


def own_columns(text: str | None) -> Spellings:
    """Return the columns that `text=body,label=topic` names, by what they hold.

    Raises InputError for another form.
    """
    try:
        return dict(part.split("=") for part in text.split(",")) if text else {}
    except ValueError:
        raise InputError(f"--columns {text}: write text=NAME,label=NAME") from None


def read_examples(
    options: DataOptions, reads: tuple[str, ...], reads_corpus: bool = False
) -> tuple[Examples, dict[str, Any]]:
    """Read what the options name, else the first of the kinds `reads`; returns that too. Raises InputError.

    If it `reads_corpus`, text beside pairs is more text, and no rows.
    """
    if reads_corpus and options.views and options.text:
        examples, sources = read_examples(options.model_copy(update={"text": None}), reads)
        corpus = from_text(options.text).left
        return replace(examples, corpus=corpus), sources | {"text": options.text.as_posix()}
    kinds = [kind for kind in KINDS if getattr(options, kind) not in (None, [], ())]
    if len(kinds) > 1:
        raise InputError(f"--{' and --'.join(kinds)}: give one of them")
    kind = kinds[0] if kinds else reads[0]
    if not kinds and kind == "views" and "text" in reads and SENTENCES.exists() and not Path(PAIRS).exists():
        note(f"no pairs at {PAIRS}: reading {SENTENCES}")
        kind = "text"
    if kind == "views":
        views = options.views or [PAIRS]
        return from_pairs(views, options.limit), {"views": views}
    if kind == "text":
        path = options.text or SENTENCES
        return from_text(path, options.limit), {"text": path.as_posix()}
    if options.words is not None:
        words = read_words(options.words)[: options.limit]
        return Examples(words, words, words), {"words": options.words}
    if options.graded is None:
        raise InputError(f"no data: give --{kind}")
    low, _, high = (options.scale or "").partition(":")
    scale = None if options.scale is None else (number_in(low), number_in(high))
    if scale and not scale[0] < scale[1]:
        raise InputError(f"--scale {options.scale}: write the least and the greatest score, e.g. 0:5")
    examples, ends = read_graded(options.graded, scale, options.limit)
    return examples, {"graded": options.graded.as_posix(), "scale": "{:g}:{:g}".format(*ends)}


def read_words(written: str) -> list[str]:
    """Return a file's words, or a language's most frequent (`en`, `en:5000`); raises InputError if too few."""
    if Path(written).is_file():
        words, count = [word for line in file_lines(Path(written)) if (word := line.strip())], ""
    else:
        import wordfreq

        name, _, count = written.partition(":")
        # wordfreq itself would take a related language instead, or English.
        languages = wordfreq.available_languages()
        if name not in languages or not re.fullmatch(r"[1-9]\d*", count or "1"):
            raise InputError(
                f"--words {written}: give a file, or LANGUAGE or LANGUAGE:N of {', '.join(sorted(languages))}"
            )
        words = wordfreq.top_n_list(name, int(count or 10_000))  # as in Mirror-BERT
    if len(words) < int(count or 1):
        raise InputError(f"--words {written}: there are only {len(words):,} words")
    return words


def read_graded(path: Path, scale: Scale | None = None, limit: int | None = None) -> tuple[Examples, Scale]:
    """Read graded pairs of a table; returns them, with labels in [0, 1], and the scale of their scores.

    Rows without a finite score and two sentences are left out and counted. The ends of `scale`, by default
    that of the `_layout`, become 0 and 1. Raises InputError: no such file, other columns, or a score off the
    scale.
    """
    if not path.is_file():
        raise InputError(f"no graded pairs at {str(path)!r}: give a table with --graded")
    with opened(path, header_names([GRADED])) as table:
        columns, layout_scale = _layout(path, table)
        located = [(place, stripped(row)) for place, row in table.located_rows(columns, ("first", "second"))]
    filled = [(place, row) for place, row in located if any(row.values())]
    cells = [row["grade"] for _, row in filled]
    scores, is_percent = numbers_in(cells)
    low, high = scale or (PERCENT if is_percent else layout_scale)
    unread = first_unread(cells, scores, [place for place, _ in filled])
    left, right, labels, dropped = [], [], [], 0
    for (place, row), score in islice(zip(filled, scores, strict=True), limit):
        if math.isnan(score) or not (row["first"] and row["second"]):
            dropped += 1
            continue
        if not low <= score <= high:
            raise InputError(
                f"{place}: the score {score:g} is not on the scale {low:g}:{high:g}: "
                "give the right one, e.g. --scale 0:5"
            )
        left.append(row["first"])
        right.append(row["second"])
        labels.append((score - low) / (high - low))
    if not left:
        raise InputError(f"{path} holds no graded pair{unread}: a score and two sentences a row are expected")
    if unread:
        note_once(f"{path}: grades that are no numbers{unread}: left out")
    return Examples(left, left, right, dropped, labels), (low, high)


def _layout(path: Path, table: Table) -> tuple[dict[str, str], Scale]:
    """Return the columns of score and sentences, by number without a header, and the scale."""
    columns = find_columns(str(path), GRADED, table.names)
    if len(columns) == len(GRADED):
        is_relatedness = columns["grade"].strip().lower() == "relatedness_score"
        return columns, (1.0, 5.0) if is_relatedness else (0.0, 1.0)
    numeric = [
        number for number, cell in enumerate(table.opening, 1) if not math.isnan(numbers_in([cell])[0][0])
    ]
    if len(table.opening) >= 7 and 5 in numeric:
        return {"first": "6", "second": "7", "grade": "5"}, (0.0, 5.0)
    if len(table.opening) == 3 and numeric == [1]:
        return {"first": "2", "second": "3", "grade": "1"}, (0.0, 1.0)
    if len(table.opening) == 3 and numeric == [3]:
        return {"first": "1", "second": "2", "grade": "3"}, (0.0, 1.0)
    opening = " | ".join(table.opening or table.names)
    raise InputError(
        f"{path} begins {opening[:80]!r}: expected a header with score, sentence1 and sentence2, "
        "or STS-B's columns, or a score and two sentences"
    )


def numbers_in(cells: Sequence[str]) -> tuple[list[float], bool]:
    """Return the finite numbers that cells hold, else NaN, and whether they are percents.

    Commas and percent signs are read where all cells with a digit may have them: commas are decimal ones unless
    each stands as one before thousands does.
    """
    filled = [cell for cell in cells if any(map(str.isdigit, cell))]
    is_percent = bool(filled) and all(cell.endswith("%") for cell in filled)
    if is_percent:
        cells, filled = ([cell.removesuffix("%").rstrip() for cell in of] for of in (cells, filled))
    if all(map(DECIMAL_COMMA.fullmatch, filled)):
        point = "" if all(map(THOUSANDS.fullmatch, filled)) else "."
        cells = [cell.replace(",", point) for cell in cells]
    return [*map(number_in, cells)], is_percent


def first_unread(cells: Sequence[str], numbers: Sequence[float], places: Sequence[str]) -> str:
    """Return the first cell that has no number, and where it stands, for a message; "" for none."""
    for cell, number, place in zip(cells, numbers, places, strict=True):
        if cell and math.isnan(number):
            return f", such as {cell[:40]!r} ({place})"
    return ""


def number_in(cell: str) -> float:
    """Return the finite number that a cell holds, else NaN."""
    try:
        number = float(cell)
    except ValueError:
        return math.nan
    return number if math.isfinite(number) else math.nan
