"""Anyone's Python function as an encoder: texts in, one vector per text out."""

import re
import sys
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any, cast

import numpy as np

from pipelines.console import InputError
from trainers.embedding.vectors import Advance, Matrix, TextEncoder, check, still
from trainers.files import file_sha256

Function = Callable[[list[str]], Any]

DOTTED = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*(\.[^\W\d]\w*)*")


@dataclass(slots=True)
class FunctionEncoder:
    """A function of a list of texts that returns one vector each: an array, a tensor, or lists of numbers.

    It is called with at most `batch_size` texts of like length, longest first, each distinct text once.
    """

    function: Function
    name: str
    source: Path | None = None
    batch_size: int = 256
    _dimension: int | None = field(default=None, init=False)

    @property
    def title(self) -> str:
        """The function's name."""
        return self.name

    def encode(self, texts: Sequence[str], advance: Advance = still) -> Matrix:
        """Return the texts' vectors (texts, d), float32.

        Raises InputError: the function fails, or gives no array with a row per text and as many columns as before.
        Raises TwinviewsError: it gives NaN or infinity.
        """
        order = sorted(range(len(texts)), key=lambda row: -len(texts[row]))
        batches = []
        for start in range(0, len(order), self.batch_size):
            batch = [texts[row] for row in order[start : start + self.batch_size]]
            try:
                output = self.function(list(batch))
                # A tensor may need a gradient, or be on a GPU: NumPy takes neither.
                output = output.detach().cpu().float() if hasattr(output, "detach") else output
                rows = np.asarray(output, dtype=np.float32)
            except Exception as error:  # the user's code can raise anything, and the user is to hear of it
                raise InputError(f"{self.name} failed on {len(batch)} texts: {_told(error)}") from error
            check(rows, batch, self.name)
            batches.append(rows)
            advance(len(batch))
        lengths = {rows.shape[1] for rows in batches}
        if len(lengths) > 1:
            raise InputError(f"{self.name} gave vectors of {' and '.join(map(str, lengths))} numbers: be constant")
        self._dimension = max(lengths, default=1)
        vectors = np.empty((len(texts), self._dimension), np.float32)
        if batches:
            vectors[order] = np.concatenate(batches)
        return vectors

    def card(self) -> dict[str, Any]:
        """Return the function's name, the dimension of its vectors and its file's hash as JSON values."""
        origin = {"file": str(self.source), "sha256": file_sha256(self.source)} if self.source else {}
        return {"name": self.name, "kind": "function", "dimension": self._dimension, **origin}


def as_encoder(thing: TextEncoder | Function) -> TextEncoder:
    """Return an encoder as it is, and a function (or an object with a method `encode`) as an encoder."""
    if hasattr(thing, "encode") and hasattr(thing, "card"):
        return cast("TextEncoder", thing)
    function: Any = getattr(thing, "encode", thing)
    return FunctionEncoder(function, f"{function.__module__}:{getattr(function, '__qualname__', type(thing).__name__)}")


def load_function(name: str, batch_size: int = 256) -> FunctionEncoder:
    """Import `package.module:function`, from the working directory too, as `python -m` would.

    What is named may also be an object with a method `encode`, such as a SentenceTransformer. Raises InputError: the
    module cannot be imported, or has nothing of that name that can be called.
    """
    module, _, path = name.partition(":")
    if not {str(Path.cwd()), ""} & set(sys.path):
        sys.path.insert(0, str(Path.cwd()))
    try:
        found: Any = import_module(module)
    except (Exception, SystemExit) as error:  # a module's code can raise anything, or leave
        raise InputError(f"cannot import {module}: {_told(error)}") from error
    source = getattr(found, "__file__", None)
    for part in path.split("."):
        found = getattr(found, part, None)
    function = getattr(found, "encode", found)
    if not callable(function):
        raise InputError(f"{module} has no {path!r} to call: name a function of it, from texts to vectors")
    return FunctionEncoder(function, name, Path(source) if source else None, batch_size)


def _told(error: BaseException) -> str:
    """Return an error's kind and message with the place in the user's code where it was raised."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if frame.filename != __file__ and "importlib" not in frame.filename]
    place = f" ({Path(own[-1].filename).name} line {own[-1].lineno})" if own else ""
    return f"{type(error).__name__}: {error}{place}"
