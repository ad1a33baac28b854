"""From a pydantic model of options to a command of typer, with the docstrings of its fields as help."""

import inspect
import re
from collections.abc import Callable, Mapping
from copy import copy
from functools import wraps
from typing import Annotated, Any, Self, TypeVar, get_type_hints

from pydantic import BaseModel, ConfigDict, ValidationError, model_validator
from pydantic.fields import FieldInfo
from typer.models import OptionInfo, ParameterInfo

from augment.errors import InputError, first_problem
from augment.plugins import own_first as own_first

MAX_INTEGER = 10**18
"""Libraries fail on larger ones."""
Model = TypeVar("Model", bound=BaseModel)


class Options(BaseModel):
    """Options of a command or of a part of it.

    The string below a field is its help. An `Option` or `Argument` of typer in a field's `Annotated` says
    more about how it is shown.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, use_attribute_docstrings=True)

    @model_validator(mode="after")
    def _without_huge_integers(self) -> Self:
        for key, value in self:
            if isinstance(value, int) and abs(value) > MAX_INTEGER:
                raise ValueError(f"{_dashed(key)} {value}: should be between {-MAX_INTEGER} and {MAX_INTEGER}")
        return self


def checked(model: type[Model], values: Mapping[str, Any]) -> Model:
    """The model of these values; raises InputError with the option and the value for an invalid one."""
    try:
        return model(**values)
    except ValidationError as error:
        problem = first_problem(error, "{} {!r}")
        field = re.split("[ :]", problem, maxsplit=1)[0]
        raise InputError(f"--{_dashed(field.partition('.')[0])}{problem[len(field) :]}") from None


def _dashed(key: str) -> str:
    return key.replace("_", "-")


def parameters(fields: Mapping[str, FieldInfo], panel: str | None = None) -> list[inspect.Parameter]:
    """The fields of a model as typer reads options; `panel` heads those that do not name one."""
    return [_parameter(field.alias or key, field, panel) for key, field in fields.items()]


def _parameter(key: str, field: FieldInfo, panel: str | None) -> inspect.Parameter:
    shown = [copy(item) for item in field.metadata if isinstance(item, ParameterInfo)]
    option = shown[0] if shown else OptionInfo(default=..., rich_help_panel=panel)
    option.help = field.description or option.help
    default = inspect.Parameter.empty if field.is_required() else field.default
    if default is False and field.annotation is bool:
        option.param_decls = (f"--{_dashed(key)}",)
    kind: Any = field.annotation
    return inspect.Parameter(
        key, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[kind, option]
    )


def with_options(function: Callable[[Any], None]) -> Callable[..., None]:
    """A command for typer that calls `function(options)`, with an option for every field of the options' model."""
    model = get_type_hints(function)["options"]

    @wraps(function)
    def command(**values: Any) -> None:  # noqa: ANN401 - whatever the options hold
        function(checked(model, values))

    command.__signature__ = inspect.Signature(parameters(own_first(model)))  # type: ignore[attr-defined]
    return command
