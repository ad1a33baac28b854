"""The options of an objective's training: flags made from its file and the settings, and values read back from them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import TYPE_CHECKING, Any, get_args, get_origin

import typer
from typer.core import TyperCommand

from pipelines.console import ConfigOption
from trainers.data.kinds import DataOptions, data_flags
from trainers.flags import Flag
from trainers.settings import Training

if TYPE_CHECKING:
    from pydantic.fields import FieldInfo

    from trainers.catalogue import ObjectiveModule
    from trainers.training.run import Request

Sections = Mapping[str, Mapping[str, Flag]]
"""Flags by key, by the heading that `--help` lists them under."""


def training_sections(name: str, module: ObjectiveModule) -> dict[str, dict[str, Flag]]:
    """Return the options that decide what an objective's training does, in the order of their use."""
    presets = ", ".join(module.PRESETS)
    settings = {
        "Objective": module.PARAMS.model_fields,
        "Training": {
            key: field for key, field in Training.model_fields.items() if key not in module.PARAMS.model_fields
        },
    }
    return {
        "Data": data_flags(module.READS),
        "Encoder and preset": {
            "encoder": Flag(str | None, "Encoder to start from: a directory or a Hub name. [the bundled starter]"),
            "preset": Flag(str | None, f"One of {presets}. [{next(iter(module.PRESETS))}]"),
        },
        **{
            f"{heading} ({name})" if heading == "Objective" else heading: {
                key: _setting(key, field, module.PRESETS) for key, field in found.items()
            }
            for heading, found in settings.items()
        },
    }


def _setting(key: str, field: FieldInfo, presets: Mapping[str, Mapping[str, Any]]) -> Flag:
    """Make a field an option whose help says its value by default, and which presets have another."""
    fallback = None if field.is_required() else field.get_default(call_default_factory=True)
    values = [_shown(preset.get(key, fallback)) for preset in presets.values()]
    usual, others = values[0], dict.fromkeys(value for value in values[1:] if value != values[0])
    shown = [usual]
    for other in others:
        names = [name for name, value in zip(presets, values, strict=True) if value == other]
        shown.append(f"{', '.join(names)}: {other}")
    return Flag(_option_type(field.annotation) | None, f"{field.description} [{'; '.join(shown)}]")


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


def request_of(name: str, module: ObjectiveModule, values: Mapping[str, Any]) -> Request:
    """Return what `run_training` is asked for; `values` by key, whatever else is among them is left alone."""
    from trainers.training.run import Request

    data = DataOptions(**{key: values[key] for key in data_flags(module.READS)})
    shared = {field.name for field in fields(Request)} - {"objective", "data"}
    return Request(name, data, **{key: value for key, value in values.items() if key in shared})


def settings_of(module: ObjectiveModule, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of `Training` and of the objective's own options; None where not given."""
    # A list that is empty was not given: typer has no other word for it.
    return {
        key: None if values[key] in ([], ()) else values[key]
        for key in {**module.PARAMS.model_fields, **Training.model_fields}
    }


class SectionedCommand(TyperCommand):
    """A command whose `--help` lists its options under headings."""

    sections: Sections

    def format_options(self, ctx: Any, formatter: Any) -> None:  # noqa: ANN401 - click's own types, vendored by typer
        """Write the options by section; what is in none goes last, with `--help`."""
        records = {param.name: param.get_help_record(ctx) for param in self.get_params(ctx)}
        listed = {heading: [records.pop(key) for key in flags] for heading, flags in self.sections.items()}
        last = next(reversed(listed), "Options")
        listed.setdefault(last, []).extend(records.values())
        for heading, found in listed.items():
            lines = [record for record in found if record is not None]
            if lines:
                with formatter.section(heading):
                    formatter.write_dl(lines)


def make_command(name: str, function: Callable[..., None], sections: Sections, *, description: str, epilog: str) -> Any:  # noqa: ANN401 - click's own types, vendored by typer
    """Return a command that calls `function(context, **values)`, values by key, with the options of `sections`."""

    def command(context: typer.Context, **values: Any) -> None:  # noqa: ANN401 - the flags below
        values.pop("config")
        function(context, **values)

    flags = {key: flag for section in sections.values() for key, flag in section.items()}
    parameters = [
        inspect.Parameter("context", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=typer.Context),
        *(
            inspect.Parameter(
                key, inspect.Parameter.KEYWORD_ONLY, default=flag.default, annotation=flag.annotation(key)
            )
            for key, flag in flags.items()
        ),
        inspect.Parameter("config", inspect.Parameter.KEYWORD_ONLY, default=None, annotation=ConfigOption),
    ]
    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    command.__doc__ = description
    single = typer.Typer(add_completion=False, rich_markup_mode=None)
    single.command(name, cls=SectionedCommand, epilog=epilog)(command)
    made = typer.main.get_command(single)
    made.sections = sections  # type: ignore[attr-defined]
    return made
