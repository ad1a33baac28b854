"""DiffCSE (Chuang et al. 2022): SimCSE whose vectors must also tell which tokens of a sentence were replaced.

A frozen masked language model fills masked tokens; a second copy of the encoder, whose first input is the sentence's
vector, says which of them it changed. Both are used in training only.
"""

import copy
from collections.abc import Sequence
from functools import partial
from typing import Any, Self

import numpy as np
import torch
from pydantic import Field
from torch import Tensor, nn
from torch.nn import functional

from pipelines.terminal.console import InputError
from trainers.encoders.loading import load_generator
from trainers.encoders.location import Source, locate
from trainers.encoders.modules import Encoder
from trainers.losses import contrast, equal_strings
from trainers.objective import Objective, Row, by_length, enable_checkpointing, float32
from trainers.objectives.mlm import masked_lm_logits, masked_places
from trainers.processes import gather, gather_pairs, process_rank, processes, summed
from trainers.settings import DropoutOptions, Presets, Training

READS = ("text", "views")


class PARAMS(DropoutOptions):
    """The options of DiffCSE."""

    generator: str | None = Field(None, description="Masked LM that fills the masks; none: the encoder's own.")
    masked: float = Field(0.3, gt=0, lt=1, description="Share of a text's tokens that are masked and filled.")
    detection: float = Field(0.005, ge=0, description="Weight of the detection of replaced tokens (lambda).")
    temperature: float = Field(0.05, gt=0, description="Temperature of the cosines.")


PRESETS: Presets = {
    # As printed, for BERT-base; its generator is distilbert-base-uncased. Clipping is transformers' default.
    "paper": {"lr": 7e-6, "epochs": 2, "clip": 1.0, "batch_size": 64, "max_tokens": 32, "pooling": "cls"},
}


class DiffCse(Objective):
    """The encoder, its projector, the generator, and the discriminator D of replaced tokens (arXiv:2204.10298)."""

    keyed = True
    cacheable = False

    def __init__(self, encoder: Encoder, max_tokens: int, params: PARAMS) -> None:
        super().__init__(encoder, max_tokens, params)
        self.discriminator = copy.deepcopy(encoder[0].model)
        if not hasattr(self.discriminator, "embeddings"):
            problem = f"{type(self.discriminator).__name__}: its input embeddings are not known"
            raise InputError(f"{problem}; use a BERT, RoBERTa, DistilBERT, MPNet or ModernBERT")
        width, inner = self.discriminator.config.hidden_size, 2 * self.dimension
        # The authors' projector.
        self.projector = nn.Sequential(
            nn.Linear(self.dimension, inner, bias=False),
            nn.BatchNorm1d(inner),
            nn.ReLU(),
            nn.Linear(inner, width, bias=False),
            nn.BatchNorm1d(width, affine=False),
        )
        self.detector = nn.Linear(width, 2)
        self.special = frozenset(encoder.tokenizer.all_special_ids)
        self.generator: Any = None

    @classmethod
    def build(cls, options: PARAMS, training: Training, source: Source) -> Self:
        """Load the encoder and the generator, and set a fresh projector and discriminator on them."""
        objective = super().build(options, training, source)
        generator_source = source if options.generator is None else locate(options.generator)
        objective.generator = load_generator(generator_source, objective.encoder).requires_grad_(False)
        if training.gradient_checkpointing:
            enable_checkpointing(objective.discriminator)
        return objective

    def train(self, mode: bool = True) -> Self:
        """Set the mode; the generator never has dropout."""
        super().train(mode)
        self.generator.eval()
        return self

    def collate(self, rows: Sequence[Row]) -> dict[str, Tensor]:
        """Return one batch (2n, tokens), first views first, the `keys`, and where tokens are `masked` (2n, tokens)."""
        batch = super().collate(rows)
        masked = torch.zeros_like(batch["input_ids"], dtype=torch.bool)
        for place, row in enumerate(rows):
            random = np.random.default_rng(row["seed"])
            for number, side in ((place, "left"), (len(rows) + place, "right")):
                masked[number, masked_places(row[side], self.special, self.params.masked, random)] = True
        return {**batch, "masked": masked}

    def forward(self, input_ids: Tensor, attention_mask: Tensor, keys: Tensor, masked: Tensor) -> dict[str, Tensor]:
        """Return the loss, its two parts in nats, and the encoder's vectors (2n, d), without the projector.

        SimCSE's loss of the projected vectors + lambda times the cross-entropy of D over all tokens but padding. Each
        process classifies its own tokens, and their losses are averaged.
        """
        vectors = gather_pairs(self.embed(input_ids, attention_mask))
        with float32(vectors.device):
            projected = self.projector(vectors)
            excluded = equal_strings(gather(keys))
            contrast_loss = contrast(projected, self.params.temperature, excluded, one_sided=True)
        sides = [side.chunk(processes())[process_rank()] for side in projected.chunk(2)]
        detection = self._detect(torch.cat(sides), input_ids, attention_mask, masked)
        loss = contrast_loss + self.params.detection * detection
        parts = {"contrast": contrast_loss.detach(), "detection": detection.detach()}
        return {"loss": loss, **parts, "vectors": vectors.detach()}

    def _detect(self, vectors: Tensor, input_ids: Tensor, attention_mask: Tensor, masked: Tensor) -> Tensor:
        """Return this process's share of the mean cross-entropy over the tokens of all of them."""
        losses = []
        for rows, width in by_length(attention_mask):
            ids, mask, hidden = input_ids[rows, :width], attention_mask[rows, :width], masked[rows, :width]
            inputs = self.filled(ids, mask, hidden)
            with self.discriminator.embeddings.register_forward_hook(partial(_put_first, vectors[rows])):
                tokens = self.discriminator(input_ids=inputs, attention_mask=mask).last_hidden_state
            with float32(vectors.device):
                logits = self.detector(tokens.float()).transpose(1, 2)
                losses.append((functional.cross_entropy(logits, (inputs != ids).long(), reduction="none") * mask).sum())
        return torch.stack(losses).sum() / (summed(attention_mask.sum()) / processes())

    @torch.no_grad()
    def filled(self, input_ids: Tensor, attention_mask: Tensor, masked: Tensor) -> Tensor:
        """Return the ids with the generator's likeliest token wherever `masked`; all three (sentences, tokens)."""
        masked_ids = input_ids.masked_fill(masked, self.encoder.tokenizer.mask_token_id)
        hidden = self.generator.base_model(input_ids=masked_ids, attention_mask=attention_mask)[0]
        filled = input_ids.clone()
        filled[masked] = masked_lm_logits(self.generator, hidden[masked]).argmax(dim=-1)
        return filled


def _put_first(vectors: Tensor, _module: nn.Module, _inputs: object, embedded: Tensor) -> Tensor:
    """Return the input embeddings (n, tokens, d) of some texts with `vectors` (n, d) as those of the first tokens."""
    return torch.cat([vectors[:, None].to(embedded.dtype), embedded[:, 1:]], dim=1)


build = DiffCse.build
