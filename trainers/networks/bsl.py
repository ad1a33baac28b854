"""What BSL trains: an online and a target network, and a predictor."""

import copy
from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.optim.swa_utils import get_ema_multi_avg_fn

from pipelines.base.console import progress
from trainers.data.examples import Rows
from trainers.objective import Objective, autocast, embed, float32
from trainers.processes import gather_pairs

PREDICTORS = {"paper": ((True, True), 1), "code": ((True, False), 3)}
"""The norms of an MLP and the number of MLPs."""
CACHED_ROWS = 20_000  # rows whose vectors the warm-up keeps: 250 MB at 768 dimensions


class Bsl(Objective):
    """Online encoder f and predictor p, trained.

    Target encoder g, which follows f and gets no gradient (Eq. 1-4).

    The target is float32: near a momentum of 1 steps are too small for bf16. Its pass has dropout, as the
    authors'.
    """

    def add_helpers(self) -> None:
        """Add the predictor and the target network."""
        hidden = self.params.width * self.dimension
        self.predictor = chain_mlps(self.dimension, hidden, *PREDICTORS[self.params.predictor])
        self.target = copy.deepcopy(self.encoder).float().requires_grad_(False)

    def rate_of(self, parameter: str) -> float:
        """Return `predictor_lr` for what belongs to the predictor."""
        return self.params.predictor_lr if parameter.startswith("predictor.") else 1.0

    def before_first_step(self, rows: Rows) -> None:
        """Whiten, then fit the predictor alone, for `predictor_warmup` steps: a fresh one would damage the encoder."""
        super().before_first_step(rows)
        self.target.load_state_dict(self.encoder.state_dict())
        if self.params.predictor_warmup:
            self._warm_up(self._sampled_vectors(rows))

    @torch.no_grad()
    def _sampled_vectors(self, rows: Rows) -> Tensor:
        """Return the online vectors (2, rows, d) of both views of as many rows as the warm-up takes."""
        size, device = self.settings.batch_size, self.encoder.device
        count = min(CACHED_ROWS, self.params.predictor_warmup * size)
        sample = torch.randperm(len(rows))[:count].tolist()
        lengths = rows.lengths()
        sample.sort(key=lambda number: lengths[number])  # little padding
        self.train()
        parts = []
        bar = progress("vectors for the predictor", len(sample))
        with bar as advance, autocast(device, self.settings.precision):
            for start in range(0, len(sample), size):
                batch = self.collate(rows.batch(sample[start : start + size]))
                ids, mask = (batch[name].to(device) for name in ("input_ids", "attention_mask"))
                parts.append(torch.stack(embed(self.encoder, ids, mask, self.max_tokens).chunk(2)))
                advance(parts[-1].shape[1])
        return torch.cat(parts, dim=1)

    def _warm_up(self, vectors: Tensor) -> None:
        """Train the predictor on vectors (2, rows, d) of both views."""
        settings, parameters = self.settings, self.predictor.parameters()
        lr = settings.lr * self.params.predictor_lr
        optimizer = torch.optim.AdamW(parameters, lr=lr, weight_decay=0.0, eps=settings.eps, fused=True)
        for _ in range(self.params.predictor_warmup):
            order = torch.randperm(vectors.shape[1], device=vectors.device)
            views = vectors[:, order[: settings.batch_size]]
            predicted = self.predictor(views.flatten(0, 1))
            loss = -nn.functional.cosine_similarity(predicted, views.flip(0).flatten(0, 1), dim=-1).mean()
            optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
        optimizer.zero_grad()

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> dict[str, Tensor]:
        """Return the loss of Eq. 2 over n pairs and the online vectors (2n, d).

        The mean of `D(z, h) = -<z/|z|, h/|h|>` (Eq. 1), z a view's prediction, h the target's vector of the
        other view.
        """
        online = gather_pairs(self.embed(input_ids, attention_mask))
        with torch.no_grad():
            target = gather_pairs(embed(self.target, input_ids, attention_mask, self.max_tokens))
        with float32(online.device):
            opposite = target.roll(len(target) // 2, dims=0)
            loss = -nn.functional.cosine_similarity(self.predictor(online), opposite, dim=-1).mean()
        if self.params.distance == "squared":
            loss = 4 * loss + 4
        return {"loss": loss, "vectors": online.detach()}

    @torch.no_grad()
    def after_step(self, step: int, total: int) -> None:
        """Move the target: `xi <- delta xi + (1 - delta) theta` (Eq. 4), parameters only, as the authors do."""
        theta = [parameter.float() for parameter in self.encoder.parameters()]
        average = get_ema_multi_avg_fn(self.params.momentum)  # type: ignore[no-untyped-call]
        average(list(self.target.parameters()), theta, step)


class ViewNorm(nn.BatchNorm1d):
    """BatchNorm over each view of rows (2n, d) separately, as in the equations and the authors' code."""

    def forward(self, rows: Tensor) -> Tensor:
        """Normalise each half of `rows` by its own mean and variance (in training)."""
        return torch.cat([super(ViewNorm, self).forward(view) for view in rows.chunk(2)])


def chain_mlps(dimension: int, hidden: int, norms: Sequence[bool], count: int) -> nn.Sequential:
    """Return `count` chained MLPs, d to d, with a hidden layer and ReLU for each of `norms` (with BatchNorm or not)."""
    layers: list[nn.Module] = []
    for _ in range(count):
        for place, norm in enumerate(norms):
            first = nn.Linear(hidden if place else dimension, hidden)
            layers += [first, *([ViewNorm(hidden)] if norm else []), nn.ReLU()]
        layers.append(nn.Linear(hidden, dimension))
    return nn.Sequential(*layers)
