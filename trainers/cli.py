"""The command `train`: one subcommand per objective, made from its file, sweeps over them, and the evaluation."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal, NoReturn

import typer
from typer.core import TyperGroup

from pipelines.console import InputError, run
from trainers.catalogue import ObjectiveModule, load_objective, objective_names, summary
from trainers.flags import Flag

MODULES = {
    "marian": ("trainers.marian.cli", "Translation models on parallel text (MarianMT)."),
    "evaluate": (
        "trainers.evaluation.cli",
        "Score an encoder on suites of evaluation sets: STS, transfer, linking and more.",
    ),
    "compare": ("trainers.results.cli", "Print runs beside each other and beside the papers' rows; test differences."),
}
"""Commands that are functions of the same name in a module of their own, which is imported when they are used."""

OVERVIEW = """Views in, a sentence encoder out.

The usual next steps after `augment build-pairs`:

  train bsl --views data/pairs.arrow

  train evaluate runs/bsl

One objective under several seeds, or over the values of an option:

  train bsl --seeds 3 --data DIR

  train sweep bsl --over momentum=0.9,0.99,0.999 --data DIR
"""

SWEEP = """Train an objective over the values of its options, and print one table.

Each option that `train OBJECTIVE` has can be swept over, its data and its preset too:

  train sweep bsl --over momentum=0.5,0.9,0.99,0.999,1 --data DIR

  train sweep mirror --over temperature=0.04,0.2 --over limit=1000,10000 --seeds 3
"""


class LazyGroup(TyperGroup):
    """A group whose commands are imported when they are run: `train --help` needs no torch."""

    @staticmethod
    def make(name: str) -> Any:  # noqa: ANN401 - click's own types, vendored by typer
        """Return the real command of that name."""
        return _command(name)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:  # noqa: ANN401 - click's own types, vendored by typer
        """Put the real command in the place of the entry that `--help` lists."""
        name = args[0] if args else ""
        if name in self.commands and not isinstance(self.commands[name], TyperGroup):
            self.commands[name] = self.make(name)
        return super().resolve_command(ctx, args)


class SweepGroup(LazyGroup):
    """The objectives again, each as the command that sweeps over its options."""

    @staticmethod
    def make(name: str) -> Any:  # noqa: ANN401 - click's own types, vendored by typer
        """Return the sweep over an objective."""
        return _sweep_command(name)


def make_app() -> typer.Typer:
    """Return the command line; its commands are known by name only until they are used."""
    app, sweep = _group(LazyGroup, OVERVIEW), _group(SweepGroup, SWEEP)
    for name in objective_names():
        for group in (app, sweep):
            group.command(name, help=summary(name), short_help=summary(name))(_unresolved)
    app.add_typer(sweep, name="sweep", short_help="Train an objective over the values of its options; one table.")
    for name, (module, line) in MODULES.items():
        if find_spec(module.rpartition(".")[0]) is not None and find_spec(module) is not None:
            app.command(name, help=line, short_help=line)(_unresolved)
    return app


def _group(kind: type[TyperGroup], overview: str) -> typer.Typer:
    return typer.Typer(
        cls=kind, add_completion=False, rich_markup_mode=None, no_args_is_help=True, help=overview,
        pretty_exceptions_enable=False,
    )  # fmt: skip


def _unresolved() -> None:
    """Stand for a command in the list; `LazyGroup` replaces it before it is run."""


def _command(name: str) -> Any:  # noqa: ANN401 - click's own types, vendored by typer
    if name not in MODULES:
        return _train_command(name)
    single = typer.Typer(add_completion=False, rich_markup_mode=None)
    single.command(name)(getattr(import_module(MODULES[name][0]), name))
    return typer.main.get_command(single)


def _train_command(name: str) -> Any:  # noqa: ANN401 - click's own types, vendored by typer
    from trainers.options import make_command, request_of, settings_of, training_sections

    module = load_objective(name)

    def train(context: typer.Context, **values: Any) -> None:  # noqa: ANN401 - the flags
        study = {key: values.pop(key) for key in SEVERAL}
        if study["seeds"] is None:
            _only_with_seeds(study)
            from trainers.training.run import run_training

            run_training(request_of(name, module, values), module, settings_of(module, values))
        else:
            from trainers.results.studies import train_study

            train_study(name, module, values, **study)

    sections = {
        **training_sections(name, module),
        "Several seeds": SEVERAL,
        "Running": {"out": _out(f"runs/{name}"), "seed": SEED, **SWITCHES, **RESUME},
    }
    return make_command(
        name,
        train,
        sections,
        description=module.__doc__ or name,
        epilog=_examples(f"train {name} {_data(module)}", ["--encoder bert-base-uncased", "--seeds 3 --data DIR"]),
    )


def _sweep_command(name: str) -> Any:  # noqa: ANN401 - click's own types, vendored by typer
    from trainers.options import make_command, training_sections

    module = load_objective(name)
    training = training_sections(name, module)

    def sweep(context: typer.Context, **values: Any) -> None:  # noqa: ANN401 - the flags
        from trainers.results.axes import read_axes
        from trainers.results.studies import train_study

        flags = {key: flag for section in training.values() for key, flag in section.items()}
        written = {key for key in values if _written(context, key)}
        study = {key: values.pop(key) for key in {**OVER, **SEVERAL}}
        train_study(name, module, values, read_axes(study.pop("over"), flags, written), **study)

    sections = {
        "Sweep": {**OVER, **SEVERAL, "seeds": SEEDS_OF_A_SWEEP},
        **training,
        "Running": {"out": _out(f"runs/sweep-{name}"), "seed": SEED, **SWITCHES},
    }
    swept = ["--over batch-size=16,32,64,128 --seeds 3 --data DIR", "--over batch-size=32,64 --over lr=1e-5,1e-4"]
    return make_command(
        name,
        sweep,
        sections,
        description=f"Sweep over the options of `train {name}`: {module.__doc__}",
        epilog=_examples(f"train sweep {name} {_data(module)}", swept),
    )


def _examples(command: str, endings: list[str]) -> str:
    # \b keeps click from joining the lines.
    return "\b\nExamples:\n" + "\n".join(f"  {command} {ending}" for ending in endings)


def _data(module: ObjectiveModule) -> str:
    """The data of an example."""
    return _DATA.get(module.READS[0], "")


_DATA = {
    "views": "--views data/pairs.arrow",
    "text": "--text sentences.txt",
    "words": "--words en:10000",
    "graded": "--graded sts-train.csv",
}


def _out(fallback: str) -> Flag:
    return Flag(Path | None, f"Directory of the run, or of all runs. [{fallback}]")


SEED = Flag(int, "Decides order, dropout and masks.", default=1, least=0)
OVER = {
    "over": Flag(
        list[str] | None,
        "Sweep over an option: batch-size=16,32,64. Any option of the objective, its training and its data; give it "
        "again for a second option. Several files at once: views=a.arrow,b.arrow,a.arrow+b.arrow.",
        metavar="KEY=V1,V2",
    ),
}
SEVERAL = {
    "seeds": Flag(int | None, "Train with this many seeds, from --seed on, into OUT/seed-1 ...; one table.", least=1),
    "data": Flag(
        str | None,
        "Benchmarks to score every run on, as `train evaluate --data`: a folder, or hf:mteb. [TWINVIEWS_DATA]",
        metavar="DIR",
    ),
    "baseline": Flag(bool, "Score the encoder before training too: the row `untrained`.", False, ("--baseline",)),
    "eval_precision": Flag(Literal["fp32", "bf16"] | None, "Number format of the scoring. [fp32]"),
}
SEEDS_OF_A_SWEEP = Flag(int | None, "Train every cell with this many seeds, from --seed on. [1]", least=1)
SWITCHES = {
    "dry_run": Flag(bool, "Say what would be done; write nothing.", False, ("--dry-run",)),
    "overwrite": Flag(bool, "Delete the run that is at --out and train anew.", False, ("--overwrite",)),
}
RESUME = {
    "resume": Flag(
        bool,
        "Insist on resuming: an error where there is nothing to resume. (An unfinished run of the same recipe is "
        "resumed anyway.)",
        False,
        ("--resume",),
    ),
}


def _written(context: typer.Context, key: str) -> bool:
    """Whether an option stands on the command line, not only in a recipe."""
    source = context.get_parameter_source(key)
    return source is not None and source.name == "COMMANDLINE"


def _only_with_seeds(study: Mapping[str, Any]) -> None:
    for key, value in study.items():
        if value not in (None, False):
            option = "--" + key.replace("_", "-")
            raise InputError(f"{option} goes with --seeds N: give that too, or run `train evaluate` afterwards")


app = make_app()


def main() -> NoReturn:
    """Run the command line."""
    run(app)
