"""Write the training text of the starter models, with every evaluation sentence removed.

    python recipes/starter_text.py --data ../shared/data --out build/starter

Captions come from Multi30k, everyday sentences from Tatoeba (CC BY 2.0 FR). A sentence that occurs in any
evaluation set, dev or test, ignoring case, spaces and punctuation, is dropped on either side of a pair, and so
are 1,000 Tatoeba sentences for each language that the translation models are later scored on.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import io
import json
import random
import zipfile
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

Pair = tuple[str, str]

LANGUAGES = {"de": "deu", "fr": "fra"}
HELD_OUT = 1_000
CAPTION_REPEATS = 3
"""How often the captions are repeated beside Tatoeba, which has six times as many pairs."""

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
    return {folded(field) for path in files for name, text in members(path) for field in fields(name, text)} - {""}


def lines(path: Path) -> list[str]:
    """Read a gzipped text file."""
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return [" ".join(line.split()) for line in file]


def captions(data: Path, language: str) -> list[Pair]:
    """Return Multi30k's 29,000 training captions as (English, other language)."""
    folder = data / "parallel" / "multi30k"
    return list(zip(lines(folder / "train.en.gz"), lines(folder / f"train.{language}.gz"), strict=True))


def tatoeba(data: Path, language: str) -> list[Pair]:
    """Return Tatoeba's pairs as (English, other language)."""
    path = data / "parallel" / "tatoeba-manythings" / f"eng-{LANGUAGES[language]}.tsv.gz"
    with gzip.open(path, "rt", encoding="utf-8") as file:
        rows = (line.rstrip("\n").split("\t") for line in file)
        return [(" ".join(row[0].split()), " ".join(row[1].split())) for row in rows]


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
        pairs = without(tatoeba(options.data, language), banned)
        english = sorted({source for source, _ in pairs} - {source for source, _ in captions(options.data, language)})
        chosen = set(random.Random(language).sample(english, HELD_OUT))
        scored = [pair for pair in pairs if pair[0] in chosen]
        held_out |= {folded(side) for pair in scored for side in pair}
        everyday[language] = pairs
        write_pairs(options.out / f"held-out.en-{language}.tsv", scored)
    banned |= held_out
    out_of, into, monolingual = [], [], set[str]()
    for language in LANGUAGES:
        kept = without(everyday[language], banned)
        images = without(captions(options.data, language), banned)
        print(f"{language}: {len(kept):,} Tatoeba pairs, {len(images):,} of 29,000 captions kept")
        mixture = kept + images * CAPTION_REPEATS
        out_of += [(f">>{language}<< {source}", target) for source, target in mixture]
        into += [(target, source) for source, target in mixture]
        monolingual |= {source for source, _ in kept + images}
    for number in range(1, 6):
        monolingual |= set(lines(options.data / "corpora" / "multi30k-task2" / f"train.{number}.en.gz"))
    english_text = sorted(text for text in monolingual if folded(text) not in banned)
    write_pairs(options.out / "en-xx.tsv", out_of)
    write_pairs(options.out / "xx-en.tsv", into)
    (options.out / "english.txt").write_text("\n".join(english_text) + "\n", encoding="utf-8")
    print(f"{len(out_of):,} pairs each way, {len(english_text):,} English sentences")


if __name__ == "__main__":
    main()
