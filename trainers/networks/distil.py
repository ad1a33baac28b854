"""What distillation trains: a student, by a teacher's relations to a queue, or by its vectors."""

import math
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from pipelines.base.console import InputError, note
from trainers.data.examples import Columns, Examples, number_texts
from trainers.encoders.input_vectors import replace_vocabulary
from trainers.encoders.linear import has_dense
from trainers.encoders.location import Source
from trainers.encoders.model import load_model
from trainers.encoders.modules import Encoder, add_layer, width_of
from trainers.encoders.vectors import smooth
from trainers.encoders.vocabulary import share_unread
from trainers.losses import Queue, relation_loss
from trainers.networks.taught import Taught
from trainers.objective import float32
from trainers.objectives.distil import PARAMS
from trainers.processes import gather, gather_pairs, is_first, of_first
from trainers.settings import Training

SAMPLE = 1000  # rows by which the teacher's language is known
# What German had on STS-B's test, and against its English, by the pairs of the preset `language`, and what it had with
# plain text beside them: docs/language.md.
GERMAN = {
    2_000: (71.36, 46.03),
    10_000: (75.02, 62.95),
    30_000: (76.77, 69.10),
    100_000: (76.19, 69.86),
    289_632: (78.14, 72.96),
}
WITH_TEXT = {2_000: (72.84, 58.99), 10_000: (76.08, 66.14), 30_000: (77.47, 69.62)}
VOCABULARY_RATE = 5.0  # factor on the learning rate of a new vocabulary's input vectors
WRONG_WAY = 0.25  # share of unread words above which the teacher does not read a language


class Distil(Taught):
    """The student, the teacher's vectors of the texts, and a queue for each view that teaches (arXiv:2311.03228)."""

    def add_helpers(self) -> None:
        """Load the teacher, or the encoder again if none is given, fit the dimension to its, and add the queues."""
        params, own_pooling = self.params, self.settings.pooling
        pooling = params.teacher_pooling
        is_own = self.source.modules() and own_pooling == self.source.pooling()
        if params.teacher is None and not is_own:
            pooling = pooling or own_pooling
        self.teacher = teacher = load_model(params.teacher or self.source.name, pooling=pooling)
        self.congen = params.method == "congen"
        self.smoothed = self.congen and params.smooth_neighbours is not None
        width = int(teacher.model.get_embedding_dimension())
        if self.dimension != width or (self.congen and not self.smoothed and not has_dense(self.encoder)):
            _add_dense(self.encoder, width)
        # ConGen's is filled once the teacher's vectors are computed.
        sizes = [0] if self.congen else [params.queue, params.queue]
        self.queues: Any = nn.ModuleList(Queue(size, width) for size in sizes)

    def columns(self, examples: Examples) -> Columns:
        """The ids of the rows to train on, and the views that teach; the run's seed fills ConGen's queue."""
        self.texts, taught = number_texts([examples.left, examples.right][: len(self.queues)])
        if self.congen:
            count = len(examples)
            held_out = self.params.held_out(count, self.settings.batch_size)
            size = held_out or min(self.params.queue, count)
            order = _drawn_order(count)
            if is_first() and held_out:
                note(f"{held_out:,} of {count:,} rows fill the queue and are not trained on")
            trained = sorted(order[held_out:])
            self.in_queue, taught = taught[order[:size], 0], taught[trained]
            examples = examples.take(trained)
        return Columns(super().columns(examples).sides, {"taught": taught})

    def before_training(self, folder: Path) -> None:
        """Compute the teacher's vectors, or find them in `folder`, and fill ConGen's queue."""
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


class Translations(Taught):
    """The student, whose vectors of translations are to be the teacher's of their sources (arXiv:2004.09813)."""

    whitenable = False

    def add_helpers(self) -> None:
        """Load the teacher, and fit the student's dimension to the teacher's."""
        teacher = load_model(str(self.params.teacher), pooling=self.params.teacher_pooling)
        self.teacher_tokenizer = teacher.model.tokenizer
        # In bf16 it takes half the time.
        self.teacher = replace(teacher, precision="bf16") if self.settings.precision == "bf16" else teacher
        width = int(teacher.model.get_embedding_dimension())
        if self.dimension != width:
            _add_dense(self.encoder, width)
        self.paired = self.params.languages == "both"

    def columns(self, examples: Examples) -> Columns:
        """Learn the new vocabulary, if any, of all rows.

        Return the ids of those to train on, and what teaches them.

        Raises InputError if the teacher reads the second views better than the first.
        """
        self._check(examples)
        if self.params.vocabulary:
            self._replace_vocabulary(examples)
        settings = self.settings
        trained = (settings.steps or len(examples)) * settings.batch_size * settings.accumulate
        if trained < len(examples):
            examples = examples.take(sorted(_drawn_order(len(examples))[:trained]))
        self.texts, taught = number_texts([examples.left])
        sides = [examples.left, examples.right] if self.paired else [examples.right]
        return Columns(tuple(map(self.tokenize, sides)), {"taught": taught[:, 0]})

    def _check(self, examples: Examples) -> None:
        shares = [
            share_unread(self.teacher_tokenizer, views[:SAMPLE]) for views in (examples.left, examples.right)
        ]
        name = (
            f"the teacher's tokenizer does not know or cuts up {shares[0]:.0%} of the words of the first views"
        )
        if shares[0] > max(WRONG_WAY, shares[1]):
            raise InputError(
                f"{name}, {shares[1]:.0%} of those of the second: the first must be in its language, "
                "so swap them (--columns of `build-pairs`)"
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
                + (f" and {len(examples.corpus):,} other texts; " if examples.corpus else "; ")
                + expectation(len(examples), examples.corpus is not None)
            )
        replace_vocabulary(self.encoder, texts, translations, self.params.vocabulary, examples.corpus or ())

    def rate_of(self, parameter: str) -> float:
        """Return `VOCABULARY_RATE` for the input vectors of a new vocabulary."""
        vectors = self.encoder[0].model.get_input_embeddings().weight
        is_new = self.params.vocabulary and self.get_parameter(parameter) is vectors
        return VOCABULARY_RATE if is_new else 1.0

    def forward(self, input_ids: Tensor, attention_mask: Tensor, taught: Tensor) -> dict[str, Tensor]:
        """Return the loss and the student's vectors, (n, d) or (2n, d).

        With f the student's unit vectors, g the teacher's, in `taught` (n, d): the mean of `|f(t) - g(s)|^2`
        over the translations t of s; with both languages, its mean with that of `|f(s) - g(s)|^2`.
        """
        vectors = self.embed(input_ids, attention_mask)
        with float32(vectors.device):
            students = nn.functional.normalize(vectors, dim=-1)
            targets = taught.repeat(len(students) // len(taught), 1)
            loss = (students - targets).square().sum(dim=-1).mean()
        return {"loss": loss, "vectors": vectors.detach()}


def expectation(pairs: int, has_text: bool) -> str:
    """What so many pairs, or the fewer of the next measured number, gave another language.

    Example:
        >>> expectation(45_678, has_text=False)
        'of 30,000 pairs, German had 76.77 on STS-B and 69.10 against the English sentences (docs/language.md)'
    """
    measured = min(GERMAN, key=lambda number: abs(math.log(number / pairs)))
    own, against = (GERMAN | WITH_TEXT if has_text else GERMAN)[measured]
    is_helped = measured in WITH_TEXT and not has_text
    advice = "; plain text of the language, --text, would help" if is_helped else ""
    return (
        f"of {measured:,} pairs, German had {own:.2f} on STS-B and {against:.2f} against the English sentences "
        f"(docs/language.md){advice}"
    )


def _drawn_order(count: int) -> list[int]:
    """Return so many numbers in an order drawn by the seed that torch was given in the first process."""
    generator = torch.Generator().manual_seed(of_first(torch.initial_seed()))
    return torch.randperm(count, generator=generator).tolist()


def _add_dense(encoder: Encoder, width: int) -> None:
    from sentence_transformers.sentence_transformer.modules import Dense

    add_layer(encoder, Dense(width_of(encoder), width, activation_function=nn.Tanh()))
    encoder.truncate_dim = None  # its vectors are as long as the teacher's


def build(options: PARAMS, settings: Training, source: Source) -> Taught:
    """Load the encoder and its teacher, and itself as the teacher if none is given."""
    objective = Translations if options.method == "mse" else Distil
    return objective(options, settings, source)
