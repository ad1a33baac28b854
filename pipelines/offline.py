"""A dry run uses the Hub's cache and never the network."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from augment.errors import InputError


@contextmanager
def offline() -> Iterator[None]:
    """Download nothing in the block; raises InputError where a model or dataset of the Hub is not in the cache."""
    from huggingface_hub import constants
    from huggingface_hub.errors import LocalEntryNotFoundError

    switches: list[Any] = [constants, *filter(None, [sys.modules.get("datasets.config")])]
    before = [switch.HF_HUB_OFFLINE for switch in switches]
    try:
        for switch in switches:
            switch.HF_HUB_OFFLINE = True
        yield
    except InputError as error:
        cause: BaseException | None = error
        while cause is not None and not isinstance(cause, ConnectionError | LocalEntryNotFoundError):
            cause = cause.__context__
        advice = ": a dry run downloads nothing, leave out --dry-run or fetch it first"
        raise (error if cause is None else InputError(str(error).partition(" (")[0] + advice)) from None
    finally:
        for switch, value in zip(switches, before, strict=True):
            switch.HF_HUB_OFFLINE = value
