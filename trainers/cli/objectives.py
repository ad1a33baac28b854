"""From pydantic models to commands of typer; the commands `train OBJECTIVE`, each with its own options."""

import inspect
from collections.abc import Callable, Collection, Sequence
from typing import Annotated, Any, get_args, get_origin

import typer
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from pipelines.base.console import ConfigOption
from trainers.settings import DataOptions, Presets, Request, Training, data_keys, load_objective

FILES = {"views": "data/pairs.arrow", "text": "sentences.txt", "words": "en:10000", "graded": "sts-train.csv"}
KEYWORD = inspect.Parameter.KEYWORD_ONLY


def parameters(
    model: type[BaseModel],
    heading: str | None = None,
    *,
    keys: Collection[str] | None = None,
    presets: Presets | None = None,
) -> list[inspect.Parameter]:
    """Return options of typer for the fields with a description or in `keys`; `presets` give the help their values."""
    made = []
    for key, field in model.model_fields.items():
        if field.description is not None and (keys is None or key in keys):
            kind: Any = field.annotation
            text, default = field.description, field.default
            if presets is not None:
                unset = type(None) in get_args(kind) and any(preset.get(key) for preset in presets.values())
                kind = str if unset else kind  # a word, where `none` is one
                kind = list[get_args(kind)[0]] if get_origin(kind) is tuple else kind  # type: ignore[misc]
                kind, text, default = kind | None, f"{text} [{_by_preset(key, field, presets)}]", None
            made.append(option(key, kind, text, default, heading))
    return made


def option(
    key: str,
    kind: Any,  # noqa: ANN401 - a type
    text: str,
    default: object,
    heading: str | None,
    values: Sequence[str] = (),
) -> inspect.Parameter:
    """Return one option of typer; `values` complete it in a shell."""
    name = key.replace("_", "-")
    declared = typer.Option(
        f"--{name}/--no-{name}" if kind == bool | None else f"--{name}",
        help=text,
        rich_help_panel=heading,
        show_default=default not in (None, False),
        autocompletion=(lambda: [*values]) if values else None,
    )
    return inspect.Parameter(key, KEYWORD, default=default, annotation=Annotated[kind, declared])


def _by_preset(key: str, field: FieldInfo, presets: Presets) -> str:

    def as_text(value: object) -> str:
        if isinstance(value, bool):
            return f"{'' if value else 'no-'}{key.replace('_', '-')}"
        if isinstance(value, list | tuple):
            return ", ".join(map(str, value))
        return "none" if value is None else str(value)

    names: dict[str, list[str]] = {}
    for name, preset in presets.items():
        value = preset.get(key, None if field.is_required() else field.default)
        names.setdefault(as_text(value), []).append(name)
    first, *others = names
    return "; ".join([first, *(f"{', '.join(names[value])}: {value}" for value in others)])


def command_of(
    function: Callable[..., None], options: Sequence[inspect.Parameter], description: str | None = None
) -> Callable[..., None]:
    """Return a command for typer that calls `function(context, **values)` with these options and `--config`."""

    def command(context: typer.Context, config: ConfigOption = None, **values: Any) -> None:  # noqa: ANN401 - the options
        function(context, **values)

    context = inspect.Parameter("context", KEYWORD, annotation=typer.Context)
    config = inspect.Parameter("config", KEYWORD, default=None, annotation=ConfigOption)
    signature = inspect.Signature([context, *options, config])
    command.__signature__ = signature  # type: ignore[attr-defined]
    command.__annotations__ = {name: parameter.annotation for name, parameter in signature.parameters.items()}
    command.__doc__ = description or function.__doc__
    return command


def objective_command(name: str) -> tuple[Callable[..., None], str]:
    """Return `train NAME`, for one encoder or several `--seeds`, and the end of its `--help`."""
    objective = load_objective(name)

    def run(context: typer.Context, **values: Any) -> None:  # noqa: ANN401 - the options
        # A recipe has one of them: the other one, typed, replaces it.
        sources = {key: context.get_parameter_source(key) for key in ("epochs", "steps")}
        typed = [key for key, source in sources.items() if source is not None and source.name == "COMMANDLINE"]
        if len(typed) == 1:
            values["steps" if typed == ["epochs"] else "epochs"] = None
        request = Request.of(name, values)
        from trainers.training.run import run_training, train_seeds

        if request.seeds is None:
            run_training(request)
        else:
            train_seeds(name, values)

    presets, names, heading = objective.PRESETS, [*objective.PRESETS], "Encoder and preset"
    shared = Training.model_fields.keys() - objective.PARAMS.model_fields
    options = [
        *parameters(DataOptions, "Data", keys=data_keys(objective.READS)),
        *parameters(Request, heading, keys=["encoder"]),
        option("preset", str | None, f"One of {', '.join(names)}. [{names[0]}]", None, heading, names),
        *parameters(objective.PARAMS, f"Objective ({name})", presets=presets),
        *parameters(Training, "Training", keys=shared, presets=presets),
        *parameters(Request, "Running", keys=Request.model_fields.keys() - {"encoder", "preset"}),
    ]
    command = f"  train {name} --{objective.READS[0]} {FILES.get(objective.READS[0], 'FILE')}"
    # \b keeps click from joining the lines.
    epilog = f"\b\nExamples:\n{command} --encoder bert-base-uncased\n{command} --seeds 3"
    return command_of(run, options, objective.__doc__), epilog
