"""A full disk ends a training with one line, whichever library hits it first."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pipelines.console import TwinviewsError

FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
UNWRITTEN = ("inline_container", "PytorchStreamWriter", "Error while serializing")
"""Parts of the messages with which torch and safetensors report a failed write, in errors other than OSError."""


@contextmanager
def resumable(out: Path) -> Iterator[None]:
    """Turn what the libraries raise over a full disk into one line.

    Raises:
        TwinviewsError: Something could not be written.
    """
    try:
        yield
    except Exception as error:
        text = str(error)
        if getattr(error, "errno", None) not in FULL and not any(said in text for said in UNWRITTEN):
            raise
        why = getattr(error, "strerror", None) or text.splitlines()[0]
        raise TwinviewsError(
            f"cannot write all of {out} ({why}): free space on its disk, then give the same command again"
        ) from error
