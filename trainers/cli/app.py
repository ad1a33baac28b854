"""The command `train`: one subcommand for each objective, made from its file, and the evaluation."""

from importlib import import_module

import typer

from pipelines.base.console import LazyGroup, SectionedCommand, VersionOption, lazy_app
from trainers.settings import OBJECTIVES, objective_names

MODULES = {
    "auto": (
        "trainers.cli.auto",
        "Judge the untouched encoder and what may be better on your data; name the best.",
    ),
    "labels": ("trainers.cli.labels", "Train an encoder and a classifier on a table of few labelled texts."),
    "evaluate": (
        "trainers.cli.evaluate",
        "Score an encoder on evaluation sets: STS, transfer, linking and more.",
    ),
    "compare": (
        "trainers.cli.compare",
        "Print runs beside each other and beside the papers' rows; test differences.",
    ),
    "report": (
        "trainers.cli.report",
        "Write one HTML page about runs: loss, cosines before and after, scores.",
    ),
    "push": ("trainers.cli.push", "Publish a trained encoder on the Hugging Face Hub."),
}
"""Commands that are functions of the same name in these modules, which are imported when they are used."""

OVERVIEW = """Views in, a sentence encoder out.

The usual next steps after `augment build-pairs`:

  train bsl --views data/pairs.arrow

  train evaluate runs/bsl

One objective under several seeds:

  train bsl --seeds 3
"""


class Train(LazyGroup):
    """The commands of `MODULES`, and one for every objective: `train --help` needs no torch."""

    def add_command_to(self, app: typer.Typer, name: str) -> None:
        """Add a function, or the command of an objective."""
        if name in MODULES:
            function, epilog = getattr(import_module(MODULES[name][0]), name), None
        else:
            function, epilog = import_module("trainers.cli.objectives").objective_command(name)
        app.command(name, cls=SectionedCommand, epilog=epilog)(function)


def make_app() -> typer.Typer:
    """Return the command line; its commands are known by name only until they are used."""
    summaries = {name: OBJECTIVES.summary(name) for name in objective_names()}
    summaries |= {name: line for name, (_, line) in MODULES.items()}
    return lazy_app(Train, _main, summaries, name="train", help=OVERVIEW, no_args_is_help=True)


def _main(version: VersionOption = False) -> None:
    pass


app = make_app()
