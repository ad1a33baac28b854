"""Distillation of another encoder: its relations to a queue (ConGen, SCT), or its vectors, for another language.

The teacher's vectors of the training texts are computed once and kept in the run's directory until the run is
done. A student of another dimension gets a Dense layer with tanh, which is saved with it.

With `smooth_neighbours` an encoder adapts itself to a domain: the teacher is the encoder as it was, and each
of its vectors is averaged with those of the nearest texts. What many neighbours share remains; what only one
has goes.

With `method` mse the second views are translations of the first, which the teacher reads. The student learns
to give a translation the teacher's vector of its source: an encoder for another language, in the teacher's own
space.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
import torch
from pydantic import Field, ValidationInfo, field_validator
from torch import Tensor, nn

from pipelines.storage.pair_files import has_bundled_translations
from pipelines.terminal.console import InputError, note
from trainers.data.examples import Examples, number_texts
from trainers.encoders.location import Source
from trainers.encoders.modules import Encoder, add_layer, has_dense, width_of
from trainers.encoders.vectors import smooth
from trainers.encoders.vocabulary import replace_vocabulary, share_unread
from trainers.losses import Queue, relation_loss
from trainers.objective import Objective, float32
from trainers.processes import gather, gather_pairs, is_first, of_first
from trainers.settings import OWN, DropoutOptions, Pooling, Presets, Training

if TYPE_CHECKING:  # it takes seconds to import
    from trainers.encoders.model import EmbeddingModel

READS = ("views", "text")
SAMPLE = 1000  # rows by which the teacher's language is known


class PARAMS(DropoutOptions):
    """The options of distillation."""

    smooth_neighbours: int | None = Field(
        None, ge=1, description="Average the teacher's vectors with so many neighbours'; none: as they are."
    )
    teacher: str | None = Field(
        None,
        min_length=1,
        validate_default=True,
        description="Encoder to learn from: a directory or a Hub name; none: the encoder itself, smoothed.",
    )
    teacher_pooling: Pooling | None = Field(None, description="Pooling of the teacher; none: its own.")
    method: Literal["congen", "sct", "mse"] = Field(
        "congen",
        description="The first view teaches both, or each the other, or its vector itself is to be met (mse).",
    )
    languages: Literal["new", "both"] = Field(
        "new", description="mse: read the language of the second views alone, or that of the first ones too."
    )
    vocabulary: int | None = Field(
        None,
        ge=100,
        description="Pieces of a new vocabulary, learnt from these languages; none: the encoder's own.",
    )
    queue: int = Field(
        65_536, ge=0, description="Teacher's vectors in the queue, or in each of SCT's two (k)."
    )
    teacher_temperature: float = Field(0.05, gt=0, description="Temperature of the teacher's relations.")
    student_temperature: float = Field(0.07, gt=0, description="Temperature of the student's relations.")

    @field_validator("teacher")
    @classmethod
    def is_known(cls, teacher: str | None, others: ValidationInfo) -> str | None:
        """Let an encoder be its own teacher only if that smooths."""
        if teacher is None and not others.data.get("smooth_neighbours"):
            raise ValueError(
                "give an encoder to learn from, or --smooth-neighbours to adapt the encoder by itself"
            )
        return teacher

    def check_views(self, views: Sequence[str]) -> None:
        """Warn of translations that are too poor to learn a language from."""
        if self.method == "mse" and any(has_bundled_translations(Path(path)) for path in views):
            problem = "warning: the bundled models made these translations, which are too poor to learn a language from"
            note(f"{problem}: give real ones, or take larger models (--models)")

    def held_out(self, rows: int, batch_size: int) -> int:
        """Return how many of `rows` fill the queue and are not trained on."""
        remaining = rows - self.queue
        sets_aside = self.method == "congen" and not self.smooth_neighbours
        return self.queue if sets_aside and remaining >= max(self.queue, batch_size) else 0


VOCABULARY_RATE = 5.0  # factor on the learning rate of a new vocabulary's input vectors
WRONG_WAY = 0.25  # share of unread words above which the teacher does not read a language

# What the prints leave open (epsilon, weight decay, clipping) is as in the code.
_OPTIMISER = {"lr": 5e-5, "epochs": 20, "warmup": 0.1, "weight_decay": 0.01, "clip": 1.0, "eps": 1e-6}
_CONGEN = {**_OPTIMISER, "batch_size": 128, "max_tokens": 128, "pooling": "mean"}
# Only the term of distillation, as in the authors' code; the print adds the self-supervised loss.
_SCT = {
    **_CONGEN,
    "method": "sct",
    "lr": 1e-4,
    "epochs": 10,
    "teacher_temperature": 0.04,
    "student_temperature": 0.05,
}
# Ours: fits a good encoder to text of a domain, towards the neighbourhoods that it sees there itself, by a
# linear layer alone; more epochs go on with all layers.
_ADAPT = {
    **_CONGEN,
    "lr": 1e-5,
    "epochs": 0,
    "batch_size": 64,
    "max_tokens": 64,
    "pooling": OWN,
    "weight_decay": 0.0,
    "sharpen": 10,
    "smooth_neighbours": 20,
    "student_temperature": 0.05,
}
# Ours, with the loss of Reimers and Gurevych (2020): docs/language.md says how it was chosen.
_LANGUAGE = {
    "method": "mse",
    "vocabulary": 24_000,
    "dropout": 0.0,
    "pooling": OWN,
    "steps": 500,
    "batch_size": 64,
    "max_tokens": 64,
    "group_by_length": True,
    "lr": 3e-4,
    "warmup": 0.1,
    "clip": 1.0,
}
PRESETS: Presets = {
    # Ours, for some ten thousand sentences and the bundled encoder.
    "tuned": {**_CONGEN, "lr": 1e-4, "epochs": 3, "batch_size": 64, "queue": 16_384},
    "adapt": _ADAPT,
    "language": _LANGUAGE,
    # ConGen's students: BERT-base, tiny, mini, small, MiniLM of 6 and 12 layers.
    "congen": _CONGEN,
    "congen-tiny": {**_CONGEN, "lr": 5e-4, "queue": 16_384, "student_temperature": 0.05},
    "congen-mini": {**_CONGEN, "lr": 3e-4, "queue": 16_384},
    "congen-small": {**_CONGEN, "lr": 3e-4},
    "congen-minilm-l6": {**_CONGEN, "lr": 3e-4},
    "congen-minilm-l12": {**_CONGEN, "queue": 16_384},
    # SCT's: BERT-base, tiny, mini and small.
    "sct": _SCT,
    "sct-tiny": {
        **_SCT,
        "lr": 5e-4,
        "queue": 131_072,
        "teacher_temperature": 0.03,
        "student_temperature": 0.04,
    },
    "sct-mini": _SCT,
    "sct-small": {**_SCT, "queue": 131_072},
}


class Distil(Objective):
    """The student, the teacher's vectors of the texts, and a queue for each view that teaches (arXiv:2311.03228)."""

    def __init__(self, encoder: Encoder, max_tokens: int, params: PARAMS) -> None:
        super().__init__(encoder, max_tokens, params)
        self.congen = params.method == "congen"
        self.smoothed = self.congen and params.smooth_neighbours is not None
        teacher = _load_teacher(params)
        width = int(teacher.model.get_embedding_dimension())
        if self.dimension != width or (self.congen and not self.smoothed and not has_dense(encoder)):
            _add_dense(encoder, width)
        # ConGen's is filled once the teacher's vectors are computed.
        sizes = [0] if self.congen else [params.queue, params.queue]
        self.queues: Any = nn.ModuleList(Queue(size, width) for size in sizes)
        self.teacher = teacher
        self.in_queue = np.zeros(0, np.int64)
        self.batch_size = 1  # rows in a batch of the training, over all processes, once it is built

    @classmethod
    def build(cls, options: PARAMS, training: Training, source: Source) -> Self:
        """Load the encoder, and itself as the teacher if none is given."""
        if options.teacher is None:
            own = source.modules() and training.pooling == source.pooling()
            pooling = options.teacher_pooling or (None if own else training.pooling)
            options = options.model_copy(update={"teacher": source.name, "teacher_pooling": pooling})
        objective = super().build(options, training, source)
        objective.batch_size = training.batch_size
        return objective

    def columns(self, examples: Examples) -> dict[str, Any]:
        """Return the ids of the rows to train on, and the views that teach; the run's seed fills ConGen's queue."""
        self.texts, taught = number_texts([examples.left, examples.right][: len(self.queues)])
        if self.congen:
            count = len(examples)
            held_out = self.params.held_out(count, self.batch_size)
            size = held_out or min(self.params.queue, count)
            # The seed that torch was given; other processes than the first may have another one.
            generator = torch.Generator().manual_seed(of_first(torch.initial_seed()))
            order = torch.randperm(count, generator=generator).tolist()
            if is_first() and size and not self.smoothed:
                few = f"queue of {size:,}: too few rows to set any aside for it, so all are trained on"
                note(
                    f"{held_out:,} of {count:,} rows fill the queue and are not trained on"
                    if held_out
                    else few
                )
            trained = sorted(order[held_out:])
            self.in_queue, taught = taught[order[:size], 0], taught[trained]
            examples = examples.take(trained)
        return {**super().columns(examples), "taught": taught}

    def before_training(self, folder: Path) -> None:
        """Compute the teacher's vectors and fill ConGen's queue; raises InputError if `folder` holds another's."""
        super().before_training(folder)
        if self.params.smooth_neighbours:
            self.taught = smooth(self.taught, self.params.smooth_neighbours)
        if self.congen:
            self.queues[0].vectors = torch.from_numpy(self.taught[self.in_queue]).to(self.queues[0].vectors)

    def forward(self, input_ids: Tensor, attention_mask: Tensor, taught: Tensor) -> dict[str, Tensor]:
        """Return the loss and the student's vectors (2n, d); in training, move the queues on.

        With s1, s2 the student's unit vectors of the two views, t1, t2 the teacher's, in `taught`
        (n, 1 or 2, d), SR as in `relation_loss`, T and S the temperatures:

        - ConGen: `1/2 CE(SR(t1, Q, T), SR(s1, Q, S)) + 1/2 CE(SR(t1, Q, T), SR(s2, Q, S))`
        - SCT: `1/2 KL(SR(t2, Q2, T) || SR(s1, Q2, S)) + 1/2 KL(SR(t1, Q1, T) || SR(s2, Q1, S))`
        """
        vectors = gather_pairs(self.embed(input_ids, attention_mask))
        sides = gather(taught).transpose(0, 1).contiguous()
        loss_of = partial(relation_loss, divergence=not self.congen)
        with float32(vectors.device):
            s1, s2 = nn.functional.normalize(vectors, dim=-1).chunk(2)
            # A smoothed queue has all texts already, or as many as it takes.
            pairs = zip(self.queues, sides, strict=True)
            queues = [queue.vectors if self.smoothed else queue(side) for queue, side in pairs]
            temperatures = self.params.student_temperature, self.params.teacher_temperature
            # The last queue teaches the first view: in SCT it is that of the other view, in ConGen the only
            # one.
            loss = loss_of(s1, sides[-1], queues[-1], *temperatures) + loss_of(
                s2, sides[0], queues[0], *temperatures
            )
        return {"loss": loss / 2, "vectors": vectors.detach()}


class Translations(Objective):
    """The student, whose vectors of translations are to be the teacher's of their sources (arXiv:2004.09813)."""

    whitenable = False

    def __init__(self, encoder: Encoder, max_tokens: int, params: PARAMS) -> None:
        super().__init__(encoder, max_tokens, params)
        self.teacher = teacher = _load_teacher(params)
        self.teacher_tokenizer = teacher.model.tokenizer
        width = int(teacher.model.get_embedding_dimension())
        if self.dimension != width:
            _add_dense(encoder, width)
        self.paired = params.languages == "both"
        self.trained: int | None = None  # rows that the training sees, where that is known

    @classmethod
    def build(cls, options: PARAMS, training: Training, source: Source) -> Self:
        """Load the encoder and its teacher."""
        objective = super().build(options, training, source)
        objective.trained = training.steps and training.steps * training.batch_size * training.accumulate
        if training.precision == "bf16" and objective.teacher is not None:  # half the time
            objective.teacher = replace(objective.teacher, precision="bf16")
        return objective

    def columns(self, examples: Examples) -> dict[str, Any]:
        """Learn the new vocabulary, if any, of all rows; return the ids of those to train on, and what teaches them.

        Raises InputError if the teacher reads the second views better than the first.
        """
        self._check(examples)
        if self.params.vocabulary:
            self._replace_vocabulary(examples)
        if self.trained is not None and self.trained < len(examples):
            generator = torch.Generator().manual_seed(of_first(torch.initial_seed()))
            rows = torch.randperm(len(examples), generator=generator)[: self.trained]
            examples = examples.take(sorted(rows.tolist()))
        self.texts, taught = number_texts([examples.left])
        ids = {"right": self.tokenize(examples.right)}
        if self.paired:
            ids = {"left": self.tokenize(examples.left), **ids}
        return {**ids, "taught": taught[:, 0]}

    def _check(self, examples: Examples) -> None:
        shares = [
            share_unread(self.teacher_tokenizer, views[:SAMPLE]) for views in (examples.left, examples.right)
        ]
        name = (
            f"the teacher's tokenizer does not know or cuts up {shares[0]:.0%} of the words of the first views"
        )
        if shares[0] > max(WRONG_WAY, shares[1]):
            problem = f"{name}, {shares[1]:.0%} of those of the second"
            raise InputError(
                f"{problem}: the first must be in its language, so swap them (--columns of `build-pairs`)"
            )
        if is_first():
            note(f"the first views are in the teacher's language, the second translations; {name}")

    def _replace_vocabulary(self, examples: Examples) -> None:
        texts, translations = list(examples.left), list(examples.right)
        if self.paired:
            texts, translations = [*texts, *texts], [*translations, *texts]
        if is_first():
            note(
                f"learning {self.params.vocabulary:,} pieces, and their input vectors from {len(texts):,} pairs"
            )
        replace_vocabulary(self.encoder, texts, translations, self.params.vocabulary)
        vectors = self.encoder[0].model.get_input_embeddings().weight
        name = next(name for name, parameter in self.named_parameters() if parameter is vectors)
        self.rates = {name: VOCABULARY_RATE}

    def forward(self, input_ids: Tensor, attention_mask: Tensor, taught: Tensor) -> dict[str, Tensor]:
        """Return the loss and the student's vectors, (n, d) or (2n, d).

        With f the student's unit vectors, g the teacher's, in `taught` (n, d): the mean of `|f(t) - g(s)|^2` over the
        translations t of s; with both languages, its mean with that of `|f(s) - g(s)|^2`.
        """
        vectors = self.embed(input_ids, attention_mask)
        with float32(vectors.device):
            students = nn.functional.normalize(vectors, dim=-1)
            targets = taught.repeat(len(students) // len(taught), 1)
            loss = (students - targets).square().sum(dim=-1).mean()
        return {"loss": loss, "vectors": vectors.detach()}


def _load_teacher(params: PARAMS) -> "EmbeddingModel":
    from trainers.encoders.model import load_model

    return load_model(str(params.teacher), pooling=params.teacher_pooling)


def _add_dense(encoder: Encoder, width: int) -> None:
    from sentence_transformers.sentence_transformer.modules import Dense

    add_layer(encoder, Dense(width_of(encoder), width, activation_function=nn.Tanh()))
    encoder.truncate_dim = None  # its vectors are as long as the teacher's


def build(options: PARAMS, training: Training, source: Source) -> Objective:
    """Load the encoder and its teacher, and itself as the teacher if none is given."""
    return (Translations if options.method == "mse" else Distil).build(options, training, source)
