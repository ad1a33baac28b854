"""One training run in its directory: recipe first, checkpoints on the way, the encoder last; resumed or refused."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pipelines.console import InputError, note, show, table
from trainers.catalogue import ObjectiveModule
from trainers.data import Wanted, read_examples
from trainers.examples import Examples
from trainers.settings import Training, resolve

if TYPE_CHECKING:
    from pydantic import BaseModel

RECIPE = "recipe.json"
DONE = "modules.json"
# What may differ between a run and its resumption: where the same data lies, and how often it is saved.
FREE = frozenset({"views", "text", "save_every"})


@dataclass(frozen=True, slots=True)
class Request:
    """What a user asked of `train OBJECTIVE`; None means the objective's own default."""

    objective: str
    data: Wanted = field(default_factory=Wanted)
    out: Path | None = None
    encoder: str | None = None
    preset: str | None = None
    seed: int = 1
    dry_run: bool = False
    overwrite: bool = False
    resume: bool = False


@dataclass(frozen=True, slots=True)
class Plan:
    """A run, resolved: its data, its settings and the recipe that is written beside its output."""

    out: Path
    examples: Examples
    training: Training
    params: BaseModel
    recipe: Mapping[str, Any]


def run_training(request: Request, module: ObjectiveModule, given: Mapping[str, Any]) -> Path | None:
    """Train, or resume, and write the encoder; returns its directory, None after a dry run.

    Args:
        request: The options that all objectives share.
        module: The objective's module.
        given: Options of `Training` and of the objective, by field name; None where not given.

    Raises:
        InputError: Data, encoder or options that cannot be used, or an output that belongs to another recipe.
    """
    from trainers.pretrained import locate

    source = locate(request.encoder)
    plan = make_plan(request, module, given, source.digest())
    if request.dry_run:
        _show_plan(plan)
        return None
    if not _claim(plan.out, plan.recipe, overwrite=request.overwrite, resume=request.resume):
        show(f"{plan.out} is finished and of this very recipe; --overwrite trains it again")
        return plan.out

    from transformers import set_seed

    from trainers.fit import CHECKPOINTS, Rows, fit, newest_checkpoint, step_of
    from trainers.pretrained import describe_starter

    set_seed(request.seed)
    objective = module.build(plan.params, plan.training, source)
    if request.encoder is None:
        describe_starter(objective.encoder)
    checkpoint = newest_checkpoint(plan.out)
    if checkpoint is not None:
        note(f"resuming {plan.out} at step {step_of(checkpoint)}")
    rows = Rows(objective.columns(plan.examples), request.seed)
    fitted = fit(objective, rows, plan.training, plan.out, request.seed)
    objective.cpu().save(plan.out, model_card(plan, fitted.steps))
    shutil.rmtree(plan.out / CHECKPOINTS, ignore_errors=True)
    show(
        f"{plan.out}: encoder of {objective.encoder.dimension} dimensions after {fitted.steps} steps "
        f"({fitted.seconds:.0f} s, loss {fitted.last.get('loss', float('nan')):.4f}, "
        f"spread {fitted.last.get('spread', float('nan')):.2f}); next: train evaluate {plan.out}"
    )
    return plan.out


def make_plan(request: Request, module: ObjectiveModule, given: Mapping[str, Any], weights: str | None) -> Plan:
    """Read the data and resolve all settings; nothing is written."""
    preset, training, params = resolve(module.PRESETS, module.PARAMS, request.preset, given)
    examples, where = read_examples(request.data, module.READS)
    if len(examples) < 2:
        raise InputError(
            f"{next(iter(where.values()))} has 1 usable row: training needs at least 2, and better thousands"
        )
    if examples.dropped:
        note(f"{examples.dropped} rows without text left out")
    if training.batch_size > len(examples):
        note(f"batch size {training.batch_size} is more than the {len(examples)} rows: taking {len(examples)}")
        training = training.model_copy(update={"batch_size": len(examples)})
    recipe = {
        "command": request.objective,
        "twinviews": {
            "version": _version(),
            "rows": len(examples),
            "data_xxh64": examples.digest(),
            "encoder_xxh64": weights,
        },
        **where,
        "encoder": request.encoder,
        "preset": preset,
        "seed": request.seed,
        "limit": request.data.limit,
        **training.model_dump(),
        **params.model_dump(),
    }
    return Plan(request.out or Path("runs", request.objective), examples, training, params, recipe)


def _claim(out: Path, recipe: Mapping[str, Any], *, overwrite: bool, resume: bool) -> bool:
    """Make the run's directory ours and write the recipe; false if the run is there, finished."""
    if out.exists() and not out.is_dir():
        raise InputError(f"{out} is a file: give --out a directory")
    present = out.is_dir() and any(out.iterdir())
    if present and not (out / RECIPE).is_file():
        raise InputError(f"{out} is not empty and no training run (it has no {RECIPE}): give another --out")
    if present and overwrite:
        shutil.rmtree(out)
    elif present:
        _same_recipe(out, recipe)
        if (out / DONE).is_file():
            return False
    elif resume:
        raise InputError(f"nothing to resume in {str(out)!r}: leave --resume out, or give the run's --out")
    out.mkdir(parents=True, exist_ok=True)
    if not (out / RECIPE).is_file():
        draft = out / f"{RECIPE}.tmp"
        draft.write_text(json.dumps(recipe, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
        os.replace(draft, out / RECIPE)
    return True


def _same_recipe(out: Path, recipe: Mapping[str, Any]) -> None:
    try:
        found = json.loads((out / RECIPE).read_text(encoding="utf-8"))
    except ValueError:
        raise InputError(f"{out / RECIPE} is no JSON: use --overwrite, or give another --out") from None
    old, new = _flat(found), _flat(recipe)
    for key in sorted(set(old) | set(new)):
        if old.get(key) != new.get(key):
            raise InputError(
                f"{out} belongs to another recipe ({key} was {old.get(key)!r}, is now {new.get(key)!r}): "
                "use --overwrite, or give another --out"
            )


def _flat(recipe: Mapping[str, Any]) -> dict[str, Any]:
    notes = {f"{key} of this run": value for key, value in recipe.get("twinviews", {}).items() if key != "version"}
    return {**{key: value for key, value in recipe.items() if key not in FREE | {"twinviews"}}, **notes}


def _show_plan(plan: Plan) -> None:
    training, rows = plan.training, len(plan.examples)
    table(
        ["what", "value"],
        [
            ["rows", str(rows)],
            ["rows dropped per epoch", str(rows % training.batch_size)],
            ["optimiser steps", str(training.steps(rows))],
            ["encoder", plan.recipe["encoder"] or "starter"],
            ["output", str(plan.out)],
            *([key, str(value)] for key, value in {**training.model_dump(), **plan.params.model_dump()}.items()),
        ],
        title=f"train {plan.recipe['command']}, preset {plan.recipe['preset']}: a dry run, nothing is written",
    )


def model_card(plan: Plan, steps: int) -> str:
    """Return the README of a trained encoder: what it is, how it was made, how to use it."""
    recipe = plan.recipe
    base = recipe["encoder"] or "the Twinviews starter encoder"
    settings = {key: value for key, value in recipe.items() if key not in ("command", "twinviews")}
    rows = "\n".join(f"| {key} | {value} |" for key, value in settings.items() if value is not None)
    return f"""---
library_name: sentence-transformers
pipeline_tag: sentence-similarity
tags:
- sentence-transformers
- sentence-similarity
- feature-extraction
- twinviews
---

# Sentence encoder trained with {recipe["command"]}

{base}, trained for {steps} steps on {recipe["twinviews"]["rows"]:,} rows without labels by
Twinviews {recipe["twinviews"]["version"]} (`train {recipe["command"]}`).

```python
from sentence_transformers import SentenceTransformer

model = SentenceTransformer("path/to/this/folder")
vectors = model.encode(["A man is playing a guitar.", "Someone plays an instrument."])
```

Vectors are pooled ({recipe["pooling"]} over the last layer) and not normalised: compare them by cosine.

## How it was made

| setting | value |
|---|---|
{rows}

`{RECIPE}` holds the same for a machine; `train {recipe["command"]} --config {RECIPE} --out NEW` makes it again.
"""


def _version() -> str:
    try:
        return version("twinviews")
    except PackageNotFoundError:
        return "unknown"
