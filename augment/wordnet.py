"""WordNet 3.0, wherever it lies: found, provided where it is missing, and laid out as NLTK's reader wants it."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import tempfile
import warnings
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from augment.errors import InputError, TwinviewsError

if TYPE_CHECKING:
    from nltk.corpus.reader.api import CorpusReader
    from nltk.corpus.reader.wordnet import WordNetCorpusReader

ENVIRONMENT = "TWINVIEWS_WORDNET"
DEBIAN_FOLDER = Path("/usr/share/wordnet")
PARTS = ("adj", "adv", "noun", "verb")
DATA_FILES = ("cntlist.rev", *(f"{kind}.{part}" for kind in ("data", "index") for part in PARTS))
EXCEPTION_FILES = tuple(f"{part}.exc" for part in PARTS)
NEEDED = (*DATA_FILES, *EXCEPTION_FILES)
COMPLETE = (*NEEDED, "lexnames", "index.sense")

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
    """Where WordNet lies: a folder that NLTK's reader can open, and where it came from, in words."""

    path: Path
    origin: str


def locate() -> WordNetLocation:
    """Find WordNet; one that NLTK's reader cannot open as it lies is copied once into the user's cache.

    Looks in TWINVIEWS_WORDNET, the folders of NLTK data, the user's cache, and Debian's /usr/share/wordnet.

    Raises:
        InputError: It is nowhere, or TWINVIEWS_WORDNET names a folder without it.
    """
    named = os.environ.get(ENVIRONMENT)
    if named:
        for folder in (Path(named), Path(named) / "corpora" / "wordnet"):
            if _holds(folder, NEEDED):
                return _readable(folder.resolve(), ENVIRONMENT)
        raise InputError(f"{ENVIRONMENT}={named}: no WordNet there (a data.noun and its sisters); {HOW_TO_GET_IT}")
    for folder, origin in _candidates():
        if _holds(folder, NEEDED):
            return _readable(folder, origin)
        archive = folder.with_suffix(".zip")
        if archive.is_file():
            return _unpacked(archive, origin)
    raise InputError(f"WordNet was not found: {HOW_TO_GET_IT}")


def find() -> Path:
    """The folder of WordNet, ready for NLTK's reader; raises InputError like `locate`."""
    return locate().path


def provide() -> WordNetLocation:
    """Find WordNet or fetch it into the user's cache: by NLTK's downloader, else from Debian's archive without root.

    Raises:
        TwinviewsError: Neither way worked, usually for want of a network.
    """
    try:
        return locate()
    except InputError:
        if os.environ.get(ENVIRONMENT):
            raise
    with tempfile.TemporaryDirectory(prefix="twinviews-wordnet-") as scratch:
        if _from_debian(Path(scratch)):
            return _readable(Path(scratch) / "usr" / "share" / "wordnet", "Debian wordnet-base")
        if _from_nltk(Path(scratch)):
            return _unpacked(Path(scratch) / "corpora" / "wordnet.zip", "NLTK downloader")
    raise TwinviewsError(f"WordNet could not be fetched, from Debian or NLTK; {HOW_TO_GET_IT}")


@lru_cache(maxsize=1)
def reader() -> WordNetCorpusReader:
    """NLTK's WordNetCorpusReader on the folder that `find` gives; opened once in a process (about two seconds)."""
    return open_reader(None)


def open_reader(multilingual: CorpusReader | None) -> WordNetCorpusReader:
    """A reader of its own on the folder that `find` gives, with the tables of the Open Multilingual WordNet or None.

    OMW counts in offsets of WordNet 3.0; where `index.sense` is empty, as ours, NLTK takes them as they are.
    """
    folder = find()
    import nltk.data
    from nltk.corpus.reader.wordnet import WordNetCorpusReader

    for root in (str(folder.parent.parent), str(folder)):
        if root not in nltk.data.path:
            # NLTK opens files below its data folders only.
            nltk.data.path.append(root)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return WordNetCorpusReader(str(folder), multilingual)


@lru_cache(maxsize=4)
def revision(folder: Path) -> str:
    """Twelve hex digits that say which WordNet this is: sha256 over its data, index, count and exception files."""
    digest = hashlib.sha256()
    for name in sorted(NEEDED):
        digest.update(name.encode() + b"\0" + hashlib.sha256((folder / name).read_bytes()).digest())
    return digest.hexdigest()[:12]


def exceptions(folder: Path, part: str) -> dict[str, list[str]]:
    """WordNet's exception list of a part ("noun", "verb", "adj", "adv"): irregular form -> its lemmas."""
    lines = (folder / f"{part}.exc").read_text(encoding="utf-8").splitlines()
    return {form: lemmas for form, *lemmas in (line.split() for line in lines) if lemmas}


def sense_counts(folder: Path) -> dict[str, int]:
    """How often each sense was seen in WordNet's tagged texts, by sense key; senses never seen are not there."""
    lines = (folder / "cntlist.rev").read_text(encoding="utf-8").splitlines()
    return {key: int(count) for key, _, count in (line.split() for line in lines)}


def cache_folder() -> Path:
    """Twinviews' folder in the user's cache (XDG_CACHE_HOME, else ~/.cache)."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "twinviews"


def _cached() -> Path:
    return cache_folder() / "corpora" / "wordnet"


def _candidates() -> Iterator[tuple[Path, str]]:
    listed = [Path(part) for part in os.environ.get("NLTK_DATA", "").split(os.pathsep) if part]
    yield from ((folder / "corpora" / "wordnet", f"NLTK data in {folder}") for folder in listed)
    yield _cached(), "user cache"
    import nltk.data

    folders = [Path(str(folder)) for folder in nltk.data.path]
    yield from ((folder / "corpora" / "wordnet", f"NLTK data in {folder}") for folder in folders)
    yield DEBIAN_FOLDER, "Debian wordnet-base"


def _holds(folder: Path, names: tuple[str, ...]) -> bool:
    return all((folder / name).is_file() for name in names)


def _readable(folder: Path, origin: str) -> WordNetLocation:
    """The folder itself if NLTK can open it: all files there and none a link; else a copy in the user's cache."""
    if _holds(folder, COMPLETE) and not any((folder / name).is_symlink() for name in COMPLETE):
        return WordNetLocation(folder.resolve(), origin)
    contents = {name: (folder / name).read_bytes() for name in NEEDED}
    return WordNetLocation(_stored(contents), f"{origin}, copied to the user cache")


def _unpacked(archive: Path, origin: str) -> WordNetLocation:
    """A copy of NLTK's zipped WordNet in the user's cache."""
    try:
        with zipfile.ZipFile(archive) as bundle:
            contents = {name: bundle.read(f"wordnet/{name}") for name in NEEDED}
    except (KeyError, zipfile.BadZipFile) as error:
        raise InputError(f"{archive}: not a whole WordNet ({error}); delete it, then {HOW_TO_GET_IT}") from None
    return WordNetLocation(_stored(contents), f"{origin}, unpacked to the user cache")


def _stored(contents: dict[str, bytes]) -> Path:
    """Write a WordNet into the user's cache, whole or not at all; one that is already there is kept if it is equal."""
    target = _cached()
    contents = contents | {"lexnames": _lexnames().encode(), "index.sense": b""}
    if _holds(target, COMPLETE) and all((target / name).stat().st_size == len(data) for name, data in contents.items()):
        return target
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        scratch = Path(tempfile.mkdtemp(prefix=".wordnet-", dir=target.parent))
        try:
            for name, data in contents.items():
                (scratch / name).write_bytes(data)
            scratch.chmod(0o755)
            if target.exists():
                shutil.rmtree(target)
            scratch.rename(target)
        finally:
            shutil.rmtree(scratch, ignore_errors=True)
    except OSError as error:
        if _holds(target, COMPLETE):  # another process was first
            return target
        raise InputError(f"{target}: WordNet cannot be stored there ({error.strerror}); set XDG_CACHE_HOME") from None
    return target


def _lexnames() -> str:
    return "".join(f"{i:02d}\t{name}\t{_PART_NUMBERS[name.split('.')[0]]}\n" for i, name in enumerate(LEXNAMES))


def _from_nltk(scratch: Path) -> bool:
    """Fetch wordnet.zip by NLTK's downloader; False if the network does not answer."""
    import nltk.downloader

    try:
        done = nltk.downloader.Downloader().download("wordnet", download_dir=str(scratch), quiet=True)
    except (OSError, ValueError):
        return False
    return bool(done) and (scratch / "corpora" / "wordnet.zip").is_file()


def _from_debian(scratch: Path) -> bool:
    """Fetch and unpack Debian's wordnet-base without root; False if apt is missing or finds no archive."""
    if not (shutil.which("apt-get") and shutil.which("dpkg-deb")):
        return False
    lists, cache = scratch / "lists", scratch / "cache"
    for folder in (lists / "partial", cache / "archives" / "partial"):
        folder.mkdir(parents=True)
    own = ["apt-get", "-o", f"Dir::State::Lists={lists}", "-o", f"Dir::Cache={cache}"]
    # The machine's own package lists serve if there are any; else a copy of our own, which needs no root.
    fetched = _ran(["apt-get", "download", "wordnet-base"], scratch) or (
        _ran([*own, "update"], scratch) and _ran([*own, "download", "wordnet-base"], scratch)
    )
    packages = sorted(scratch.glob("wordnet-base_*.deb"))
    unpacked = fetched and bool(packages) and _ran(["dpkg-deb", "-x", str(packages[0]), "."], scratch)
    return unpacked and _holds(scratch / "usr" / "share" / "wordnet", NEEDED)


def _ran(command: list[str], folder: Path) -> bool:
    try:
        return subprocess.run(command, cwd=folder, capture_output=True, timeout=300, check=False).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False
