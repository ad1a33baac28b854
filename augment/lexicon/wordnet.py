"""WordNet 3.0: finding it, reading it in place, and opening it with NLTK's reader, which nlpaug uses."""

import hashlib
import io
import os
import re
import sys
import warnings
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from augment.errors import InputError
from augment.models.weights import cache_folder, check_revision, revision_of
from augment.text.words import word_list

if TYPE_CHECKING:
    from nltk.corpus.reader.wordnet import WordNetCorpusReader

VARIABLE = "TWINVIEWS_WORDNET"
DEBIAN_FOLDER = Path("/usr/share/wordnet")
SYSTEM_FOLDERS = ("/usr/share", "/usr/local/share", "/usr/lib", "/usr/local/lib")
"""Folders above those of NLTK data, beside the user's and Python's."""
NLTK_SUBFOLDER = Path("corpora", "wordnet")
"""WordNet's place in a folder of NLTK data."""
PARTS = ("noun", "verb", "adj", "adv")
"""WordNet's parts of speech, as its files name them."""
CONTENT_FILES = (
    "cntlist.rev",
    *(name for part in PARTS for name in (f"data.{part}", f"index.{part}", f"{part}.exc")),
)
"""The files that decide what WordNet says."""
_ENDINGS = {
    "n": "s: ses:s ves:f xes:x zes:z ches:ch shes:sh men:man ies:y",
    "v": "s: ies:y es:e es: ed:e ed: ing:e ing:",
    "a": "er: est: er:e est:e",
    "r": "",
}
ENDINGS = {part: [rule.split(":") for rule in rules.split()] for part, rules in _ENDINGS.items()}
"""WordNet's rules of detachment: the endings of forms, and those of their lemmas."""
UNWANTED_LABELS = frozenset(["ethnic_slur", "disparagement", "obscenity", "archaism", "dialect"])
"""WordNet's usage labels of words that do not belong in a corpus."""
UNWANTED_GLOSS = re.compile(
    r"\b(?:archaic|derogatory|disparaging|obscene|offensive|pejorative|vulgar)\b(?:[^;]*\bterms?\b| slang)"
    r"|\bterms? of contempt\b|\barchaic use\b"
)
EXAMPLE = re.compile('".*?"')
"""An example in a gloss."""
HOW_TO_GET_IT = (
    "run `python -m nltk.downloader wordnet`, or install Debian's wordnet-base, "
    f"or set {VARIABLE} to its folder"
)


def find() -> Path:
    """WordNet's folder, or NLTK's archive of it; raises InputError if there is none."""
    setting = os.environ.get(VARIABLE)
    if setting:
        places = [Path(setting), Path(setting) / NLTK_SUBFOLDER]
    else:
        folders = [folder / NLTK_SUBFOLDER for folder in (*map(Path, nltk_folders()), cache_folder())]
        places = [place for folder in folders for place in (folder, folder.with_suffix(".zip"))]
        places.append(DEBIAN_FOLDER)
    for place in places:
        if _has_wordnet(place):
            return place.resolve()
    problem = f"{VARIABLE}={setting}: no WordNet there" if setting else "WordNet was not found"
    raise InputError(f"{problem}: {HOW_TO_GET_IT}")


def nltk_folders() -> list[str]:
    """The folders of NLTK data, in order, without importing NLTK, which takes two seconds."""
    if "nltk" in sys.modules:  # whose list may have been changed
        import nltk.data

        return [*map(str, nltk.data.path)]
    own_folders = filter(None, os.environ.get("NLTK_DATA", "").split(os.pathsep))
    above = ("~", sys.prefix, f"{sys.prefix}/share", f"{sys.prefix}/lib", *SYSTEM_FOLDERS)
    return [*map(os.path.expanduser, [*own_folders, *(f"{folder}/nltk_data" for folder in above)])]


@cache
def reader() -> "WordNetCorpusReader":
    """NLTK's reader of the WordNet that `find` gives, in memory: NLTK refuses links."""
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
            """Nothing needs mapping to other versions of WordNet."""

    if str(place.parent) not in nltk.data.path:
        # NLTK wants the root of a reader below its data folders.
        nltk.data.path.append(str(place.parent))
    with warnings.catch_warnings(action="ignore"):
        return Reader(str(place), None)


@lru_cache(maxsize=4)
def revision(place: Path) -> str:
    """Twelve hex digits that identify a WordNet: sha256 over its data, index, count and exception files."""
    hashes = (
        (name.encode(), hashlib.sha256(_read(place, name).encode()).digest()) for name in sorted(CONTENT_FILES)
    )
    return revision_of(b"".join(name + b"\0" + digest for name, digest in hashes))


def check_english(view: str, language: str) -> None:
    """Raise InputError if a view is to be of another language."""
    if language != "en":
        raise InputError(f"{view}: language={language}: it has rules for en (English) only")


def held_revision(owner: str, expected: str | None) -> str:
    """The revision of WordNet and of LemmInflect; raises InputError if the owner's options expect another."""
    joined = f"{revision(find())}+lemminflect-{version('lemminflect')}"
    check_revision(f"{owner}: WordNet here has revision", joined, expected, "install that one")
    return joined


class Entry(NamedTuple):
    """A word of a synset as WordNet spells it ("ice_cream"), and how often its tagged texts use it."""

    name: str
    uses: int


@dataclass(frozen=True, slots=True, eq=False)
class Synset:
    """Words that share a sense, and whether it is one of slurs, obscenities, or words out of use.

    Compared by `is`.
    """

    entries: list[Entry]
    unwanted: bool


class WordNet:
    """The synsets of one WordNet, parsed at their first use, several times as fast as by NLTK.

    Parts: n, v, a, r.
    """

    def __init__(self, place: Path) -> None:
        self._index: dict[str, dict[str, str]] = {}  # by part and lemma
        self._lines = {part: _read(place, f"data.{name}") for part, name in zip("nvar", PARTS, strict=True)}
        self.exceptions: dict[str, dict[str, list[str]]] = {}
        """By part and irregular form, its lemmas: mice -> mouse."""
        for part, name in zip("nvar", PARTS, strict=True):
            entries = (line.partition(" ") for line in _read(place, f"index.{name}").splitlines())
            # notes begin with a blank
            self._index[part] = {lemma: fields for lemma, _, fields in entries if lemma}
            lines = map(str.split, _read(place, f"{name}.exc").splitlines())
            self.exceptions[part] = {form: lemmas for form, *lemmas in lines if lemmas}
        counts = map(str.split, _read(place, "cntlist.rev").splitlines())
        self._uses = {key: int(uses) for key, _, uses in counts}
        self.names = frozenset().union(*self._index.values())
        """All entries in lower case, with "_" for blanks."""
        self.synset = cache(self._synset)

    def lemmas(self, word: str, part: str) -> list[str]:
        """The entries of a part that a lower-case word can be a form of, itself first (WordNet's `morphy`)."""
        forms = self.exceptions[part].get(word)
        if forms is None:
            forms = [word[: -len(old)] + new for old, new in ENDINGS[part] if word.endswith(old)]
        return [form for form in dict.fromkeys([word, *forms]) if form in self._index[part]]

    def senses(self, word: str, part: str) -> list[Synset]:
        """The synsets of a word and then of those that it can be a form of, the most frequent first."""
        return [
            self.synset(part, place)
            for lemma in self.lemmas(word, part)
            for place in self._places(lemma, part)
        ]

    def entries(self, name: str, part: str) -> Iterator[Entry]:
        """The entry of a lower-case name in each of its senses, in whatever case WordNet spells it."""
        for place in self._places(name, part):
            yield from (entry for entry in self.synset(part, place).entries if entry.name.lower() == name)

    def uses(self, name: str, part: str) -> int:
        """How often WordNet's tagged texts use a lower-case name."""
        return sum(entry.uses for entry in self.entries(name, part))

    def _places(self, name: str, part: str) -> list[int]:
        _, number, *fields = self._index[part].get(name, "- 0").split()
        return [*map(int, fields[len(fields) - int(number) :])]

    def _synset(self, part: str, place: int) -> Synset:
        head, _, gloss = self._line(part, place).partition("|")
        _, file, kind, number, *fields = head.split()
        words = [*zip(fields[::2], fields[1::2], strict=False)][: int(number, 16)]
        pointers = fields[2 * len(words) + 1 :][: 4 * int(fields[2 * len(words)])]
        key_end, is_unwanted = "::", UNWANTED_GLOSS.search(EXAMPLE.sub("", gloss)) is not None
        for symbol, target, target_part, ends in zip(*[iter(pointers)] * 4, strict=True):
            if symbol == ";u" and ends.startswith("00"):  # a label of the whole synset
                is_unwanted |= self._first(target_part, target)[0] in UNWANTED_LABELS
            elif symbol == "&" and kind == "s":  # sense keys of satellite adjectives name the head
                key_end = ":{}:{:02d}".format(*self._first(target_part, target))
        entries = []
        for word, number in words:
            name = word.partition("(")[0]
            key = f"{name.lower()}%{' nvars'.index(kind)}:{file}:{int(number, 16):02d}{key_end}"
            entries.append(Entry(name, self._uses.get(key, 0)))
        return Synset(entries, is_unwanted)

    def _first(self, part: str, place: str) -> tuple[str, int]:
        """The first word of a synset in lower case, and its number among the words spelt so."""
        _, _, _, _, word, number, _ = self._line(part, int(place)).split(maxsplit=6)
        return word.partition("(")[0].lower(), int(number, 16)

    def _line(self, part: str, place: int) -> str:
        lines = self._lines["a" if part == "s" else part]
        if not lines.startswith(f"{place:08d} ", place):
            raise InputError(
                f"WordNet has no synset at {place} of part {part!r}, so it is damaged: {HOW_TO_GET_IT}"
            )
        return lines[place : lines.find("\n", place)]


def lexnames() -> str:
    """WordNet's table of lexicographer files, which NLTK's reader needs and Debian's package lacks."""
    return "".join(f"{line}\n" for line in word_list("lexnames"))


def _root(place: Path) -> Path | zipfile.Path:
    return zipfile.Path(place, "wordnet/") if place.suffix == ".zip" else place


def _has_wordnet(place: Path) -> bool:
    try:
        return all((_root(place) / name).is_file() for name in CONTENT_FILES)
    except (OSError, zipfile.BadZipFile):
        return False


def _read(place: Path, name: str) -> str:
    """A file of WordNet; it is ASCII, so its offsets in bytes are also offsets in characters."""
    try:
        return (_root(place) / name).read_text(encoding="utf-8")
    except (UnicodeDecodeError, zipfile.BadZipFile) as error:
        raise InputError(f"{place}: {name} is damaged ({error}): {HOW_TO_GET_IT}") from None
