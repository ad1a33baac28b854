"""Views of a sentence, and what became of it: text to text, without files or commands."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from augment.version import __version__

if TYPE_CHECKING:
    from augment.errors import InputError, TwinviewsError
    from augment.view import ViewResult, ViewSpec, make_views

__all__ = ["InputError", "TwinviewsError", "ViewResult", "ViewSpec", "__version__", "make_views"]


def __getattr__(name: str) -> Any:  # noqa: ANN401 - imported when it is asked for
    if name in __all__:
        return getattr(import_module("augment.view"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
