"""Any augmenter of nlpaug for text, by its class name and with its own arguments, seeded per row."""

from __future__ import annotations

import inspect
import random
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from importlib import import_module
from importlib.metadata import version
from typing import Annotated, Any

from pydantic import BaseModel, Field, JsonValue, PrivateAttr, TypeAdapter, ValidationError

from augment import wordnet
from augment.device import quiet_transformers, resolve_device
from augment.edits import apply_edits, find_edits
from augment.english import tagger
from augment.errors import InputError
from augment.keep import WordView, touches
from augment.omw import open_tables
from augment.view import Runtime, Viewed
from augment.words import special_tokens

MODULES = ("nlpaug.augmenter.char", "nlpaug.augmenter.word", "nlpaug.augmenter.sentence", "nlpaug.flow")
FLOWS = ("Sequential", "Sometimes")
WORDNET_USERS = ("SynonymAug", "AntonymAug")
NLTK_WANTS = re.compile(r"nltk\.download\('([\w.-]+)'\)")
"""What NLTK says where data is missing."""
TRIAL = "A man is riding a horse down the street."


class Nlpaug(WordView):
    """The view; one text goes to the augmenter at a time, so that no row can change another.

    A text of more than `longest` characters is "failed" with "too-long". What an augmenter raises makes a row "failed"
    with the exception's name as the reason; what is no text, "failed" with "no-text"; a special token that the sentence
    does not hold, "rejected" with "special-token". Changes within terms to keep are undone. Random state of Python,
    NumPy and torch is as before each call.
    """

    name = "nlpaug"
    named_by = "augmenter"

    augmenter: str = Field(default="SynonymAug", description="class name of an augmenter for text, such as KeyboardAug")
    arguments: dict[str, JsonValue] = Field(
        default_factory=dict,
        description="its own arguments as YAML, such as '{aug_p: 0.3}'; of a flow '{flow: [{augmenter: SplitAug}]}'",
    )
    longest: int = Field(default=10_000, ge=1, description="characters at most: some augmenters never end on more")
    revision: str | None = Field(default=None, description="hold nlpaug to this version")

    _augmenter: Any = PrivateAttr()

    def build(self, runtime: Runtime) -> Nlpaug:
        """The view, its augmenter built and tried on one sentence; raises InputError where one of these fails."""
        installed = version("nlpaug")
        if self.revision not in (None, installed):
            raise InputError(f"nlpaug: version {installed} is installed, not {self.revision}; install that one")
        view = super().build(runtime).model_copy(update={"revision": installed})
        with quiet_transformers(), _random_state_kept():
            view._augmenter = _built(self.augmenter, self.arguments, runtime.device)
            _seed(0)
            with _explained(self.augmenter, "fails on a plain sentence"):
                view._augmenter.augment(TRIAL)
        return view

    def __call__(self, texts: Sequence[str], seeds: Sequence[int]) -> list[Viewed]:
        """View every text by its own seed."""
        with quiet_transformers(), _random_state_kept():
            return [self._view(text, seed) for text, seed in zip(texts, seeds, strict=True)]

    def _view(self, text: str, seed: int) -> Viewed:
        if len(text) > self.longest:
            return Viewed(None, "failed", "too-long")
        _seed(seed)
        try:
            made = self._augmenter.augment(text)
        except Exception as error:  # whatever an augmenter may raise is the row's failure, not the run's
            return Viewed(None, "failed", type(error).__name__)
        view = made[0] if isinstance(made, list) and made else made
        if not isinstance(view, str) or not view.strip():
            return Viewed(None, "failed", "no-text")
        if special_tokens(view) - special_tokens(text):
            return Viewed(None, "rejected", "special-token")
        kept = self.kept(text)
        edits = tuple(edit for edit in find_edits(text, view) if not touches(kept, edit.start, edit.end))
        return Viewed(apply_edits(text, edits), edits=edits) if edits else Viewed(text, "unchanged")


class _Part(BaseModel, extra="forbid"):
    augmenter: str
    arguments: dict[str, Any] | None = None


_FLOW = TypeAdapter(Annotated[list[_Part], Field(min_length=1)])


def _built(name: str, arguments: Mapping[str, Any], device: str) -> Any:  # noqa: ANN401 - an nlpaug augmenter
    classes: dict[str, type[Any]] = {
        name: kind
        for module in MODULES
        for name, kind in vars(import_module(module)).items()
        if inspect.isclass(kind) and (name.endswith("Aug") or name in FLOWS)
    }
    if name not in classes:
        raise InputError(f"nlpaug: unknown augmenter for text {name!r}: choose one of {', '.join(sorted(classes))}")
    kind, given = classes[name], dict(arguments)
    if "device" in given:
        raise InputError(f"nlpaug: device={given['device']!r} among the arguments of {name}: use --device")
    if "device" in inspect.signature(kind).parameters:
        given["device"] = str(resolve_device(device))
    if name in FLOWS:
        try:
            parts = _FLOW.validate_python(given.get("flow"))
        except ValidationError:
            how = "{flow: [{augmenter: SplitAug, arguments: {...}}, ...]}"
            raise InputError(f"nlpaug: {name} needs a list of augmenters: {how}") from None
        given["flow"] = [_built(part.augmenter, part.arguments or {}, device) for part in parts]
    if name in WORDNET_USERS and given.get("aug_src", "wordnet") == "wordnet":
        wordnet.find()  # before nlpaug is built, which would say so in its own words
        kind = on_our_wordnet(kind)
    with _explained(name, "cannot be built"):
        augmenter = kind(**given)
    if name == "SpellingAug":
        # nlpaug keeps them in the order of a set, which differs from process to process.
        for words in augmenter.model.dict.values():
            words.sort()
    return augmenter


@contextmanager
def _explained(name: str, what: str) -> Iterator[None]:
    """Turn whatever nlpaug and what it builds on raise into one line, as the user gave it these arguments."""
    try:
        yield
    except InputError:
        raise
    except Exception as error:
        missing = NLTK_WANTS.search(str(error)) if isinstance(error, LookupError) else None
        if missing:
            what = f"needs NLTK's {missing[1]}: run `python -m nltk.downloader {missing[1]}`"
        else:
            what += f": {type(error).__name__}: {' '.join(str(error).split())[:200]}"
        raise InputError(f"nlpaug: {name} {what}") from None


def _seed(seed: int) -> None:
    """Seed the generators that augmenters draw from; NumPy's takes 32 bits."""
    import numpy as np
    import torch

    random.seed(seed)
    np.random.seed(seed % 2**32)  # noqa: NPY002 - the global generator is the one that nlpaug draws from
    torch.manual_seed(seed)


@contextmanager
def _random_state_kept() -> Iterator[None]:
    import numpy as np
    import torch

    python, numpy = random.getstate(), np.random.get_state()  # noqa: NPY002 - as above
    used = torch.cuda.is_initialized()  # type: ignore[no-untyped-call]
    try:
        with torch.random.fork_rng(devices=range(torch.cuda.device_count()) if used else ()):
            yield
    finally:
        random.setstate(python)
        np.random.set_state(numpy)  # noqa: NPY002 - as above


def on_our_wordnet(kind: type) -> type:
    """Nlpaug's SynonymAug or AntonymAug on our WordNet and tagger: its own would be looked for on the network."""
    from nlpaug.model.word_dict import WordNet

    class Dictionary(WordNet):  # type: ignore[misc]
        def read(self) -> object:
            return wordnet.reader() if self.lang == "eng" else open_tables()

        @classmethod
        def pos_tag(cls, tokens: Sequence[str]) -> list[tuple[str, str]]:
            return tagger().tag(tokens)  # type: ignore[no-any-return]

    def get_model(_kind: type, _source: str, lang: str, *_: object) -> Dictionary:
        return Dictionary(lang=lang, is_synonym=kind.__name__ == "SynonymAug")

    return type(kind.__name__, (kind,), {"get_model": classmethod(get_model)})


@lru_cache(maxsize=8)
def _augmenter(fraction: float) -> Any:  # noqa: ANN401 - an nlpaug augmenter, which has no types
    from nlpaug.augmenter.word import SynonymAug

    augmenter = on_our_wordnet(SynonymAug)(aug_src="wordnet", aug_p=fraction)
    augmenter.include_detail = True
    return augmenter


def published_synonyms(text: str, draw: random.Random, fraction: float) -> Viewed:
    """What `SynonymAug(aug_src="wordnet", aug_p=fraction)` makes of a text, drawing from `draw` alone."""
    if not text.strip():
        return Viewed(text, "unchanged", "no-eligible-word", None, (), fraction, None)
    augmenter = _augmenter(fraction)
    augmenter.sample = draw.sample
    made, changes = augmenter.augment(text)[0]
    share = len(changes) / len(augmenter.tokenizer(text.strip()))
    if made == text:
        return Viewed(text, "unchanged", "nothing-replaced", None, (), fraction, share)
    reason = None if changes else "spacing-only"
    return Viewed(made, "ok", reason, None, find_edits(text, made), fraction, share)
