"""Where a model's weights lie: bundled, in a folder, or on the Hub; and a revision that says which they are."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from augment.errors import InputError
from augment.pickled import PICKLE, as_safetensors

STARTER = Path(__file__).parent / "starter"
HUB_FILES = ("*.json", "*.txt", "*.spm", "*.model", "model*.safetensors")
"""What is fetched of a model: never code, and a pickle only where there are no safetensors."""
HUB_NAME = re.compile(r"[A-Za-z0-9][\w.-]*(/[A-Za-z0-9][\w.-]*)?", re.ASCII)
"""A model's name: "bert-base-uncased", "owner/model". Anything else is a path and never asked of the Hub."""
COMMIT = re.compile(r"[0-9a-f]{40}")
HUB_SECONDS = 10.0
"""How long the Hub may take to say which commit a model is at."""


@dataclass(frozen=True, slots=True)
class Weights:
    """A folder with a model and its tokenizer, and its revision: a Hub commit, or 12 hex digits of a content hash."""

    path: Path
    revision: str


def starter_encoder() -> Path:
    """The folder of the bundled masked language model."""
    return STARTER / "encoder"


def starter_translation() -> Path:
    """The folder of the bundled translation models, `en-xx` and `xx-en`."""
    return STARTER / "translation"


def find_encoder(name: str, revision: str | None = None) -> Weights:
    """The weights of an encoder: "starter", a local folder, or a model's name on the Hub.

    Raises:
        InputError: It is not there, has no weights or damaged ones, or is not of the `revision` asked for.
    """
    folder = starter_encoder() if name == "starter" else Path(name).expanduser()
    if folder.is_dir():
        return local_weights(folder, "--encoder", revision)
    if name == "starter":
        raise InputError("encoder 'starter': the bundled model is not in this installation; use --encoder NAME")
    return hub_weights(name, "--encoder", revision)


def local_weights(folder: Path, flag: str, revision: str | None = None) -> Weights:
    """A folder as it is, or its copy in the cache where its weights are a pickle alone.

    Raises:
        InputError: It holds no weights or damaged ones, or is not of the `revision` asked for.
    """
    if not (folder / "config.json").is_file() or not (_has_safetensors(folder) or (folder / PICKLE).is_file()):
        raise InputError(f"{flag} {folder}: no model there (config.json and model.safetensors or {PICKLE})")
    files = [(str(path.relative_to(folder)), path.stat()) for path in _content(folder)]
    status = tuple((name, stat.st_size, stat.st_mtime_ns) for name, stat in files)
    found = _content_hash(folder.resolve(), status)
    if revision not in (None, found):
        raise InputError(f"{flag} {folder}: its revision is {found}, not {revision}; give the model that was used")
    return Weights(_readable(folder, found, flag), found)


def hub_weights(name: str, flag: str, revision: str | None = None) -> Weights:
    """A model of the Hub, from the local cache or the network, at `revision` (a commit) or as it is now.

    Raises:
        InputError: No such model, no network and not in the cache, no weights, or `name` is a path to nothing.
    """
    if not HUB_NAME.fullmatch(name):
        raise InputError(f"{flag} {name}: no such folder, and not a model's name on the Hub (like bert-base-uncased)")
    path = _snapshot(name, flag, revision)
    if not _has_safetensors(path):
        path = _snapshot(name, flag, path.name, (*HUB_FILES, PICKLE))
    if not _has_safetensors(path) and not (path / PICKLE).is_file():
        raise InputError(f"{flag} {name}: the Hub has no model.safetensors and no {PICKLE} for it")
    return Weights(_readable(path, path.name, flag), path.name)


def _has_safetensors(folder: Path) -> bool:
    return any(folder.glob("model*.safetensors"))


def _readable(folder: Path, key: str, flag: str) -> Path:
    """The folder, or a copy of it with safetensors; raises InputError where the weights are damaged."""
    from safetensors import SafetensorError, safe_open

    if not _has_safetensors(folder):
        folder = as_safetensors(folder, key, flag)
    for path in folder.glob("model*.safetensors"):
        try:
            with safe_open(path, framework="np"):  # reads the header and compares the file's length with it
                pass
        except (SafetensorError, OSError) as error:
            raise InputError(f"{flag} {path}: damaged ({error}); get the file again") from None
    return folder


def _snapshot(name: str, flag: str, revision: str | None, files: Sequence[str] = HUB_FILES) -> Path:
    """The folder of a model in the cache, fetched where the Hub answers; one that is pinned and there needs no Hub."""
    from huggingface_hub import HfApi
    from huggingface_hub.utils.tqdm import disable_progress_bars, enable_progress_bars

    disable_progress_bars()
    commit, why = None, None
    try:
        if revision is not None and COMMIT.fullmatch(revision):
            with suppress(OSError):
                found = _fetched(name, revision, files, local_files_only=True)
                if PICKLE not in files or (found / PICKLE).is_file():
                    return found
        try:  # one request, as the client's downloads retry
            commit = HfApi().model_info(name, revision=revision, timeout=HUB_SECONDS).sha
        except _hub_errors() as error:  # what is in the cache may still serve
            why = str(error)
        return _fetched(name, commit or revision, files, local_files_only=commit is None)
    except _hub_errors() as error:  # not found, no network, not a name
        said = " ".join(str(why or error).split())[:160].rstrip(".")
        raise InputError(f"{flag} {name}: neither a folder nor a model that the Hub gave ({said})") from None
    finally:
        enable_progress_bars()


def _hub_errors() -> tuple[type[Exception], ...]:
    """What the Hub's client raises; its own errors and those of its transport have no common root below Exception."""
    from huggingface_hub.errors import EntryNotFoundError, HfHubHTTPError

    transport = HfHubHTTPError.__mro__[1]  # HTTPError of the client's HTTP library, whichever that is
    return OSError, ValueError, EntryNotFoundError, transport


def _fetched(name: str, revision: str | None, files: Sequence[str], *, local_files_only: bool) -> Path:
    from huggingface_hub import snapshot_download

    return Path(
        snapshot_download(name, revision=revision, allow_patterns=list(files), local_files_only=local_files_only)
    )


def _content(folder: Path) -> list[Path]:
    """The files of a model that decide what it gives, the configuration of its modules (1_Pooling) included."""
    kinds = (".json", ".txt", ".spm", ".model", ".safetensors")
    also = () if _has_safetensors(folder) else (PICKLE,)
    paths = (*folder.glob("*"), *folder.glob("*/config.json"))
    return sorted(path for path in paths if (path.suffix in kinds or path.name in also) and path.is_file())


@lru_cache(maxsize=16)
def _content_hash(folder: Path, status: tuple[tuple[str, int, int], ...]) -> str:
    """A hash over the files of a model; `status` is in the cache's key, so that a changed file is hashed anew."""
    digest = hashlib.sha256()
    for name, _, _ in status:
        with (folder / name).open("rb") as file:
            digest.update(name.encode() + b"\0" + hashlib.file_digest(file, "sha256").digest())
    return digest.hexdigest()[:12]
