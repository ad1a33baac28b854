"""The objectives and their options, those of every training, and what a user asks for.

All of it without torch.
"""

import tomllib
from collections.abc import Callable, Collection, Mapping, Sequence
from math import ceil
from pathlib import Path
from pkgutil import resolve_name
from typing import Any, Literal, Self, get_args

from pydantic import Field

from pipelines.base.console import ConfigOption, InputError, Plugins
from pipelines.base.options import Model, checked
from pipelines.base.options import Options as Options

Presets = Mapping[str, Mapping[str, Any]]  # values of `Training` and of an objective's own options, by preset
NONE = "none"  # how an optional value is unset that a preset sets
MOST = 10**9  # steps
OWN = "own"  # the pooling of a preset that keeps the one that an encoder was made for
Pooling = Literal["mean", "cls", "first-last", "padded-mean", "max", "lasttoken", "weightedmean"]
"""How token vectors become one: their mean, the first one, the mean over the first and the last layer, the
mean over all positions that a text is padded to, padding included (as in Mirror-BERT's code), the greatest
numbers, the last one, or the mean weighted by position."""

POOLINGS: tuple[Pooling, ...] = get_args(Pooling)


class DataOptions(Options):
    """The data of a training; without any, what `augment` writes by default."""

    views: list[str] | None = None
    """Pairs; again for more. [data/pairs.arrow]"""
    text: Path | None = None
    """Sentences, one a line, or a dataset folder. [data/sentences]"""
    words: str | None = None
    """Words, one a line, or a language's most frequent ones: en, en:5000."""
    graded: Path | None = None
    """Graded pairs: any table with a score and two sentences, or a file such as STS-B's or SICK's."""
    scale: str | None = None
    """LOW:HIGH of --graded. [STS-B's file 0:5, SICK's 1:5, others 0:1]"""
    limit: int | None = Field(None, ge=1)
    """Take the first N rows only, of several files of each."""


def data_keys(reads: tuple[str, ...]) -> set[str]:
    """Return the fields of `DataOptions` that name data of the kinds `reads`."""
    return {"limit", *reads, *(["scale"] if "graded" in reads else [])}


class ObjectiveOptions(Options):
    """An objective's own options, and what they say of its training."""

    def start(self) -> str | None:
        """Return the encoder that is trained if none is given; None for the bundled one."""
        return None

    def other_encoders(self) -> dict[str, str]:
        """Return the encoders that are read besides the one that is trained, by the option that names them."""
        return {}

    def reads_labels(self) -> bool:
        """Whether the labels of pairs decide what is trained."""
        return False

    def reads_corpus(self) -> bool:
        """Whether --text beside --views is more text, of which no row is trained on."""
        return False

    def check_views(self, views: Sequence[str]) -> None:
        """Warn of files of pairs that are not good enough; by default, do nothing."""


class DropoutOptions(ObjectiveOptions):
    """The option of an objective that sets its encoder's dropout."""

    dropout: float | None = Field(None, ge=0, lt=1)
    """Dropout rate of the encoder; none: its own."""


class Training(Options):
    """Optimiser, schedule, batches and lengths: the options that are not specific to an objective."""

    epochs: float = Field(1.0, ge=0, le=1e6)
    """Passes over the data; 0 saves the start, such as whitened vectors."""
    steps: int | None = Field(None, ge=1, le=MOST)
    """Optimiser steps, instead of --epochs."""
    batch_size: int = Field(64, ge=2)
    """Rows per batch, over all processes; a smaller last one is dropped."""
    accumulate: int = Field(1, ge=1)
    """Batches per step; in-batch negatives come from one batch."""
    group_by_length: bool = False
    """Batch texts of similar length, for less padding."""
    lr: float = Field(gt=0, le=1e30)
    """Peak learning rate of AdamW."""
    schedule: Literal["linear", "constant"] = "linear"
    """Learning rate after the warm-up."""
    warmup: float = Field(0.0, ge=0, lt=1)
    """Share of the steps in which the rate rises from 0."""
    weight_decay: float = Field(0.0, ge=0)
    """Decoupled weight decay."""
    decay_all: bool = False
    """Decay biases and norms too, not only matrices."""
    eps: float = Field(1e-8, gt=0)
    """AdamW's epsilon."""
    clip: float = Field(0.0, ge=0)
    """Clip the gradient's norm to this; 0 leaves it."""
    max_tokens: int = Field(64, ge=4)
    """Longer texts are cut here, special tokens included."""
    pooling: Pooling = "mean"
    """How the tokens' vectors become one."""
    prompts: tuple[str, ...] = ()
    """COLUMN=NAME, such as view_a=query: the encoder's prompt before a column's texts; again for more."""
    whiten: bool = False
    """Begin whitened on the pairs' sentences, or the text (Su et al. 2021)."""
    sharpen: int | None = Field(None, ge=0)
    """Begin with a layer that draws texts to so many neighbours."""
    blend: float = Field(1.0, ge=0, le=1)
    """Share of the trained weights in those saved; the rest: the start's."""
    precision: Literal["auto", "fp32", "bf16", "fp16"] = "auto"
    """Number format; auto: bf16 or fp32."""
    cached: int | None = Field(None, ge=1)
    """Embed this many texts at a time, for less memory (GradCache)."""
    save_every: int = Field(500, ge=1)
    """Optimiser steps between checkpoints."""
    dev: str | None = None
    """To score on: a file as --judge of `train evaluate`, or stsb-dev."""
    dev_data: str | None = None
    """The folder that --dev is in; none: TWINVIEWS_DATA."""
    dev_similarity: Literal["cosine", "best"] = "cosine"
    """Cosine, or the best of four similarities."""
    evaluations: int = Field(10, ge=1, le=10_000)
    """How often to score on --dev, the last time at the end."""
    keep: Literal["best", "last"] = "best"
    """Save the encoder that was best on --dev, or the last."""
    patience: int | None = Field(None, ge=1)
    """Stop after this many scores on --dev without a new best."""

    @property
    def begins_linear(self) -> bool:
        """Whether a linear layer behind the pooling is fitted to the training text before the first step."""
        return self.whiten or bool(self.sharpen)

    def total_steps(self, rows: int) -> int:
        """The optimiser steps of a run over `rows` rows; the last, smaller batch of an epoch is dropped."""
        batches = rows // self.batch_size
        return self.steps or ceil(self.epochs * max(1, ceil(batches / self.accumulate)))


def resolve(
    presets: Presets,
    options: type[Model],
    preset: str | None,
    chosen: Mapping[str, Any],
    *,
    own_pooling: Pooling = "cls",
) -> tuple[str, Training, Model]:
    """Return preset, training settings and the objective's options.

    `chosen`, None for unset, beats the preset.
    """
    name = preset if preset is not None else next(iter(presets))
    if name not in presets:
        raise InputError(f"no preset {name!r}: choose one of {', '.join(presets)}")
    fields = {**Training.model_fields, **options.model_fields}
    optional = {key for key, field in fields.items() if type(None) in get_args(field.annotation)}
    given = {key: value for key, value in chosen.items() if value is not None}
    values = {**presets[name], **given, **{key: None for key in optional & given.keys() if given[key] == NONE}}
    if given.get("epochs") is not None:
        if given.get("steps") not in (None, NONE):
            raise InputError(f"--steps {chosen['steps']} and --epochs {chosen['epochs']:g}: give one of them")
        values["steps"] = None
    if values.get("pooling") == OWN:
        values["pooling"] = own_pooling
    objective_values = {key: values.pop(key) for key in options.model_fields if key in values}
    return name, checked(Training, values), checked(options, objective_values)


PARTS = ("READS", "PRESETS", "PARAMS", "build")
"""What a module needs to be an objective: the kinds of data that it reads, the usual one first; its presets, the
first the default; its own options; and `build(options, settings, source)`, which loads the encoder and returns the
`Objective` that trains it: its class."""
OBJECTIVES = Plugins(
    "trainers.objectives",
    lambda module: next((f"it has no {part}" for part in PARTS if not getattr(module, part, None)), None),
)
objective_names, load_objective = OBJECTIVES.names, OBJECTIVES.module


def read_presets(module: str) -> Presets:
    """The presets in the TOML file beside a module, each with the values of the one that it is `like`."""
    tables = tomllib.loads(Path(module).with_suffix(".toml").read_text(encoding="utf-8"))

    def values(name: str) -> dict[str, Any]:
        own = dict(tables[name])
        return (values(own.pop("like")) if "like" in own else {}) | own

    return {name: values(name) for name in tables}


def later(place: str) -> Callable[..., Any]:
    """Return a function by its `module:name`, imported when it is called."""
    return lambda *arguments: resolve_name(place)(*arguments)


class RunOptions(Options):
    """What every training has besides its data and settings: its start, its seeds, and where it goes."""

    encoder: str | None = None
    """Encoder to start from: directory or Hub name. [the bundled starter]"""
    preset: str | None = None
    """A preset of the objective. [the first one]"""
    out: Path | None = None
    """Directory of the run, or of all seeds. [runs/NAME]"""
    seed: int = Field(1, ge=0, lt=1 << 32)
    """Decides order, dropout and masks."""
    seeds: int | None = Field(None, ge=1, le=1000)
    """Train with N seeds, from --seed on, into OUT/seed-1 and so on."""
    overwrite: bool = False
    """Delete the run in --out and train again."""
    config: ConfigOption = None


class Request(RunOptions):
    """What a user asked of `train OBJECTIVE`.

    `chosen`: options of the training by field, None for the preset's.
    """

    objective: str
    data: DataOptions
    chosen: Mapping[str, Any]

    @classmethod
    def of(cls, name: str, values: Mapping[str, Any]) -> Self:
        """Pick the request out of `values`, options by key, among them others.

        Raises InputError for an invalid one.

        An option that is missing or None is left to its default or to the preset.
        """
        objective = load_objective(name)
        # Typer gives an empty list for a list that was not given.
        given = {key: value for key, value in values.items() if value not in (None, [], ())}
        keys = {**objective.PARAMS.model_fields, **Training.model_fields}
        data = checked(DataOptions, _picked(given, data_keys(objective.READS)))
        chosen, own = _picked(given, keys), _picked(given, RunOptions.model_fields)
        if "encoder" not in own:
            _, _, params = resolve(objective.PRESETS, objective.PARAMS, own.get("preset"), chosen)
            own["encoder"] = params.start()
        return checked(cls, {"objective": name, "data": data, "chosen": chosen, **own})

    def resolved(self, own_pooling: Pooling) -> tuple[str, Training, Any]:
        """The preset's name, the training settings and the objective's own options; raises as `resolve`."""
        objective = load_objective(self.objective)
        return resolve(objective.PRESETS, objective.PARAMS, self.preset, self.chosen, own_pooling=own_pooling)


def _picked(values: Mapping[str, Any], keys: Collection[str]) -> dict[str, Any]:
    return {key: value for key, value in values.items() if key in keys}
