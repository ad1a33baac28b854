"""Encoders by name or loaded, and users' functions as encoders."""

import re
import sys
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from augment.errors import OwnCodeError
from pipelines.base.console import InputError
from pipelines.base.files import sha256_of
from trainers.encoders.vectors import BATCH_SIZE, Advance, Matrix, TextEncoder, check, still

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

Encoder: TypeAlias = "str | Path | SentenceTransformer | Callable[[list[str]], Any]"

FUNCTION = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*")
FROM_PYTHON = "judge(SentenceTransformer(..., trust_remote_code=True), table), from Python, runs it"
# of what a function lacks
DEFAULTS = {
    "pooling": None,
    "max_tokens": None,
    "precision": "fp32",
    "device": "auto",
}


@dataclass(frozen=True, slots=True)
class FunctionEncoder:
    """A function from at most `size` texts to vectors as an encoder."""

    function: Callable[[list[str]], Any]
    name: str
    source: Path | None = None
    size: int = BATCH_SIZE
    revision: None = field(default=None, init=False)

    title = property(attrgetter("name"))

    def encode(self, texts: Sequence[str], advance: Advance = still) -> Matrix:
        """Return vectors (texts, d), float32; raises InputError if the function fails, or as `check` does."""
        order = sorted(range(len(texts)), key=lambda row: -len(texts[row]))
        batches = []
        for start in range(0, len(order), self.size):
            # Plain strings: the texts of a search know their side, and equal no other string.
            batch = [str(texts[row]) for row in order[start : start + self.size]]
            try:
                rows = as_matrix(self.function(list(batch)))
            except Exception as error:  # a user's code can raise anything
                frame = traceback.extract_tb(error.__traceback__)[-1]
                problem = f"{type(error).__name__}: {error} ({frame.filename}, line {frame.lineno})"
                raise InputError(f"{self.name} failed on {len(batch)} texts: {problem}") from error
            check(rows, batch, self.name)
            batches.append(rows)
            advance(len(batch))
        lengths = {rows.shape[1] for rows in batches} or {1}
        if len(lengths) > 1:
            sizes = " and ".join(map(str, lengths))
            raise InputError(f"{self.name} gave vectors of {sizes} numbers: one length is needed")
        return np.concatenate([np.empty((0, *lengths), np.float32), *batches])[np.argsort(order)]

    def card(self) -> dict[str, Any]:
        """Return name, kind and provenance as JSON values."""
        origin = {"file": str(self.source), "sha256": sha256_of(self.source)} if self.source else {}
        return {"name": self.name, "kind": "function", **origin}


def as_matrix(output: Any) -> Matrix:  # noqa: ANN401 - whatever a function returns
    """Rows as an array: a tensor, on any device, a list of them, a sparse matrix (as TF-IDF is), or lists."""
    if hasattr(output, "toarray"):
        output = output.toarray()
    if hasattr(output, "detach"):  # NumPy takes no tensor that needs a gradient, is on a GPU, or in bfloat16
        output = output.detach().cpu().float()
    elif isinstance(output, list | tuple) and any(hasattr(row, "detach") for row in output):
        output = [as_matrix(row) for row in output]
    return np.asarray(output, dtype=np.float32)


def open_encoder(encoder: Encoder, **options: Any) -> TextEncoder:  # noqa: ANN401 - as `load_model` has them
    """An encoder by name (a directory first), or one loaded, or a function; InputError if there is none."""
    if not isinstance(encoder, str | Path):
        from sentence_transformers import SentenceTransformer

        from trainers.encoders.model import EmbeddingModel

        if isinstance(encoder, SentenceTransformer):
            return EmbeddingModel(encoder)
        if not callable(encoder):
            raise InputError(f"a {type(encoder).__name__} is no function: give one, such as its `encode`")
        return FunctionEncoder(encoder, getattr(encoder, "__name__", "the function"))
    name = str(encoder)
    if Path(name).expanduser().is_dir() or not FUNCTION.fullmatch(name):
        from trainers.encoders.model import load_model

        try:
            return load_model(name, **options)
        except OwnCodeError as error:
            raise InputError(f"{error}; {FROM_PYTHON}") from None
    for option, default in DEFAULTS.items():
        if (value := options.get(option, default)) != default:
            flag = f"--{option.replace('_', '-')}"
            raise InputError(f"{flag} {value} is for trained models, not for {name}: leave it out")
    return load_function(name)


def load_function(name: str) -> FunctionEncoder:
    """Return `package.module:function` as an encoder; raises InputError if it cannot be imported or called."""
    module, _, function = name.partition(":")
    folders = list(sys.path)
    sys.path.append(str(Path.cwd()))  # last: the files there shadow no other modules
    try:
        loaded = import_module(module)
    except (Exception, SystemExit) as error:  # a module's code can raise anything, or exit
        raise InputError(f"cannot import {module}: {type(error).__name__}: {error}") from error
    finally:
        sys.path[:] = folders
    source, mapping = getattr(loaded, "__file__", None), getattr(loaded, function, None)
    if not callable(mapping):
        raise InputError(
            f"{source or module} has no function {function!r}: name one that maps texts to vectors"
        )
    return FunctionEncoder(mapping, name, Path(source) if source else None)
