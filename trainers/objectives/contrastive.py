"""Contrastive learning: BSL's in-batch baseline (Zhang et al. 2021, Table 7) and SimCSE (Gao et al. 2021).

Where the pairs have hard negatives (a column `negative`), those of the whole batch are further negatives of every row.
"""

import copy
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, Self, cast

import numpy as np
import torch
from pydantic import Field
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import Dense
from torch import Tensor, nn
from torch.nn import functional

from pipelines.console import InputError, note
from trainers.data.examples import Examples, number_texts
from trainers.embedding.model import starting_model
from trainers.encoders.location import Source
from trainers.encoders.modules import has_dense
from trainers.losses import closer_than_positive, equal_strings, nt_xent, one_sided
from trainers.objective import Objective, Row, float32
from trainers.processes import gather, gather_pairs, is_first
from trainers.settings import OWN, DropoutOptions, Presets, Training
from trainers.training.teacher import Teacher, load_teacher

READS = ("views", "text")
STAND_IN = "-"
"""Embedded for a row without a hard negative, so that all batches have one shape; nothing is compared with it."""


class PARAMS(DropoutOptions):
    """What contrastive learning can be told."""

    temperature: float = Field(0.05, gt=0, description="Temperature of the cosines.")
    negatives: Literal["both", "right"] = Field(
        "both", description="Each view against all 2(n-1) others, or the left views against the right ones."
    )
    twice: bool = Field(False, description="Pair each sentence with itself; dropout alone makes the views.")
    head: bool = Field(False, description="Train through a linear layer with tanh that the saved encoder lacks.")
    keep_head: bool = Field(False, description="Put such a layer on an encoder without a Dense layer, and save it too.")
    guide: str | None = Field(
        None, description="Encoder; what it finds more like a sentence than its positive is no negative (GISTEmbed)."
    )
    retain: float = Field(
        0.0, ge=0, description="Weight of the cosine distance to the vectors as they were; these are the guide too."
    )


# The print gives the number of negatives alone: the temperature is that of the loss in the authors' repository, the
# rest is what their script trains BSL with.
_BSL = {"lr": 1e-4, "warmup": 0.1, "clip": 1.0, "eps": 1e-6, "batch_size": 64, "max_tokens": 64, "pooling": "mean"}
# On BERT-base; what the authors' scripts leave open is as transformers' trainer has it.
_SIMCSE = {"clip": 1.0, "max_tokens": 32, "pooling": "cls", "negatives": "right"}
PRESETS: Presets = {
    "bsl": _BSL,
    "simcse": {**_SIMCSE, "lr": 3e-5, "batch_size": 64, "twice": True, "head": True},
    # Entailment pairs of NLI and their contradictions.
    "supervised-simcse": {**_SIMCSE, "lr": 5e-5, "batch_size": 512, "epochs": 3, "keep_head": True},
    # Ours: a good encoder goes on to pairs of one's own domain and stays what it was elsewhere.
    "adapt": {**_BSL, "lr": 2e-5, "pooling": OWN, "retain": 1.0},
}


class Contrastive(Objective):
    """One encoder; each view of a sentence is told from all other sentences of the batch."""

    keyed = True

    def __init__(self, encoder: SentenceTransformer, max_tokens: int, params: PARAMS) -> None:
        super().__init__(encoder, max_tokens, params)
        if params.keep_head and not has_dense(encoder):
            linear = cast(nn.Linear, train_only_head(encoder)[0])
            width = linear.out_features
            encoder.append(Dense(width, width, True, nn.Tanh(), linear.weight.detach(), linear.bias.detach()))
        if params.guide is not None:
            self.teachers = [load_teacher(params.guide, role="guide").vectors]
        self.head = train_only_head(encoder) if params.head else nn.Identity()

    @classmethod
    def build(cls, options: PARAMS, training: Training, source: Source) -> Self:
        """Load the encoder, and the guide: another encoder, or with `retain` this one as it is now."""
        if options.retain and (options.guide is not None or options.keep_head):
            raise InputError(
                f"--retain {options.retain:g}: the encoder is its own guide: leave --guide, --keep-head out"
            )
        objective = super().build(options, training, source)
        if options.retain:
            guide = starting_model(copy.deepcopy(objective.encoder), source, training.max_tokens)
            objective.teachers = [Teacher(guide, "guide").vectors]
        return objective

    def columns(self, examples: Examples) -> Mapping[str, Sequence[Any]]:
        """Return the ids of both views and of the negatives, the `keys`, and the numbers of the guide's texts.

        Raises InputError where `--guide` is given and both views of every row are the same string.
        """
        if self.params.twice:
            examples = replace(examples, left=examples.texts, right=examples.texts)
        guide = self.params.guide
        if guide is not None and all(map(str.__eq__, examples.left, examples.right)):
            raise InputError(
                f"--guide {guide}: both views of every row are one string, and nothing is more like it than itself: "
                "leave --guide out, or train on two views (--no-twice)"
            )
        columns: dict[str, Any] = {**super().columns(examples)}
        compared = [examples.left, examples.right]
        if examples.negatives is not None:
            missing = np.array([not text for text in examples.negatives])
            if is_first():
                note(f"{len(missing) - missing.sum():,} of {len(missing):,} rows have a hard negative")
            compared.append([text or STAND_IN for text in examples.negatives])
            columns["negative"] = self.tokenize(compared[-1])
            columns["keys"] = number_texts([examples.texts, *compared])[1]
            columns["keys"][missing, -1] = -1
        if self.teachers:
            self.texts, columns["guide"] = number_texts(compared)
        return columns

    def collate(self, rows: Sequence[Row]) -> dict[str, Tensor]:
        """Return one batch (2n or 3n, tokens), first views, second views, negatives; the `keys` (n, 3 or 4).

        With a guide, also its vectors (n, 2 or 3, d) of the same texts.
        """
        batch = super().collate(rows)
        if "guide" not in rows[0]:
            return batch
        return {**batch, "guide": torch.from_numpy(self.taught[0][np.stack([row["guide"] for row in rows])])}

    def forward(
        self, input_ids: Tensor, attention_mask: Tensor, keys: Tensor, guide: Tensor | None = None
    ) -> dict[str, Tensor]:
        """Return the mean cross-entropy in nats per anchor and the encoder's vectors (2n, d), without the head.

        With several processes n is the pairs of all of them. Strings that equal an anchor's source or positive are
        never its negatives, nor is what the guide finds more like the anchor than its positive. With `retain` the
        loss is `contrast + retain * moved`, moved being the mean of `1 - cos(v, v as it was)` over both views.
        """
        vectors = gather_pairs(self.embed(input_ids, attention_mask), len(input_ids) // len(keys))
        keys = gather(keys)
        pairs = 2 * len(keys)
        excluded = equal_strings(keys)
        with float32(vectors.device):
            compared = self.head(vectors)
            contrast = nt_xent if self.params.negatives == "both" else one_sided
            parts = {}
            if guide is not None:
                guided = gather(guide).transpose(0, 1).flatten(0, 1)
                excluded |= closer_than_positive(guided[:pairs], guided[pairs:])
            loss = contrast(compared[:pairs], self.params.temperature, excluded, compared[pairs:])
            if guide is not None and self.params.retain:
                moved = (1 - functional.cosine_similarity(vectors[:pairs], guided[:pairs], dim=-1)).mean()
                parts = {"contrast": loss.detach(), "moved": moved.detach()}
                loss = loss + self.params.retain * moved
        return {"loss": loss, **parts, "vectors": vectors[:pairs].detach()}


build = Contrastive.build


def train_only_head(encoder: SentenceTransformer) -> nn.Sequential:
    """Return SimCSE's head, d -> d and tanh, drawn as the encoder's own layers were."""
    dimension = encoder.get_embedding_dimension()
    linear = nn.Linear(dimension, dimension)
    nn.init.normal_(linear.weight, std=getattr(encoder[0].model.config, "initializer_range", 0.02))
    nn.init.zeros_(linear.bias)
    return nn.Sequential(linear, nn.Tanh())
