"""Any augmenter of nlpaug for text, by its class name and with its own arguments, seeded per row."""

from __future__ import annotations

import inspect
import random
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import import_module
from importlib.metadata import version
from typing import Any

from pydantic import Field, JsonValue, PrivateAttr

from augment.device import quiet_transformers, resolve_device
from augment.edits import apply_edits, find_edits
from augment.errors import InputError
from augment.keep import WordView, untouching
from augment.published import on_our_wordnet
from augment.view import Runtime, Viewed
from augment.wordnet import find
from augment.words import special_tokens

MODULES = ("nlpaug.augmenter.char", "nlpaug.augmenter.word", "nlpaug.augmenter.sentence", "nlpaug.flow")
FLOWS = ("Sequential", "Sometimes")
FUNCTIONS = frozenset(["tokenizer", "reverse_tokenizer"])
"""Arguments that are Python functions, which no command line or recipe can hold."""
WORDNET_USERS = frozenset(["SynonymAug", "AntonymAug"])
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
    longest: int = Field(
        default=10_000,
        ge=1,
        description="characters of a sentence at most, a longer one fails: some augmenters never end on it",
    )
    revision: str | None = Field(default=None, description="hold nlpaug to this version")

    _augmenter: Any = PrivateAttr()

    def build(self, runtime: Runtime) -> Nlpaug:
        """The view, its augmenter built and tried on one sentence.

        Raises:
            InputError: No such augmenter or argument, another version of nlpaug, models or NLTK data that are missing,
                or an augmenter that fails on a plain sentence.
        """
        installed = version("nlpaug")
        if self.revision not in (None, installed):
            raise InputError(f"nlpaug: version {installed} is installed, not {self.revision}; install that one")
        view = self.keeping().model_copy(update={"revision": installed})
        with quiet_transformers(), _random_state_kept():
            view._augmenter = _built(self.augmenter, self.arguments, runtime.device)
            _seed(0)
            _tried(self.augmenter, lambda: view._augmenter.augment(TRIAL), "fails on a plain sentence")
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
        edits = untouching(find_edits(text, view), self.kept(text))
        if not edits:
            return Viewed(text, "unchanged")
        return Viewed(apply_edits(text, edits), edits=edits)


def _built(name: str, arguments: Mapping[str, JsonValue], device: str) -> Any:  # noqa: ANN401 - an nlpaug augmenter
    kind = _class(name)
    known = list(inspect.signature(kind).parameters)
    wrong = [key for key in arguments if key not in known or key in FUNCTIONS or key == "device"]
    if wrong:
        takes = ", ".join(key for key in known if key not in FUNCTIONS and key != "device")
        raise InputError(f"nlpaug: {name} takes no argument {wrong[0]!r} here (it takes: {takes})")
    given: dict[str, Any] = dict(arguments)
    if "device" in known:
        given["device"] = str(resolve_device(device))
    if name in FLOWS:
        given["flow"] = [_built(*part, device) for part in _parts(name, given.get("flow"))]
    if name in WORDNET_USERS and arguments.get("aug_src", "wordnet") == "wordnet":
        find()  # before nlpaug is built, which would say so in its own words
        kind = on_our_wordnet(kind)
    augmenter = _tried(name, lambda: kind(**given), "cannot be built")
    if name == "SpellingAug":
        # nlpaug keeps them in the order of a set, which differs from process to process.
        for words in augmenter.model.dict.values():
            words.sort()
    return augmenter


def _parts(name: str, flow: Any) -> Iterator[tuple[str, Mapping[str, JsonValue]]]:  # noqa: ANN401 - YAML
    """The augmenters of a flow, each with its arguments; raises InputError where it is written otherwise."""
    if not isinstance(flow, list) or not flow:
        raise InputError(f"nlpaug: {name} needs a list of augmenters: {{flow: [{{augmenter: SplitAug}}, ...]}}")
    for part in flow:
        if not isinstance(part, dict) or "augmenter" not in part or part.keys() - {"augmenter", "arguments"}:
            how = "write {augmenter: SplitAug, arguments: {...}}"
            raise InputError(f"nlpaug: {name}: {part!r} is no augmenter: {how}")
        yield str(part["augmenter"]), part.get("arguments") or {}


def _class(name: str) -> type[Any]:
    """The augmenter's class; raises InputError for other names, with those that there are."""
    found = {
        name: kind
        for module in MODULES
        for name, kind in vars(import_module(module)).items()
        if inspect.isclass(kind) and (name.endswith("Aug") or name in FLOWS)
    }
    if name not in found:
        raise InputError(f"nlpaug: unknown augmenter for text {name!r}: choose one of {', '.join(sorted(found))}")
    return found[name]


def _tried(name: str, attempt: Callable[[], Any], what: str) -> Any:  # noqa: ANN401 - whatever nlpaug returns
    try:
        return attempt()
    except InputError:
        raise
    except Exception as error:  # nlpaug and what it builds on raise anything; the user gave it these arguments
        missing = NLTK_WANTS.search(str(error)) if isinstance(error, LookupError) else None
        if missing:
            advice = f"run `python -m nltk.downloader {missing[1]}`"
            raise InputError(f"nlpaug: {name} needs NLTK's {missing[1]}: {advice}") from None
        said = " ".join(str(error).split())[:200]
        raise InputError(f"nlpaug: {name} {what}: {type(error).__name__}: {said}") from None


def _seed(seed: int) -> None:
    """Seed the generators that augmenters draw from; NumPy's takes 32 bits."""
    import numpy as np
    import torch

    random.seed(seed)
    np.random.seed(seed % 2**32)  # noqa: NPY002 - the global generator is the one that nlpaug draws from
    torch.manual_seed(seed)


@contextmanager
def _random_state_kept() -> Iterator[None]:
    """Give the process its random state back."""
    import numpy as np
    import torch

    python, numpy = random.getstate(), np.random.get_state()  # noqa: NPY002 - as above
    used = torch.cuda.is_initialized()  # type: ignore[no-untyped-call]
    devices = range(torch.cuda.device_count()) if used else ()
    try:
        with torch.random.fork_rng(devices=devices):
            yield
    finally:
        random.setstate(python)
        np.random.set_state(numpy)  # noqa: NPY002 - as above
