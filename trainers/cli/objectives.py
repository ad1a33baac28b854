"""The commands `train OBJECTIVE` and `train sweep OBJECTIVE`, each objective's with its own options."""

from collections.abc import Callable
from typing import Any

import typer

from pipelines.terminal.console import InputError
from trainers.catalogue import ObjectiveModule, load_objective
from trainers.data.reading import data_flags
from trainers.settings import Flag, Training, flags_of, read_axes, setting_flags, with_flags
from trainers.training.run import Request, request_of, run_training

EXAMPLES = {
    "views": "--views data/pairs.arrow",
    "text": "--text sentences.txt",
    "words": "--words en:10000",
    "graded": "--graded sts-train.csv",
}
OVER = Flag(
    list[str] | None,
    "Sweep over an option: batch-size=16,32,64. Any option of the objective, its training and its data; give it again "
    "for a second option. Several files at once: views=a.arrow,b.arrow,a.arrow+b.arrow.",
)
STUDY = {
    "seeds": Flag(int | None, "Train with this many seeds, from --seed on, into OUT/seed-1 ...; one table.", least=1),
    "data": Flag(
        str | None,
        "Benchmarks to score every run on, as `train evaluate --data`: a folder, or hf:mteb. [TWINVIEWS_DATA]",
    ),
    "baseline": Flag(bool, "Score the encoder before training too: the row `untrained`.", False),
}
"""How several runs are made and scored."""


def training_sections(name: str, module: ObjectiveModule) -> dict[str, dict[str, Flag]]:
    """Return the options that decide what an objective's training does, by heading."""
    text = f"One of {', '.join(module.PRESETS)}. [{next(iter(module.PRESETS))}]"
    preset = Flag(str | None, text, complete=lambda: [*module.PRESETS])
    own = setting_flags(module.PARAMS, module.PRESETS)
    return {
        "Data": data_flags(module.READS),
        "Encoder and preset": {"encoder": flags_of(Request)["encoder"], "preset": preset},
        f"Objective ({name})": own,
        "Training": {key: flag for key, flag in setting_flags(Training, module.PRESETS).items() if key not in own},
    }


def objective_command(name: str, *, sweep: bool) -> tuple[Callable[..., None], str]:
    """Return `train NAME`, for one encoder or several `--seeds`, or `train sweep NAME`, and the end of its `--help`."""
    module = load_objective(name)
    training = training_sections(name, module)

    def run(context: typer.Context, **values: Any) -> None:  # noqa: ANN401 - the flags
        study = {key: values.pop(key) for key in STUDY}
        axes = None
        if sweep:
            flags = {key: flag for section in training.values() for key, flag in section.items()}
            typed = {key for key in values if getattr(context.get_parameter_source(key), "name", "") == "COMMANDLINE"}
            axes = read_axes(values.pop("over"), flags, typed)
        elif study["seeds"] is None:
            for key in (key for key, value in study.items() if value):
                option = "--" + key.replace("_", "-")
                raise InputError(f"{option} goes with --seeds N: give that too, or run `train evaluate` afterwards")
            run_training(request_of(name, values))
            return
        from trainers.results.studies import train_study

        train_study(name, values, axes, **study)

    running = {key: flag for key, flag in flags_of(Request).items() if key not in ("encoder", "preset")}
    command, description = f"train {name}", module.__doc__ or name
    endings = ["--encoder bert-base-uncased", "--seeds 3 --data DIR"]
    sections = {**training, "Several seeds": STUDY, "Running": running}
    if sweep:
        description = f"Sweep over the options of `{command}`: {module.__doc__}"
        command = f"train sweep {name}"
        endings = ["--over batch-size=16,32,64,128 --seeds 3 --data DIR", "--over batch-size=32,64 --over lr=1e-5,1e-4"]
        sections = {"Sweep": {"over": OVER, **STUDY}, **training, "Running": running}
    lines = [f"  {command} {EXAMPLES.get(module.READS[0], '')} {ending}" for ending in endings]
    # \b keeps click from joining the lines.
    epilog = "\n".join(["\b", "Examples:", *lines])
    return with_flags(run, sections, description), epilog
