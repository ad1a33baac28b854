"""Pairs to an encoder, and an encoder to scores: the command `train`."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from trainers.results.judged import Judgement, Verdict, compare, judge

__all__ = ["Judgement", "Verdict", "compare", "judge"]


def __getattr__(name: str) -> Any:  # noqa: ANN401 - imported when it is asked for
    if name in __all__:
        return getattr(import_module("trainers.results.judged"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
