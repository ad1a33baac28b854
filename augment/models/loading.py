"""A model's files that cannot be loaded: whatever its libraries raise becomes one line that names the cause."""

import json
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from augment.errors import InputError, describe, is_out_of_memory

LEAST_TOKENS = 3
"""Of a text: two special tokens and one of its own."""
_OBJECTS = (
    "config.json",
    "config_sentence_transformers.json",
    "sentence_bert_config.json",
    "special_tokens_map.json",
    "tokenizer.json",
    "tokenizer_config.json",
    "vocab.json",
)
WRAPPERS = r"^(?:module\.|_orig_mod\.)+"
"""What DataParallel and torch.compile put before the names of weights."""
_LFS = b"version https://git-lfs"
_LEARNT_MODULES = (".CNN", ".Dense", ".LSTM", ".LayerNorm", ".WeightedLayerPooling")
"""Ends of the types of modules that have weights."""


@contextmanager
def loading(what: str, folder: Path) -> Iterator[None]:
    """Raise InputError, which begins with `what`, for whatever the libraries raise if a model cannot be loaded."""
    try:
        yield
    except Exception as error:
        if isinstance(error, InputError) or is_out_of_memory(error):
            raise
        raise InputError("{} cannot be loaded ({}): {}".format(what, *fault(folder, error))) from None


def fault(folder: Path | None, error: Exception, advice: str = "get its files again") -> tuple[str, str]:
    """What is wrong with a model that could not be loaded, by its files if they are in a folder, and what to do."""
    if folder is not None and (seen := _damage(folder)):
        return seen
    if "ignore_mismatched_sizes" in str(error):  # what transformers says instead of the cause
        return "its weights have other sizes than its config.json says", advice
    # Of an architecture that transformers does not know.
    is_bare = re.search("recogni[sz]e", str(error)) and folder and not (folder / "modules.json").is_file()
    return describe(error, 160), f"{advice}; model2vec's and others need a modules.json" if is_bare else advice


def _damage(folder: Path) -> tuple[str, str] | None:
    if seen := damaged_weights(folder.rglob("*.safetensors")):
        return seen
    for name in _OBJECTS:
        for path in (folder / name, *folder.glob(f"*/{name}")):
            if not isinstance(_read(path, {}), dict):
                return f"{path} is damaged, not a JSON object", "get it again"
    missing = missing_file(folder)
    return None if missing is None else (f"{missing} is missing", "get it again")


def damaged_weights(paths: Iterable[Path]) -> tuple[str, str] | None:
    """What is wrong with one of these files of safetensors, and what to do; None if nothing is."""
    from safetensors import SafetensorError, safe_open

    for path in paths:
        try:
            with path.open("rb") as stream:
                if stream.read(len(_LFS)) == _LFS:
                    return f"{path} is a pointer of Git LFS", "run `git lfs pull` in its folder"
            with safe_open(path, framework="np"):  # compares the file's length with its header
                pass
        except (SafetensorError, OSError) as problem:
            return f"{path} is damaged, {problem}", "get it again"
    return None


def missing_file(folder: Path) -> Path | None:
    """A file that the modules of an encoder need and that is not there, if any."""
    for entry in _read(folder / "modules.json", []) or ():
        with suppress(TypeError, KeyError):  # its loader says what is wrong
            path, kind = folder / str(entry["path"]), str(entry["type"])
            if kind.endswith(".Pooling") and not (path / "config.json").is_file():
                return path / "config.json"
            if kind.endswith(_LEARNT_MODULES) and not any(path.glob("*model*")):
                return path / "model.safetensors"
    return None


def _read(path: Path, default: object) -> Any:  # noqa: ANN401 - whatever the file holds
    try:
        return json.loads(path.read_bytes()) if path.exists() else default
    except (OSError, ValueError, RecursionError):
        return None


def check_weights(model: Any, what: str) -> None:  # noqa: ANN401 - a torch module
    """Raise InputError for a model with a weight that is NaN or infinite."""
    for name, weight in model.named_parameters():
        if not weight.detach().sum().isfinite():  # a mask of the weights would need memory
            raise InputError(
                f"{what}: its weights are NaN or infinite, the first are {name}: get its files again"
            )


def check_length(tokens: Any, what: str) -> int:  # noqa: ANN401 - whatever a configuration holds
    """The most tokens of a text; raises InputError if a model's configuration leaves none."""
    if not isinstance(tokens, int | float) or not tokens >= LEAST_TOKENS:
        raise InputError(
            f"{what}: it reads at most {tokens!r} tokens (see its model_max_length): correct that"
        )
    return int(tokens)
