"""Options as fields of pydantic models, and the command-line flags made from them."""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, get_args, get_origin

import typer
from annotated_types import Ge
from pydantic import BaseModel, ConfigDict

from pipelines.console import ConfigOption


class Options(BaseModel):
    """Options that become flags: a field each, its description the help."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


@dataclass(frozen=True, slots=True)
class Flag:
    """One option: its type, its help, its default, the least value it takes, and how its value is written in the help.

    A list type makes an option that may be given several times.
    """

    type: Any
    help: str
    default: Any = None
    least: int | None = None
    metavar: str | None = None

    def annotation(self, key: str) -> Any:  # noqa: ANN401 - an annotation
        """Return what typer reads: the type and the option's names and help."""
        name = "--" + key.replace("_", "-")
        if self.type == bool | None:
            name = f"{name}/--no-{name[2:]}"
        shown = self.default not in (None, False)
        option = typer.Option(name, help=self.help, show_default=shown, min=self.least, metavar=self.metavar)
        return Annotated[self.type, option]


def flags_of(model: type[BaseModel]) -> dict[str, Flag]:
    """Return a flag for each field that has a description."""
    found = {}
    for key, field in model.model_fields.items():
        if field.description is not None:
            least = next((limit.ge for limit in field.metadata if isinstance(limit, Ge)), None)
            extra = field.json_schema_extra
            metavar = str(extra["metavar"]) if isinstance(extra, dict) else None
            found[key] = Flag(field.annotation, field.description, field.default, least, metavar)  # type: ignore[arg-type]
    return found


def setting_flags(model: type[BaseModel], presets: Mapping[str, Mapping[str, Any]]) -> dict[str, Flag]:
    """Return a flag for each field, None where not given; its help says which presets have which value."""
    found = {}
    for key, field in model.model_fields.items():
        fallback = None if field.is_required() else field.get_default(call_default_factory=True)
        values = {name: _shown(preset.get(key, fallback)) for name, preset in presets.items()}
        usual, *others = dict.fromkeys(values.values())
        named = [f"{', '.join(name for name in values if values[name] == other)}: {other}" for other in others]
        help = f"{field.description} [{'; '.join([usual, *named])}]"
        found[key] = Flag(_option_type(field.annotation) | None, help)
    return found


def with_flags(function: Callable[..., None], flags: Mapping[str, Flag]) -> Callable[..., None]:
    """Return a command for typer that calls `function(context, **values)` with these flags and `--config`."""

    def command(context: typer.Context, **values: Any) -> None:  # noqa: ANN401 - the flags
        values.pop("config")
        function(context, **values)

    annotations = {"context": typer.Context, **{key: flag.annotation(key) for key, flag in flags.items()}}
    annotations["config"] = ConfigOption
    defaults = {"context": inspect.Parameter.empty, **{key: flag.default for key, flag in flags.items()}}
    parameters = [
        inspect.Parameter(key, inspect.Parameter.KEYWORD_ONLY, default=defaults.get(key), annotation=annotation)
        for key, annotation in annotations.items()
    ]
    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    command.__annotations__ = annotations
    command.__doc__ = function.__doc__
    return command


def _shown(value: object) -> str:
    if value is None:
        return "none"
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


def _option_type(annotation: Any) -> Any:  # noqa: ANN401 - a type
    """A tuple of any length is an option that is given several times."""
    arguments = get_args(annotation)
    if get_origin(annotation) is tuple and arguments[1:] == (...,):
        return list[arguments[0]]  # type: ignore[valid-type]
    return annotation
