"""The options that all objectives share; their values from a preset or the user; commands with such options.

An option is a field of a pydantic model, its description the help.
"""

import inspect
import re
from collections.abc import Callable, Mapping
from math import ceil
from typing import Annotated, Any, Literal, NamedTuple, Self, TypeVar, get_args, get_origin

import typer
from annotated_types import Ge
from pydantic import BaseModel, ConfigDict, Field, PlainSerializer, PlainValidator, ValidationError

from pipelines.terminal.console import ConfigOption, InputError, first_problem

Model = TypeVar("Model", bound=BaseModel)
Presets = Mapping[str, Mapping[str, Any]]  # values of `Training` and of an objective's own options, by preset
OWN = "own"  # the pooling of a preset that keeps the one that an encoder was made for
Pooling = Literal["mean", "cls", "first-last", "padded-mean"]
"""How token vectors become one: their mean, the first one, the mean over the first and the last layer, or the mean over
all positions that a text is padded to, padding included (as in Mirror-BERT's code)."""

POOLINGS: tuple[Pooling, ...] = get_args(Pooling)


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
