"""WordNet 3.0: found, read in place, and opened for NLTK's reader."""

import hashlib
import io
import os
import warnings
import zipfile
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from augment.errors import InputError
from augment.weights import cache_folder
from augment.words import word_list

if TYPE_CHECKING:
    from nltk.corpus.reader.api import CorpusReader
    from nltk.corpus.reader.wordnet import WordNetCorpusReader

ENVIRONMENT = "TWINVIEWS_WORDNET"
DEBIAN_FOLDER = Path("/usr/share/wordnet")
BELOW = Path("corpora", "wordnet")
"""WordNet's place in a folder of NLTK data."""
PARTS = {"noun": 1, "verb": 2, "adj": 3, "adv": 4}
"""WordNet's parts of speech: their names in its files, and their numbers."""
NEEDED = ("cntlist.rev", *(name for part in PARTS for name in (f"data.{part}", f"index.{part}", f"{part}.exc")))
"""The files that decide what WordNet says."""
HOW_TO_GET_IT = (
    f"run `python -m nltk.downloader wordnet`, or install Debian's wordnet-base, or set {ENVIRONMENT} to its folder"
)


def find() -> Path:
    """WordNet's folder, or NLTK's archive of it.

    It is looked for in TWINVIEWS_WORDNET if that is set, else in the folders of NLTK data, in the user's cache, and in
    Debian's /usr/share/wordnet. Raises InputError if it is not found.
    """
    import nltk.data

    named = os.environ.get(ENVIRONMENT)
    if named:
        places = [Path(named), Path(named) / BELOW]
    else:
        folders = [*(Path(str(folder)) / BELOW for folder in nltk.data.path), cached_wordnet()]
        places = [place for folder in folders for place in (folder, folder.with_suffix(".zip"))] + [DEBIAN_FOLDER]
    for place in places:
        if _is_whole(place):
            return place.resolve()
    lead = f"{ENVIRONMENT}={named}: no WordNet there" if named else "WordNet was not found"
    raise InputError(f"{lead}: {HOW_TO_GET_IT}")


def cached_wordnet() -> Path:
    """WordNet's place in the user's cache."""
    return cache_folder() / BELOW


@lru_cache(maxsize=2)
def reader(multilingual: "CorpusReader | None" = None) -> "WordNetCorpusReader":
    """NLTK's reader of the WordNet that `find` gives, alone or with OMW's tables; opened once in a process (2 s).

    Files are read into memory, from a folder, an archive or through links; NLTK itself refuses links.
    """
    import nltk.data
    from nltk.corpus.reader.wordnet import WordNetCorpusReader

    place = find()

    class File(io.StringIO):
        def discard_line(self) -> None:
            self.readline()

    class Reader(WordNetCorpusReader):  # type: ignore[misc]
        def open(self, file: str) -> File:
            return File(lexnames() if file == "lexnames" else _read(place, file))

        def map_wn(self, version: str = "wordnet") -> None:
            """OMW has the offsets of WordNet 3.0, so nothing needs mapping."""

    if str(place.parent) not in nltk.data.path:
        # NLTK wants the root of a reader below its data folders.
        nltk.data.path.append(str(place.parent))
    with warnings.catch_warnings(action="ignore"):
        return Reader(str(place), multilingual)


@lru_cache(maxsize=4)
def revision(place: Path) -> str:
    """Twelve hex digits that identify a WordNet: sha256 over its data, index, count and exception files."""
    digest = hashlib.sha256()
    for name in sorted(NEEDED):
        digest.update(name.encode() + b"\0" + hashlib.sha256(_read(place, name).encode()).digest())
    return digest.hexdigest()[:12]


def exceptions(place: Path, part: str) -> dict[str, list[str]]:
    """WordNet's exception list of a part ("noun", "verb", "adj", "adv"): irregular form -> its lemmas."""
    lines = _read(place, f"{part}.exc").splitlines()
    return {form: lemmas for form, *lemmas in (line.split() for line in lines) if lemmas}


def sense_counts(place: Path) -> dict[str, int]:
    """How often each sense occurs in WordNet's tagged texts, by sense key; without senses that never occur."""
    lines = _read(place, "cntlist.rev").splitlines()
    return {key: int(count) for key, _, count in (line.split() for line in lines)}


def lexnames() -> str:
    """WordNet's table of lexicographer files, which NLTK's reader needs and Debian's package lacks."""
    names = enumerate(word_list("lexnames"))
    return "".join(f"{number:02d}\t{name}\t{PARTS[name.partition('.')[0]]}\n" for number, name in names)


def _root(place: Path) -> Path | zipfile.Path:
    return zipfile.Path(place, "wordnet/") if place.suffix == ".zip" else place


def _is_whole(place: Path) -> bool:
    """Whether WordNet is there, in a folder or in NLTK's archive."""
    try:
        return all((_root(place) / name).is_file() for name in NEEDED)
    except (OSError, zipfile.BadZipFile):
        return False


def _read(place: Path, name: str) -> str:
    """A file of WordNet; it is ASCII, so its offsets in bytes are also offsets in characters."""
    return (_root(place) / name).read_text(encoding="utf-8")
