"""The command line `augment`: its commands by name, which are imported when they run; see `augment --help`."""

import sys
from importlib import import_module
from typing import NoReturn

import typer

from augment.plugins import VIEWS, docstring_line
from pipelines.base.console import LazyGroup, SectionedCommand, VersionOption, call, lazy_app

COMMANDS = "pipelines.cli.commands"
EXAMPLES = {
    "ingest": "augment ingest reviews.csv --column body",
    "build-pairs": "augment build-pairs --pairs original --view synonym --filter chrf:max=95 --rejects",
    "inspect": "augment inspect data/pairs.arrow --rows 10",
    "report": "augment report data/pairs.arrow",
    "export": "augment export data/pairs.arrow --to parquet",
    "verify": "augment verify data/sentences data/pairs.arrow",
    "views": "augment views --json",
}
"""A command line to paste for each command that is not a view's."""


class Augment(LazyGroup):
    """The commands of `EXAMPLES`, and one for every view."""

    def add_command_to(self, app: typer.Typer, name: str) -> None:
        """Add the command of a view, or else a function as one."""
        if name not in EXAMPLES:
            with VIEWS.errors_of(name):
                import_module("pipelines.cli.views").add_view_command(app, name)
            return
        commands = import_module(COMMANDS)
        kind = commands.PairsCommand if name == "build-pairs" else SectionedCommand
        function = getattr(commands, _function_name(name))
        app.command(name, cls=kind, epilog=f"Example: {EXAMPLES[name]}")(function)


def build_app() -> typer.Typer:
    """The command line, with one subcommand for every view that is installed."""
    own = {name: docstring_line(COMMANDS, _function_name(name)) for name in EXAMPLES}
    views = {name: VIEWS.summary(name) for name in VIEWS.usable_names()}
    summaries = {"ingest": own.pop("ingest"), **views, **own}
    example = "Example: augment backtranslate --pivot de && augment build-pairs"
    return lazy_app(Augment, _main, summaries, name="augment", epilog=example)


def main() -> NoReturn:
    """Run the command line."""
    sys.exit(call(build_app(), sys.argv[1:]))


def _function_name(command: str) -> str:
    return f"{command.replace('-', '_')}_command"


def _main(version: VersionOption = False) -> None:
    """Make views of sentences, and pairs of views, as Arrow datasets that `train` reads."""
