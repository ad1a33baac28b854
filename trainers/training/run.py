"""How a training runs: read the data, build the objective, train (see `fit`), save the encoder with its model card."""

import gc
import json
import math
import re
import shlex
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import nullcontext, suppress
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from jinja2 import Template
from xxhash import xxh64_hexdigest
from yaml import YAMLError

from pipelines.base.console import InputError, counted, note, show
from pipelines.base.files import locked_folder, write_if_changed
from pipelines.base.options import checked
from trainers.data.examples import Examples, Rows, with_corpus
from trainers.data.reading import read_examples
from trainers.encoders.linear import LINEAR
from trainers.encoders.location import RECIPE, TIME, Source, locate
from trainers.objective import Objective, resolve_precision
from trainers.processes import divided_batch, is_first, join_processes, of_first, processes
from trainers.settings import NONE, OBJECTIVES, ObjectiveOptions, Request, Training, load_objective
from trainers.training import directory

if TYPE_CHECKING:
    from trainers.scores.task import Task
    from trainers.training.fit import Fitted

CARD = Path(__file__).with_name("card.md")  # the template of the model card
SOME = 64  # rows, spread over the data, whose texts are encoded to see whether they are told apart
NEAR_CHANCE = 0.01  # nats between a loss and that of guessing
FEW = 10  # optimiser steps; fewer hardly change an encoder


class Plan(NamedTuple):
    """A training whose data are read and whose settings are resolved; `recipe` is written with its output."""

    source: Source
    examples: Examples
    dev: "Task | None"
    training: Training
    params: ObjectiveOptions
    recipe: Mapping[str, Any]


def run_training(request: Request) -> None:
    """Train, or resume, and write the encoder, in all processes.

    Raises InputError or TwinviewsError if it cannot.
    """
    join_processes()
    plan = _make_plan(request)
    out = request.out or Path("runs", request.objective)
    with directory.resumable(out), locked_folder(out) if is_first() else nullcontext():
        if of_first(is_first() and directory.is_finished(out, plan.recipe, request.overwrite)):
            show(f"{out} is already finished with this recipe; --overwrite trains it again")
        else:
            _train(plan, request, out)
        with suppress(OSError):  # the encoder is saved; what cannot be removed only takes up space
            directory.remove(out, directory.LEFTOVERS if is_first() else ())
        of_first(None)  # no process starts another training while the first one still writes this one


def train_seeds(request: Request, number: int) -> None:
    """Train with so many seeds, from the request's on; raises as `run_training` does."""
    out, first = request.out or Path("runs", request.objective), request.seed
    if (out / RECIPE).is_file():
        raise InputError(
            f"{out} holds a single run: give another --out, the runs of the seeds get folders in it"
        )
    for seed in range(first, first + number):
        own = {"seeds": None, "seed": seed, "out": out / f"seed-{seed}"}
        run_training(checked(Request, {**dict(request), **own}))
        gc.collect()  # Trainer and its callbacks refer to each other and to the model


def _make_plan(request: Request) -> Plan:
    source, objective = locate(request.encoder), load_objective(request.objective)
    preset, training, params = request.resolved(source.pooling())
    given = objective.PRESETS[preset]
    precision = resolve_precision(training.precision)
    examples, sources = read_examples(request.data, objective.READS, params.reads_corpus())
    if len(examples) < 2:
        kind, value = next(iter(sources.items()))
        data = value if isinstance(value, str) else " and ".join(value)
        raise InputError(f"--{kind} {data} has 1 usable row: training needs at least 2")
    if examples.dropped:
        note(f"{examples.dropped} rows without text{' or score' * (examples.labels is not None)} left out")
    params.check_views(sources.get("views", ()))
    if training.begins_linear:
        examples = with_corpus(examples, sources.get("views", ()))
    dev, similarity = _read_dev(training, given, examples)
    size = divided_batch(training.batch_size, len(examples), processes())
    if size != training.batch_size:
        note(f"batch size {training.batch_size} is more than the {len(examples)} rows: using {size}")
    used = {"batch_size": size, "precision": precision, "dev_similarity": similarity}
    training = training.model_copy(update=used)
    hashes = _hashes(source, examples, dev, params)
    settings = {**training.model_dump(), **params.model_dump()}
    unset = {key: NONE for key, value in settings.items() if value is None and given.get(key) is not None}
    recipe = {
        "command": request.objective,
        "twinviews": {"version": version("twinviews"), "rows": len(examples), **hashes},
        **sources,
        "encoder": request.encoder,
        "preset": preset,
        "seed": request.seed,
        "limit": request.data.limit,
        **settings,
        **unset,
        **({"epochs": None} if training.steps else {}),
    }
    return Plan(source, examples, dev, training, params, recipe)


def _hashes(
    source: Source, examples: Examples, dev: "Task | None", params: ObjectiveOptions
) -> dict[str, Any]:
    """Return hashes of all that a training reads, by name, for its recipe."""
    hashes: dict[str, Any] = {"data_xxh64": examples.digest(), "encoder_revision": source.revision}
    for role, name in params.other_encoders().items():
        hashes[f"{role}_revision"] = locate(name).revision
    if params.reads_labels():
        labels = "\0".join(examples.known_labels())
        hashes["labels_xxh64"] = xxh64_hexdigest(labels.encode("utf-8", "surrogatepass"))
    if dev is not None:
        hashes |= {"dev_sha256": dev.sha256(), "dev_figure": dev.title}
    if examples.corpus is not None:
        hashes["corpus_xxh64"] = Examples(examples.corpus, examples.corpus, examples.corpus).digest()
    return hashes


def _read_dev(training: Training, preset: Mapping[str, Any], examples: Examples) -> tuple["Task | None", str]:
    """Return the development set and the similarity that it is scored by, of tables always the cosine."""
    similarity = training.dev_similarity
    if training.dev is None:
        for key in ("patience", "dev_data", "dev_similarity", "evaluations", "keep"):
            value = getattr(training, key)
            if value != preset.get(key, Training.model_fields[key].default):
                raise InputError(f"--{key.replace('_', '-')} {value} needs --dev: give a file or a benchmark")
        return None, similarity
    from trainers.scores.dev_set import read_dev
    from trainers.scores.pairs import Pairs
    from trainers.scores.provenance import leaks_of

    dev = read_dev(training.dev, training.dev_data, similarity)
    if not isinstance(dev, Pairs):
        if similarity == "best" != preset.get("dev_similarity"):
            raise InputError(
                f"--dev-similarity best is for graded pairs, not for {dev.title} on {training.dev}: leave it out"
            )
        similarity = "cosine"
    ((seen, count),) = leaks_of(examples.all_texts(), {"": [dev]}).values()
    if seen:
        note(f"{seen:,} of {count:,} texts of --dev {training.dev} are in the training text")
    return dev, similarity


def _train(plan: Plan, request: Request, out: Path) -> None:
    from transformers import set_seed

    from trainers.training.fit import fit

    training = plan.training
    set_seed(request.seed)
    with OBJECTIVES.errors_of(request.objective):
        objective = load_objective(request.objective).build(plan.params, training, plan.source)
    if training.cached is not None and not objective.cacheable:
        raise InputError(f"--cached {training.cached}: {request.objective} trains on tokens, leave it out")
    _check_layers(objective, plan, request.objective)
    _check_prompts(objective, plan.recipe)
    rows = Rows(objective.columns(plan.examples), request.seed, plan.examples.corpus)
    # Only now: an encoder that cannot be used must leave no directory behind.
    if is_first() and (request.overwrite or not (out / RECIPE).is_file()):
        directory.begin(out, plan.recipe)
    if request.encoder is None:
        note("encoder: the bundled starter; --encoder bert-base-uncased takes BERT")
    total = training.total_steps(len(rows))
    if is_first() and 0 < total < FEW:
        note(
            f"warning: {len(rows)} rows make {counted(total, 'step')}, too few to learn from: "
            "give more data, or raise --epochs"
        )
    with OBJECTIVES.errors_of(request.objective):
        fitted = fit(objective, rows, out, request.seed, plan.dev)
    if not is_first():
        return
    finished = {"date": datetime.now(UTC).isoformat(timespec="seconds"), "seconds": round(fitted.seconds, 1)}
    command = {"command": shlex.join(["train", *sys.argv[1:]])}
    write_if_changed(out / TIME, json.dumps(finished | command) + "\n")
    objective.cpu().save(out, model_card(plan.recipe, fitted.saved_step, fitted.dev, plan.source))
    for sign in _signs_of_collapse(objective, plan.examples, fitted):
        note(f"warning: {sign}: lower --lr or start from another encoder")
    what = f"encoder of {objective.dimension} dimensions{_outcome(fitted, training, total)}"
    show(f"{out}: {what}; next: train evaluate {shlex.quote(str(out))}")


def _signs_of_collapse(objective: Objective, examples: Examples, fitted: "Fitted") -> Iterator[str]:
    """Yield how a trained encoder, as it is saved, shows that it tells no text from another."""
    apart = 1 + len(examples) // SOME
    texts = list(dict.fromkeys(examples.left[::apart]))
    if fitted.steps and len(texts) > 2 and objective.is_collapsed(texts):
        yield f"the encoder has collapsed: {len(texts)} different texts all have nearly the same vector"
    loss, chance = fitted.last["loss"], objective.chance_loss()
    if chance is not None and abs(loss - chance) < NEAR_CHANCE:
        yield f"the last loss, {loss:.2f}, is that of guessing among {math.exp(chance):.0f} texts"


def _outcome(fitted: "Fitted", training: Training, total: int) -> str:
    """What came of a training that was to take `total` steps, in words; its dev score is of what was saved."""
    figures = []
    if fitted.steps:
        last = fitted.last
        figures += [f"{fitted.seconds:.0f} s", f"loss {last['loss']:.4f}"]
        figures += [f"spread {last.get('spread', math.nan):.2f}"]
    if training.dev is not None:
        dev, step = fitted.dev, fitted.saved_step
        start, end, saved = (dev.get(at, math.nan) for at in (0, max(dev, default=0), step))
        figures.append(f"dev {saved:.2f} at step {step}; before the training {start:.2f}, after it {end:.2f}")
    early = f" of {total}, stopped early" if fitted.steps < total else ""
    return ", ".join([f" after {counted(fitted.steps, 'step')}{early}", *figures])


def _check_layers(objective: Objective, plan: Plan, name: str) -> None:
    """Raise InputError for a layer that the training could not fit, or that would be saved half random."""
    training = plan.training
    linear = "--whiten" if training.whiten else "--sharpen"
    if training.whiten and training.sharpen:
        raise InputError("--whiten and --sharpen fit the same layer: leave one out")
    if training.begins_linear and not hasattr(objective.encoder, LINEAR):
        raise InputError(f"{linear}: {name} trains no layer behind the pooling, leave it out")
    if training.begins_linear and training.blend < 1:
        raise InputError(f"--blend {training.blend:g}: the start lacks the layer of {linear}: leave one out")
    layers = [module for child, module in list(objective.encoder.named_children())[1:] if child != LINEAR]
    trained = Counter(
        type(layer).__name__ for layer in layers if any(weight.requires_grad for weight in layer.parameters())
    )
    added = list(trained - Counter(kind for kind, _ in plan.source.modules()))
    is_untrained = not training.total_steps(len(plan.examples))
    if added and (is_untrained or training.blend < 1):
        option = "--epochs 0" if is_untrained else f"--blend {training.blend:g}"
        share = "" if is_untrained else "partly "
        raise InputError(
            f"{option}: {name} adds a {added[0]} to the encoder, whose weights would stay {share}random: "
            "train it, or start from an encoder that has one"
        )


def _check_prompts(objective: Objective, recipe: Mapping[str, Any]) -> None:
    """Say that an encoder's prompts for searches are not used; raises InputError for prompts of no use."""
    prompts = objective.encoder.prompts
    if not objective.prompts and "views" in recipe and prompts.get("query") and prompts.get("document"):
        note("the prompts query and document are not used: --prompts view_a=query --prompts view_b=document")
    has_columns = objective.takes_prompts() and {"views", "graded"} & recipe.keys()
    if objective.prompts and not has_columns:
        raise InputError(
            "--prompts: only trainings on pairs without a teacher, guide, --retain or --relate take them"
        )


def model_card(recipe: Mapping[str, Any], steps: int, dev: Mapping[int, float], source: Source) -> str:
    """The README of an encoder from `source`, with that one's licence; nobody has chosen another one."""
    from huggingface_hub import metadata_load

    metadata: dict[str, object] = {}
    with suppress(OSError, ValueError, YAMLError):  # another author's card can hold anything
        metadata = metadata_load(source.folder / "README.md") or {}
    base = source.name if source.is_of_hub else str(metadata.get("base_model", ""))
    origin = {
        "base": base if re.fullmatch(r"[\w.-]+(/[\w.-]+)?", base) else None,
        "licence": metadata.get("license"),
    }
    template = Template(CARD.read_text(encoding="utf-8"), keep_trailing_newline=True)
    named = directory.without_paths(recipe)  # a card is for others
    return str(template.render(recipe=named, steps=steps, trained=counted(steps, "step"), dev=dev, **origin))
