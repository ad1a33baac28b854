"""Which model translates from one language to another: bundled, in a folder, or an OPUS-MT model of the Hub."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path

from augment.errors import InputError
from augment.weights import Weights, hub_weights, local_weights, starter_translation

FLAG = "--models"
JOINT = ("en-xx", "xx-en")
"""Folders of models for several languages; "xx" itself is none."""
_LANGUAGE = re.compile(r"[A-Za-z]{2,8}(?:[_-][A-Za-z0-9]{2,8})*")
_NEEDED = ("config.json", "source.spm", "target.spm", "vocab.json")


@dataclass(frozen=True, slots=True)
class TranslationModel:
    """A MarianMT folder, the code that goes before every source sentence (">>de<<") if it wants one, its revision."""

    path: Path
    prefix: str | None
    revision: str


def resolve_models(models: str, source: str, target: str, revision: str | None = None) -> TranslationModel:
    """Find the model from `source` to `target`.

    Args:
        models: "starter" (bundled), "opus-mt" (Helsinki-NLP/opus-mt-SOURCE-TARGET on the Hub), or a folder with
            folders `SOURCE-TARGET`, `opus-mt-SOURCE-TARGET`, `en-xx` or `xx-en` in it.
        source: Language code, such as "en".
        target: Language code, such as "de".
        revision: Take this revision and no other.

    Raises:
        InputError: No such languages or models; the line names those that are there and the flag.
    """
    for language in (source, target):
        if not _LANGUAGE.fullmatch(language):
            raise InputError(f"language {language!r}: not a language code; write it as in de, fr or zh")
    if source == target:
        raise InputError(f"language {target!r}: source and target are the same; choose another")
    if models == "opus-mt":
        weights = hub_weights(f"Helsinki-NLP/opus-mt-{source}-{target}", f"{FLAG} opus-mt:", revision)
        _check_files(weights.path)
    else:
        weights = _local(models, source, target, revision)
    return TranslationModel(weights.path, _prefix(weights.path, target), weights.revision)


def _local(models: str, source: str, target: str, revision: str | None) -> Weights:
    base = starter_translation() if models == "starter" else Path(models)
    if not base.is_dir():
        raise InputError(f"{FLAG} {models}: no such folder; give starter, opus-mt or a folder of MarianMT models")
    own = [name for name in (f"{source}-{target}", f"opus-mt-{source}-{target}") if name not in JOINT]
    if source == "en" and target in _codes(base / "en-xx"):
        own.append("en-xx")
    if target == "en" and source in (_codes(base / "en-xx") or [source]):
        own.append("xx-en")
    for name in own:
        if (base / name).is_dir():
            return local_weights(_check_files(base / name), FLAG, revision)
    has = ", ".join(_directions(base)) or "no models"
    raise InputError(f"{FLAG} {models}: nothing from {source} to {target} there ({has}); try {FLAG} opus-mt")


def _check_files(folder: Path) -> Path:
    missing = [name for name in _NEEDED if not (folder / name).is_file()]
    if missing:
        raise InputError(f"{FLAG}: {folder} is no MarianMT model: it lacks {', '.join(missing)}")
    return folder


def _directions(base: Path) -> list[str]:
    """The directions that a folder of models has, for people to choose from."""
    codes = _codes(base / "en-xx")
    found = [f"en-{code}" for code in codes]
    found += [f"{code}-en" for code in codes if (base / "xx-en").is_dir()]
    folders = sorted(path.name for path in base.iterdir() if path.is_dir() and (path / "config.json").is_file())
    return found + [name.removeprefix("opus-mt-") for name in folders if name not in JOINT]


def _codes(folder: Path) -> list[str]:
    """The target languages that a model knows by a code before the source sentence; none for most models."""
    path = folder / "vocab.json"
    if not path.is_file():
        return []
    try:
        pieces = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise InputError(f"{FLAG} {path}: no vocabulary in JSON ({error}); get the file again") from None
    return sorted(piece[2:-2] for piece in pieces if piece.startswith(">>") and piece.endswith("<<"))


def _prefix(folder: Path, target: str) -> str | None:
    return f">>{target}<<" if target in _codes(folder) else None
