"""Keep random generators as they are: a check or a score must not change the training that follows."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import torch


@contextmanager
def undisturbed(device: torch.device) -> Iterator[None]:
    """Give Python's, NumPy's and torch's global generators (also that of `device`) their state back."""
    plain, array = random.getstate(), np.random.get_state()  # noqa: NPY002 - other libraries draw from it
    try:
        with torch.random.fork_rng(devices=[device] if device.type == "cuda" else []):
            yield
    finally:
        random.setstate(plain)
        np.random.set_state(array)  # noqa: NPY002
