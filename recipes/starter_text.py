"""Write the training text of the starter models, with every evaluation sentence removed.

    python recipes/starter_text.py --data ../shared/data --out build/starter

Parallel text comes from the corpora in `CORPORA`: everyday sentences whose licences allow commercial use and
derivatives. English text alone is theirs and Wikipedia's (CC BY-SA 3.0). A sentence that occurs in any evaluation set,
dev or test, ignoring case, spaces and punctuation, is dropped on either side of a pair, and so are 1,000 Tatoeba
sentences for each language that the translation models are later scored on.

Some pairs are changed on both sides alike, so that the models meet what such text lacks: names are exchanged for
others, numbers for other numbers, final stops dropped, text lower-cased.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import io
import json
import random
import re
import zipfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

Pair = tuple[str, str]

LANGUAGES = {"de": "deu", "fr": "fra"}
HELD_OUT = 1_000


@dataclass(frozen=True, slots=True)
class Corpus:
    """Parallel text `folder/eng-LANGUAGE*.tsv.gz`, and how often each of its pairs is taken, by language."""

    folder: str
    repeats: dict[str, float]
    file: str = "eng-{}.train.tsv.gz"


TATOEBA = Corpus("tatoeba-manythings", {"de": 1, "fr": 1}, file="eng-{}.tsv.gz")
CORPORA = (
    TATOEBA,  # CC BY 2.0 FR
    Corpus("bcontrast", {"de": 1}),  # CC BY-SA 4.0
)
WIKIPEDIA = "corpora/wikipedia-en-2018-new-articles.txt.gz"
NAME = re.compile(r"[A-Z][a-z]{2,}")
NUMBER = re.compile(r"\d+")
RENAMED, RENUMBERED, UNSTOPPED, LOWERED = 0.5, 0.5, 0.15, 0.05
"""Shares of the pairs that are changed in each way, of those that can be."""

EVALUATION = (
    "sts",
    "sts17",
    "senteval",
    "qnli",
    "qqp",
    "nli",
    "afs",
    "parallel/iwslt17",
    "parallel/newstest",
    "parallel/ntrex",
    "parallel/tatoeba-challenge",
    "parallel/tico19",
    "parallel/wmt21-22",
)
EVALUATION_FILES = (
    "parallel/multi30k/val.*",
    "parallel/multi30k/test_*",
    "parallel/flores101/*devtest*",
    "parallel/*/*.dev.*",
    "parallel/*/*.test*",
)


def folded(text: str) -> str:
    """Return `text` without case, spaces and punctuation: the key under which sentences are compared."""
    return "".join(char for char in text.casefold() if char.isalnum())


def decoded(raw: bytes) -> str:
    """Decode UTF-8, or latin-1 where a published file (TREC) is in it."""
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        return raw.decode("latin-1")


def members(path: Path) -> Iterator[tuple[str, str]]:
    """Yield (name, text) for a plain file, a gzipped one, or each file of a zip archive."""
    if path.suffix == ".zip":
        with zipfile.ZipFile(path) as archive:
            for name in archive.namelist():
                if not name.endswith("/"):
                    yield name, decoded(archive.read(name))
    else:
        raw = path.read_bytes()
        yield path.name, decoded(gzip.decompress(raw) if path.suffix == ".gz" else raw)


def strings(value: object) -> Iterator[str]:
    """Yield every string inside a JSON value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from strings(item)
    elif isinstance(value, list):
        for item in value:
            yield from strings(item)


def fields(name: str, text: str) -> Iterator[str]:
    """Yield every field of a file that could be a sentence: lines, tab fields, CSV cells, JSON strings."""
    for line in text.splitlines():
        if line.startswith("{"):
            with suppress(json.JSONDecodeError):
                yield from strings(json.loads(line))
        yield line
        yield from line.split("\t")
        label, _, rest = line.partition(" ")
        if ":" in label:
            yield rest
    if name.endswith(".csv"):
        for row in csv.reader(io.StringIO(text)):
            yield from row


def evaluation_keys(data: Path) -> set[str]:
    """Return the folded form of everything in the evaluation sets below `data`."""
    files = {path for folder in EVALUATION for path in (data / folder).rglob("*") if path.is_file()}
    files |= {path for pattern in EVALUATION_FILES for path in data.glob(pattern)}
    return {
        folded(field) for path in files for name, text in members(path) for field in fields(name, text)
    } - {""}


def lines(path: Path) -> list[str]:
    """Read a gzipped text file."""
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return [" ".join(line.split()) for line in file]


def read(data: Path, corpus: Corpus, language: str) -> list[Pair]:
    """Return a corpus's pairs as (English, other language)."""
    with gzip.open(
        data / "parallel" / corpus.folder / corpus.file.format(LANGUAGES[language]), "rt", encoding="utf-8"
    ) as file:
        rows = [[" ".join(field.split()) for field in line.split("\t")] for line in file]
    return [(row[0], row[1]) for row in rows]


def names(data: Path) -> list[str]:
    """Return the capitalised words that Wikipedia's sentences hold after their first word and never in lower case."""
    words: set[str] = set()
    lower: set[str] = set()
    for line in lines(data / WIKIPEDIA):
        rest = line.split()[1:]
        words.update(word for word in rest if NAME.fullmatch(word))
        lower.update(word for word in rest if word.islower())
    return sorted(word for word in words if word.lower() not in lower)


def both_sides(pair: Pair, change: Callable[[str], str]) -> Pair:
    """Return the pair with both sides changed."""
    return change(pair[0]), change(pair[1])


def changed(pair: Pair, known: frozenset[str], pool: Sequence[str], draw: random.Random) -> Pair:
    """Return a pair with some names, numbers, stops and capitals changed on both sides alike."""
    both = set(NAME.findall(pair[0])) & set(NAME.findall(pair[1])) & known
    swaps = {name: draw.choice(pool) for name in sorted(both) if draw.random() < RENAMED}
    digits = set(NUMBER.findall(pair[0])) & set(NUMBER.findall(pair[1]))
    swaps |= {
        number: str(draw.randrange(10 ** (len(number) - 1), 10 ** len(number)))
        for number in sorted(digits)
        if draw.random() < RENUMBERED
    }
    if swaps:
        found = re.compile(r"\b(?:" + "|".join(map(re.escape, swaps)) + r")\b")
        pair = both_sides(pair, lambda side: found.sub(lambda match: swaps[match.group()], side))
    if all(side.endswith(".") for side in pair) and draw.random() < UNSTOPPED:
        pair = both_sides(pair, lambda side: side[:-1].rstrip())
    if draw.random() < LOWERED:
        pair = both_sides(pair, str.lower)
    return pair


def repeated(pairs: Sequence[Pair], times: float, draw: random.Random) -> list[Pair]:
    """Return each pair `times` times; a fraction is a share drawn at random."""
    whole = int(times)
    return list(pairs) * whole + draw.sample(pairs, round(len(pairs) * (times - whole)))


def without(pairs: Iterable[Pair], banned: set[str]) -> list[Pair]:
    """Drop the pairs of which either side is banned."""
    return [pair for pair in pairs if folded(pair[0]) not in banned and folded(pair[1]) not in banned]


def write_pairs(path: Path, pairs: Iterable[Pair]) -> None:
    """Write `source<TAB>target` lines."""
    path.write_text("".join(f"{source}\t{target}\n" for source, target in pairs), encoding="utf-8")


def main() -> None:
    """Write the text of all starter models below --out and print what was dropped."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)

    banned = evaluation_keys(options.data)
    print(f"{len(banned):,} distinct evaluation strings")
    everyday: dict[str, list[Pair]] = {}
    held_out: set[str] = set()
    for language in LANGUAGES:
        pairs = without(read(options.data, TATOEBA, language), banned)
        chosen = set(random.Random(language).sample(sorted({source for source, _ in pairs}), HELD_OUT))
        scored = [pair for pair in pairs if pair[0] in chosen]
        held_out |= {folded(side) for pair in scored for side in pair}
        everyday[language] = pairs
        write_pairs(options.out / f"held-out.en-{language}.tsv", scored)
    banned |= held_out
    pool = names(options.data)
    known = frozenset(pool) | {"Tom", "Mary", "John"}
    out_of, into = [], []
    monolingual = set(lines(options.data / WIKIPEDIA))
    for language in LANGUAGES:
        draw = random.Random(language)
        for corpus in CORPORA:
            if language not in corpus.repeats:
                continue
            kept = without(
                everyday[language] if corpus is TATOEBA else read(options.data, corpus, language), banned
            )
            monolingual |= {source for source, _ in kept}
            taken = [
                changed(pair, known, pool, draw) for pair in repeated(kept, corpus.repeats[language], draw)
            ]
            print(f"{language} {corpus.folder}: {len(kept):,} pairs, {len(taken):,} taken")
            out_of += [(f">>{language}<< {source}", target) for source, target in taken]
            into += [(target, source) for source, target in taken]
    for name, pairs in (("en-xx", out_of), ("xx-en", into)):
        write_pairs(options.out / f"{name}.tsv", pairs)
    english = sorted(text for text in monolingual if folded(text) not in banned)
    (options.out / "english.txt").write_text("\n".join(english) + "\n", encoding="utf-8")
    print(f"{len(out_of):,} pairs each way, {len(english):,} English sentences")


if __name__ == "__main__":
    main()
