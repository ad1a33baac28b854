"""Views by name, beside the central types, which are imported from here."""

import json
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from threading import Lock
from typing import Any, cast

from pydantic import TypeAdapter, ValidationError
from pydantic.fields import FieldInfo

from augment.errors import UNKNOWN, InputError, TwinviewsError, checked_texts, first_problem
from augment.meaning.best import BestOf
from augment.plugins import VIEWS, own_first, plugin_model
from augment.text.edits import apply_edits
from augment.types import (
    JSON,
    WEIGHTS_PARAMS,
    Edit,
    Runtime,
    View,
    ViewResult,
    ViewSpec,
    normalise,
    row_id,
    row_seed,
)

__all__ = [
    "JSON",
    "WEIGHTS_PARAMS",
    "Edit",
    "Runtime",
    "View",
    "ViewResult",
    "ViewSpec",
    "make_view",
    "make_views",
    "normalise",
    "row_id",
    "row_seed",
]

RESULT = TypeAdapter(ViewResult)
"""Checks the types in what another package's view returns."""

MAX_LOADED = 8
"""How many views keep their models from one call to the next."""


def view_class(name: str) -> type[View]:
    """The class of a view; raises InputError if there is no such view."""
    return cast("type[View]", plugin_model(VIEWS.module(name)))


def view_options(name: str) -> dict[str, FieldInfo]:
    """The options of a view by name, its own before those that it shares with others."""
    model = view_class(name)
    return {**own_first(model), **(BestOf.model_fields if model.uses_seed else {})}


def view_label(spec: ViewSpec) -> str:
    """The name of a view's default folder, and of a side in pairs: `backtranslate-de`."""
    value = spec.params.get(view_class(spec.name).folder_option or "")
    return (spec.name if value is None else f"{spec.name}-{value}").replace("/", "-")


def labelled_view(label: str) -> ViewSpec:
    """The view of a label, with the option that names it; raises InputError if there is none."""
    for name in sorted(VIEWS.usable_names(), key=len, reverse=True):
        key = view_class(name).folder_option or ""
        if label == name or (key and label.startswith(f"{name}-")):
            options = check_params(name, {} if label == name else {key: label.removeprefix(f"{name}-")})
            return ViewSpec(name, {key: options.params[key]} if key else {})
    raise InputError(f"there is no view dataset {label!r} and no view of that name: see `augment views`")


def check_params(name: str, params: Mapping[str, Any]) -> View:
    """The view with these options, not yet built; raises InputError that names what is wrong with them."""
    with VIEWS.errors_of(name):
        try:
            model = view_class(name)
            if not model.uses_seed:
                return model(**params)
            choice = {key: value for key, value in params.items() if key in BestOf.model_fields}
            own = {key: value for key, value in params.items() if key not in choice}
            return BestOf.of(model(**own), choice)
        except ValidationError as error:
            problem = first_problem(error)
            hint = f" (it takes: {', '.join(view_options(name))})" if problem.endswith(UNKNOWN) else ""
            raise InputError(f"{name}: {problem}{hint}") from None


def make_view(
    spec: ViewSpec, *, device: str = "auto", batch_tokens: int | None = None, concurrency: int = 16
) -> View:
    """Build the view that a specification names; loads no weights yet.

    A given revision of weights has to match; the view's `spec` has all parameters and revisions. The device
    is "auto", "cpu", "cuda" or "cuda:N"; `batch_tokens` counts a batch's padding too (None: the view's
    choice); `concurrency` is that of requests to a server. Raises InputError for a wrong or missing view,
    parameter, model, word list or extra, and TwinviewsError for a broken plugin.

    Example:
        >>> view = make_view(ViewSpec("repeat", {"rate": 0.5}))
        >>> view(["a small dog runs home"], seeds=[7])[0].text
        'a small small dog runs home'
    """
    options = check_params(spec.name, spec.params)
    with VIEWS.errors_of(spec.name):
        view: object = options.build(Runtime(device, batch_tokens, concurrency))
    if not isinstance(view, View):
        raise TwinviewsError(
            f"view {spec.name!r}: build gave {type(view).__name__}, which is not a View: fix the plugin"
        )
    return view


@dataclass(frozen=True)
class LoadedView:
    """A view with the models that it has loaded, which threads share: one of them at a time views texts."""

    view: View
    lock: AbstractContextManager[Any] = field(default_factory=Lock)

    def __call__(self, texts: Iterable[str], seed: int) -> dict[str, ViewResult]:
        """Views by their texts, which are normalised, by the seeds that a run with `seed` gives them."""
        if not isinstance(seed, int):
            raise InputError(f"seed={seed!r} is no whole number: give one")
        distinct, key = [*dict.fromkeys(texts)], self.view.spec.seed_key()
        seeds = [row_seed(seed, row_id(text), key) if self.view.uses_seed else 0 for text in distinct]
        with self.lock:
            views = checked_views(self.view, distinct, seeds)
        return dict(zip(distinct, views, strict=True))


_loading = Lock()


def loaded_view(spec: ViewSpec, device: str = "auto") -> LoadedView:
    """The view of a specification, built as `make_view` does unless it was and no file that it names has changed."""
    with _loading:
        options = check_params(spec.name, spec.params)
        if options.params.get("models") == "auto":  # which models these are may change
            options = make_view(spec, device=device)
        params = options.params
        return kept_view(spec.name, json.dumps(params), device, str([*map(_stamp, params.values())]))


@lru_cache(maxsize=MAX_LOADED)
def kept_view(name: str, params: str, device: str, _stamps: str) -> LoadedView:
    """The view of a name and its parameters as JSON, as long as its files have these stamps."""
    return LoadedView(make_view(ViewSpec(name, json.loads(params)), device=device))


def _stamp(value: object) -> list[tuple[int, int, int]]:
    """Which files an option names, the file itself or those of a folder, and when they were written."""
    with suppress(OSError, ValueError):
        path = Path(str(value))
        states = [file.stat() for file in (sorted(path.iterdir()) if path.is_dir() else [path])]
        return [(state.st_ino, state.st_mtime_ns, state.st_size) for state in states]
    return []


def checked_views(view: View, texts: Sequence[str], seeds: Sequence[int]) -> Sequence[ViewResult]:
    """A view of each text; raises TwinviewsError unless that is a list of consistent `ViewResult`s.

    Those of other packages are checked in full: their types, and that the edits of the sentence give the view.
    """
    name = view.spec.name
    with VIEWS.errors_of(name):
        views = view(texts, seeds)
        is_listed = (
            isinstance(views, Sequence) and {*map(type, views)} <= {ViewResult} and len(views) == len(texts)
        )
        if not is_listed or any(
            (view.text is None) != (view.status in ("failed", "rejected")) for view in views
        ):
            raise TwinviewsError(
                f"view {name!r} did not return a list of {len(texts)} ViewResult, each with a text unless it failed "
                "or is rejected: fix the view"
            )
        for text, result in zip(texts, views, strict=True) if VIEWS.entry_point(name) else ():
            edits = RESULT.validate_python(result, strict=True).edits
            if edits and result.text not in (None, apply_edits(text, edits)):
                raise TwinviewsError(
                    f"view {name!r} gave edits that do not lead to its text for {text[:60]!r}: fix the view"
                )
    return views


def make_views(
    texts: Iterable[str], view: str, *, seed: int = 0, device: str = "auto", **options: JSON
) -> list[ViewResult]:
    """View any number of texts as `augment VIEW` does with these options.

    Args:
        texts: Strings, normalised first (NFC, no outer white space); an empty one has "failed".
        view: The name of a view, as `augment views` lists them.
        seed: That of the run. With a text, the view and its options it gives the seed of a row, so a result
            depends on nothing else in the list, and no library's update draws rows anew. Some views draw
            nothing.
        device: "auto", "cpu", "cuda" or "cuda:N"; on a GPU models round in another way, unless `precision` is
            "fp64".
        options: The view's own, with `_` for `-`.

    The first call loads the models, which the last views keep; it asks the Hub where they are not on this
    machine, so with `models="auto"` a translation depends on what is found. Threads may call this at once:
    those that ask for the same view take turns.

    Returns one result a text, in order. Raises InputError for a wrong text or option, and as `make_view` does.

    Example:
        >>> [view.text for view in make_views(["a small dog runs home", ""], "repeat", seed=4, rate=0.5)]
        ['a small dog dog runs home home', None]
    """
    normalised = [*map(normalise, checked_texts(texts))]
    views = loaded_view(ViewSpec(view, options), device)(filter(None, normalised), seed)
    return [views.get(text, ViewResult(None, "failed", "empty")) for text in normalised]
