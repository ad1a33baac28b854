"""Words to train on: a list in a file, the most frequent ones of a language, or random strings."""

from __future__ import annotations

import re
from pathlib import Path
from random import Random

import xxhash

from pipelines.console import InputError
from trainers.data.examples import file_lines

MOST_FREQUENT = 10_000
"""How many words of a language are taken unless another number is given, as in Mirror-BERT."""

CHARACTERS = "abcdefghijklmnopqrstuvwxyz0123456789"
SHORTEST, LONGEST = 3, 12
"""Characters of a random string; the paper says what the characters are, not how many."""


def read_words(written: str) -> list[str]:
    """Return the words that `FILE` or `LANG` name, most frequent first, `:N` of them or those from rank `:FROM-TO`.

    Args:
        written: A word list, one word a line (`names.txt`), or a language of the wordfreq package (`en`), of which
            10,000 are taken. `en:5000` and `names.txt:5000` are the first 5,000, `en:10001-20000` the second 10,000.

    Raises:
        InputError: No such file or language, fewer words than asked for, or a range that is none.
    """
    name, first, last = _parse(written)
    if Path(name).is_file():
        words = [word for line in file_lines(Path(name)) if (word := line.strip())]
    else:
        last = last or MOST_FREQUENT
        words = _frequent(written, name, last)
    if not words:
        raise InputError(f"{name} holds no word: one word a line is expected")
    if last is not None and last > len(words):
        raise InputError(f"--words {written}: {name} has {len(words):,} words: ask for no more than that")
    return words[first - 1 : last]


def _parse(written: str) -> tuple[str, int, int | None]:
    match = re.fullmatch(r"(.+):(?:(\d+)-)?(\d+)", written)
    if match is None or Path(written).is_file():
        return written, 1, None
    first, last = int(match[2] or 1), int(match[3])
    if not 1 <= first <= last:
        raise InputError(f"--words {written}: {first}-{last} is no range of ranks: write e.g. en:10001-20000")
    return match[1], first, last


def _frequent(written: str, language: str, count: int) -> list[str]:
    if not re.fullmatch(r"[a-z]{2,3}", language):
        raise InputError(f"--words {written}: no word list {language!r}: give a file, or a language such as en:10000")
    import wordfreq

    # wordfreq itself would take a related language instead, or English.
    known = wordfreq.available_languages()
    if language not in known:
        raise InputError(f"--words {written}: wordfreq has no list for {language!r}, only {', '.join(sorted(known))}")
    words: list[str] = wordfreq.top_n_list(language, count)
    return words


def random_strings(count: int, seed: int) -> list[str]:
    """Return `count` different strings that mean nothing, for Table 10 of Liu et al. 2021.

    Every character is drawn uniformly from the letters a-z and the digits, the length from 3 to 12 characters (ours:
    the paper gives none).

    Args:
        count: How many.
        seed: Decides them; the first n of any count are the same.
    """
    draw = Random(xxhash.xxh64_intdigest(f"{seed}|random strings".encode()))
    strings: dict[str, None] = {}
    while len(strings) < count:
        strings["".join(draw.choices(CHARACTERS, k=draw.randint(SHORTEST, LONGEST)))] = None
    return list(strings)
