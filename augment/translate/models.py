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
    if models == "opus-mt":
        weights = hub_weights(f"Helsinki-NLP/opus-mt-{source}-{target}", f"{FLAG} opus-mt:", revision)
    else:
        folder = _folder(models, source, target)
        _check(folder)  # before a pickle is converted
        weights = local_weights(folder, FLAG, revision)
    _check(weights.path)
    prefix = f">>{target}<<" if target in _codes(weights.path) else None
    return TranslationModel(weights.path, prefix, weights.revision)


def _check(folder: Path) -> None:
    missing = [name for name in _NEEDED if not (folder / name).is_file()]
    if missing:
        raise InputError(f"{FLAG}: {folder} is no MarianMT model: it lacks {', '.join(missing)}")


def _folder(models: str, source: str, target: str) -> Path:
    """The folder from `source` to `target` among those in `models`."""
    base = STARTER_TRANSLATION if models == "starter" else Path(models)
    if not base.is_dir():
        raise InputError(f"{FLAG} {models}: no such folder; give starter, opus-mt or a folder of MarianMT models")
    codes = _codes(base / "en-xx")
    names = [f"{source}-{target}", f"opus-mt-{source}-{target}"]
    names += ["en-xx"] if source == "en" and target in codes else []
    names += ["xx-en"] if target == "en" and source in (codes or [source]) else []
    for name in names:
        if (base / name).is_dir():
            return base / name
    there = [path.name.removeprefix("opus-mt-") for path in sorted(base.iterdir()) if path.is_dir()]
    joint = {"en-xx": [f"en-{code}" for code in codes], "xx-en": [f"{code}-en" for code in codes]}
    has = ", ".join(direction for name in there for direction in joint.get(name) or [name]) or "nothing"
    raise InputError(f"{FLAG} {models}: no model from {source} to {target} (there are {has}); try {FLAG} opus-mt")


def _codes(folder: Path) -> list[str]:
    """The target languages that a model knows by a code before the source sentence; none for most models."""
    path = folder / "vocab.json"
    try:
        pieces = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else ()
    except ValueError as error:
        raise InputError(f"{FLAG} {path}: no vocabulary in JSON ({error}); get the file again") from None
    return sorted(piece[2:-2] for piece in pieces if piece.startswith(">>") and piece.endswith("<<"))
