"""Distillation of another encoder's relations to a queue of its vectors: ConGen (2022), and SCT's own (2023).

The teacher's vectors of the training texts are computed once and kept in the run's directory until the run is done. A
student whose dimension is not the teacher's gets a Dense layer with tanh, which is saved with it.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, cast

import numpy as np
import torch
from numpy.typing import NDArray
from pydantic import Field
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import Dense
from torch import Tensor, nn
from torch.nn import functional

from pipelines.console import note
from trainers.data.examples import Examples, number_texts
from trainers.encoders.loading import load_for_training
from trainers.encoders.location import Source
from trainers.encoders.modules import Pooling, pooling_at
from trainers.losses.relations import Queue, relation_loss
from trainers.objective import Objective, Row, float32
from trainers.processes import gather, gather_pairs, is_first, of_first
from trainers.settings import DropoutOptions, Training
from trainers.training.teacher import Teacher, load_teacher

READS = ("views", "text")


class PARAMS(DropoutOptions):
    """What distillation can be told."""

    teacher: str = Field(min_length=1, description="Encoder to learn from: a directory or a Hub name. Must be given.")
    teacher_pooling: Pooling | None = Field(
        None, description="How the teacher's token vectors become one; without it as its directory says, else the mean."
    )
    method: Literal["congen", "sct"] = Field(
        "congen",
        description="The teacher's vector of the first view teaches both views, or each view's that of the other view.",
    )
    queue: int = Field(65_536, ge=0, description="Teacher's vectors in the queue, or in each of SCT's two (k).")
    fill: Literal["rows", "random"] = Field(
        "rows",
        description="Fill the queue at the start with the vectors of k rows, or with random ones. Rows in the queue "
        "are not trained on, unless fewer than k or than a batch would be left: then the queue holds at most all rows' "
        "vectors and every row is trained on.",
    )
    teacher_temperature: float = Field(0.05, gt=0, description="Temperature of the teacher's relations.")
    student_temperature: float = Field(0.07, gt=0, description="Temperature of the student's relations.")
    head: Literal["always", "needed"] = Field(
        "always",
        description="Give the student a Dense layer with tanh, of the teacher's width: unless it has a Dense layer of "
        "that width, or where its dimension is another.",
    )

    def held_out(self, rows: int, batch_size: int) -> int:
        """Return how many of `rows` fill the queue and are not trained on."""
        left = rows - self.queue
        return self.queue if self.fill == "rows" and left >= max(self.queue, batch_size) else 0


# What the prints leave open (epsilon, weight decay, clipping) is as the code has it.
_COMMON: Mapping[str, Any] = {
    "epochs": 20,
    "warmup": 0.1,
    "weight_decay": 0.01,
    "clip": 1.0,
    "eps": 1e-6,
    "batch_size": 128,
    "max_tokens": 128,
    "pooling": "mean",
}
_CONGEN = {**_COMMON, "lr": 5e-5}
# The term of distillation alone, as in the authors' code; the print adds the self-supervised loss.
_SCT = {
    **_COMMON, "lr": 1e-4, "epochs": 10, "method": "sct", "fill": "random", "head": "needed",
    "teacher_temperature": 0.04, "student_temperature": 0.05,
}  # fmt: skip
PRESETS: Mapping[str, Mapping[str, Any]] = {
    # Ours, for some ten thousand sentences and the bundled encoder.
    "tuned": {**_CONGEN, "lr": 1e-4, "epochs": 3, "batch_size": 64, "queue": 16_384},
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
        **_SCT, "lr": 5e-4, "queue": 131_072, "teacher_temperature": 0.03, "student_temperature": 0.04,
    },
    "sct-mini": _SCT,
    "sct-small": {**_SCT, "queue": 131_072},
}  # fmt: skip


class Distil(Objective):
    """The student, and the teacher's vectors, which are numbers on the disk."""

    def __init__(
        self, encoder: SentenceTransformer, max_tokens: int, teacher: Teacher, params: PARAMS, batch_size: int
    ) -> None:
        super().__init__(encoder, max_tokens, params)
        self.batch_size = batch_size
        sides = 2 if params.method == "sct" else 1
        # Rows fill them once the teacher's vectors are there.
        size = params.queue if params.fill == "random" else 0
        self.queues = nn.ModuleList(Queue(size, teacher.dimension) for _ in range(sides))
        self.teachers = [teacher.vectors]
        self.reserved: list[NDArray[np.int64]] = []

    def columns(self, examples: Examples) -> Mapping[str, Sequence[Any]]:
        """Return the ids of both views of the rows that are trained on, and the numbers of the texts that teach."""
        # The views of which the teacher's vectors are asked for, a queue for each.
        self.texts, numbers = number_texts([examples.left, examples.right][: len(self.queues)])
        if self.params.fill == "rows":
            in_queue, trained = self._reserve(len(examples))
            self.reserved, numbers = list(numbers[in_queue].T), numbers[trained]
            examples = examples.take(trained)
        return {**super().columns(examples), "teaching": cast("Sequence[Any]", numbers)}

    def _reserve(self, count: int) -> tuple[list[int], list[int]]:
        """Return which rows fill the queue, drawn from the run's seed, and which are trained on."""
        held = self.params.held_out(count, self.batch_size)
        size = held or min(self.params.queue, count)
        # Torch was given the run's seed; in other processes than the first it may have got one of its own.
        generator = torch.Generator().manual_seed(of_first(torch.initial_seed()))
        order = torch.randperm(count, generator=generator).tolist()
        if is_first() and held:
            note(f"{held:,} of {count:,} rows fill the queue and are not trained on")
        elif is_first() and size:
            note(f"queue of {size:,}: too few rows to spare any for it, so that those in it are trained on too")
        return order[:size], sorted(order[held:])

    def before_training(self, folder: Path) -> None:
        """Have the teacher's vectors, and fill the queues; raises InputError if `folder` holds another teacher's."""
        super().before_training(folder)
        for queue, numbers in zip(self._queues(), self.reserved, strict=False):
            queue.fill(torch.from_numpy(self.taught[0][numbers]))

    def _queues(self) -> list[Queue]:
        return cast("list[Queue]", list(self.queues))

    def collate(self, rows: Sequence[Row]) -> dict[str, Tensor]:
        """Return one batch (2n, tokens), first views first, and the teacher's `references`.

        For ConGen these are the vectors of the first views, (n, d), for SCT those of both, (2n, d).
        """
        teaching = np.stack([row["teaching"] for row in rows]).T.flatten()
        return {**super().collate(rows), "references": torch.from_numpy(self.taught[0][teaching])}

    def forward(self, input_ids: Tensor, attention_mask: Tensor, references: Tensor) -> dict[str, Tensor]:
        """Return the loss and the student's vectors (2n, d); in training, move the queues on.

        With s1, s2 the student's vectors of the two views and t1, t2 the teacher's, all of length 1, SR as in
        `relation_loss`, T and S the temperatures, and the batch's own references in the queues already:
        ConGen `1/2 CE(SR(t1, Q, T), SR(s1, Q, S)) + 1/2 CE(SR(t1, Q, T), SR(s2, Q, S))`;
        SCT `1/2 KL(SR(t2, Q2, T) || SR(s1, Q2, S)) + 1/2 KL(SR(t1, Q1, T) || SR(s2, Q1, S))`.
        """
        vectors = gather_pairs(self.embed(input_ids, attention_mask))
        sides = gather_pairs(references).chunk(2) if self.params.method == "sct" else (gather(references),)
        with float32(vectors.device):
            s1, s2 = functional.normalize(vectors, dim=-1).chunk(2)
            queues = self._queues()
            # The last queue teaches the first view: in SCT that of the other view, in ConGen the only one.
            loss = self._taught(s1, sides[-1], queues[-1]) + self._taught(s2, sides[0], queues[0])
        if self.training:
            for queue, side in zip(queues, sides, strict=True):
                queue.push(side)
        return {"loss": loss / 2, "vectors": vectors.detach()}

    def _taught(self, student: Tensor, references: Tensor, queue: Queue) -> Tensor:
        columns = queue.with_batch(references)
        temperatures = self.params.student_temperature, self.params.teacher_temperature
        return relation_loss(student, references, columns, *temperatures, divergence=self.params.method == "sct")


def with_head(encoder: SentenceTransformer, dimension: int, *, always: bool) -> SentenceTransformer:
    """Give an encoder a Dense layer with tanh, in place, where its dimension is another, or `always` if it has none."""
    has_one = any(isinstance(module, Dense) for module in list(encoder)[pooling_at(encoder) :])
    own = encoder.get_embedding_dimension()
    if own != dimension or (always and not has_one):
        encoder.append(Dense(own, dimension, activation_function=nn.Tanh()))
    return encoder


def build(options: PARAMS, training: Training, source: Source) -> Distil:
    """Load the student and the teacher."""
    encoder = load_for_training(source, training.pooling, training.max_tokens, dropout=options.dropout)
    teacher = load_teacher(options.teacher, options.teacher_pooling)
    encoder = with_head(encoder, teacher.dimension, always=options.head == "always")
    return Distil(encoder, training.max_tokens, teacher, options, training.batch_size)
