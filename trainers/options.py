"""The commands `train OBJECTIVE` and `train sweep OBJECTIVE`, each objective's with its own options."""

from typing import Any, Literal

import typer

from pipelines.console import InputError
from trainers.catalogue import ObjectiveModule, load_objective
from trainers.data.kinds import data_flags
from trainers.flags import Flag, flags_of, make_command, setting_flags
from trainers.settings import Training
from trainers.training.run import Request, request_of, run_training, settings_of

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
    "eval_precision": Flag(Literal["fp32", "bf16"] | None, "Number format of the scoring. [fp32]"),
}
"""How several runs are made and scored."""


def training_sections(name: str, module: ObjectiveModule) -> dict[str, dict[str, Flag]]:
    """Return the options that decide what an objective's training does, in the order of their use."""
    preset = f"One of {', '.join(module.PRESETS)}. [{next(iter(module.PRESETS))}]"
    own = setting_flags(module.PARAMS, module.PRESETS)
    return {
        "Data": data_flags(module.READS),
        "Encoder and preset": {"encoder": flags_of(Request)["encoder"], "preset": Flag(str | None, preset)},
        f"Objective ({name})": own,
        "Training": {key: flag for key, flag in setting_flags(Training, module.PRESETS).items() if key not in own},
    }


def train_command(name: str) -> Any:  # noqa: ANN401 - click's own types, vendored by typer
    """Return `train NAME`, the training of one encoder, or with `--seeds` of several."""
    module = load_objective(name)

    def train(context: typer.Context, **values: Any) -> None:  # noqa: ANN401 - the flags
        study = {key: values.pop(key) for key in STUDY}
        if study["seeds"] is not None:
            from trainers.results.studies import train_study

            train_study(name, module, values, **study)
            return
        for key, value in study.items():
            if value:
                option = "--" + key.replace("_", "-")
                raise InputError(f"{option} goes with --seeds N: give that too, or run `train evaluate` afterwards")
        run_training(request_of(name, module, values), module, settings_of(module, values))

    sections = {**training_sections(name, module), "Several seeds": STUDY, "Running": _running()}
    epilog = _examples(f"train {name}", module, ["--encoder bert-base-uncased", "--seeds 3 --data DIR"])
    return make_command(name, train, sections, description=module.__doc__ or name, epilog=epilog)


def sweep_command(name: str) -> Any:  # noqa: ANN401 - click's own types, vendored by typer
    """Return `train sweep NAME`, trainings over the values of an objective's options."""
    module = load_objective(name)
    training = training_sections(name, module)

    def sweep(context: typer.Context, **values: Any) -> None:  # noqa: ANN401 - the flags
        from trainers.results.studies import read_axes, train_study

        flags = {key: flag for section in training.values() for key, flag in section.items()}
        written = {key for key in values if getattr(context.get_parameter_source(key), "name", "") == "COMMANDLINE"}
        study = {key: values.pop(key) for key in STUDY}
        axes = read_axes(values.pop("over"), flags, written)
        train_study(name, module, values, axes, **study)

    sections = {"Sweep": {"over": OVER, **STUDY}, **training, "Running": _running()}
    endings = ["--over batch-size=16,32,64,128 --seeds 3 --data DIR", "--over batch-size=32,64 --over lr=1e-5,1e-4"]
    description = f"Sweep over the options of `train {name}`: {module.__doc__}"
    epilog = _examples(f"train sweep {name}", module, endings)
    return make_command(name, sweep, sections, description=description, epilog=epilog)


def _running() -> dict[str, Flag]:
    return {key: flag for key, flag in flags_of(Request).items() if key not in ("encoder", "preset")}


def _examples(command: str, module: ObjectiveModule, endings: list[str]) -> str:
    data = EXAMPLES.get(module.READS[0], "")
    # \b keeps click from joining the lines.
    return "\b\nExamples:\n" + "\n".join(f"  {command} {data} {ending}" for ending in endings)
