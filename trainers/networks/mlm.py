"""What masked language modelling trains: an encoder with a masked-LM head."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pad_sequence

from augment.models.masked_lm import masked_lm_logits
from pipelines.base.console import InputError
from trainers.data.examples import Columns, Examples
from trainers.encoders.loading import load_masked_lm, save_encoder
from trainers.objective import Objective, group_tokens
from trainers.processes import processes, summed

IGNORED = -100


class MaskedLm(Objective):
    """A masked language model (arXiv:1810.04805); `encoder` is its part below the head."""

    masked_lm: nn.Module
    paired = False
    cacheable = False
    alike = 0.9999  # what masked language models are trained for may leave all cosines above 0.99

    def add_helpers(self) -> None:
        """Note the special tokens; raises InputError for a tokenizer without a mask."""
        if self.encoder.tokenizer.mask_token_id is None:
            raise InputError("the encoder's tokenizer has no mask token: it cannot be trained as a masked LM")
        self.special = frozenset(self.encoder.tokenizer.all_special_ids)

    def load_encoder(self) -> None:
        """Load the model with its head, or with a new one over its own word embeddings."""
        # The encoder comes first: by its names a checkpoint has what both share.
        self.encoder, self.masked_lm = load_masked_lm(self.source, self.settings.pooling, self.max_tokens)

    def columns(self, examples: Examples) -> Columns:
        """Return the ids of each text."""
        return Columns((self.tokenize(examples.texts),))

    def collate(self, batch: Columns) -> dict[str, Tensor]:
        """Masked ids and mask (n, tokens), `labels`, -100 if not predicted, and flat positions `masked`."""
        texts = list(map(self._draw, batch.sides[0], batch.seeds))
        labels = pad_sequence([torch.tensor(targets) for _, targets in texts], True, IGNORED)
        masked = (labels.flatten() != IGNORED).nonzero().squeeze(1)
        return {**self.pad([ids for ids, _ in texts]), "labels": labels, "masked": masked}

    def _draw(self, ids: Sequence[int], seed: int) -> tuple[list[int], list[int]]:
        """A text's ids, masked, and its labels: a share of its ordinary tokens, at least one if it has any."""
        random = np.random.default_rng(seed)
        ordinary = np.array(
            [place for place, token in enumerate(ids) if token not in self.special], dtype=np.int64
        )
        count = min(len(ordinary), max(1, round(self.params.masked * len(ordinary))))
        places = random.choice(ordinary, size=count, replace=False) if count else ordinary
        fate = random.random(len(places))
        replacement = random.integers(len(self.encoder.tokenizer), size=len(places))
        masked, labels = np.array(ids), np.full(len(ids), IGNORED)
        labels[places] = masked[places]
        share = self.params.kept + self.params.random
        changed = np.where(fate < share, replacement, self.encoder.tokenizer.mask_token_id)
        masked[places] = np.where(fate < self.params.kept, masked[places], changed)
        return masked.tolist(), labels.tolist()

    def forward(
        self, input_ids: Tensor, attention_mask: Tensor, labels: Tensor, masked: Tensor
    ) -> dict[str, Tensor]:
        """The mean cross-entropy in nats of the tokens at flat `masked`, their accuracy, and [CLS] vectors."""
        width = input_ids.shape[1]
        order, hidden = [], []
        for rows, features in group_tokens(self.encoder, input_ids, attention_mask, self.max_tokens):
            tokens = features["token_embeddings"]
            order.append(rows)
            hidden.append(nn.functional.pad(tokens, (0, 0, 0, width - tokens.shape[1])))
        vectors, places = torch.cat(hidden), torch.cat(order).argsort()
        logits = masked_lm_logits(self.masked_lm, vectors[places[masked // width], masked % width])
        targets = labels.flatten()[masked]
        # Data-parallel training averages over the processes. A batch of special tokens alone has a loss of 0,
        # not 0/0.
        count = summed(torch.tensor(len(targets), device=targets.device)).clamp(min=1) / processes()
        loss = nn.functional.cross_entropy(logits, targets, reduction="sum") / count
        accuracy = (logits.detach().argmax(dim=-1) == targets).float().sum() / count
        return {"loss": loss, "accuracy": accuracy, "vectors": vectors[:, 0].detach()}

    def save(self, path: Path, card: str) -> None:
        """Write the whole masked LM; loaded by sentence-transformers, it is the encoder with its pooling."""
        save_encoder(self.encoder, path, card, masked_lm=self.masked_lm)
