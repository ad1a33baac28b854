"""Contrastive learning: BSL's in-batch baseline (Zhang et al. 2021, Table 7) and SimCSE (Gao et al. 2021)."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

from pydantic import Field
from sentence_transformers import SentenceTransformer
from torch import Tensor, nn

from trainers.data.examples import Examples
from trainers.encoders.loading import load_for_training
from trainers.encoders.location import Source
from trainers.losses.contrast import equal_strings, nt_xent, one_sided
from trainers.objective import Objective, float32
from trainers.processes import gather, gather_pairs
from trainers.settings import DropoutOptions, Training

READS = ("views", "text")


class PARAMS(DropoutOptions):
    """What contrastive learning can be told."""

    temperature: float = Field(0.05, gt=0, description="Temperature of the cosines.")
    negatives: Literal["both", "right"] = Field(
        "both",
        description="Each view against all 2(n-1) others of the batch, or the left views against the n right ones.",
    )
    twice: bool = Field(
        False, description="Pair each sentence with itself and let dropout make the views, whatever the data's views."
    )
    head: bool = Field(False, description="Train through a linear layer with tanh that the saved encoder lacks.")


PRESETS: Mapping[str, Mapping[str, Any]] = {
    # The print gives the number of negatives alone: the temperature is that of the loss in the authors' repository,
    # the rest is what their script trains BSL with.
    "bsl": {
        "lr": 1e-4,
        "warmup": 0.1,
        "clip": 1.0,
        "eps": 1e-6,
        "batch_size": 64,
        "max_tokens": 64,
        "pooling": "mean",
        "temperature": 0.05,
        "negatives": "both",
    },
    # Unsupervised SimCSE on BERT-base; what their scripts leave open is as transformers' trainer has it.
    "simcse": {
        "lr": 3e-5,
        "clip": 1.0,
        "batch_size": 64,
        "max_tokens": 32,
        "pooling": "cls",
        "temperature": 0.05,
        "negatives": "right",
        "twice": True,
        "head": True,
    },
}


class Contrastive(Objective):
    """One encoder; each view of a sentence is told from all other sentences of the batch."""

    keyed = True

    def __init__(self, encoder: SentenceTransformer, max_tokens: int, params: PARAMS) -> None:
        super().__init__(encoder, max_tokens, params)
        self.head = train_only_head(encoder) if params.head else nn.Identity()

    def columns(self, examples: Examples) -> Mapping[str, Sequence[Any]]:
        """Return the ids of both views and the `keys`."""
        if self.params.twice:
            examples = replace(examples, left=examples.texts, right=examples.texts)
        return super().columns(examples)

    def forward(self, input_ids: Tensor, attention_mask: Tensor, keys: Tensor) -> dict[str, Tensor]:
        """Return the mean cross-entropy in nats per anchor and the encoder's vectors (2n, d), without the head.

        With several processes n is the pairs of all of them. Strings that equal an anchor's source or positive are
        never its negatives.
        """
        vectors = gather_pairs(self.embed(input_ids, attention_mask))
        excluded = equal_strings(gather(keys))
        with float32(vectors.device):
            compared = self.head(vectors)
            loss = nt_xent if self.params.negatives == "both" else one_sided
            return {"loss": loss(compared, self.params.temperature, excluded), "vectors": vectors.detach()}


def train_only_head(encoder: SentenceTransformer) -> nn.Sequential:
    """Return SimCSE's head, d -> d and tanh, drawn as the encoder's own layers were."""
    dimension = encoder.get_embedding_dimension()
    linear = nn.Linear(dimension, dimension)
    nn.init.normal_(linear.weight, std=getattr(encoder[0].model.config, "initializer_range", 0.02))
    nn.init.zeros_(linear.bias)
    return nn.Sequential(linear, nn.Tanh())


def build(options: PARAMS, training: Training, source: Source) -> Contrastive:
    """Load the encoder."""
    encoder = load_for_training(source, training.pooling, training.max_tokens, dropout=options.dropout)
    return Contrastive(encoder, training.max_tokens, options)
