"""RankCSE (Liu et al. 2023): SimCSE that also ranks the sentences of a batch as one or two teachers rank them."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import torch
from pydantic import Field
from sentence_transformers import SentenceTransformer
from torch import Tensor
from torch.nn import functional

from trainers.data.examples import Examples, number_texts
from trainers.encoders.loading import load_for_training
from trainers.encoders.location import Source
from trainers.encoders.modules import Pooling
from trainers.losses.contrast import equal_strings, one_sided
from trainers.losses.relations import jensen_shannon, list_mle, list_net, off_diagonal
from trainers.objective import Objective, Row, float32
from trainers.objectives.contrastive import train_only_head
from trainers.processes import gather, gather_pairs
from trainers.settings import DropoutOptions, Training
from trainers.training.teacher import Teacher, load_teacher

READS = ("text", "views")


class PARAMS(DropoutOptions):
    """What RankCSE can be told."""

    teacher: tuple[str, ...] = Field(
        min_length=1,
        max_length=2,
        description="Encoder to learn the ranking from: a directory or a Hub name. Must be given; give it again for a "
        "second one.",
    )
    teacher_pooling: Pooling | None = Field(
        None,
        description="How the teachers' token vectors become one; without it as their directories say, else the mean.",
    )
    first_share: float = Field(
        1 / 3, ge=0, le=1, description="Share of the first of two teachers in the similarities (alpha)."
    )
    loss: Literal["listmle", "listnet"] = Field("listmle", description="How the ranking is learnt.")
    temperature: float = Field(0.05, gt=0, description="Temperature of the contrast and of the consistency.")
    rank_temperature: float = Field(
        0.05, gt=0, description="Temperature of the student's ranking (tau2); ListNet's teachers have half of it."
    )
    consistency: float = Field(1.0, ge=0, description="Weight of the consistency of both views' rankings (beta).")
    ranking: float = Field(1.0, ge=0, description="Weight of the teachers' ranking (gamma).")


_PAPER: Mapping[str, Any] = {
    "lr": 3e-5,
    "clip": 1.0,
    "batch_size": 128,
    "max_tokens": 32,
    "pooling": "cls",
}
PRESETS: Mapping[str, Mapping[str, Any]] = {
    # Ours, for some ten thousand sentences: more steps.
    "tuned": {**_PAPER, "batch_size": 64},
    "listmle": _PAPER,
    "listnet": {**_PAPER, "loss": "listnet"},
}


class Rank(Objective):
    """One encoder with a head that is trained alone; the teachers' vectors are numbers on the disk."""

    keyed = True

    def __init__(
        self, encoder: SentenceTransformer, max_tokens: int, teachers: Sequence[Teacher], params: PARAMS
    ) -> None:
        super().__init__(encoder, max_tokens, params)
        self.head = train_only_head(encoder)
        self.teachers = [teacher.vectors for teacher in teachers]

    def columns(self, examples: Examples) -> Mapping[str, Sequence[Any]]:
        """Return the ids of both views, the `keys`, and the number of the sentence among the distinct ones."""
        self.texts, numbers = number_texts([examples.texts])
        return {**super().columns(examples), "number": numbers[:, 0]}  # type: ignore[dict-item]

    def collate(self, rows: Sequence[Row]) -> dict[str, Tensor]:
        """Return one batch (2n, tokens), first views first, the `keys` (n, 3), and each teacher's vectors (n, d)."""
        numbers = [row["number"] for row in rows]
        taught = (torch.from_numpy(vectors[numbers]) for vectors in self.taught)
        return {**super().collate(rows), **dict(zip(("first_teacher", "second_teacher"), taught, strict=False))}

    def forward(
        self,
        input_ids: Tensor,
        attention_mask: Tensor,
        keys: Tensor,
        first_teacher: Tensor,
        second_teacher: Tensor | None = None,
    ) -> dict[str, Tensor]:
        """Return the loss, its three parts, and the encoder's vectors (2n, d), without the head.

        SimCSE's loss (`one_sided`) + beta JS(softmax(z1 z2^T / t), softmax(z2 z1^T / t)) + gamma rank, z1 and z2 being
        the views' vectors of length 1. The ranks of row i are those of z1_i z2_j over the sentences j other than i,
        against alpha t1_i t1_j + (1 - alpha) t2_i t2_j of the teachers' unit vectors (n, d), of which the second may be
        missing. With several processes n is the pairs of all of them.
        """
        vectors = gather_pairs(self.embed(input_ids, attention_mask))
        excluded = equal_strings(gather(keys))
        taught = [gather(each) for each in (first_teacher, second_teacher) if each is not None]
        with float32(vectors.device):
            compared = self.head(vectors)
            contrast = one_sided(compared, self.params.temperature, excluded)
            first, second = functional.normalize(compared, dim=-1).chunk(2)
            cosines = first @ second.T
            consistency = jensen_shannon(cosines / self.params.temperature, cosines.T / self.params.temperature)
            ranking = self._ranking(off_diagonal(cosines), off_diagonal(self._mixed(taught)))
        loss = contrast + self.params.consistency * consistency + self.params.ranking * ranking
        return {
            "loss": loss,
            "contrast": contrast.detach(),
            "consistency": consistency.detach(),
            "ranking": ranking.detach(),
            "vectors": vectors.detach(),
        }

    def _mixed(self, taught: Sequence[Tensor]) -> Tensor:
        shares = (self.params.first_share, 1 - self.params.first_share) if len(taught) > 1 else (1.0,)
        similarities = [share * each @ each.T for share, each in zip(shares, taught, strict=True)]
        return torch.stack(similarities).sum(dim=0)

    def _ranking(self, student: Tensor, teacher: Tensor) -> Tensor:
        temperature = self.params.rank_temperature
        if self.params.loss == "listnet":
            return list_net(student / temperature, teacher / (temperature / 2))
        return list_mle(student / temperature, teacher)


def build(options: PARAMS, training: Training, source: Source) -> Rank:
    """Load the encoder and the teachers."""
    encoder = load_for_training(source, training.pooling, training.max_tokens, dropout=options.dropout)
    teachers = [load_teacher(name, options.teacher_pooling) for name in options.teacher]
    return Rank(encoder, training.max_tokens, teachers, options)
