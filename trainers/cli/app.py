"""The command `train`: one subcommand for each objective, made from its file, and the evaluation."""

from importlib import import_module
from typing import Any

import typer
from typer.core import TyperGroup

from pipelines.terminal.console import SectionedCommand, VersionOption
from trainers.settings import objective_names, summary

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
        "trainers.pages.report",
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


class LazyGroup(TyperGroup):
    """A group whose commands are imported when they are run: `train --help` needs no torch."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:  # noqa: ANN401 - click's own types, vendored by typer
        """Replace the entry that `--help` lists with the real command."""
        name = args[0] if args else ""
        if name in self.commands:
            # `auto` passes the options that it does not know on to another command.
            settings = {"allow_extra_args": True, "ignore_unknown_options": True} if name == "auto" else None
            if name in MODULES:
                function, epilog = getattr(import_module(MODULES[name][0]), name), None
            else:
                function, epilog = import_module("trainers.cli.objectives").objective_command(name)
            single = typer.Typer(add_completion=False, rich_markup_mode=None)
            single.command(name, cls=SectionedCommand, context_settings=settings, epilog=epilog)(function)
            self.commands[name] = typer.main.get_command(single)
        return super().resolve_command(ctx, args)


def make_app() -> typer.Typer:
    """Return the command line; its commands are known by name only until they are used."""
    app = typer.Typer(
        name="train",
        cls=LazyGroup,
        help=OVERVIEW,
        rich_markup_mode=None,
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(_main)
    lines = {name: summary(name) for name in objective_names()}
    lines |= {name: line for name, (_, line) in MODULES.items()}
    for name, line in lines.items():
        app.command(name, help=line, short_help=line)(lambda: None)
    return app


def _main(version: VersionOption = False) -> None:
    pass


app = make_app()
