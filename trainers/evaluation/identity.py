"""What tells one model's vectors from another's: checksums, the Hub's commit, a hash of all that counts."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

from trainers.encoders.location import PICKLE, pickled
from trainers.evaluation.graded import file_sha256

LIBRARIES = ("twinviews", "torch", "transformers", "sentence-transformers")
"""Their versions can change a vector."""
_BESIDE_WEIGHTS = (".json", ".txt", ".model", ".bpe", ".vocab")


def weights_of(directory: Path) -> dict[str, str]:
    """Return the sha256 of each weights file of a model; a run's intermediate checkpoints are not the model."""
    names = [path.relative_to(directory) for path in sorted(directory.rglob("*.safetensors"))]
    if pickled(directory):
        names.append(Path(PICKLE))
    return {str(name): file_sha256(directory / name) for name in names if "checkpoint" not in str(name)}


def revision_of(model: Any) -> dict[str, str]:  # noqa: ANN401 - a model of another library, possibly without a config
    """Return the Hub's commit of a loaded model, if it is known."""
    commit = getattr(getattr(model[0], "config", None), "_commit_hash", None)
    return {"revision": str(commit)} if commit else {}


def fingerprint(directory: Path | None, weights: Mapping[str, str], settings: Mapping[str, Any]) -> str | None:
    """Return a hash of all that decides a model's vectors, 32 hex digits; None if the weights are not known.

    Args:
        directory: The model's, for its vocabulary and configuration; a Hub's commit covers both.
        weights: Their checksums, or the commit.
        settings: How it is run, as JSON values.
    """
    if not weights:
        return None
    libraries = {name: version(name) for name in LIBRARIES}
    known = {"weights": dict(weights), "files": _files(directory), "settings": settings, "libraries": libraries}
    return hashlib.sha256(json.dumps(known, sort_keys=True, default=str).encode()).hexdigest()[:32]


def _files(directory: Path | None) -> dict[str, str]:
    if directory is None:
        return {}
    # A module's configuration is called config.json, or, of a CNN, cnn_config.json.
    folders = [directory, *sorted({path.parent for path in directory.glob("*/*config.json")})]
    paths = [path for folder in folders if "checkpoint" not in folder.name for path in sorted(folder.iterdir())]
    return {str(path.relative_to(directory)): file_sha256(path) for path in paths if path.suffix in _BESIDE_WEIGHTS}
