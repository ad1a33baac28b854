"""Pairs to an encoder, and an encoder to scores: the command `train`."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from trainers.classifier import Classifier
    from trainers.scores.judging import Judgement, compare, judge
    from trainers.scores.statistics.verdict import Verdict

__all__ = ["Classifier", "Judgement", "Verdict", "compare", "judge"]
# of those in no other place
PLACES = {
    "Classifier": "trainers.classifier",
    "Verdict": "trainers.scores.statistics.verdict",
}


def __getattr__(name: str) -> Any:  # noqa: ANN401 - imported when it is asked for
    if name in __all__:
        return getattr(import_module(PLACES.get(name, "trainers.scores.judging")), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
