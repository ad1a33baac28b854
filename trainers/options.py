"""The commands `train OBJECTIVE` and `train sweep OBJECTIVE`: their options, made from pydantic models."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Literal

import typer
from pydantic import Field
from typer.core import TyperCommand

from pipelines.console import InputError
from trainers.catalogue import ObjectiveModule, load_objective
from trainers.data.kinds import data_flags
from trainers.flags import Flag, flags_of, setting_flags, with_flags
from trainers.settings import Options, Training
from trainers.training.run import Request, request_of, run_training, settings_of

Sections = Mapping[str, Mapping[str, Flag]]
"""Flags by key, by the heading that `--help` lists them under."""

EXAMPLES = {
    "views": "--views data/pairs.arrow",
    "text": "--text sentences.txt",
    "words": "--words en:10000",
    "graded": "--graded sts-train.csv",
}


class SweepOptions(Options):
    """What a sweep goes over."""

    over: list[str] | None = Field(
        None,
        description="Sweep over an option: batch-size=16,32,64. Any option of the objective, its training and its "
        "data; give it again for a second option. Several files at once: views=a.arrow,b.arrow,a.arrow+b.arrow.",
        json_schema_extra={"metavar": "KEY=V1,V2"},
    )


class StudyOptions(Options):
    """How several runs are made and scored."""

    seeds: int | None = Field(
        None, ge=1, description="Train with this many seeds, from --seed on, into OUT/seed-1 ...; one table."
    )
    data: str | None = Field(
        None,
        description="Benchmarks to score every run on, as `train evaluate --data`: a folder, or hf:mteb. "
        "[TWINVIEWS_DATA]",
        json_schema_extra={"metavar": "DIR"},
    )
    baseline: bool = Field(False, description="Score the encoder before training too: the row `untrained`.")
    eval_precision: Literal["fp32", "bf16"] | None = Field(None, description="Number format of the scoring. [fp32]")


def training_sections(name: str, module: ObjectiveModule) -> dict[str, dict[str, Flag]]:
    """Return the options that decide what an objective's training does, in the order of their use."""
    shared = flags_of(Request)
    preset = f"One of {', '.join(module.PRESETS)}. [{next(iter(module.PRESETS))}]"
    own = setting_flags(module.PARAMS, module.PRESETS)
    return {
        "Data": data_flags(module.READS),
        "Encoder and preset": {"encoder": shared["encoder"], "preset": replace(shared["preset"], help=preset)},
        f"Objective ({name})": own,
        "Training": {key: flag for key, flag in setting_flags(Training, module.PRESETS).items() if key not in own},
    }


def _running() -> dict[str, Flag]:
    return {key: flag for key, flag in flags_of(Request).items() if key not in ("encoder", "preset")}


def train_command(name: str) -> Any:  # noqa: ANN401 - click's own types, vendored by typer
    """Return `train NAME`, the training of one encoder, or with `--seeds` of several."""
    module = load_objective(name)

    def train(context: typer.Context, **values: Any) -> None:  # noqa: ANN401 - the flags
        study = {key: values.pop(key) for key in StudyOptions.model_fields}
        if study["seeds"] is not None:
            from trainers.results.studies import train_study

            train_study(name, module, values, **study)
            return
        for key, value in study.items():
            if value not in (None, False):
                option = "--" + key.replace("_", "-")
                raise InputError(f"{option} goes with --seeds N: give that too, or run `train evaluate` afterwards")
        run_training(request_of(name, module, values), module, settings_of(module, values))

    sections = {
        **training_sections(name, module),
        "Several seeds": flags_of(StudyOptions),
        "Running": _running(),
    }
    endings = ["--encoder bert-base-uncased", "--seeds 3 --data DIR"]
    return make_command(
        name, train, sections, description=module.__doc__ or name, epilog=_examples(f"train {name}", module, endings)
    )


def sweep_command(name: str) -> Any:  # noqa: ANN401 - click's own types, vendored by typer
    """Return `train sweep NAME`, trainings over the values of an objective's options."""
    module = load_objective(name)
    training = training_sections(name, module)

    def sweep(context: typer.Context, **values: Any) -> None:  # noqa: ANN401 - the flags
        from trainers.results.axes import read_axes
        from trainers.results.studies import train_study

        flags = {key: flag for section in training.values() for key, flag in section.items()}
        sources = {key: context.get_parameter_source(key) for key in values}
        written = {key for key, source in sources.items() if source is not None and source.name == "COMMANDLINE"}
        study = {key: values.pop(key) for key in StudyOptions.model_fields}
        axes = read_axes(values.pop("over"), flags, written)
        train_study(name, module, values, axes, **study)

    sections = {
        "Sweep": {**flags_of(SweepOptions), **flags_of(StudyOptions)},
        **training,
        "Running": {key: flag for key, flag in _running().items() if key != "resume"},
    }
    endings = ["--over batch-size=16,32,64,128 --seeds 3 --data DIR", "--over batch-size=32,64 --over lr=1e-5,1e-4"]
    return make_command(
        name,
        sweep,
        sections,
        description=f"Sweep over the options of `train {name}`: {module.__doc__}",
        epilog=_examples(f"train sweep {name}", module, endings),
    )


def _examples(command: str, module: ObjectiveModule, endings: list[str]) -> str:
    data = EXAMPLES.get(module.READS[0], "")
    # \b keeps click from joining the lines.
    return "\b\nExamples:\n" + "\n".join(f"  {command} {data} {ending}" for ending in endings)


class SectionedCommand(TyperCommand):
    """A command whose `--help` lists its options under headings."""

    sections: Sections

    def format_options(self, ctx: Any, formatter: Any) -> None:  # noqa: ANN401 - click's own types, vendored by typer
        """Write the options by section; what is in none goes last, with `--help`."""
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
