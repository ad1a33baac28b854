"""Weights from pytorch_model.bin, all that OPUS-MT models have: read without running any code in it."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from augment.errors import InputError
from augment.wordnet import cache_folder

if TYPE_CHECKING:
    import torch

PICKLE = "pytorch_model.bin"
"""The only pickle that is ever read."""
SAFETENSORS = "model.safetensors"


def as_safetensors(folder: Path, key: str, flag: str) -> Path:
    """A copy of a model's folder in the user's cache with its pickle converted to safetensors; made once.

    Args:
        folder: A model with pytorch_model.bin.
        key: Names the content: a commit of the Hub or a hash.
        flag: The option that named the model, for errors.

    Raises:
        InputError: The pickle holds anything but tensors or is damaged, or the cache cannot be written.
    """
    from safetensors.torch import save_file

    target = cache_folder() / "weights" / key
    if (target / SAFETENSORS).is_file():
        return target
    tensors = _tensors(folder / PICKLE, flag)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".weights-", dir=target.parent, ignore_cleanup_errors=True) as scratch:
            draft = Path(scratch) / key
            draft.mkdir()
            for path in (*folder.glob("*"), *folder.glob("*/config.json")):  # 1_Pooling/config.json
                if path.is_file() and path.suffix in (".json", ".txt", ".spm", ".model"):
                    copied = draft / path.relative_to(folder)
                    copied.parent.mkdir(exist_ok=True)
                    shutil.copyfile(path, copied)
            save_file(tensors, draft / SAFETENSORS, metadata={"format": "pt"})
            try:
                os.replace(draft, target)
            except OSError:
                if not (target / SAFETENSORS).is_file():  # else another process was first
                    raise
    except OSError as error:
        raise InputError(f"{target}: cannot write the weights there ({error.strerror}); set XDG_CACHE_HOME") from None
    return target


def _tensors(path: Path, flag: str) -> dict[str, torch.Tensor]:
    import torch

    try:
        state = torch.load(path, weights_only=True, map_location="cpu")
    except Exception as error:  # damaged files and refused pickles make torch raise anything
        said = f"{type(error).__name__}: {' '.join(str(error).split())[:100]}"
        raise InputError(f"{flag} {path}: damaged or more than weights; nothing in it was run ({said})") from None
    if not isinstance(state, Mapping) or not all(isinstance(value, torch.Tensor) for value in state.values()):
        raise InputError(f"{flag} {path}: not tensors by name; give a model saved by transformers")
    return _untied(state)


def _untied(state: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """The tensors without ties: of those that share memory only the one that transformers ties the others to."""
    names = defaultdict(list)
    for name, tensor in state.items():
        memory = tensor.untyped_storage().data_ptr() or name  # empty tensors have no address
        names[memory, tensor.storage_offset(), tensor.shape, tensor.stride()].append(name)
    kept = (min(group, key=_tied_last) for group in names.values())
    # safetensors refuses shared storage, so that different views of one are cloned too.
    return {name: state[name].detach().clone().contiguous() for name in kept}


def _tied_last(name: str) -> tuple[bool, bool, int]:
    """Sort key: the input embeddings first, which transformers ties heads to, then shorter names."""
    return not name.endswith("shared.weight"), "embed" not in name, len(name)
