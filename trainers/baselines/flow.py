"""BERT-flow: a small invertible network that maps a text's vectors to a Gaussian (Li et al. 2020)."""

import math
from functools import partial
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from pipelines.console import InputError
from trainers.baselines.fitting import Adaptation, FitText, Map

LEVELS, DEPTH, WIDTH = 3, 3, 32
"""As in the authors' `config_l3_d3_w32`: levels, steps in each, units of a coupling's hidden layers."""

BATCH = 64
"""Sentences of a step; the authors' batch is 32 pairs."""

LEARNING_RATE = 1e-3
WEIGHT_DECAY = 0.01
LOG_SCALE = 3.0
"""Scales are exp(3 w), which Glow's authors found to learn faster."""


class ActNorm(nn.Module):
    """A scale and a bias per dimension; the first batch sets them so that it comes out with mean 0 and variance 1."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.bias = nn.Parameter(torch.zeros(size))
        self.logs = nn.Parameter(torch.zeros(size))
        self.ready = False

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Return the scaled x (n, size) and log|det| of the map's Jacobian."""
        if not self.ready:
            with torch.no_grad():
                self.bias.copy_(-x.mean(dim=0))
                self.logs.copy_(-((x + self.bias).square().mean(dim=0).sqrt() + 1e-6).log() / LOG_SCALE)
            self.ready = True
        return (x + self.bias) * (LOG_SCALE * self.logs).exp(), LOG_SCALE * self.logs.sum()


class Coupling(nn.Module):
    """Additive coupling: the second half is moved by a function of the first, which leaves the volume as it is."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.still = size - size // 2
        self.first = nn.Linear(self.still, WIDTH, bias=False)
        self.second = nn.Linear(WIDTH, WIDTH, bias=False)
        self.norms = nn.ModuleList([ActNorm(WIDTH), ActNorm(WIDTH)])
        # At zero: a new flow only scales its input and turns it round.
        self.last = nn.Linear(WIDTH, size // 2)
        self.logs = nn.Parameter(torch.zeros(size // 2))
        for layer in (self.first, self.second):
            nn.init.normal_(layer.weight, std=0.05)
        nn.init.zeros_(self.last.weight)
        nn.init.zeros_(self.last.bias)

    def forward(self, x: Tensor) -> Tensor:
        """Return x (n, size) with its second half moved."""
        hidden = half = x[:, : self.still]
        for layer, norm in zip((self.first, self.second), self.norms, strict=True):
            hidden = functional.relu(norm(layer(hidden))[0])
        return torch.cat([half, x[:, self.still :] + self.last(hidden) * (LOG_SCALE * self.logs).exp()], dim=1)


class Flow(nn.Module):
    """Glow for vectors: steps of ActNorm, reversed order and coupling; after each level half of the dimensions rest.

    The latent variable is a standard Gaussian; its log-density at f(x) plus log|det df/dx| is that of x.
    """

    def __init__(self, size: int, levels: int = LEVELS, depth: int = DEPTH) -> None:
        super().__init__()
        sizes = [size]
        while len(sizes) < levels and sizes[-1] >= 4:
            sizes.append(sizes[-1] - sizes[-1] // 2)
        self.norms = nn.ModuleList(nn.ModuleList(ActNorm(size) for _ in range(depth)) for size in sizes)
        self.couplings = nn.ModuleList(nn.ModuleList(Coupling(size) for _ in range(depth)) for size in sizes)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Return z (n, size) and log|det dz/dx|, which is the same for every x."""
        resting: list[Tensor] = []
        volume = x.new_zeros(())
        levels: Any = zip(self.norms, self.couplings, strict=True)
        for level, (norms, couplings) in enumerate(levels):
            if level:
                half = x.shape[1] - x.shape[1] // 2
                x, rest = x[:, :half], x[:, half:]
                resting.append(rest)
            for norm, coupling in zip(norms, couplings, strict=True):
                x, grown = norm(x)
                x = coupling(x.flip(1))
                volume = volume + grown
        return torch.cat([*resting, x], dim=1), volume

    def log_likelihood(self, x: Tensor) -> Tensor:
        """Return the log-density (n) of vectors x (n, size)."""
        z, volume = self(x)
        density: Tensor = -0.5 * (z.square().sum(dim=1) + z.shape[1] * math.log(2 * math.pi)) + volume
        return density


def flow_map(epochs: int, seed: int, text: FitText | None = None) -> Adaptation:
    """Return the map through a flow: passes over the text, and the seed of its weights and of the order."""
    title = f"through a flow ({epochs} epoch{'s' if epochs > 1 else ''}, seed {seed})"
    settings = {
        "method": "flow", "epochs": epochs, "seed": seed, "levels": LEVELS, "depth": DEPTH,
        "width": WIDTH, "batch": BATCH, "learning_rate": LEARNING_RATE, "weight_decay": WEIGHT_DECAY,
    }  # fmt: skip
    return Adaptation(title, "flow", settings, partial(fit, epochs=epochs, seed=seed), text)


def fit(vectors: NDArray[np.float32], epochs: int = 1, seed: int = 1) -> Map:
    """Train a flow on vectors (texts, d) by maximum likelihood; return its latent vectors' map.

    AdamW at a constant rate, gradients clipped at norm 1, as the authors train it. Raises InputError: there are fewer
    than two vectors, or they have fewer than two dimensions.
    """
    if len(vectors) < 2 or vectors.shape[1] < 2:
        raise InputError(f"a flow needs two vectors of two numbers or more to fit on, got an array of {vectors.shape}")
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        trained = Flow(vectors.shape[1])
        train(trained, torch.from_numpy(np.ascontiguousarray(vectors)), epochs)

    @torch.no_grad()
    def latent(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
        return np.asarray(trained(torch.from_numpy(np.ascontiguousarray(vectors)))[0].numpy(), np.float32)

    return latent


def train(flow: Flow, vectors: Tensor, epochs: int) -> list[float]:
    """Train a flow on vectors (n, d); return the loss of every step, bits per dimension."""
    # Decoupled weight decay on everything, scales and biases too, and epsilon as in BERT's own optimizer.
    optimizer = torch.optim.AdamW(flow.parameters(), lr=LEARNING_RATE, weight_decay=WEIGHT_DECAY, eps=1e-6, fused=True)
    losses = []
    for _ in range(epochs):
        order = torch.randperm(len(vectors))
        for start in range(0, len(order), BATCH):
            rows = order[start : start + BATCH]
            loss = -flow.log_likelihood(vectors[rows]).mean() / (math.log(2) * vectors.shape[1])
            optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            nn.utils.clip_grad_norm_(flow.parameters(), 1.0)
            optimizer.step()
            losses.append(loss.item())
    return losses
