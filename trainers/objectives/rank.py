"""RankCSE (Liu et al. 2023): SimCSE that also ranks the sentences of a batch as one or two teachers rank them."""

from typing import Any, Literal

import torch
from pydantic import Field
from torch import Tensor
from torch.nn import functional

from trainers.data.examples import Examples, number_texts
from trainers.encoders.modules import Encoder
from trainers.losses import contrast, equal_strings, jensen_shannon, list_mle
from trainers.objective import Objective, float32
from trainers.objectives.contrastive import train_only_head
from trainers.processes import gather, gather_pairs
from trainers.settings import DropoutOptions, Pooling, Presets

READS = ("text", "views")


class PARAMS(DropoutOptions):
    """The options of RankCSE."""

    teacher: tuple[str, ...] = Field(min_length=1, max_length=2, description="Encoder to learn from, or two; required.")
    teacher_pooling: Pooling | None = Field(None, description="Pooling of the teachers; none: their own.")
    first_share: float = Field(1 / 3, ge=0, le=1, description="Share of the first of two teachers (alpha).")
    loss: Literal["listmle", "listnet"] = Field("listmle", description="Loss of the ranking.")
    temperature: float = Field(0.05, gt=0, description="Temperature of the contrast and of the consistency.")
    rank_temperature: float = Field(0.05, gt=0, description="Temperature of the ranking; half for ListNet's teachers.")
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
    """One encoder, a head for the training alone, and the teachers' vectors of the sentences (arXiv:2305.16726)."""

    keyed = True

    def __init__(self, encoder: Encoder, max_tokens: int, params: PARAMS) -> None:
        from trainers.encoders.model import load_teacher

        super().__init__(encoder, max_tokens, params)
        self.teachers = [load_teacher(name, params.teacher_pooling) for name in params.teacher]
        self.head = train_only_head(encoder)

    def columns(self, examples: Examples) -> dict[str, Any]:
        """Return the ids of both views, the `keys`, and the sentences for the teachers."""
        self.texts, taught = number_texts([examples.texts])
        return {**super().columns(examples), "taught": taught}

    def forward(self, input_ids: Tensor, attention_mask: Tensor, keys: Tensor, **taught: Tensor) -> dict[str, Tensor]:
        """Return the loss, its three parts, and the encoder's vectors (2n, d), without the head.

        SimCSE's loss + beta JS(softmax(z1 z2^T / t), softmax(z2 z1^T / t)) + gamma rank, where z1 and z2 are the views'
        vectors of length 1. Row i ranks the other sentences j by z1_i z2_j. The teachers, of unit vectors `taught_1`
        and `taught_2` (n, 1, d), rank them by alpha t1_i t1_j + (1 - alpha) t2_i t2_j, a single one by t1_i t1_j.
        """
        params = self.params
        vectors = gather_pairs(self.embed(input_ids, attention_mask))
        excluded = equal_strings(gather(keys))
        teachers = [gather(taught[name]).squeeze(1) for name in sorted(taught)]
        with float32(vectors.device):
            outputs = self.head(vectors)
            contrast_loss = contrast(outputs, params.temperature, excluded, one_sided=True)
            first, second = functional.normalize(outputs, dim=-1).chunk(2)
            cosines = first @ second.T
            consistency = jensen_shannon(cosines / params.temperature, cosines.T / params.temperature)
            shares = (params.first_share, 1 - params.first_share) if len(teachers) > 1 else (1.0,)
            targets = torch.stack([share * unit @ unit.T for share, unit in zip(shares, teachers, strict=True)]).sum(0)
            off_diagonal = ~torch.eye(len(targets), dtype=torch.bool, device=targets.device)
            student, teacher = (scores[off_diagonal].view(len(targets), -1) for scores in (cosines, targets))
            student = student / params.rank_temperature
            if params.loss == "listnet":  # Cao et al. 2007, top one
                order = (teacher / (params.rank_temperature / 2)).softmax(dim=-1)
                ranking = functional.cross_entropy(student, order)
            else:
                ranking = list_mle(student, teacher)
        loss = contrast_loss + params.consistency * consistency + params.ranking * ranking
        parts = {"contrast": contrast_loss.detach(), "consistency": consistency.detach(), "ranking": ranking.detach()}
        return {"loss": loss, **parts, "vectors": vectors.detach()}


build = Rank.build
