"""WordNet 3.0, wherever it lies: found, read in place, and opened for NLTK's reader."""

from __future__ import annotations

import hashlib
import io
import os
import warnings
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from augment.errors import InputError

if TYPE_CHECKING:
    from nltk.corpus.reader.api import CorpusReader
    from nltk.corpus.reader.wordnet import WordNetCorpusReader

ENVIRONMENT = "TWINVIEWS_WORDNET"
DEBIAN_FOLDER = Path("/usr/share/wordnet")
PARTS = ("adj", "adv", "noun", "verb")
NEEDED = (
    "cntlist.rev",
    *(f"{kind}.{part}" for kind in ("data", "index") for part in PARTS),
    *(f"{p}.exc" for p in PARTS),
)
"""The files that decide what WordNet says."""

_LEXNAMES = """
adj.all adj.pert adv.all noun.Tops noun.act noun.animal noun.artifact noun.attribute noun.body noun.cognition
noun.communication noun.event noun.feeling noun.food noun.group noun.location noun.motive noun.object
noun.person noun.phenomenon noun.plant noun.possession noun.process noun.quantity noun.relation noun.shape
noun.state noun.substance noun.time verb.body verb.change verb.cognition verb.communication verb.competition
verb.consumption verb.contact verb.creation verb.emotion verb.motion verb.perception verb.possession
verb.social verb.stative verb.weather adj.ppl
"""
LEXNAMES = tuple(_LEXNAMES.split())
"""The 45 lexicographer files in WordNet's own order (lexnames(5WN)); Debian's package leaves the table out."""
_PART_NUMBERS = {"noun": 1, "verb": 2, "adj": 3, "adv": 4}

HOW_TO_GET_IT = f"run `augment wordnet --provide`, or install Debian's wordnet-base, or set {ENVIRONMENT} to its folder"


@dataclass(frozen=True, slots=True)
class WordNetLocation:
    """Where WordNet lies, a folder or NLTK's archive, and where it came from, in words."""

    path: Path
    origin: str


def locate() -> WordNetLocation:
    """Find WordNet in TWINVIEWS_WORDNET, the folders of NLTK data, the user's cache, or Debian's /usr/share/wordnet.

    Raises:
        InputError: It is nowhere, TWINVIEWS_WORDNET names a folder without it, or an archive is damaged.
    """
    named = os.environ.get(ENVIRONMENT)
    if named:
        for folder in (Path(named), Path(named) / "corpora" / "wordnet"):
            if _is_whole(folder):
                return WordNetLocation(folder.resolve(), ENVIRONMENT)
        raise InputError(f"{ENVIRONMENT}={named}: no WordNet there (a data.noun and its sisters); {HOW_TO_GET_IT}")
    for folder, origin in _candidates():
        for place in (folder, folder.with_suffix(".zip")):
            if _is_whole(place):
                return WordNetLocation(place.resolve(), origin)
    raise InputError(f"WordNet was not found: {HOW_TO_GET_IT}")


def find() -> Path:
    """The folder or archive of WordNet; raises InputError like `locate`."""
    return locate().path


@lru_cache(maxsize=1)
def reader() -> WordNetCorpusReader:
    """NLTK's WordNetCorpusReader on what `find` gives; opened once in a process (about two seconds)."""
    return open_reader(None)


def open_reader(multilingual: CorpusReader | None) -> WordNetCorpusReader:
    """A reader of its own on what `find` gives, with the tables of the Open Multilingual WordNet or None.

    Files are read into memory, wherever they lie and whether or not they are links, about which NLTK is strict.
    """
    place = find()
    import nltk.data
    from nltk.corpus.reader.wordnet import WordNetCorpusReader

    class File(io.StringIO):
        def discard_line(self) -> None:
            self.readline()

    class Reader(WordNetCorpusReader):  # type: ignore[misc]
        def open(self, file: str) -> File:
            return File(lexnames() if file == "lexnames" else _read(place, file))

        def map_wn(self, version: str = "wordnet") -> None:
            """No map from WordNet 3.0, in whose offsets OMW counts: this is it."""

    if str(place.parent) not in nltk.data.path:
        # NLTK wants the root of a reader below its data folders.
        nltk.data.path.append(str(place.parent))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return Reader(str(place), multilingual)


@lru_cache(maxsize=4)
def revision(place: Path) -> str:
    """Twelve hex digits that say which WordNet this is: sha256 over its data, index, count and exception files."""
    digest = hashlib.sha256()
    for name in sorted(NEEDED):
        digest.update(name.encode() + b"\0" + hashlib.sha256(_read(place, name).encode()).digest())
    return digest.hexdigest()[:12]


def exceptions(place: Path, part: str) -> dict[str, list[str]]:
    """WordNet's exception list of a part ("noun", "verb", "adj", "adv"): irregular form -> its lemmas."""
    lines = _read(place, f"{part}.exc").splitlines()
    return {form: lemmas for form, *lemmas in (line.split() for line in lines) if lemmas}


def sense_counts(place: Path) -> dict[str, int]:
    """How often each sense was seen in WordNet's tagged texts, by sense key; senses never seen are not there."""
    lines = _read(place, "cntlist.rev").splitlines()
    return {key: int(count) for key, _, count in (line.split() for line in lines)}


def cache_folder() -> Path:
    """Twinviews' folder in the user's cache (XDG_CACHE_HOME, else ~/.cache)."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "twinviews"


def cached_wordnet() -> Path:
    """Where WordNet lies in the user's cache, if it was provided; an archive has the same name with `.zip`."""
    return cache_folder() / "corpora" / "wordnet"


def _candidates() -> Iterator[tuple[Path, str]]:
    listed = [Path(part) for part in os.environ.get("NLTK_DATA", "").split(os.pathsep) if part]
    yield from ((folder / "corpora" / "wordnet", f"NLTK data in {folder}") for folder in listed)
    yield cached_wordnet(), "user cache"
    import nltk.data

    folders = [Path(str(folder)) for folder in nltk.data.path]
    yield from ((folder / "corpora" / "wordnet", f"NLTK data in {folder}") for folder in folders)
    yield DEBIAN_FOLDER, "Debian wordnet-base"


def _is_whole(place: Path) -> bool:
    """Whether a folder holds WordNet, or a file is NLTK's archive of it; raises InputError if that is damaged."""
    if place.suffix != ".zip":
        return all((place / name).is_file() for name in NEEDED)
    try:
        with zipfile.ZipFile(place) as archive:
            lacking = {f"wordnet/{name}" for name in NEEDED} - set(archive.namelist())
    except FileNotFoundError:
        return False
    except (OSError, zipfile.BadZipFile) as error:
        raise InputError(f"{place}: not a whole WordNet ({error}); delete it, then {HOW_TO_GET_IT}") from None
    if lacking:
        raise InputError(f"{place}: not a whole WordNet (no {min(lacking)}); delete it, then {HOW_TO_GET_IT}")
    return True


def _read(place: Path, name: str) -> str:
    """A file of WordNet, which is ASCII: its offsets in bytes count characters as well."""
    if place.suffix != ".zip":
        return (place / name).read_text(encoding="utf-8")
    with zipfile.ZipFile(place) as archive:
        return archive.read(f"wordnet/{name}").decode()


def lexnames() -> str:
    """WordNet's table of lexicographer files, which NLTK's reader asks for."""
    return "".join(f"{i:02d}\t{name}\t{_PART_NUMBERS[name.split('.')[0]]}\n" for i, name in enumerate(LEXNAMES))
