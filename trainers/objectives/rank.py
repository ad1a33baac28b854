"""RankCSE (Liu et al. 2023): SimCSE that also ranks the sentences of a batch as one or two teachers rank them."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import torch
from pydantic import Field
from sentence_transformers import SentenceTransformer
from torch import Tensor
from torch.nn import functional

from trainers.data.examples import Examples, number_texts
from trainers.encoders.modules import Pooling
from trainers.losses import equal_strings, jensen_shannon, list_mle, list_net, off_diagonal, one_sided
from trainers.objective import Objective, Row, float32
from trainers.objectives.contrastive import train_only_head
from trainers.processes import gather, gather_pairs
from trainers.settings import DropoutOptions, Presets
from trainers.training.teacher import load_teacher

READS = ("text", "views")


class PARAMS(DropoutOptions):
    """What RankCSE can be told."""

    teacher: tuple[str, ...] = Field(
        min_length=1, max_length=2, description="Encoder to learn the ranking from, must be given; again for a second."
    )
    teacher_pooling: Pooling | None = Field(None, description="Pooling of the teachers; none: as they say.")
    first_share: float = Field(1 / 3, ge=0, le=1, description="Share of the first of two teachers (alpha).")
    loss: Literal["listmle", "listnet"] = Field("listmle", description="How the ranking is learnt.")
    temperature: float = Field(0.05, gt=0, description="Temperature of the contrast and of the consistency.")
    rank_temperature: float = Field(0.05, gt=0, description="That of the ranking (tau2); ListNet's teachers: half.")
    consistency: float = Field(1.0, ge=0, description="Weight of the consistency of both views' rankings (beta).")
    ranking: float = Field(1.0, ge=0, description="Weight of the teachers' ranking (gamma).")


_PAPER = {"lr": 3e-5, "clip": 1.0, "batch_size": 128, "max_tokens": 32, "pooling": "cls"}
PRESETS: Presets = {
    # Ours, for some ten thousand sentences: more steps.
    "tuned": {**_PAPER, "batch_size": 64},
    "listmle": _PAPER,
    "listnet": {**_PAPER, "loss": "listnet"},
}


class Rank(Objective):
    """One encoder with a head that is trained alone; the teachers' vectors are numbers on the disk."""

    keyed = True

    def __init__(self, encoder: SentenceTransformer, max_tokens: int, params: PARAMS) -> None:
        super().__init__(encoder, max_tokens, params)
        self.teachers = [load_teacher(name, params.teacher_pooling).vectors for name in params.teacher]
        self.head = train_only_head(encoder)

    def columns(self, examples: Examples) -> Mapping[str, Sequence[Any]]:
        """Return the ids of both views, the `keys`, and the number of the sentence among the distinct ones."""
        self.texts, numbers = number_texts([examples.texts])
        return {**super().columns(examples), "number": numbers[:, 0]}  # type: ignore[dict-item]

    def collate(self, rows: Sequence[Row]) -> dict[str, Tensor]:
        """Return one batch (2n, tokens), first views first, the `keys` (n, 3), and each teacher's vectors (n, d)."""
        numbers = [row["number"] for row in rows]
        taught = {f"teacher_{place}": vectors[numbers] for place, vectors in enumerate(self.taught, 1)}
        return {**super().collate(rows), **{name: torch.from_numpy(vectors) for name, vectors in taught.items()}}

    def forward(self, input_ids: Tensor, attention_mask: Tensor, keys: Tensor, **teachers: Tensor) -> dict[str, Tensor]:
        """Return the loss, its three parts, and the encoder's vectors (2n, d), without the head.

        SimCSE's loss (`one_sided`) + beta JS(softmax(z1 z2^T / t), softmax(z2 z1^T / t)) + gamma rank, z1 and z2 being
        the views' vectors of length 1. The ranks of row i are those of z1_i z2_j over the sentences j other than i,
        against alpha t1_i t1_j + (1 - alpha) t2_i t2_j of the `teachers`' unit vectors (n, d); of one alone, t1_i t1_j.
        With several processes n is the pairs of all of them.
        """
        params = self.params
        vectors = gather_pairs(self.embed(input_ids, attention_mask))
        excluded = equal_strings(gather(keys))
        taught = [gather(vectors) for vectors in teachers.values()]
        with float32(vectors.device):
            compared = self.head(vectors)
            contrast = one_sided(compared, params.temperature, excluded)
            first, second = functional.normalize(compared, dim=-1).chunk(2)
            cosines = first @ second.T
            consistency = jensen_shannon(cosines / params.temperature, cosines.T / params.temperature)
            shares = (params.first_share, 1 - params.first_share) if len(taught) > 1 else (1.0,)
            mixed = torch.stack([share * each @ each.T for share, each in zip(shares, taught, strict=True)]).sum(dim=0)
            student, teacher = off_diagonal(cosines) / params.rank_temperature, off_diagonal(mixed)
            listed = params.loss == "listnet"
            ranking = (
                list_net(student, teacher / (params.rank_temperature / 2)) if listed else list_mle(student, teacher)
            )
        parts = {"contrast": contrast, "consistency": consistency, "ranking": ranking}
        loss = contrast + params.consistency * consistency + params.ranking * ranking
        return {"loss": loss, **{name: part.detach() for name, part in parts.items()}, "vectors": vectors.detach()}


build = Rank.build
