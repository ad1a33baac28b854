"""Options as fields of pydantic models, and the commands of the command line that are made from them."""

import inspect
from collections.abc import Callable, Mapping
from typing import Annotated, Any, NamedTuple, get_args, get_origin

import typer
from annotated_types import Ge
from pydantic import BaseModel, ConfigDict
from typer.core import TyperCommand

from pipelines.console import ConfigOption


class Options(BaseModel):
    """Options that become flags: a field each, its description the help."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class Flag(NamedTuple):
    """One option: its type (a list may be given several times), its help, its default, and the least value it takes."""

    type: Any
    help: str
    default: Any = None
    least: int | None = None

    def parameter(self, key: str) -> inspect.Parameter:
        """Return the parameter of a function that typer makes into this option."""
        name = "--" + key.replace("_", "-")
        if self.type == bool | None:
            name = f"{name}/--no-{name[2:]}"
        option = typer.Option(name, help=self.help, show_default=self.default not in (None, False), min=self.least)
        keyword = inspect.Parameter.KEYWORD_ONLY
        return inspect.Parameter(key, keyword, default=self.default, annotation=Annotated[self.type, option])


Sections = Mapping[str, Mapping[str, Flag]]
"""Flags by key, by the heading that `--help` lists them under."""


def flags_of(model: type[BaseModel]) -> dict[str, Flag]:
    """Return a flag for each field that has a description."""
    found = {}
    for key, field in model.model_fields.items():
        if field.description is not None:
            least: Any = next((limit.ge for limit in field.metadata if isinstance(limit, Ge)), None)
            found[key] = Flag(field.annotation, field.description, field.default, least)
    return found


def setting_flags(model: type[BaseModel], presets: Mapping[str, Mapping[str, Any]]) -> dict[str, Flag]:
    """Return a flag for each field, None where not given; its help says which presets have which value."""
    found = {}
    for key, field in model.model_fields.items():
        fallback = None if field.is_required() else field.default
        values = {name: _shown(preset.get(key, fallback)) for name, preset in presets.items()}
        usual, *others = dict.fromkeys(values.values())
        named = [f"{', '.join(name for name in values if values[name] == other)}: {other}" for other in others]
        kind: Any = field.annotation
        if get_origin(kind) is tuple:
            kind = list[get_args(kind)[0]]  # type: ignore[misc]
        found[key] = Flag(kind | None, f"{field.description} [{'; '.join([usual, *named])}]")
    return found


def _shown(value: object) -> str:
    if value is None:
        return "none"
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


def with_flags(function: Callable[..., None], flags: Mapping[str, Flag]) -> Callable[..., None]:
    """Return a command for typer that calls `function(context, **values)` with these flags and `--config`."""

    def command(context: typer.Context, **values: Any) -> None:  # noqa: ANN401 - the flags
        values.pop("config")
        function(context, **values)

    kind = inspect.Parameter.KEYWORD_ONLY
    parameters = [
        inspect.Parameter("context", kind, annotation=typer.Context),
        *(flag.parameter(key) for key, flag in flags.items()),
        inspect.Parameter("config", kind, default=None, annotation=ConfigOption),
    ]
    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {each.name: each.annotation for each in parameters}
    command.__doc__ = function.__doc__
    return command


class SectionedCommand(TyperCommand):
    """A command whose `--help` lists its options under headings."""

    sections: Sections

    def format_options(self, ctx: Any, formatter: Any) -> None:  # noqa: ANN401 - click's own types, vendored by typer
        """Write the options by section; those in no section go last, with `--help`."""
        records = {param.name: param.get_help_record(ctx) for param in self.get_params(ctx)}
        listed = {heading: [records.pop(key) for key in flags] for heading, flags in self.sections.items()}
        listed[next(reversed(listed))].extend(records.values())
        for heading, found in listed.items():
            with formatter.section(heading):
                formatter.write_dl([record for record in found if record is not None])


def make_command(name: str, function: Callable[..., None], sections: Sections, *, description: str, epilog: str) -> Any:  # noqa: ANN401 - click's own types, vendored by typer
    """Return a command that calls `function(context, **values)`, values by key, with the options of `sections`."""
    command = with_flags(function, {key: flag for section in sections.values() for key, flag in section.items()})
    command.__doc__ = description
    single = typer.Typer(add_completion=False, rich_markup_mode=None)
    single.command(name, cls=SectionedCommand, epilog=epilog)(command)
    made = typer.main.get_command(single)
    made.sections = sections  # type: ignore[attr-defined]
    return made
