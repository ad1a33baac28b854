"""Views by name, beside the central types, which are imported from here."""

from collections.abc import Mapping
from functools import cache
from types import new_class
from typing import Any, cast

from pydantic import ValidationError
from pydantic.fields import FieldInfo

from augment.errors import UNKNOWN, InputError, TwinviewsError, first_problem
from augment.meaning.best import BestOfN
from augment.plugins import Plugins, missing_model, plugin_model
from augment.types import JSON as JSON
from augment.types import WEIGHTS_PARAMS as WEIGHTS_PARAMS
from augment.types import Edit as Edit
from augment.types import Runtime as Runtime
from augment.types import Status as Status
from augment.types import View as View
from augment.types import ViewResult as ViewResult
from augment.types import ViewSpec as ViewSpec
from augment.types import normalise as normalise
from augment.types import row_id as row_id
from augment.types import row_seed as row_seed

VIEWS = Plugins("augment.views", missing_model)
"""All views: ours, one file each in `augment/views/`, and those of installed packages."""


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

    Args:
        spec: Its name and parameters; a given revision of weights has to match.
        device: "auto", "cpu", "cuda" or "cuda:N".
        batch_tokens: Tokens in a batch, padding included; None for the view's choice.

    Returns:
        The view; its `spec` has all parameters and the revision of its weights.

    Raises:
        InputError: A view, parameter, model, word list or extra is missing or wrong.
        TwinviewsError: Another package's view cannot be built.

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
