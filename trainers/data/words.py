"""Words to train on: a list in a file, or the most frequent ones of a language."""

import re
from pathlib import Path

from pipelines.console import InputError
from trainers.data.examples import file_lines

MOST_FREQUENT = 10_000
"""How many words of a language are taken unless another number is given, as in Mirror-BERT."""


def read_words(written: str) -> list[str]:
    """Return the words that `FILE` or `LANG` name, most frequent first, `:N` of them or those from rank `:FROM-TO`.

    Args:
        written: A word list, one word a line (`names.txt`), or a language of the wordfreq package (`en`), of which
            10,000 are taken. `en:5000` and `names.txt:5000` are the first 5,000, `en:10001-20000` the second 10,000.

    Raises:
        InputError: No such file or language, or fewer words than asked for.
    """
    name, first, last = written, 1, 0
    match = re.fullmatch(r"(.+):(?:(\d+)-)?(\d+)", written)
    if match is not None and not Path(written).is_file():
        name, first, last = match[1], int(match[2] or 1), int(match[3])
    if Path(name).is_file():
        words = [word for line in file_lines(Path(name)) if (word := line.strip())]
    else:
        import wordfreq

        # wordfreq itself would take a related language instead, or English.
        known = wordfreq.available_languages()
        if name not in known:
            raise InputError(f"--words {written}: no file {name!r}, and no language of {', '.join(sorted(known))}")
        words = wordfreq.top_n_list(name, last or MOST_FREQUENT)
    last = last or len(words)
    if not 1 <= first <= last <= len(words):
        raise InputError(f"--words {written}: {name} has no words {first} to {last}, only {len(words):,} words")
    return words[first - 1 : last]
