"""The data of a training: pairs, sentences, words or graded pairs, as options and as `Examples`."""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from pipelines.base.console import InputError, note
from trainers.data.examples import Examples, from_pairs, from_text
from trainers.files import csv_rows, file_lines, tsv_rows
from trainers.settings import DataOptions

PAIRS, SENTENCES = "data/pairs.arrow", Path("data/sentences")
KINDS = (
    "views",
    "text",
    "words",
    "graded",
)  # of data that an objective may read, and the options that name it
SCORES = ("score", "similarity_score", "relatedness_score", "similarity", "label", "gold", "grade")
FIRST = ("sentence1", "sentence_1", "sentence_a", "text1", "text_a", "premise", "question1", "s1")
TEXT, LABEL = ("text", "sentence"), ("label", "category", "class", "intent")
SECOND = ("sentence2", "sentence_2", "sentence_b", "text2", "text_b", "hypothesis", "question2", "s2")

Scale = tuple[float, float]
Columns: TypeAlias = Mapping[str, Sequence[Sequence[str]]]
Spellings: TypeAlias = Mapping[str, str]
"""How a table spells its columns, by what they hold."""


def own_columns(text: str | None) -> Spellings:
    """Return the columns that `text=body,label=topic` names, by what they hold; raises InputError for another form."""
    try:
        return dict(part.split("=") for part in text.split(",")) if text else {}
    except ValueError:
        raise InputError(f"--columns {text}: write text=NAME,label=NAME") from None


def spellings(names: Sequence[str], columns: Spellings) -> Spellings:
    """Return how a table with columns of these names spells them, those that it has of the user's `columns` first."""
    own = {role: name for role, name in columns.items() if name in names}
    return {name.strip().lower(): name for name in names if name not in own.values()} | own


def kind_of(spelt: Spellings, kinds: Columns) -> tuple[str, list[str]]:
    """Return the kind of a table with columns of these `spellings`, and those that count; "" for no kind."""
    for kind, roles in kinds.items():
        columns = [spelt_as(spelt, aliases) for aliases in roles]
        if all(columns):
            return kind, columns
    return "", []


def spelt_as(spelt: Spellings, aliases: Iterable[str]) -> str:
    """Return how a table spells the first of these names that it has; "" for none."""
    return next((spelt[name] for name in aliases if name in spelt), "")


def read_examples(options: DataOptions, reads: tuple[str, ...]) -> tuple[Examples, dict[str, Any]]:
    """Read what the options name, else the first of the kinds `reads`; returns that too. Raises InputError."""
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
    """Read graded pairs of a TSV or CSV file; returns them, with labels in [0, 1], and the scale of their scores.

    Rows without a finite score and two sentences are left out and counted. The ends of `scale`, by default
    that of the `_layout`, become 0 and 1. Raises InputError: no such file, another layout, broken quotes, or a
    score off the scale.
    """
    if not path.is_file():
        raise InputError(f"no graded pairs at {str(path)!r}: give a TSV or CSV file with --graded")
    first_line = next(filter(str.strip, file_lines(path)), "")
    delimiter = ";" if ";" in first_line and "," not in first_line else ","
    rows = tsv_rows(path) if "\t" in first_line else csv_rows(path, delimiter=delimiter)
    rows = [row for row in rows if any(row[1])]
    columns, header_lines, layout_scale = _layout(path, rows[0][1] if rows else [])
    low, high = scale or layout_scale
    left, right, labels, dropped = [], [], [], 0
    for number, cells in rows[header_lines:][:limit]:
        grade, first, second = (cells[column].strip() if column < len(cells) else "" for column in columns)
        score = number_in(grade)
        if math.isnan(score) or not (first and second):
            dropped += 1
            continue
        if not low <= score <= high:
            raise InputError(
                f"{path} line {number}: the score {score:g} is not on the scale {low:g}:{high:g}: "
                "give the right one, e.g. --scale 0:5"
            )
        left.append(first)
        right.append(second)
        labels.append((score - low) / (high - low))
    if not left:
        raise InputError(f"{path} holds no graded pair: a score and two sentences a line are expected")
    return Examples(left, left, right, dropped, labels), (low, high)


def _layout(path: Path, opening: Sequence[str]) -> tuple[Sequence[int], int, Scale]:
    """Return the columns of score and sentences, the number of header lines, and the scale."""
    if len(opening) >= 7 and not math.isnan(number_in(opening[4])):
        return (4, 5, 6), 0, (0.0, 5.0)
    names = [cell.strip().lower() for cell in opening]
    headings = (SCORES, FIRST, SECOND)
    columns = [next((names.index(name) for name in synonyms if name in names), -1) for synonyms in headings]
    if -1 not in columns:
        return columns, 1, (1.0, 5.0) if names[columns[0]] == "relatedness_score" else (0.0, 1.0)
    scores = [place for place, name in enumerate(names) if not math.isnan(number_in(name))]
    if len(names) == 3 and scores in ([0], [2]):
        return ((0, 1, 2) if scores == [0] else (2, 0, 1)), 0, (0.0, 1.0)
    raise InputError(
        f"{path} begins {' | '.join(opening)[:80]!r}: expected a header with score, sentence1 and sentence2, "
        "or STS-B's columns, or a score and two sentences"
    )


def number_in(cell: str) -> float:
    """Return the finite number that a cell holds, else NaN."""
    try:
        number = float(cell)
    except ValueError:
        return math.nan
    return number if math.isfinite(number) else math.nan
