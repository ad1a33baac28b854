"""A teacher's vectors of the training texts: each text is encoded once; kept until the run is done."""

import json
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import xxhash
from numpy.typing import NDArray

from pipelines.console import InputError, note, progress
from trainers.embedding.model import EmbeddingModel, load_model
from trainers.embedding.vectors import cached, checked
from trainers.encoders.batches import MASK
from trainers.encoders.location import locate
from trainers.encoders.modules import Pooling
from trainers.files import whole_file
from trainers.processes import is_first, of_first, process_rank, processes


@dataclass(frozen=True, slots=True)
class Teacher:
    """A frozen sentence encoder of any kind that `train evaluate` takes, and the option that named it."""

    encoder: EmbeddingModel
    role: str = "teacher"

    @property
    def dimension(self) -> int:
        """Length of its vectors."""
        return int(self.encoder.card()["dimension"])

    def vectors(self, texts: Sequence[str], folder: Path) -> NDArray[np.float32]:
        """Return the unit vectors (texts, d) of distinct texts, mapped from a file that all processes share.

        All processes call this; each encodes its share of what `folder` does not have yet, and a run that is killed
        loses a few thousand texts at most.

        Raises:
            InputError: The folder holds the vectors of another teacher.
            TwinviewsError: The teacher gives vectors that are not finite.
        """
        # What decides the vectors: the teacher's weights and pooling, and the texts in their order.
        modules = [type(module).__name__ for module in self.encoder.model]
        known = [self.encoder.weights or self.encoder.name, self.encoder.pooling, modules]
        state = xxhash.xxh64(json.dumps(known, sort_keys=True).encode())
        for text in texts:
            state.update(text.encode("utf-8", "surrogatepass") + b"\0")
        path = folder / f"teacher-{state.hexdigest()}.npy"
        if is_first() and {*folder.glob("teacher-*.npy")} - {path}:
            said = "its weights or pooling are not what this run began with: use --overwrite, or give the same ones"
            raise InputError(f"--{self.role} {self.encoder.name}: {said}")
        if not of_first(path.is_file()):
            self._encode(texts, path)
        vectors: NDArray[np.float32] = np.load(path, mmap_mode="r")
        return vectors

    def _encode(self, texts: Sequence[str], path: Path) -> None:
        note(f"{self.role}: {self.encoder.title}; encoding {len(texts):,} texts, once")
        token = getattr(self.encoder.model.tokenizer, "mask_token", None) or MASK
        texts = [text.replace(MASK, token) for text in texts]
        parts = path.parent / "teacher-parts"
        kept, share = cached(self.encoder, parts), texts[process_rank() :: processes()]
        with progress(self.role, len(share), unit="texts") as advance:
            mine = checked(kept, share, advance)
        of_first(None)  # until all shares are on the disk
        if is_first():
            whole = np.asarray(mine if processes() == 1 else checked(kept, texts))
            lengths = np.linalg.norm(whole, axis=1, keepdims=True)
            path.parent.mkdir(parents=True, exist_ok=True)
            with whole_file(path) as stream:
                np.save(stream, whole / np.maximum(lengths, np.finfo(np.float32).tiny))
            shutil.rmtree(parts, ignore_errors=True)
        of_first(None)


def load_teacher(name: str, pooling: Pooling | None = None, role: str = "teacher") -> Teacher:
    """Load a directory or a model of the Hub, with masked means if it does not say how its tokens are pooled."""
    folder = locate(name).folder
    if pooling is None and folder is not None and not (folder / "modules.json").is_file():
        pooling = "mean"
    return Teacher(load_model(name, pooling=pooling), role)
