"""From a dataclass of options to a command of typer, with the docstrings of its fields as help."""

import ast
import inspect
from collections.abc import Callable
from copy import copy
from functools import cache, wraps
from importlib import import_module
from itertools import pairwise
from typing import Annotated, Any, get_args, get_origin, get_type_hints

import typer

MAX_INTEGER = 10**18
"""Libraries fail on larger ones."""


@cache
def _help_texts(module: str) -> dict[tuple[str, str], str]:
    """The docstring of every field in a module, by the names of its class and its own."""
    source = ast.parse(inspect.getsource(import_module(module)))
    return {
        (definition.name, ast.unparse(field.target)): " ".join(ast.literal_eval(text.value).split())
        for definition in source.body
        if isinstance(definition, ast.ClassDef)
        for field, text in pairwise(definition.body)
        if isinstance(field, ast.AnnAssign) and isinstance(text, ast.Expr)
    }


def _check_size(value: Any) -> Any:  # noqa: ANN401 - whatever an option holds
    if isinstance(value, int) and abs(value) > MAX_INTEGER:
        raise typer.BadParameter(f"Input should be between {-MAX_INTEGER} and {MAX_INTEGER}")
    return value


def option_parameters(options_class: type) -> list[inspect.Parameter]:
    """The fields of a class of options as typer reads them, with their docstrings as help."""
    annotations, parameters = get_type_hints(options_class, include_extras=True), []
    for name, parameter in inspect.signature(options_class).parameters.items():
        annotation = annotations[name]
        if get_origin(annotation) is not Annotated:
            annotation = Annotated[annotation, typer.Option()]
        kind, shared = get_args(annotation)
        option = copy(shared)
        owners = options_class.__mro__[:-1]
        texts = (_help_texts(owner.__module__).get((owner.__name__, name)) for owner in owners)
        option.help = next(filter(None, texts), option.help)
        option.callback = option.callback or _check_size
        if parameter.default is False:
            option.param_decls = (f"--{name.replace('_', '-')}",)
        parameters.append(parameter.replace(annotation=Annotated[kind, option]))
    return parameters


def with_options(function: Callable[[Any], None]) -> Callable[..., None]:
    """A command for typer that calls `function(options)`, with an option for every field of the options' class."""
    options_class = get_type_hints(function)["options"]

    @wraps(function)
    def command(**values: Any) -> None:  # noqa: ANN401 - whatever the options hold
        function(options_class(**values))

    command.__signature__ = inspect.Signature(option_parameters(options_class))  # type: ignore[attr-defined]
    return command
