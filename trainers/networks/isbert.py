"""What IS-BERT trains: an encoder with a CNN, and a discriminator."""

from math import log

import torch
from torch import Tensor, nn

from pipelines.base.console import InputError
from trainers.data.examples import Columns, Examples
from trainers.encoders.modules import pooling_at, pooling_of, with_cnn
from trainers.objective import Objective, float32, group_tokens, pool
from trainers.processes import gather, process_rank, processes, summed


class IsBert(Objective):
    """The encoder with a CNN, and the discriminator T of tokens and sentences (Eq. 2-3 of arXiv:2009.12061)."""

    paired = False
    cacheable = False
    whitenable = False

    def add_helpers(self) -> None:
        """Give the encoder a CNN, and add the discriminator."""
        params = self.params
        if (pooling := pooling_of(self.encoder)) != "mean":
            raise InputError(
                f"--pooling {pooling}: IS-BERT's sentence vector is the mean of its tokens' vectors"
            )
        self.encoder = encoder = with_cnn(self.encoder, params.widths, params.filters, relu=params.relu)
        place = pooling_at(encoder)
        for layer in list(encoder)[place + 1 :]:
            layer.requires_grad_(False)  # no gradient reaches what comes after the pooling
        # T(c, y) = local(c) . whole(y); the authors' code has the bare dot product.
        width, is_learned = int(encoder[place].embedding_dimension), params.discriminator == "learned"
        self.local, self.whole = (Shortcut(width) if is_learned else nn.Identity() for _ in range(2))

    def columns(self, examples: Examples) -> Columns:
        """Return the ids of each text."""
        return Columns((self.tokenize(examples.texts),))

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> dict[str, Tensor]:
        """Return minus the estimate of Eq. 2 in nats, over all tokens of the batch, and the vectors (n, d).

        `mean softplus(-T(c, y)) + mean softplus(T(c', y)) - 2 log 2`, over tokens c of each sentence y, and c'
        of the others; [CLS] and [SEP] count, padding does not. Eq. 3 has sums instead of means, a factor that
        Adam ignores.
        """
        groups = group_tokens(self.encoder, input_ids, attention_mask, self.max_tokens)
        pooled = pool(self.encoder, groups)
        sentences = gather(pooled)
        with float32(pooled.device):
            first_row = process_rank() * len(pooled)
            sums = torch.zeros(2, device=pooled.device)
            projected = self.whole(sentences)
            for rows, features in groups:
                scores = self.local(features["token_embeddings"]) @ projected.T  # (rows, tokens, sentences)
                is_own = (
                    torch.arange(len(sentences), device=pooled.device) == first_row + rows[:, None]
                ).unsqueeze(1)
                is_token = features["attention_mask"].unsqueeze(-1) > 0
                matching = nn.functional.softplus(-scores).masked_fill(~(is_token & is_own), 0)
                mismatching = nn.functional.softplus(scores).masked_fill(~(is_token & ~is_own), 0)
                sums = sums + torch.stack([matching.sum(), mismatching.sum()])
            # Data-parallel training averages over the processes.
            own_loss, other_loss = sums / (summed(attention_mask.sum()) / processes())
            negatives = len(sentences) - 1
            loss = own_loss + other_loss / negatives - 2 * log(2) if negatives else 0 * own_loss
        return {"loss": loss, "vectors": sentences.detach()}


class Shortcut(nn.Module):
    """Three linear layers with ReLU, as wide as the vectors, plus a linear shortcut; d in, d out."""

    def __init__(self, dimension: int) -> None:
        super().__init__()
        layers = [layer for _ in range(3) for layer in (nn.Linear(dimension, dimension), nn.ReLU())]
        self.layers = nn.Sequential(*layers)
        self.shortcut = nn.Linear(dimension, dimension)

    def forward(self, vectors: Tensor) -> Tensor:
        """Return vectors of the same shape."""
        return self.layers(vectors) + self.shortcut(vectors)  # type: ignore[no-any-return]
