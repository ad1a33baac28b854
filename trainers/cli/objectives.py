"""The commands `train OBJECTIVE`, each with its own options."""

import inspect
from collections.abc import Callable, Collection, Mapping
from typing import Annotated, Any, get_args, get_origin

import typer
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from pipelines.base.options import parameters
from trainers.settings import (
    DataOptions,
    Presets,
    Request,
    RunOptions,
    Training,
    data_keys,
    load_objective,
)

FILES = {"views": "data/pairs.arrow", "text": "sentences.txt", "words": "en:10000", "graded": "sts-train.csv"}
KEYWORD = inspect.Parameter.KEYWORD_ONLY


def picked(model: type[BaseModel], keys: Collection[str]) -> dict[str, FieldInfo]:
    """Return some of the fields of a model, in its order."""
    return {key: field for key, field in model.model_fields.items() if key in keys}


def by_preset(fields: Mapping[str, FieldInfo], presets: Presets) -> dict[str, FieldInfo]:
    """Return fields that may be left to a preset, with the values of `presets` in their help."""
    return {key: _left_to_preset(key, field, presets) for key, field in fields.items()}


def _left_to_preset(key: str, field: FieldInfo, presets: Presets) -> FieldInfo:
    kind: Any = field.annotation
    if type(None) in get_args(kind) and any(preset.get(key) for preset in presets.values()):
        kind = str  # a word, where `none` is one
    elif get_origin(kind) is tuple:
        kind = list[get_args(kind)[0]]  # type: ignore[misc]
    text = f"{field.description or ''} [{_values(key, field, presets)}]"
    return FieldInfo(annotation=kind | None, default=None, description=text)


def _values(key: str, field: FieldInfo, presets: Presets) -> str:
    """Return the value of the first preset, and the others with the names of their presets."""

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
            train_seeds(request, request.seeds)

    presets, names, heading = objective.PRESETS, [*objective.PRESETS], "Encoder and preset"
    shown = typer.Option(
        help=f"One of {', '.join(names)}. [{names[0]}]",
        rich_help_panel=heading,
        autocompletion=lambda: names,
    )
    preset = Annotated[str | None, shown]
    shared = Training.model_fields.keys() - objective.PARAMS.model_fields
    running = RunOptions.model_fields.keys() - {"encoder", "preset"}
    options = [
        inspect.Parameter("context", KEYWORD, annotation=typer.Context),
        *parameters(picked(DataOptions, data_keys(objective.READS)), "Data"),
        *parameters(picked(RunOptions, ["encoder"]), heading),
        inspect.Parameter("preset", KEYWORD, default=None, annotation=preset),
        *parameters(by_preset(objective.PARAMS.model_fields, presets), f"Objective ({name})"),
        *parameters(by_preset(picked(Training, shared), presets), "Training"),
        *parameters(picked(RunOptions, running), "Running"),
    ]
    run.__signature__ = inspect.Signature(options)  # type: ignore[attr-defined]
    run.__doc__ = objective.__doc__
    command = f"  train {name} --{objective.READS[0]} {FILES.get(objective.READS[0], 'FILE')}"
    # \b keeps click from joining the lines.
    epilog = f"\b\nExamples:\n{command} --encoder bert-base-uncased\n{command} --seeds 3"
    return run, epilog
