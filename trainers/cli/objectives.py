"""The commands `train OBJECTIVE`, each with its own options."""

from collections.abc import Callable
from typing import Any

import typer

from pipelines.terminal.console import InputError
from trainers.catalogue import ObjectiveModule, load_objective
from trainers.data.reading import data_flags
from trainers.settings import Flag, Training, flags_of, setting_flags, with_flags
from trainers.training.run import Request, request_of, run_training

EXAMPLES = {
    "views": "--views data/pairs.arrow",
    "text": "--text sentences.txt",
    "words": "--words en:10000",
    "graded": "--graded sts-train.csv",
}
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


def objective_command(name: str) -> tuple[Callable[..., None], str]:
    """Return `train NAME`, for one encoder or several `--seeds`, and the end of its `--help`."""
    module = load_objective(name)

    def run(_: typer.Context, **values: Any) -> None:  # noqa: ANN401 - the flags
        study = {key: values.pop(key) for key in STUDY}
        if study["seeds"] is not None:
            from trainers.results.studies import train_seeds

            train_seeds(name, values, **study)
            return
        for key in (key for key, value in study.items() if value):
            raise InputError(f"--{key} goes with --seeds N: give that too, or run `train evaluate` afterwards")
        run_training(request_of(name, values))

    running = {key: flag for key, flag in flags_of(Request).items() if key not in ("encoder", "preset")}
    command = f"  train {name} {EXAMPLES.get(module.READS[0], '')}"
    # \b keeps click from joining the lines.
    epilog = f"\b\nExamples:\n{command} --encoder bert-base-uncased\n{command} --seeds 3 --data DIR"
    sections = {**training_sections(name, module), "Several seeds": STUDY, "Running": running}
    return with_flags(run, sections, module.__doc__ or name), epilog
