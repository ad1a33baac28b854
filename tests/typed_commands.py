"""What the programs say of a command line that nobody runs."""

from typing import Any

import typer

from augment.view import Runtime
from pipelines.base.console import InputError
from pipelines.cli.app import build_app
from pipelines.pairs.filter import make_filter
from trainers.cli.app import app as train_app
from trainers.encoders.location import locate
from trainers.settings import Request, objective_names

APPS = {"augment": build_app(), "train": train_app}
PROGRAMS = {name: typer.main.get_command(app) for name, app in APPS.items()}


def refusal(command: Any, words: list[str]) -> str | None:  # noqa: ANN401 - click's types, vendored by typer
    """Return what is wrong with a command line; None if nothing is. Nothing is run."""
    name, arguments, parent, names = words[0], words[1:], None, []
    while True:
        try:
            parent = command.make_context(name, [*arguments], parent=parent)
            if not hasattr(command, "resolve_command") or not parent._protected_args + parent.args:
                check_values(names, parent.params)
                return None
            name, command, arguments = command.resolve_command(parent, parent._protected_args + parent.args)
            names.append(name)
        except InputError as error:
            return str(error)
        except Exception as error:
            if hasattr(error, "format_message"):
                return str(error.format_message())
            if type(error).__name__ == "Exit":
                return None
            raise


def check_values(names: list[str], values: dict[str, Any]) -> None:
    """Check what a command itself checks only when it runs; raises InputError.

    These are an objective's preset, its options, and the parameters of filters.
    """
    if names and names[-1] in objective_names() and "preset" in values:
        Request.of(names[-1], values).resolved(locate(None).pooling())
    for filter in values.get("filter") or []:
        make_filter(filter, Runtime())
