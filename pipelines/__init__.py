"""Datasets of sentences, views and pairs: the command `augment`."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pipelines.pairs.build import make_pairs
    from pipelines.storage.pair_files import read_pairs, write_pairs

__all__ = ["make_pairs", "read_pairs", "write_pairs"]


def __getattr__(name: str) -> Any:  # noqa: ANN401 - imported when it is asked for
    if name in __all__:
        home = "pipelines.pairs.build" if name == "make_pairs" else "pipelines.storage.pair_files"
        return getattr(import_module(home), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
