"""The options that all objectives share; their values from a preset, the user or a sweep; commands with such options.

An option is a field of a pydantic model, its description the help.
"""

import inspect
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import product
from math import ceil
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, Self, TypeVar, get_args, get_origin

import typer
import xxhash
from annotated_types import Ge
from pydantic import BaseModel, ConfigDict, Field, PlainSerializer, PlainValidator, TypeAdapter, ValidationError

from pipelines.terminal.console import ConfigOption, InputError, first_problem

Model = TypeVar("Model", bound=BaseModel)
Presets = Mapping[str, Mapping[str, Any]]  # values of `Training` and of an objective's own options, by preset
OWN = "own"  # the pooling of a preset that keeps the one that an encoder was made for
Pooling = Literal["mean", "cls", "first-last", "padded-mean"]
"""How token vectors become one: their mean, the first one, the mean over the first and the last layer, or the mean over
all positions that a text is padded to, padding included (as in Mirror-BERT's code)."""

POOLINGS: tuple[Pooling, ...] = get_args(Pooling)
MAX_LABEL = 80  # characters of a swept value in a folder's name
Axes = Mapping[str, Mapping[str, Any]]  # the values of options to sweep over by key, each by its label


class TokenLimit(int):
    """Most tokens of a text, special tokens included: the greater one of its `sides`, left and right texts.

    It is written `64`, or `32,256` for two sides. Raises ValueError for anything else, and for fewer than 4.
    """

    sides: tuple[int, ...]

    def __new__(cls, value: object) -> Self:
        """Read the limits."""
        if not re.fullmatch(r"\d{1,9}(,\d{1,9})?", str(value)):
            raise ValueError("write a number of tokens, or LEFT,RIGHT for pairs")
        sides = tuple(map(int, str(value).split(",")))
        if min(sides) < 4:
            raise ValueError("input should be greater than or equal to 4")
        limit = super().__new__(cls, max(sides))
        limit.sides = sides
        return limit

    def written(self) -> int | str:
        """Return it for a recipe."""
        return int(self) if len(self.sides) == 1 else "{},{}".format(*self.sides)


class Options(BaseModel):
    """Options of a command or of a part of it."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class DropoutOptions(Options):
    """The option of an objective that sets its encoder's dropout."""

    dropout: float | None = Field(None, ge=0, lt=1, description="Dropout rate of the encoder; none: its own.")


class Training(Options):
    """Optimiser, schedule, batches and lengths: the options that are not specific to an objective."""

    epochs: float = Field(1.0, ge=0, description="Passes over the data; 0 saves the start, such as whitened vectors.")
    batch_size: int = Field(64, ge=2, description="Rows per batch, over all processes; a smaller last one is dropped.")
    accumulate: int = Field(1, ge=1, description="Batches per step; in-batch negatives come from one batch.")
    group_by_length: bool = Field(False, description="Batch texts of similar length, for less padding.")
    lr: float = Field(gt=0, le=1e30, description="Peak learning rate of AdamW.")
    schedule: Literal["linear", "constant"] = Field("linear", description="Learning rate after the warm-up.")
    warmup: float = Field(0.0, ge=0, lt=1, description="Share of the steps in which the rate rises from 0.")
    weight_decay: float = Field(0.0, ge=0, description="Decoupled weight decay.")
    decay_all: bool = Field(False, description="Decay biases and norms too, not only matrices.")
    eps: float = Field(1e-8, gt=0, description="AdamW's epsilon.")
    clip: float = Field(0.0, ge=0, description="Clip the gradient's norm to this; 0 leaves it.")
    max_tokens: Annotated[TokenLimit, PlainValidator(TokenLimit), PlainSerializer(TokenLimit.written)] = Field(
        TokenLimit(64), description="Longer texts are cut here, special tokens included; of pairs, LEFT,RIGHT."
    )
    pooling: Pooling = Field("mean", description="How the tokens' vectors become one.")
    whiten: bool = Field(False, description="Begin with vectors whitened on the training text (Su et al. 2021).")
    sharpen: int | None = Field(None, ge=1, description="Begin with a layer that draws texts to so many neighbours.")
    precision: Literal["auto", "fp32", "bf16", "fp16"] = Field("auto", description="Number format; auto: bf16 or fp32.")
    gradient_checkpointing: bool = Field(False, description="Less memory, about a third more time.")
    cached: int | None = Field(None, ge=1, description="Embed this many texts at a time, for less memory (GradCache).")
    save_every: int = Field(500, ge=1, description="Optimiser steps between checkpoints.")
    dev: str | None = Field(None, description="To score on: a file as --judge of `train evaluate`, or stsb-dev.")
    dev_data: str | None = Field(None, description="Where --dev is: a folder, or hf:mteb; none: TWINVIEWS_DATA.")
    dev_similarity: Literal["cosine", "best"] = Field("cosine", description="Cosine, or the best of four similarities.")
    evaluations: int = Field(10, ge=1, description="How often to score on --dev, the last time at the end.")
    keep: Literal["best", "last"] = Field("best", description="Save the encoder that was best on --dev, or the last.")
    patience: int | None = Field(None, ge=1, description="Stop after this many scores on --dev without a new best.")
    report_to: Literal["none", "tensorboard", "wandb"] = Field("none", description="Log there too.")

    @property
    def begins_linear(self) -> bool:
        """Whether a linear layer behind the pooling is fitted to the training text before the first step."""
        return self.whiten or self.sharpen is not None

    def steps(self, rows: int) -> int:
        """Return the optimiser steps of a run over `rows` rows; the last, smaller batch of an epoch is dropped."""
        batches = rows // self.batch_size
        return ceil(self.epochs * max(1, ceil(batches / self.accumulate)))


def resolve(
    presets: Presets, options: type[Model], preset: str | None, chosen: Mapping[str, Any], *,
    own_pooling: Pooling = "cls",
) -> tuple[str, Training, Model]:  # fmt: skip
    """Return the preset's name, the training settings and the objective's own options; `chosen` beats the preset.

    Without a `preset` it is the first one. `chosen` are the user's values by field name, None for the preset's.
    `own_pooling` is the pooling if the preset says `own`. Raises InputError: an unknown preset, or an invalid value.
    """
    name = preset if preset is not None else next(iter(presets))
    if name not in presets:
        raise InputError(f"no preset {name!r}: choose one of {', '.join(presets)}")
    values = {**presets[name], **{key: value for key, value in chosen.items() if value is not None}}
    if values.get("pooling") == OWN:
        values["pooling"] = own_pooling
    objective_values = {key: values.pop(key) for key in options.model_fields if key in values}
    return name, checked(Training, values), checked(options, objective_values)


def checked(model: type[Model], values: Mapping[str, Any]) -> Model:
    """Return the model of these values; raises InputError for an invalid one."""
    try:
        return model(**values)
    except ValidationError as error:
        field, value, problem = first_problem(error)
        value_text = "" if value is None or error.errors()[0]["type"] == "missing" else f" {value!r}"
        raise InputError(f"--{field.partition('.')[0].replace('_', '-')}{value_text}: {problem}") from None


class Flag(NamedTuple):
    """One option: its type (a list may be given several times), help, default, least value, and completion."""

    type: Any
    help: str
    default: Any = None
    least: int | None = None
    complete: Callable[[], list[str]] | None = None


Sections = Mapping[str, Mapping[str, Flag]]  # flags by key, by the heading that `--help` lists them under


def flags_of(model: type[BaseModel]) -> dict[str, Flag]:
    """Return a flag for each field that has a description."""
    flags = {}
    for key, field in model.model_fields.items():
        if field.description is not None:
            least: Any = next((limit.ge for limit in field.metadata if isinstance(limit, Ge)), None)
            flags[key] = Flag(field.annotation, field.description, field.default, least)
    return flags


def setting_flags(model: type[BaseModel], presets: Presets) -> dict[str, Flag]:
    """Return a flag for each field, None if not given; its help says which presets have which value."""

    def as_text(key: str, value: object) -> str:
        if isinstance(value, bool):
            return f"{'' if value else 'no-'}{key.replace('_', '-')}"
        if isinstance(value, list | tuple):
            return ", ".join(map(str, value))
        return "none" if value is None else str(value)

    flags = {}
    for key, field in model.model_fields.items():
        default = None if field.is_required() else field.default
        names: dict[str, list[str]] = {}
        for name, preset in presets.items():
            names.setdefault(as_text(key, preset.get(key, default)), []).append(name)
        first, *other_values = names
        defaults = "; ".join([first, *(f"{', '.join(names[value])}: {value}" for value in other_values)])
        kind: Any = str if field.annotation is TokenLimit else field.annotation
        if get_origin(kind) is tuple:
            kind = list[get_args(kind)[0]]  # type: ignore[misc]
        flags[key] = Flag(kind | None, f"{field.description} [{defaults}]")
    return flags


def with_flags(function: Callable[..., None], sections: Sections, description: str = "") -> Callable[..., None]:
    """Return a command for typer that calls `function(context, **values)` with these flags and `--config`."""

    def command(context: typer.Context, config: ConfigOption = None, **values: Any) -> None:  # noqa: ANN401 - the flags
        function(context, **values)

    kind = inspect.Parameter.KEYWORD_ONLY
    parameters = [inspect.Parameter("context", kind, annotation=typer.Context)]
    for heading, flags in sections.items():
        for key, (value_type, text, default, least, complete) in flags.items():
            name = key.replace("_", "-")
            name = f"--{name}/--no-{name}" if value_type == bool | None else f"--{name}"
            option = typer.Option(
                name, help=text, show_default=default not in (None, False), min=least, rich_help_panel=heading or None,
                autocompletion=complete,
            )  # fmt: skip
            parameters.append(inspect.Parameter(key, kind, default=default, annotation=Annotated[value_type, option]))
    parameters.append(inspect.Parameter("config", kind, default=None, annotation=ConfigOption))
    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    command.__doc__ = description or function.__doc__
    return command


class Setting(NamedTuple):
    """One setting of a study: its label on every axis, by option, and the values of the options by key."""

    labels: Mapping[str, str]
    values: Mapping[str, Any]

    @property
    def title(self) -> str:
        """The setting as a reader writes it, e.g. `momentum=0.9, batch-size=16`; empty without axes."""
        return ", ".join(f"{name}={label}" for name, label in self.labels.items())

    @property
    def folder(self) -> str:
        """The name of its folder, the same in every study."""
        return ",".join(f"{name}={folder_part(label)}" for name, label in self.labels.items())


def read_axes(over: Sequence[str] | None, flags: Mapping[str, Flag], typed: Collection[str] = ()) -> Axes:
    """Read `KEY=V1,V2,...` of every `--over`.

    `flags` are the options that can be swept, by key; `typed` the keys of those on the command line. Raises
    InputError: there is nothing to sweep over, no such option, a value of another type, or something twice.
    """
    if not over:
        raise InputError("nothing to sweep over: give --over KEY=V1,V2, such as --over batch-size=16,32,64")
    axes: dict[str, Mapping[str, Any]] = {}
    for text in over:
        name, _, values = text.partition("=")
        option = name.strip().removeprefix("--").replace("_", "-")
        key = option.replace("-", "_")
        if key not in flags:
            options = ", ".join(sorted(flag.replace("_", "-") for flag in flags))
            raise InputError(f"--over {name!r}: no option of that name to sweep over; there are {options}")
        if key in axes or key in typed:
            raise InputError(f"--over {option}: the option is given twice: give all its values once, with --over")
        labels = [label.strip() for label in values.split(",")]
        if not all(labels):
            raise InputError(f"--over {text!r}: a value is empty: write it as KEY=V1,V2")
        axes[key] = dict(_read_label(option, label, flags[key]) for label in labels)
        if len({folder_part(label) for label in axes[key]}) < len(labels):
            raise InputError(f"--over {text!r}: two values have the same folder name: give each value once")
    return axes


def all_settings(axes: Axes) -> list[Setting]:
    """Return all combinations of the axes' values, the last axis running fastest; an empty one without axes."""
    names, combinations = [key.replace("_", "-") for key in axes], []
    for pairs in product(*(values.items() for values in axes.values())):
        labels, values = ([pair[place] for pair in pairs] for place in (0, 1))
        combinations.append(Setting(dict(zip(names, labels, strict=True)), dict(zip(axes, values, strict=True))))
    return combinations


def folder_part(label: str) -> str:
    """Return a label as part of a file name: paths become dashes, long ones a hash and their end."""
    safe = re.sub(r"[^\w.+-]+", "-", label)
    return safe if len(safe) <= MAX_LABEL else f"{xxhash.xxh64_hexdigest(label.encode())[:8]}~{safe[-MAX_LABEL + 9 :]}"


def _read_label(option: str, label: str, flag: Flag) -> tuple[str, Any]:
    """Return a label with its value; 1e-4 and 0.0001 have one label, and so one folder."""
    adapter: TypeAdapter[Any] = TypeAdapter(flag.type)
    try:
        value = adapter.validate_python(label)
    except ValidationError as error:
        try:
            # A plus joins the values of an option that takes several, unless it is part of a file's name.
            return label, adapter.validate_python([label] if Path(label).exists() else label.split("+"))
        except ValidationError:
            raise InputError(f"--over {option}={label}: {first_problem(error)[-1]}") from None
    if flag.least is not None and value < flag.least:
        raise InputError(f"--over {option}={label}: input should be at least {flag.least}")
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return repr(value).removesuffix(".0") if number else label, value
