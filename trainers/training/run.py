"""How a training runs: read the data, build the objective, train (see `fit`), save the encoder into its directory."""

from collections.abc import Mapping
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from pydantic import BaseModel, Field
from transformers import set_seed

from pipelines.console import InputError, note, show, table
from pipelines.lock import locked_folder
from trainers.catalogue import ObjectiveModule
from trainers.data.examples import Examples
from trainers.data.kinds import DataOptions, data_flags, read_examples
from trainers.data.rows import Rows
from trainers.encoders.location import Source, locate
from trainers.flags import flags_of
from trainers.processes import divided_batch, is_first, join_processes, of_first, processes
from trainers.settings import Options, Training, checked, resolve
from trainers.training import directory
from trainers.training.card import model_card
from trainers.training.dev import read_dev
from trainers.training.fit import fit
from trainers.training.machine import for_machine

SEEDS = 1 << 32
"""NumPy's global generator, which other libraries draw from, knows so many."""


class Request(Options):
    """What a user asked of `train OBJECTIVE`; None means the objective's own default."""

    objective: str
    data: DataOptions
    encoder: str | None = Field(None, description="Encoder to start from: directory or Hub name. [the bundled starter]")
    preset: str | None = Field(None, description="A preset of the objective. [the first one]")
    out: Path | None = Field(None, description="Directory of the run, or of all runs. [runs/NAME; runs/sweep-NAME]")
    seed: int = Field(1, ge=0, lt=SEEDS, description="Decides order, dropout and masks.")
    dry_run: bool = Field(False, description="Say what would be done; write nothing.")
    overwrite: bool = Field(False, description="Delete the run that is at --out and train anew.")
    resume: bool = Field(False, description="Insist on resuming: an error where there is nothing to resume.")


def request_of(name: str, module: ObjectiveModule, values: Mapping[str, Any]) -> Request:
    """Return what `run_training` is asked for; `values` by key, whatever else is among them is left alone."""
    data = DataOptions(**{key: values[key] for key in data_flags(module.READS)})
    shared = {key: values[key] for key in flags_of(Request) if key in values}
    return checked(Request, {"objective": name, "data": data, **shared})


def settings_of(module: ObjectiveModule, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of `Training` and of the objective's own options; None where not given."""
    # A list that is empty was not given: typer has no other word for it.
    return {
        key: None if values[key] in ([], ()) else values[key]
        for key in {**module.PARAMS.model_fields, **Training.model_fields}
    }


@dataclass(frozen=True, slots=True)
class Plan:
    """A run, resolved: its data, its settings and the recipe that is written beside its output."""

    out: Path
    examples: Examples
    training: Training
    params: BaseModel
    recipe: Mapping[str, Any]
    dev: Examples | None

    def rows(self) -> int:
        """Return how many rows are trained on: an objective may hold some of the data out."""
        held_out = getattr(self.params, "held_out", lambda *_: 0)
        return len(self.examples) - int(held_out(len(self.examples), self.training.batch_size))


def run_training(request: Request, module: ObjectiveModule, given: Mapping[str, Any]) -> Path | None:
    """Train, or resume, and write the encoder; returns its directory, None after a dry run.

    Where several processes were started together, all of them call this; the first one writes and speaks. `given` are
    options of `Training` and of the objective, by field name; None where not given.

    Raises:
        InputError: Data, encoder or options that cannot be used, or an output that belongs to another recipe.
        TwinviewsError: The training failed: its loss is no number, or it was to end at a collapse.
    """
    join_processes()
    source = locate(request.encoder)
    plan = make_plan(request, module, given, source)
    if request.dry_run:
        if is_first():
            _show_plan(plan)
        return None
    out = plan.out
    with directory.resumable(out), locked_folder(out) if is_first() else nullcontext():
        finished = is_first() and directory.is_finished(
            out, plan.recipe, overwrite=request.overwrite, resume=request.resume
        )
        if not of_first(finished):
            _train(plan, request, module, source)
        elif is_first():
            show(f"{out} is finished and of this very recipe; --overwrite trains it again")
        # No process goes on to another training while the first one still writes this one.
        of_first(None)
    return out


def make_plan(request: Request, module: ObjectiveModule, given: Mapping[str, Any], source: Source) -> Plan:
    """Read the data and resolve all settings; nothing is written.

    Raises InputError for data or options that cannot be used, or that this machine cannot do.
    """
    preset, training, params = resolve(
        module.PRESETS, module.PARAMS, request.preset, given, own_pooling=source.pooling()
    )
    training = for_machine(training)
    examples, where = read_examples(request.data, module.READS, request.seed)
    if len(examples) < 2:
        raise InputError(f"{next(iter(where.values()))} has 1 usable row: training needs at least 2")
    dev = _read_dev(training, module.PRESETS[preset])
    size = divided_batch(training.batch_size, len(examples), processes())
    if examples.dropped and is_first():
        note(f"{examples.dropped} rows without text left out")
    if size != training.batch_size and is_first():
        note(f"batch size {training.batch_size} is more than the {len(examples)} rows: taking {size}")
    training = training.model_copy(update={"batch_size": size})
    recipe = {
        "command": request.objective,
        "twinviews": {
            "version": version("twinviews"),
            "rows": len(examples),
            "data_xxh64": examples.digest(),
            "encoder_xxh64": source.digest(),
            **({"dev_xxh64": dev.digest()} if dev is not None else {}),
        },
        **where,
        "encoder": request.encoder,
        "preset": preset,
        "seed": request.seed,
        "limit": request.data.limit,
        **training.model_dump(),
        **params.model_dump(),
    }
    return Plan(request.out or Path("runs", request.objective), examples, training, params, recipe, dev)


def _read_dev(training: Training, preset: Mapping[str, Any]) -> Examples | None:
    if training.dev is not None:
        return read_dev(training.dev, training.dev_data)
    for key in ("patience", "dev_data", "dev_similarity", "evaluations", "keep"):
        value = getattr(training, key)
        if value != preset.get(key, Training.model_fields[key].default):
            raise InputError(f"--{key.replace('_', '-')} {value} goes with --dev: give a file or a benchmark")
    return None


def _show_plan(plan: Plan) -> None:
    training, recipe, rows = plan.training, plan.recipe, plan.rows()
    found = {
        "rows": rows,
        "rows dropped per epoch": rows % training.batch_size,
        "optimiser steps": training.steps(rows),
        "encoder": recipe["encoder"] or "starter",
        "output": plan.out,
    }
    cells = [[key, str(value)] for key, value in {**found, **training.model_dump(), **plan.params.model_dump()}.items()]
    table(["what", "value"], cells, title=f"train {recipe['command']}, preset {recipe['preset']}: nothing is written")


def _train(plan: Plan, request: Request, module: ObjectiveModule, source: Source) -> None:
    out, training = plan.out, plan.training
    set_seed(request.seed)
    objective = module.build(plan.params, training, source)
    if training.cached is not None and not objective.cacheable:
        raise InputError(f"--cached {training.cached}: {request.objective} trains on tokens, leave it out")
    objective.cached = training.cached
    rows = Rows(objective.columns(plan.examples), request.seed)
    # Only now: an encoder that cannot be used is to leave no directory that belongs to it.
    if is_first() and (request.overwrite or not (out / directory.RECIPE).is_file()):
        directory.begin(out, plan.recipe)
    if is_first() and request.encoder is None:
        note("encoder: the bundled starter; --encoder bert-base-uncased takes BERT")
    fitted = fit(objective, rows, training, out, request.seed, plan.dev)
    if not is_first():
        return
    objective.cpu().save(out, model_card(plan.recipe, fitted.kept, fitted.dev, source))
    # The encoder is there; what cannot be removed now takes up space, no more.
    with suppress(OSError):
        directory.remove(out, directory.LEFTOVERS)
    total, dev = training.steps(plan.rows()), fitted.dev
    stopped = f" of {total}, stopped early" if fitted.steps < total else ""
    scored = f", dev {dev[fitted.kept]:.2f} at step {fitted.kept} (untrained {dev[0]:.2f})" if dev else ""
    show(
        f"{out}: encoder of {objective.dimension} dimensions after {fitted.steps} steps{stopped} "
        f"({fitted.seconds:.0f} s, loss {fitted.last['loss']:.4f}, "
        f"spread {fitted.last.get('spread', float('nan')):.2f}{scored}); next: train evaluate {out}"
    )
