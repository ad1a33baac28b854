"""Any text augmenter of nlpaug, by its class name and with its own arguments, seeded per row."""

import inspect
import random
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib import import_module
from importlib.metadata import version
from itertools import groupby
from threading import Lock
from typing import Any, Self

from pydantic import Field, JsonValue

from augment.errors import InputError, describe, is_out_of_memory
from augment.lexicon import wordnet
from augment.models.device import quiet_transformers, resolve_device
from augment.models.weights import check_revision
from augment.protected_terms import ProtectedTermsView, touches
from augment.text.edits import apply_edits, find_edits
from augment.text.english import tagger
from augment.text.words import special_tokens
from augment.view import Edit, Runtime, ViewResult

NLTK_DOWNLOAD = re.compile(r"nltk\.download\('([\w.-]+)'\)")
"""NLTK's message about missing data."""
PIECES = re.compile(r"\w+|\s+|[^\w\s]")
WORDS = re.compile(r"\S+")
TRIAL_SENTENCE = "A man is riding a horse down the street."
_drawing = Lock()
"""Augmenters draw from generators that all threads share."""


class Nlpaug(ProtectedTermsView):
    """The view; the augmenter gets one text at a time, so that rows do not depend on each other.

    A row is "failed" if its text has over `max_length` characters ("too-long"), if the augmenter raises an
    exception (its name is the reason) or returns no text ("no-text"), and "rejected" if the result has a
    special token that the sentence lacks ("special-token"). Of a text with terms to keep, it gets what stands
    between them, one part at a time. Changes of white space alone are undone.
    """

    name = "nlpaug"
    folder_option = "augmenter"

    augmenter: str = "SynonymAug"
    """class name of an augmenter for text, such as KeyboardAug"""
    arguments: dict[str, JsonValue] = Field(default_factory=dict)
    """its own arguments as YAML, such as '{aug_p: 0.3}'"""
    max_length: int = Field(default=10_000, ge=1)
    """characters at most: some augmenters never end on more"""
    revision: str | None = None
    """hold nlpaug to this version"""

    _augmenter: Any

    @property
    def runs_model(self) -> bool:  # type: ignore[override]
        """Whether the augmenter takes a device."""
        return "device" in inspect.signature(_augmenter_class(self.augmenter)).parameters

    def build(self, runtime: Runtime) -> Self:
        """The view, its augmenter built and tried on one sentence; raises InputError if that fails."""
        installed = version("nlpaug")
        if runtime.batch_tokens is not None:
            raise InputError(f"nlpaug: batch_tokens={runtime.batch_tokens}: it takes one sentence at a time")
        check_revision("nlpaug: the installed version is", installed, self.revision, "install that one")
        view = super().build(runtime).model_copy(update={"revision": installed})
        try:
            with quiet_transformers():
                view._augmenter = _build_augmenter(self.augmenter, self.arguments, runtime.device)
                _seed(0)
                view._augmenter.augment(TRIAL_SENTENCE)
        except Exception as error:  # wrong arguments make nlpaug and its libraries raise anything
            if isinstance(error, InputError) or is_out_of_memory(error):
                raise
            reason = f"cannot be used: {describe(error)}"
            if isinstance(error, LookupError) and (missing := NLTK_DOWNLOAD.search(str(error))):
                reason = f"needs NLTK's {missing[1]}: run `python -m nltk.downloader {missing[1]}`"
            raise InputError(f"nlpaug: {self.augmenter} {reason}") from None
        return view

    def __call__(self, texts: Sequence[str], seeds: Sequence[int]) -> list[ViewResult]:
        """View every text by its own seed."""
        with quiet_transformers(), _drawing:
            return [*map(self._view, texts, seeds)]

    def _view(self, text: str, seed: int) -> ViewResult:
        if len(text) > self.max_length:
            return ViewResult(None, "failed", "too-long")
        _seed(seed)
        outputs = dict[tuple[int, int], Any]()
        try:
            for start, end in _free_spans(text, self.protected_spans(text)):
                outputs[start, end] = self._augmenter.augment(text[start:end])
        except Exception as error:  # any other exception of an augmenter fails the row, not the run
            if is_out_of_memory(error):
                raise
            return ViewResult(None, "failed", type(error).__name__)
        edits = list[Edit]()
        for (start, end), output in outputs.items():
            view = output[0] if isinstance(output, list) and output else output
            if not isinstance(view, str) or not view.strip():
                return ViewResult(None, "failed", "no-text")
            changes = find_edits(text[start:end], view, PIECES.findall)
            if self.augmenter != "SplitAug":  # whose edits are white space
                changes = _visible(changes)
            edits += [edit._replace(start=edit.start + start, end=edit.end + start) for edit in changes]
        view = apply_edits(text, edits)
        if special_tokens(view) - special_tokens(text):
            return ViewResult(None, "rejected", "special-token")
        return ViewResult(view, edits=tuple(edits)) if edits else ViewResult(text, "unchanged")


def _free_spans(text: str, kept: Sequence[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Start and end of what stands between kept text, with what is glued to that; of a text without any, all."""
    for is_kept, group in groupby(WORDS.finditer(text), lambda word: touches(kept, *word.span())):
        words = [*group]
        if not is_kept:
            yield words[0].start(), words[-1].end()


def _visible(edits: Iterable[Edit]) -> tuple[Edit, ...]:
    """Edits without those of white space alone, and with the white space of the text."""
    visible = []
    for edit in edits:
        old, new = edit.old.strip(), edit.new.strip()
        if "".join(old.split()) != "".join(new.split()):
            visible.append(edit._replace(new=edit.old.replace(old, new)) if old and new else edit)
    return tuple(visible)


def _augmenter_class(name: str) -> type[Any]:
    modules = [import_module(f"nlpaug.augmenter.{unit}") for unit in ("char", "word", "sentence")]
    members = {member: value for module in modules for member, value in vars(module).items()}
    classes: dict[str, type[Any]] = {
        member: value for member, value in members.items() if member.endswith("Aug")
    }
    if name not in classes:
        raise InputError(
            f"nlpaug: unknown augmenter for text {name!r}: choose one of {', '.join(sorted(classes))}"
        )
    return classes[name]


def _build_augmenter(name: str, arguments: Mapping[str, Any], device: str) -> Any:  # noqa: ANN401 - an nlpaug augmenter
    kind, options = _augmenter_class(name), dict(arguments)
    if "device" in options:
        raise InputError(f"nlpaug: device={options['device']!r} among the arguments of {name}: use --device")
    if "device" in inspect.signature(kind).parameters:
        options["device"] = str(resolve_device(device))
    source = options.get("aug_src", "wordnet"), options.get("lang", "eng")
    if name in ("SynonymAug", "AntonymAug") and source == ("wordnet", "eng"):
        kind = _bundled_wordnet_class(kind)
    augmenter = kind(**options)
    if name == "SpellingAug":
        # They are in the order of a set, which differs between processes.
        for words in augmenter.model.dict.values():
            words.sort()
    return augmenter


def _seed(seed: int) -> None:
    """Seed the generators that augmenters draw from; NumPy's takes 32 bits."""
    import numpy as np
    import torch

    random.seed(seed)
    np.random.seed(seed % 2**32)  # noqa: NPY002 - nlpaug draws from the global generator
    torch.manual_seed(seed)


def _bundled_wordnet_class(kind: type) -> type:
    """SynonymAug or AntonymAug with our WordNet and tagger; nlpaug would download its own."""
    from nlpaug.model.word_dict import WordNet

    class Dictionary(WordNet):  # type: ignore[misc]
        def read(self) -> object:
            return wordnet.reader()

        @classmethod
        def pos_tag(cls, tokens: Sequence[str]) -> list[tuple[str, str]]:
            return list(zip(tokens, *tagger().tags([tokens]), strict=True))

    class Augmenter(kind):  # type: ignore[misc]
        @classmethod
        def get_model(cls, _source: str, lang: str, *_: object) -> Dictionary:
            return Dictionary(lang=lang, is_synonym=kind.__name__ == "SynonymAug")

    return Augmenter
