"""A parallel table for `train distil --preset language`, from a folder of public parallel texts.

    python benchmarks/language_pairs.py --data DIR --language de --out pairs.csv [--rows N]
    python benchmarks/language_pairs.py --data DIR --search --out search.csv

It takes all texts of DIR/parallel that pair English with the language (eng-deu, .en and .de, and so on), except
software manuals, debates, and what a figure in docs/language.md is measured on: translated STS-B and xquad-mlqa. A
pair with a sentence of STS-B's dev or test set in any of its languages, case, spaces and punctuation aside, is left
out, and so is one of more than 160 characters of English. The rows are shuffled with a fixed seed. Spanish and Russian
have only the training side of translated STS-B (by machine), whose English is that of the training set.

With --search it writes a table for `--judge` instead: 1,588 German texts of xquad-mlqa as queries, questions and
sentences of Wikipedia, and the English texts that they were translated from or to as the documents to find.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import random
import re
from collections.abc import Iterator
from pathlib import Path

CODES = {"de": "deu", "fr": "fra"}
LEFT_OUT = {
    "stsb-mt-train",
    "xquad-mlqa",
    "microsoft-docs",
    "php-manual",
    "python-docs",
    "gnome-user-docs",
    "debian-handbook",
    "europarl-concodisco",
}
MOST_CHARACTERS = 160
Pair = tuple[str, str]


def plain(text: str) -> str:
    """Return a text's letters and digits in lower case."""
    return re.sub(r"\W+", "", text.lower())


def lines(path: Path) -> list[str]:
    """Return the lines of a gzipped file."""
    with gzip.open(path, "rt", encoding="utf-8") as stream:
        return stream.read().split("\n")


def read_stsb(data: Path, language: str, split: str) -> list[str]:
    """Return the sentences of translated STS-B, in the order of its rows."""
    with (data / "sts" / "stsb-multi-mt" / f"stsb-{language}-{split}.csv").open(
        encoding="utf-8", newline=""
    ) as stream:
        return [text for row in csv.reader(stream) for text in row[:2]]


def judged(data: Path) -> set[str]:
    """Return the sentences that figures are measured on, plain."""
    names = sorted(path.stem for path in (data / "sts" / "stsb-multi-mt").glob("stsb-*-*.csv"))
    parts = [name.split("-")[1:] for name in names if not name.endswith("train")]
    return {plain(text) for language, split in parts for text in read_stsb(data, language, split)}


def read_parallel(folder: Path, language: str) -> Iterator[Pair]:
    """Yield the pairs of all texts in English and the language, by name."""
    code = CODES[language]
    for path in sorted(folder.rglob("*.gz")):
        if path.relative_to(folder).parts[0] in LEFT_OUT:
            continue
        if f"eng-{code}" in path.name:
            rows = (line.split("\t") for line in lines(path))
            yield from ((row[0], row[1]) for row in rows if len(row) > 1)
        for english, other in (
            (".eng.", f".{code}."),
            (".en.", f".{language}."),
            ("src.eng.", f"ref.{code}."),
        ):
            translated = path.with_name(path.name.replace(english, other))
            if english in path.name and translated != path and translated.is_file():
                yield from zip(lines(path), lines(translated), strict=True)


def usable(pairs: Iterator[Pair], held_out: set[str]) -> list[Pair]:
    """Return the distinct pairs that are short and have no sentence that is judged."""
    rows: dict[Pair, Pair] = {}
    for english, translated in pairs:
        key = plain(english), plain(translated)
        if all(key) and not held_out.intersection(key) and len(english) <= MOST_CHARACTERS:
            rows.setdefault(key, (english.strip(), translated.strip()))
    return list(rows.values())


def main() -> None:
    """Write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--language", default="de")
    parser.add_argument("--search", action="store_true")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--rows", type=int)
    given = parser.parse_args()
    if given.search:
        table = given.data / "parallel" / "xquad-mlqa" / "eng-deu.train.tsv.gz"
        sides = (line.split("\t") for line in lines(table) if line)
        write(given.out, ["query", "document"], [(german, english) for english, german in sides])
        return
    if given.language in CODES:
        pairs = read_parallel(given.data / "parallel", given.language)
    else:
        english, translated = (read_stsb(given.data, language, "train") for language in ("en", given.language))
        pairs = zip(english, translated, strict=True)
    rows = usable(pairs, judged(given.data))
    random.Random(1).shuffle(rows)
    write(given.out, ["en", given.language], rows[: given.rows])


def write(path: Path, header: list[str], rows: list[Pair]) -> None:
    """Write a table, and say how long it is."""
    with path.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerows([header, *rows])
    print(f"{len(rows):,} pairs in {path}")


if __name__ == "__main__":
    main()
