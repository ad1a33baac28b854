"""Pairs to an encoder, and an encoder to scores: the command `train`."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from trainers.results.judging import Judgement, compare, judge
    from trainers.results.verdict import Verdict

__all__ = ["Judgement", "Verdict", "compare", "judge"]


def __getattr__(name: str) -> Any:  # noqa: ANN401 - imported when it is asked for
    if name in __all__:
        return getattr(import_module(f"trainers.results.{'verdict' if name == 'Verdict' else 'judging'}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
