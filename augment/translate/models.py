"""The model from one language to another: bundled, in a folder, or an OPUS-MT model of the Hub."""

import json
import re
from pathlib import Path
from typing import NamedTuple

from augment.errors import InputError
from augment.weights import STARTER_TRANSLATION, hub_weights, local_weights

FLAG = "--models"
_LANGUAGE = re.compile(r"[A-Za-z]{2,8}(?:[_-][A-Za-z0-9]{2,8})*")
_NEEDED = ("config.json", "source.spm", "target.spm", "vocab.json")


class TranslationModel(NamedTuple):
    """A MarianMT folder, the code before every source sentence (">>de<<") if it needs one, and its revision."""

    path: Path
    prefix: str | None
    revision: str


def resolve_models(models: str, source: str, target: str, revision: str | None = None) -> TranslationModel:
    """Find the model from `source` to `target`, codes such as "en" and "de", at `revision` if one is given.

    `models` is "starter" (bundled), "opus-mt" (Helsinki-NLP/opus-mt-SOURCE-TARGET on the Hub), or a folder with folders
    `SOURCE-TARGET`, `opus-mt-SOURCE-TARGET`, `en-xx` or `xx-en`. Raises InputError for no such language or model.
    """
    for language in (source, target):
        if not _LANGUAGE.fullmatch(language) or language == "xx":
            raise InputError(f"language {language!r}: not a language code; write it as in de, fr or zh")
    if source == target:
        raise InputError(f"language {target!r}: source and target are the same; choose another")
    weights = None
    if models == "opus-mt":
        weights = hub_weights(f"Helsinki-NLP/opus-mt-{source}-{target}", f"{FLAG} opus-mt:", revision)
    folder = weights.path if weights else _folder(models, source, target)
    missing = [name for name in _NEEDED if not (folder / name).is_file()]
    if missing:
        raise InputError(f"{FLAG}: {folder} is not a MarianMT model: it lacks {', '.join(missing)}")
    weights = weights or local_weights(folder, FLAG, revision)
    prefix = f">>{target}<<" if target in _codes(weights.path) else None
    return TranslationModel(weights.path, prefix, weights.revision)


def _folder(models: str, source: str, target: str) -> Path:
    """The folder from `source` to `target` among those in `models`."""
    base = STARTER_TRANSLATION if models == "starter" else Path(models)
    if not base.is_dir():
        raise InputError(f"{FLAG} {models}: no such folder; give starter, opus-mt or a folder of MarianMT models")
    codes = _codes(base / "en-xx") or [source]
    joint = {"en-xx": [f"en-{code}" for code in codes], "xx-en": [f"{code}-en" for code in codes]}
    folders: dict[str, Path] = {}  # by direction, in the order of the names above
    there = (path for path in base.iterdir() if path.is_dir())
    for path in sorted(there, key=lambda path: (path.name in joint, path.name.startswith("opus-mt-"), path.name)):
        name = path.name.removeprefix("opus-mt-")
        for direction in joint.get(name, [name]):
            folders.setdefault(direction, path)
    if f"{source}-{target}" not in folders:
        has = f"there are {', '.join(folders)}" if folders else "there is none"
        raise InputError(f"{FLAG} {models}: no model from {source} to {target} ({has}); try {FLAG} opus-mt")
    return folders[f"{source}-{target}"]


def _codes(folder: Path) -> list[str]:
    """The target languages of a model that are chosen by a code before the source sentence; none for most models."""
    path = folder / "vocab.json"
    try:
        pieces = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else ()
    except ValueError as error:
        raise InputError(f"{FLAG} {path}: not valid JSON ({error}); get the file again") from None
    return sorted(piece[2:-2] for piece in pieces if piece.startswith(">>") and piece.endswith("<<"))
