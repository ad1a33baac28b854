"""A dry run asks the network for nothing: what is in the Hub's cache serves."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from augment.errors import InputError


@contextmanager
def offline() -> Iterator[None]:
    """Nothing is downloaded within.

    Raises:
        InputError: A model or dataset of the Hub is wanted that is not in the cache.
    """
    from huggingface_hub import constants
    from huggingface_hub.errors import LocalEntryNotFoundError

    switches = [constants, *filter(None, [sys.modules.get("datasets.config")])]
    before = [switch.HF_HUB_OFFLINE for switch in switches]
    for switch in switches:
        switch.HF_HUB_OFFLINE = True  # type: ignore[attr-defined]
    try:
        yield
    except InputError as error:
        cause: BaseException | None = error
        while cause is not None and not isinstance(cause, ConnectionError | LocalEntryNotFoundError):
            cause = cause.__context__
        if cause is None:
            raise
        what = str(error).partition(" (")[0]
        raise InputError(f"{what}: a dry run downloads nothing, leave out --dry-run or fetch it first") from None
    finally:
        for switch, value in zip(switches, before, strict=True):
            switch.HF_HUB_OFFLINE = value  # type: ignore[attr-defined]
