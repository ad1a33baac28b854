"""The command `train`: one subcommand per objective, made from its file, and the evaluation beside them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import fields
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from typer.core import TyperGroup

from pipelines.console import ConfigOption, run
from trainers.catalogue import ObjectiveModule, load_objective, objective_names, summary
from trainers.data import Wanted, data_flags
from trainers.flags import Flag

if TYPE_CHECKING:
    from pydantic.fields import FieldInfo

MODULES = {
    "marian": ("trainers.marian.cli", "Translation models on parallel text (MarianMT)."),
    "evaluate": ("trainers.evaluation.cli", "Score an encoder on graded sentence pairs."),
}
"""Commands that are functions of the same name in a module of their own, which is imported when they are used."""

OVERVIEW = """Views in, a sentence encoder out.

The usual next steps after `augment build-pairs`:

  train bsl --views data/pairs.arrow

  train evaluate runs/bsl
"""


class LazyGroup(TyperGroup):
    """A group whose commands are imported when they are run: `train --help` needs no torch."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:  # noqa: ANN401 - click's own types, vendored by typer
        """Put the real command in the place of the entry that `--help` lists."""
        name = args[0] if args else ""
        if name in self.commands:
            self.commands[name] = _command(name)
        return super().resolve_command(ctx, args)


def _command(name: str) -> Any:  # noqa: ANN401 - click's own types, vendored by typer
    if name in MODULES:
        function = getattr(import_module(MODULES[name][0]), name)
        settings: dict[str, Any] = {}
    else:
        module = load_objective(name)
        function = _trainer(name, module)
        settings = {"epilog": f"Example: train {name} {_example(module)}"}
    single = typer.Typer(add_completion=False, rich_markup_mode=None)
    single.command(name, **settings)(function)
    return typer.main.get_command(single)


def _example(module: ObjectiveModule) -> str:
    first = "--views data/pairs.arrow" if module.READS[0] == "views" else "--text sentences.txt"
    return f"{first} --encoder bert-base-uncased --preset {next(iter(module.PRESETS))}"


def make_app() -> typer.Typer:
    """Return the command line; its commands are known by name only until they are used."""
    app = typer.Typer(
        cls=LazyGroup, add_completion=False, rich_markup_mode=None, no_args_is_help=True, help=OVERVIEW,
        pretty_exceptions_enable=False,
    )  # fmt: skip
    for name in objective_names():
        app.command(name, help=summary(name), short_help=summary(name))(_unresolved)
    for name, (module, line) in MODULES.items():
        if find_spec(module.rpartition(".")[0]) is not None and find_spec(module) is not None:
            app.command(name, help=line, short_help=line)(_unresolved)
    return app


def _unresolved() -> None:
    """Stand for a command in the list; `LazyGroup` replaces it before it is run."""


def _shared(name: str, module: ObjectiveModule) -> dict[str, Flag]:
    presets = ", ".join(module.PRESETS)
    return {
        **data_flags(module.READS),
        "encoder": Flag(str | None, "Encoder to start from: a directory or a Hub name. [the bundled starter]"),
        "preset": Flag(str | None, f"One of {presets}. [{next(iter(module.PRESETS))}]"),
        "out": Flag(Path | None, f"Directory of the run. [runs/{name}]"),
        "seed": Flag(int, "Decides order, dropout and masks.", default=1),
    }


SWITCHES = {
    "dry_run": Flag(bool, "Say what would be done; write nothing.", False, ("--dry-run",)),
    "overwrite": Flag(bool, "Delete the run that is at --out and train anew.", False, ("--overwrite",)),
    "resume": Flag(
        bool,
        "Insist on resuming: an error where there is nothing to resume. (An unfinished run of the same recipe is "
        "resumed anyway.)",
        False,
        ("--resume",),
    ),
}


def _trainer(name: str, module: ObjectiveModule) -> Callable[..., None]:
    from trainers.run import Request, run_training
    from trainers.settings import Training

    own = {**module.PARAMS.model_fields, **Training.model_fields}
    flags = {
        **_shared(name, module),
        **{key: _setting(key, field, module.PRESETS) for key, field in own.items()},
        **SWITCHES,
    }
    shared = {field.name for field in fields(Request)}

    def train(**values: Any) -> None:  # noqa: ANN401 - the flags below
        values.pop("config")
        wanted = Wanted(**{key: values[key] for key in data_flags(module.READS)})
        request = Request(name, wanted, **{key: value for key, value in values.items() if key in shared})
        run_training(request, module, {key: values[key] for key in own})

    parameters = [
        inspect.Parameter(key, inspect.Parameter.KEYWORD_ONLY, default=flag.default, annotation=flag.annotation(key))
        for key, flag in flags.items()
    ]
    config = inspect.Parameter("config", inspect.Parameter.KEYWORD_ONLY, default=None, annotation=ConfigOption)
    train.__signature__ = inspect.Signature([*parameters, config])  # type: ignore[attr-defined]
    train.__annotations__ = {parameter.name: parameter.annotation for parameter in [*parameters, config]}
    train.__doc__ = module.__doc__
    return train


def _setting(key: str, field: FieldInfo, presets: Mapping[str, Mapping[str, Any]]) -> Flag:
    """Make a field an option whose help says its value under each preset."""
    fallback = None if field.is_required() else field.default
    values = {name: preset.get(key, fallback) for name, preset in presets.items()}
    if len({repr(value) for value in values.values()}) == 1:
        shown = str(next(iter(values.values())))
    else:
        shown = ", ".join(f"{name}: {value}" for name, value in values.items())
    return Flag(field.annotation | None, f"{field.description} [{shown}]")  # type: ignore[operator]


app = make_app()


def main() -> None:
    """Run the command line."""
    run(app)


if __name__ == "__main__":
    main()
