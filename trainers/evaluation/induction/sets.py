"""The pairs of languages of xling-eval (Glavas et al. 2019) below a data folder."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

from pipelines.console import InputError
from trainers.evaluation.folders import usual_folders
from trainers.evaluation.graded import file_sha256
from trainers.evaluation.induction.task import LexiconPair
from trainers.evaluation.lines import file_lines
from trainers.evaluation.task import MARK, Missing

PARENTS = ("", "lexical", "data")
FOLDERS = ("xling-eval", "xling-eval/bli_datasets", "bli_datasets")
WHERE = "https://github.com/codogogo/xling-eval (bli_datasets)"
REPORTED = ("en-fr", "en-it", "en-ru", "en-tr", "it-fr", "ru-fr")
"""The pairs of Mirror-BERT's Table 6, in its order."""
PAIRS = tuple(f"{one}-{two}" for one, two in combinations(("de", "en", "fi", "hr", "it", "ru", "tr", "fr"), 2))
DICTIONARIES = (
    "candidates are the words of the dictionaries alone (how many: see the parts), papers retrieve among a large "
    "vocabulary, usually 200,000 words: an easier task, not to be compared with their rows"
)
SIZES = {"train.freq.5k": 5000, "test.freq.2k": 2000}


def read_pairs(data: Path) -> tuple[list[LexiconPair], list[Missing]]:
    """Read every pair of languages that is there; those of Mirror-BERT first, and the only ones that are averaged.

    A pair is read the other way round where only that is there, and is then in no average.

    Raises:
        InputError: A file is malformed, or a count is not the published one.
    """
    roots = usual_folders(FOLDERS, data, PARENTS)
    root = next((folder for folder in roots if any(_folder(folder, pair) for pair in REPORTED)), None)
    root = root or next(iter(roots), None)
    found = []
    others: list[str] = []
    missing = []
    spelled = [*REPORTED, *(pair for pair in PAIRS if not {pair, _turned(pair)} & set(REPORTED))]
    for pair in spelled:
        place = next((folder for name in (pair, _turned(pair)) if root and (folder := _folder(root, name))), None)
        if place is not None and root is not None:
            found.append(_read(place, place.name, root, counted=place.name in REPORTED))
        if pair in REPORTED and (place is None or place.name != pair):
            reason = f"no xling-eval/{pair}/yacle.*.{pair}.tsv below {data}"
            missing.append(Missing(f"bli-{pair}", f"BLI {pair}", reason, WHERE))
        elif place is None:
            others.append(pair)
    if others:
        reason = f"no {', '.join(others)} below {root or data} (in no average)"
        missing.append(Missing("bli-others", "BLI, other pairs", reason, WHERE))
    return found, missing


def _turned(pair: str) -> str:
    return "-".join(reversed(pair.split("-")))


def _folder(root: Path, pair: str) -> Path | None:
    folder = root / pair
    return folder if all((folder / f"yacle.{part}.{pair}.tsv").is_file() for part in SIZES) else None


def _read(folder: Path, pair: str, root: Path, *, counted: bool) -> LexiconPair:
    paths = [folder / f"yacle.{part}.{pair}.tsv" for part in SIZES]
    train, test = (_entries(path, size) for path, size in zip(paths, SIZES.values(), strict=True))
    vocabularies = [root / "vocabulary" / f"{language}.txt" for language in pair.split("-")]
    given = [path if path.is_file() else None for path in vocabularies]
    words = [
        dict.fromkeys([*(entry[side] for entry in [*train, *test]), *(_words(path) if path else [])])
        for side, path in enumerate(given)
    ]
    source, target = ({word: row for row, word in enumerate(side)} for side in words)
    translations: dict[int, dict[int, None]] = {}
    for one, two in test:
        translations.setdefault(source[one], {})[target[two]] = None
    read = [*paths, *(path for path in given if path)]
    return LexiconPair(
        f"bli-{pair}",
        f"BLI {pair}",
        tuple(source),
        tuple(target),
        tuple((source[one], target[two]) for one, two in train),
        {word: tuple(rows) for word, rows in translations.items()},
        str(folder),
        {f"{path.parent.name}/{path.name}": file_sha256(path) for path in read},
        note=_note(pair, given[1]),
        counted=counted,
    )


def _note(pair: str, vocabulary: Path | None) -> str:
    if vocabulary:
        note = f"candidates are the words of {vocabulary.name} and of the dictionaries"
    else:
        note = f"{MARK}{DICTIONARIES}"
    return f"{note}; papers report {_turned(pair)}: not averaged" if _turned(pair) in REPORTED else note


def _entries(path: Path, size: int) -> list[tuple[str, str]]:
    entries = []
    for number, line in enumerate(file_lines(path), 1):
        fields = [field.strip().lower() for field in line.split("\t")]
        if len(fields) != 2 or not all(fields):
            raise InputError(f"{path} line {number}: expected a word and its translation, got {line[:60]!r}")
        entries.append((fields[0], fields[1]))
    if len(entries) != size:
        raise InputError(f"{path}: {len(entries)} pairs of words, expected {size}: get the original file again")
    return entries


def _words(path: Path) -> list[str]:
    words = [word for line in file_lines(path) if (word := line.strip().lower())]
    odd = next((word for word in words if len(word.split()) > 1), None)
    if not words or odd:
        raise InputError(f"{path}: expected a word a line, got {odd[:60] if odd else 'nothing'!r}")
    return words
