"""The options that all objectives share, and how a preset and a user's options become settings."""

from collections.abc import Mapping
from math import ceil
from typing import Any, Literal, TypeVar

from pydantic import BaseModel, Field, ValidationError

from pipelines.console import InputError
from trainers.encoders.modules import Pooling
from trainers.flags import Options as Options

Model = TypeVar("Model", bound=BaseModel)
Presets = Mapping[str, Mapping[str, Any]]
"""Values of `Training` and of an objective's own options, by preset."""

OWN = "own"
"""The pooling of a preset that keeps the one that an encoder was made for."""


class DropoutOptions(Options):
    """The option of an objective that sets its encoder's dropout."""

    dropout: float | None = Field(None, ge=0, lt=1, description="Dropout rate of the encoder; none is its own.")


class Training(Options):
    """Optimiser, schedule, batches and lengths: the options that are not specific to an objective."""

    epochs: float = Field(1.0, gt=0, description="Passes over the data.")
    batch_size: int = Field(64, ge=2, description="Rows per batch, over all processes; a smaller last one is dropped.")
    accumulate: int = Field(1, ge=1, description="Batches per step; in-batch negatives come from one batch.")
    group_by_length: bool = Field(False, description="Batch texts of similar length, for less padding.")
    lr: float = Field(gt=0, description="Peak learning rate of AdamW.")
    schedule: Literal["linear", "constant"] = Field("linear", description="Learning rate after the warm-up.")
    warmup: float = Field(0.0, ge=0, lt=1, description="Share of the steps in which the rate rises from 0.")
    weight_decay: float = Field(0.0, ge=0, description="Decoupled weight decay.")
    decay_all: bool = Field(False, description="Decay biases and norms too, not only matrices.")
    eps: float = Field(1e-8, gt=0, description="AdamW's epsilon.")
    clip: float = Field(0.0, ge=0, description="Clip the gradient's norm to this; 0 leaves it.")
    max_tokens: int = Field(64, ge=4, description="Longer texts are cut here, special tokens included.")
    pooling: Pooling = Field("mean", description="How the tokens' vectors become one.")
    whiten: bool = Field(False, description="Begin with vectors whitened on the training text (Su et al. 2021).")
    precision: Literal["auto", "fp32", "bf16", "fp16"] = Field("auto", description="Number format; auto: bf16 or fp32.")
    gradient_checkpointing: bool = Field(False, description="Less memory, about a third more time.")
    cached: int | None = Field(None, ge=1, description="Embed this many texts at a time, for less memory (GradCache).")
    save_every: int = Field(500, ge=1, description="Optimiser steps between checkpoints.")
    dev: str | None = Field(None, description="Graded pairs to score on: a TSV or CSV file, or such as stsb-dev.")
    dev_data: str | None = Field(None, description="Where the data of --dev is: a folder, or hf:mteb. [TWINVIEWS_DATA]")
    dev_similarity: Literal["cosine", "best"] = Field("cosine", description="Cosine, or the best of four similarities.")
    evaluations: int = Field(10, ge=1, description="How often to score on --dev, the last time at the end.")
    keep: Literal["best", "last"] = Field("best", description="Save the encoder that was best on --dev, or the last.")
    patience: int | None = Field(None, ge=1, description="Stop after this many scores on --dev without a new best.")
    report_to: Literal["none", "tensorboard", "wandb"] = Field("none", description="Log there too.")

    def steps(self, rows: int) -> int:
        """Return the optimiser steps of a run over `rows` rows; the last, smaller batch of an epoch is dropped."""
        batches = rows // self.batch_size
        return max(1, ceil(self.epochs * max(1, ceil(batches / self.accumulate))))


def resolve(
    presets: Presets,
    options: type[Model],
    preset: str | None,
    given: Mapping[str, Any],
    *,
    own_pooling: Pooling = "cls",
) -> tuple[str, Training, Model]:
    """Return the preset's name, the training settings and the objective's own options; `given` beats the preset.

    None takes the first preset; `given` are values by field name, None where not given. Where a preset says `own`, the
    pooling is `own_pooling`. Raises InputError for an unknown preset, or an invalid value.
    """
    name = preset if preset is not None else next(iter(presets))
    if name not in presets:
        raise InputError(f"no preset {name!r}: choose one of {', '.join(presets)}")
    values = {**presets[name], **{key: value for key, value in given.items() if value is not None}}
    if values.get("pooling") == OWN:
        values["pooling"] = own_pooling
    own = {key: values.pop(key) for key in options.model_fields if key in values}
    return name, checked(Training, values), checked(options, own)


def checked(model: type[Model], values: Mapping[str, Any]) -> Model:
    """Return the model of these values; raises InputError for an invalid one."""
    try:
        return model(**values)
    except ValidationError as error:
        first = error.errors()[0]
        value = "" if first["type"] == "missing" else f" {first['input']!r}"
        said = first["msg"].removeprefix("Value error, ").lower()
        raise InputError(f"--{str(first['loc'][0]).replace('_', '-')}{value}: {said}") from None
