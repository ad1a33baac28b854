"""The model from one language to another: bundled, in a folder, or an OPUS-MT model of the Hub."""

import json
import logging
import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

from augment.errors import InputError
from augment.weights import DRY_RUN, STARTER_TRANSLATION, cached_snapshot, hub_offer, hub_weights, local_weights

FLAG = "--models"
AUTO, OPUS, STARTER = "auto", "opus-mt", "starter"
COMMIT_LENGTH = 40  # of a revision on the Hub; that of a folder is shorter
_LANGUAGE = re.compile(r"[A-Za-z]{2,8}(?:[_-][A-Za-z0-9]{2,8})*")
_NEEDED = ("config.json", "source.spm", "target.spm", "vocab.json")
logger = logging.getLogger(__name__)


class TranslationModel(NamedTuple):
    """A MarianMT folder, the code before every source sentence (">>de<<") if it needs one, and its revision."""

    path: Path
    prefix: str | None
    revision: str


class Chain(NamedTuple):
    """The models of a translation in several hops, their name for `--models`, and the bytes of them to download."""

    models: str
    legs: list[TranslationModel]
    missing: int = 0


def resolve_chain(models: str, hops: Sequence[tuple[str, str]], revisions: Sequence[str | None]) -> Chain:
    """Find the models of all hops, at these revisions; `models` is as for `resolve_models`, or "auto".

    "auto" is what the revisions are of; without them OPUS-MT, if the Hub's cache has it or the Hub gives it for every
    hop, else the bundled models, of which a log line tells. A dry run downloads nothing: it gives a model that is
    missing no folder. Raises InputError for no such language or model.
    """
    if models == AUTO and revisions[0] is not None:
        models = OPUS if len(revisions[0]) == COMMIT_LENGTH else STARTER
    if models != AUTO:
        return Chain(models, [resolve_models(models, *hop, each) for hop, each in zip(hops, revisions, strict=True)])
    for hop in hops:
        _check_languages(*hop)
    try:
        return _opus_chain(hops)
    except InputError as error:
        reason = str(error)
    try:
        chain = Chain(STARTER, [resolve_models(STARTER, *hop) for hop in hops])
    except InputError as error:
        raise InputError(f"{error}, which was tried first and is out of reach ({reason})") from None
    _warn_of_starter(reason)
    return chain


def _opus_chain(hops: Sequence[tuple[str, str]]) -> Chain:
    """OPUS-MT for every hop; the Hub is asked for those alone that its cache lacks. Raises InputError for the first."""
    places = {hop: cached_snapshot(_opus_name(*hop)) for hop in hops}
    offers = {hop: hub_offer(_opus_name(*hop)) for hop, place in places.items() if place is None}
    missing = sum(size for _, size in offers.values())
    if offers and DRY_RUN.get():
        revisions = [offers[hop][0] if place is None else place.name for hop, place in places.items()]
        return Chain(OPUS, [TranslationModel(Path(), None, revision) for revision in revisions], missing)
    if offers:
        names = " and ".join(_opus_name(*hop) for hop in offers)
        logger.warning("downloading %s (%.0f MB); --models starter needs no download", names, missing / 1e6)
    return Chain(OPUS, [resolve_models(OPUS, *hop, place.name if place else None) for hop, place in places.items()])


@cache
def _warn_of_starter(reason: str) -> None:
    """Say, once a process, that the bundled models are taken, what they are worth, and how to get others."""
    said = "OPUS-MT is out of reach (%s), so the small bundled models translate: good for short everyday sentences, "
    said += (
        "but most round trips of other text are no paraphrases; online, --models opus-mt gets real ones (300 MB each)"
    )
    logger.warning(said, reason)


def _opus_name(source: str, target: str) -> str:
    return f"Helsinki-NLP/opus-mt-{source}-{target}"


def resolve_models(models: str, source: str, target: str, revision: str | None = None) -> TranslationModel:
    """Find the model from `source` to `target`, codes such as "en" and "de", at `revision` if one is given.

    `models` is "starter" (bundled), "opus-mt" (Helsinki-NLP/opus-mt-SOURCE-TARGET on the Hub), or a folder with folders
    `SOURCE-TARGET`, `opus-mt-SOURCE-TARGET`, `en-xx` or `xx-en`. Raises InputError for no such language or model.
    """
    _check_languages(source, target)
    weights = None
    if models == OPUS:
        weights = hub_weights(_opus_name(source, target), f"{FLAG} {OPUS}:", revision)
    folder = weights.path if weights else _folder(models, source, target)
    missing = [name for name in _NEEDED if not (folder / name).is_file()]
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
    """The folder from `source` to `target` among those in `models`."""
    base = STARTER_TRANSLATION if models == STARTER else Path(models)
    if not base.is_dir():
        raise InputError(f"{FLAG} {models}: no such folder; give auto, starter, opus-mt or a folder of MarianMT models")
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
