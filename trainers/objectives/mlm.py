"""Masked language modelling (Devlin et al. 2019), to adapt an encoder to a domain or to give it a masked-LM head."""

from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import Any, cast

import numpy as np
import torch
from numpy.typing import NDArray
from pydantic import Field
from sentence_transformers import SentenceTransformer
from torch import Tensor
from torch.nn import functional
from torch.nn.utils.rnn import pad_sequence
from transformers import PreTrainedModel

from pipelines.console import InputError
from trainers.data.examples import Examples
from trainers.encoders.batches import by_length
from trainers.encoders.loading import load_masked_lm, save_encoder
from trainers.encoders.location import Source
from trainers.objective import Objective, Row
from trainers.processes import processes, summed
from trainers.settings import Options, Presets, Training

READS = ("text",)
IGNORED = -100


class PARAMS(Options):
    """The options of masked language modelling."""

    masked: float = Field(0.15, gt=0, lt=1, description="Share of a text's tokens that are to be predicted.")
    kept: float = Field(0.1, ge=0, le=0.5, description="Share of those that stay as they are.")
    random: float = Field(0.1, ge=0, le=0.5, description="Share of those that become a random token.")


_OPTIMISER = {"warmup": 0.06, "weight_decay": 0.01, "clip": 1.0, "epochs": 3}
_COMMON = {**_OPTIMISER, "batch_size": 64, "max_tokens": 128, "group_by_length": True}
PRESETS: Presets = {
    # A model that already is a masked LM, to be adapted to new text.
    "adapt": {**_COMMON, "lr": 5e-5},
    # An encoder without a masked-LM head: the head must be learnt.
    "head": {**_COMMON, "lr": 3e-4},
}


class MaskedLm(Objective):
    """A masked language model; `encoder` is the part of it below the head."""

    paired = False
    cacheable = False

    def __init__(
        self, masked_lm: PreTrainedModel, encoder: SentenceTransformer, max_tokens: int, params: PARAMS
    ) -> None:
        super().__init__(encoder, max_tokens, params)
        self.masked_lm = masked_lm
        if encoder.tokenizer.mask_token_id is None:
            raise InputError("the encoder's tokenizer has no mask token: it cannot be trained as a masked LM")
        self.special = frozenset(encoder.tokenizer.all_special_ids)

    def columns(self, examples: Examples) -> dict[str, Any]:
        """Return the ids of each text."""
        return {"ids": self.tokenize(examples.texts)}

    def collate(self, rows: Sequence[Row]) -> dict[str, Tensor]:
        """Return the masked ids (n, tokens), their attention mask, the `labels`, and the places to predict, `asked`.

        Labels are (n, tokens), -100 where nothing is predicted; `asked` holds the places of the others in the flattened
        labels.
        """
        drawn = [self._draw(row["ids"], row["seed"]) for row in rows]
        batch = self.pad([ids for ids, _ in drawn])
        labels = pad_sequence([torch.tensor(wanted) for _, wanted in drawn], True, IGNORED)
        return {**batch, "labels": labels, "asked": (labels.flatten() != IGNORED).nonzero().squeeze(1)}

    def _draw(self, ids: Sequence[int], seed: int) -> tuple[list[int], list[int]]:
        """Return a text's ids, masked, and its labels."""
        draw = np.random.default_rng(seed)
        chosen = masked_places(ids, self.special, self.params.masked, draw)
        fate = draw.random(len(chosen))
        replacement = draw.integers(len(self.encoder.tokenizer), size=len(chosen))
        masked, labels = np.array(ids), np.full(len(ids), IGNORED)
        labels[chosen] = masked[chosen]
        kept, random = self.params.kept, self.params.random
        changed = np.where(fate < kept + random, replacement, self.encoder.tokenizer.mask_token_id)
        masked[chosen] = np.where(fate < kept, masked[chosen], changed)
        return masked.tolist(), labels.tolist()

    def forward(self, input_ids: Tensor, attention_mask: Tensor, labels: Tensor, asked: Tensor) -> dict[str, Tensor]:
        """Return the mean cross-entropy in nats per predicted token, the share that was right, and the [CLS] vectors.

        Logits are computed only for these tokens. With several processes the mean of the losses is the mean over the
        predicted tokens of all of them. `asked` is an argument because counting the labels on a GPU would be slow.
        """
        width = input_ids.shape[1]
        order, hidden = [], []
        for rows, longest in by_length(attention_mask):
            features = {"input_ids": input_ids[rows, :longest], "attention_mask": attention_mask[rows, :longest]}
            tokens = self.encoder[0](features)["token_embeddings"].float()
            order.append(rows)
            hidden.append(functional.pad(tokens, (0, 0, 0, width - longest)))
        vectors, places = torch.cat(hidden), torch.cat(order).argsort()
        logits = masked_lm_head(self.masked_lm)(vectors[places[asked // width], asked % width]).float()
        answers = labels.flatten()[asked]
        # Data-parallel training averages over the processes. A batch of special tokens alone has a loss of 0, not 0/0.
        count = summed(torch.tensor(len(answers), device=answers.device)).clamp(min=1) / processes()
        loss = functional.cross_entropy(logits, answers, reduction="sum") / count
        right = (logits.detach().argmax(dim=-1) == answers).float().sum() / count
        return {"loss": loss, "accuracy": right, "vectors": vectors[:, 0].detach()}

    def save(self, path: Path, card: str) -> None:
        """Write the whole masked LM; loaded by sentence-transformers, it is the encoder with its pooling."""
        save_encoder(self.encoder, path, card, masked_lm=self.masked_lm)


def masked_places(
    ids: Sequence[int], special: Collection[int], share: float, random: np.random.Generator
) -> NDArray[np.int64]:
    """Draw the places of a share of a text's ordinary tokens: at least one, if there are any."""
    ordinary = np.array([place for place, token in enumerate(ids) if token not in special], dtype=np.int64)
    count = min(len(ordinary), max(1, round(share * len(ordinary))))
    return random.choice(ordinary, size=count, replace=False) if count else ordinary


def masked_lm_head(model: PreTrainedModel) -> Callable[[Tensor], Tensor]:
    """Return what turns token vectors (n, d) into logits (n, vocabulary); raises InputError if it is unknown."""
    for name in ("cls", "lm_head"):
        head = getattr(model, name, None)
        if head is not None:
            return cast(Callable[[Tensor], Tensor], head)
    if hasattr(model, "vocab_projector"):
        return lambda hidden: model.vocab_projector(
            model.vocab_layer_norm(model.activation(model.vocab_transform(hidden)))
        )
    if hasattr(model, "head") and hasattr(model, "decoder"):
        return lambda hidden: model.decoder(model.head(hidden))
    raise InputError(
        f"{type(model).__name__}: its masked-LM head is not known; use a BERT, RoBERTa, DistilBERT or ModernBERT"
    )


def build(options: PARAMS, training: Training, source: Source) -> MaskedLm:
    """Load the model with its head, or with a new one over its own word embeddings."""
    encoder, model = load_masked_lm(source, training.pooling, training.max_tokens)
    return MaskedLm(model, encoder, training.max_tokens, options)
