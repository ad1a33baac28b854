"""The model from one language to another: bundled, in a folder, or an OPUS-MT model of the Hub."""

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from augment.errors import InputError, warn_once
from augment.models.loading import loading
from augment.models.weights import (
    STARTER_TRANSLATION,
    cached_snapshot,
    hub_weights,
    local_weights,
)

FLAG = "--models"
AUTO, OPUS, STARTER = "auto", "opus-mt", "starter"
OPUS_NAME = "Helsinki-NLP/opus-mt-{}-{}"
OUT_OF_REACH = (
    "OPUS-MT is out of reach (%s): the small bundled models translate, well enough for short everyday sentences; "
    "most round trips of other text are not paraphrases. Online, a view made with --models opus-mt gets it (about "
    "300 MB a model)"
)
_LANGUAGE = re.compile(r"[A-Za-z]{2,8}(?:[_-][A-Za-z0-9]{2,8})*")
_MODEL_FILES = ("config.json", "source.spm", "target.spm", "vocab.json")


class TranslationModel(NamedTuple):
    """A MarianMT folder, the code before every source sentence (">>de<<") if it needs one, and its revision."""

    path: Path
    prefix: str | None
    revision: str


def resolve_chain(
    models: str, hops: Sequence[tuple[str, str]], revisions: Sequence[str | None]
) -> tuple[str, list[TranslationModel]]:
    """What `models` means, and the model of every hop at its revision; may raise InputError.

    "auto" means the models which the revisions belong to or, without revisions, OPUS-MT if the Hub's cache or
    the Hub has it for every hop, else the bundled models.
    """
    if models == AUTO and revisions[0] is not None:
        models = OPUS if len(revisions[0]) == 40 else STARTER  # a folder's revision is shorter than a commit
    if models == AUTO:
        for hop in hops:
            _check_languages(*hop)
        try:
            return OPUS, [_cached_or_latest(*hop) for hop in hops]
        except InputError as error:
            warn_once(OUT_OF_REACH, str(error))
        models = STARTER
    chain = [resolve_models(models, *hop, revision) for hop, revision in zip(hops, revisions, strict=True)]
    return models, chain


def _cached_or_latest(source: str, target: str) -> TranslationModel:
    """OPUS-MT's model; the Hub is asked only for what its cache lacks. Raises InputError if it cannot be had."""
    place = cached_snapshot(OPUS_NAME.format(source, target), _MODEL_FILES)
    return resolve_models(OPUS, source, target, None if place is None else place.name)


def resolve_models(models: str, source: str, target: str, revision: str | None = None) -> TranslationModel:
    """Find the model from `source` to `target`, codes such as "en" and "de", at `revision` if one is given.

    `models` is "starter" (bundled), "opus-mt" (Helsinki-NLP/opus-mt-SOURCE-TARGET on the Hub), or a folder
    with folders `SOURCE-TARGET`, `opus-mt-SOURCE-TARGET`, `en-xx` or `xx-en`. Raises InputError for no such
    language or model.
    """
    _check_languages(source, target)
    weights = None
    if models == OPUS:
        weights = hub_weights(OPUS_NAME.format(source, target), f"{FLAG} {OPUS}:", revision, _MODEL_FILES)
    folder = weights.path if weights else _folder(models, source, target)
    missing = [name for name in _MODEL_FILES if not (folder / name).is_file()]
    if missing:
        raise InputError(f"{FLAG}: {folder} is not a MarianMT model: it lacks {', '.join(missing)}")
    weights = weights or local_weights(folder, FLAG, revision)
    prefix = f">>{target}<<" if target in _codes(weights.path) else None
    return TranslationModel(weights.path, prefix, weights.revision)


def _check_languages(source: str, target: str) -> None:
    for language in (source, target):
        if not _LANGUAGE.fullmatch(language) or language == "xx":
            raise InputError(f"language {language!r}: not a language code; write it as in de, fr or zh")
    if source == target:
        raise InputError(f"language {target!r}: source and target are the same; choose another")


def _folder(models: str, source: str, target: str) -> Path:
    base = STARTER_TRANSLATION if models == STARTER else Path(models)
    if not base.is_dir():
        raise InputError(
            f"{FLAG} {models}: no such folder; give auto, starter, opus-mt or a folder of MarianMT models"
        )
    codes = _codes(base / "en-xx") or [source]
    joint = {"en-xx": [f"en-{code}" for code in codes], "xx-en": [f"{code}-en" for code in codes]}
    folders: dict[str, Path] = {}  # by direction, in the order of the names above
    paths = (path for path in base.iterdir() if path.is_dir())
    for path in sorted(
        paths, key=lambda path: (path.name in joint, path.name.startswith("opus-mt-"), path.name)
    ):
        name = path.name.removeprefix("opus-mt-")
        for direction in joint.get(name, [name]):
            folders.setdefault(direction, path)
    if f"{source}-{target}" not in folders:
        choice = f"there are {', '.join(folders)}" if folders else "there is none"
        raise InputError(
            f"{FLAG} {models}: no model from {source} to {target} ({choice}); opus-mt may have it"
        )
    return folders[f"{source}-{target}"]


def _codes(folder: Path) -> list[str]:
    """The target languages of a model that are chosen by a code before the source sentence.

    None for most models.
    """
    path = folder / "vocab.json"
    with loading(f"{FLAG} {folder}", folder):
        pieces = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else ()
        codes = sorted(piece[2:-2] for piece in pieces if piece.startswith(">>") and piece.endswith("<<"))
    return codes
