"""Views by name, beside the central types, which are imported from here."""

import json
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from types import new_class
from typing import Any, cast

from pydantic import ValidationError
from pydantic.fields import FieldInfo

from augment.errors import UNKNOWN, InputError, TwinviewsError, first_problem
from augment.meaning.best import BestOfN
from augment.plugins import Plugins, missing_model, plugin_model
from augment.types import JSON as JSON
from augment.types import LONE_SURROGATE
from augment.types import WEIGHTS_PARAMS as WEIGHTS_PARAMS
from augment.types import Edit as Edit
from augment.types import Runtime as Runtime
from augment.types import View as View
from augment.types import ViewResult as ViewResult
from augment.types import ViewSpec as ViewSpec
from augment.types import normalise as normalise
from augment.types import row_id as row_id
from augment.types import row_seed as row_seed

VIEWS = Plugins("augment.views", missing_model)
"""All views: ours, one file each in `augment/views/`, and those of installed packages."""

LOADED: dict[str, View] = {}
MAX_LOADED = 8
"""How many views keep their models from one call to the next."""


def view_class(name: str) -> type[View]:
    """The class of a view, with best of N where seeds change its texts; raises InputError if there is no such view."""
    return _with_choice(cast("type[View]", plugin_model(VIEWS.module(name))))


@cache
def _with_choice(model: type[View]) -> type[View]:
    if not issubclass(model, View) or not model.uses_seed or BestOfN.model_fields.keys() & model.model_fields.keys():
        return model
    names = {"__module__": model.__module__, "__doc__": model.__doc__}
    return new_class(model.__name__, (BestOfN, model), exec_body=lambda namespace: namespace.update(names))


def view_attribute(name: str, attribute: str, default: Any = None) -> Any:  # noqa: ANN401 - whatever a class has
    """An attribute of a view's class (see `View`); `default` if there is no such view or attribute."""
    if name not in VIEWS.usable_names():
        return default
    return getattr(view_class(name), attribute, default)


def view_options(name: str) -> dict[str, FieldInfo]:
    """The options of a view by name, its own before those that it shares with others."""
    model = view_class(name)
    own_names = vars(cast(Any, plugin_model(VIEWS.module(name)))).get("__annotations__", {})
    return dict(sorted(model.model_fields.items(), key=lambda option: option[0] not in own_names))


def view_label(spec: ViewSpec) -> str:
    """The name of a view's default folder, and of a side in pairs: `backtranslate-de`."""
    value = spec.params.get(view_attribute(spec.name, "folder_option", ""))
    return (spec.name if value is None else f"{spec.name}-{value}").replace("/", "-")


def labelled_view(label: str) -> ViewSpec:
    """The view of a label, with the option that names it; raises InputError if there is none."""
    for name in sorted(VIEWS.usable_names(), key=len, reverse=True):
        key = view_attribute(name, "folder_option")
        if label == name or (key is not None and label.startswith(f"{name}-")):
            options = check_params(name, {} if label == name else {key: label.removeprefix(f"{name}-")})
            return ViewSpec(name, {} if key is None else {key: getattr(options, key)})
    raise InputError(f"there is no view dataset {label!r} and no view of that name: see `augment views`")


def check_params(name: str, params: Mapping[str, Any]) -> View:
    """The view with these options, not yet built; raises InputError that names what is wrong with them."""
    with VIEWS.errors_of(name):
        try:
            return view_class(name)(**params)
        except ValidationError as error:
            problem = first_problem(error)
            hint = f" (it takes: {', '.join(view_options(name))})" if problem.endswith(UNKNOWN) else ""
            raise InputError(f"{name}: {problem}{hint}") from None


def make_view(spec: ViewSpec, *, device: str = "auto", batch_tokens: int | None = None) -> View:
    """Build the view that a specification names; loads no weights yet.

    A given revision of weights has to match; the view's `spec` has all parameters and revisions. The device is "auto",
    "cpu", "cuda" or "cuda:N"; `batch_tokens` counts a batch's padding too (None: the view's choice). Raises InputError
    for a wrong or missing view, parameter, model, word list or extra, and TwinviewsError for a broken plugin.

    Example:
        >>> view = make_view(ViewSpec("repeat", {"rate": 0.5}))
        >>> view(["a small dog runs home"], seeds=[7])[0].text
        'a small small dog runs home'
    """
    options = check_params(spec.name, spec.params)
    with VIEWS.errors_of(spec.name):
        view = options.build(Runtime(device, batch_tokens))
    if not callable(view) or not isinstance(getattr(view, "spec", None), ViewSpec):
        problem = f"build gave {type(view).__name__}, which is not a view: fix the plugin"
        raise TwinviewsError(f"view {spec.name!r}: {problem}")
    return view


def loaded_view(spec: ViewSpec, device: str = "auto") -> View:
    """`make_view`, but the last few views are kept with the models that they have loaded."""
    view = make_view(spec, device=device)
    key = f"{view.spec.name} {json.dumps(view.spec.params)} {device}"  # with the revisions of files
    while key not in LOADED and len(LOADED) >= MAX_LOADED:
        del LOADED[next(iter(LOADED))]
    return LOADED.setdefault(key, view)


def checked_views(view: View, texts: Sequence[str], seeds: Sequence[int]) -> Sequence[ViewResult]:
    """A view of each text; raises TwinviewsError unless that is a list of consistent `ViewResult`s."""
    name = view.spec.name
    with VIEWS.errors_of(name):
        views = view(texts, seeds)
        is_listed = isinstance(views, Sequence) and {*map(type, views)} <= {ViewResult} and len(views) == len(texts)
        if not is_listed or any((view.text is None) != (view.status in ("failed", "rejected")) for view in views):
            text = f"did not return a list of {len(texts)} ViewResult, each with a text unless it failed or is rejected"
            raise TwinviewsError(f"view {name!r} {text}: fix the view")
        if VIEWS.entry_point(name):
            for text, result in zip(texts, views, strict=True):
                if problem := result.problem(text):
                    raise TwinviewsError(f"view {name!r} gave {problem} for {text[:60]!r}: fix the view")
    return views


def checked_texts(texts: Iterable[str]) -> list[str]:
    """The texts, normalised; raises InputError for one string instead of many, and for what is no text."""
    if isinstance(texts, str):
        raise InputError(f"{texts[:60]!r} is one text: give a list of them")
    for number, text in enumerate(texts := [*texts]):
        if not isinstance(text, str) or LONE_SURROGATE.search(text):
            raise InputError(f"text {number} is {ascii(text)[:60]}: give a string of whole characters")
    return [*map(normalise, texts)]


def make_views(
    texts: Iterable[str], view: str, *, seed: int = 0, device: str = "auto", **options: JSON
) -> list[ViewResult]:
    """View any number of texts as `augment VIEW` does with these options; the first call loads its models.

    A result depends on its text, the seed and the options, not on the other texts; an empty text has "failed". A view
    that draws nothing has no use for the seed. Raises InputError for a wrong text or option, and as `make_view` does.

    Example:
        >>> [view.text for view in make_views(["a small dog runs home", ""], "repeat", seed=4, rate=0.5)]
        ['a small dog dog runs home', None]
    """
    normalised, built = checked_texts(texts), loaded_view(ViewSpec(view, options), device)
    signature, draws = built.spec.signature(), getattr(built, "uses_seed", True)
    distinct = [*dict.fromkeys(filter(None, normalised))]
    seeds = [row_seed(seed, row_id(text), signature) if draws else 0 for text in distinct]
    views = dict(zip(distinct, checked_views(built, distinct, seeds), strict=True))
    return [views.get(text, ViewResult(None, "failed", "empty")) for text in normalised]
