"""A step of every objective at BERT-base's shape beside one of sentence-transformers, on one batch, for `gpu.py`."""

from __future__ import annotations

import copy
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import torch
from gpu_measuring import CUDA, DEVICE, SPECIAL, Cost, Sizes, Table, fitting, measured, sentences
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer import losses
from sentence_transformers.sentence_transformer.modules import Pooling, Transformer
from torch import Tensor, nn
from transformers import AutoModelForMaskedLM

from trainers.data.examples import Examples, Rows
from trainers.encoders.location import locate
from trainers.objective import Objective, autocast
from trainers.settings import Training, load_objective, resolve
from trainers.training.fit import make_optimizer

Batch = dict[str, Tensor]
MODES = {"fp32": ("fp32", False), "bf16": ("bf16", False), "bf16 compiled": ("bf16", True)}
"""Precisions, and whether the transformer's layers are compiled."""
PEERS = {"regression": "CosineSimilarityLoss", "distil": "MSELoss", "mlm": "BertForMaskedLM of transformers"}
USUAL_PEER = "MultipleNegativesRankingLoss"
GREATEST_GAP = 1e-3
"""Of our loss in fp32 from the CPU's, as a share."""


@dataclass(frozen=True)
class Prepared:
    """An objective before its first step, on the CPU, so that it takes no memory of the GPU from a peer, and its state.

    The batch is on the device; `cpu_loss` is that of a copy of the objective.
    """

    objective: Objective
    batch: Batch
    training: Training
    cpu_loss: float
    state: Mapping[str, Tensor]


def examples(name: str, pairs: int, tokens: int) -> Examples:
    """Texts that fill the limit of tokens: pairs of them, or twice as many where each is a row."""
    alone = load_objective(name).READS == ("text",)
    texts = sentences(2 * pairs, tokens - 2, tokens - 2)
    left, right = (texts, texts) if alone else (texts[:pairs], texts[pairs:])
    return Examples(left, left, right, labels=[row % 6 / 5 for row in range(pairs)])


@lru_cache(maxsize=1)
def prepare(name: str, bert: Path, pairs: int, tokens: int) -> Prepared:
    """Build an objective of the first preset, without dropout, and do what comes before its first step."""
    module = load_objective(name)
    chosen = {
        "batch_size": pairs,
        "max_tokens": tokens,
        "precision": "fp32",
        "dropout": 0.0,
        "teacher": str(bert),
    }
    fields = {*Training.model_fields, *module.PARAMS.model_fields}
    chosen = {key: value for key, value in chosen.items() if key in fields}
    _, training, params = resolve(module.PRESETS, module.PARAMS, None, chosen, own_pooling="mean")
    torch.manual_seed(1)
    objective = module.build(params, training, locate(str(bert)))
    rows: Any = Rows(objective.columns(examples(name, pairs, tokens)), 1)
    with tempfile.TemporaryDirectory() as scratch:
        objective.before_training(Path(scratch))
        objective.to(DEVICE)
        objective.before_first_step(rows)
        batch = objective.collate(rows.batch(range(len(rows))))
    on_cpu = copy.deepcopy(objective).cpu()
    loss = float(on_cpu(**batch)["loss"].detach())
    state = {key: value.clone() for key, value in objective.cpu().state_dict().items()}
    return Prepared(objective, {key: value.to(DEVICE) for key, value in batch.items()}, training, loss, state)


def compile_layers(model: nn.Module) -> None:
    """Compile the transformer's layers, which are alike, so that one compilation serves all."""
    for module in model.modules():
        if type(module).__name__ == "BertLayer":
            module.compile(backend="inductor" if CUDA else "eager")


def step(loss_of: Callable[[], Tensor], optimizer: torch.optim.Optimizer, precision: str) -> Tensor:
    """Forward, backward and the optimiser's step; returns the loss."""
    with autocast(DEVICE, precision):
        loss = loss_of()
    loss.backward()  # type: ignore[no-untyped-call]
    optimizer.step()
    optimizer.zero_grad()
    return loss.detach()


def our_steps(prepared: Prepared, mode: str, steps: int) -> tuple[Cost, float]:
    """The cost of a step, and the first loss."""
    objective, (precision, compiled) = prepared.objective.to(DEVICE), MODES[mode]
    objective.load_state_dict(prepared.state, strict=False)  # tensors that are shared have one name
    objective.zero_grad()  # of a batch that did not fit
    optimizer = make_optimizer(objective)
    if compiled:
        compile_layers(objective)

    def loss_of() -> Tensor:
        return objective(**prepared.batch)["loss"]  # type: ignore[no-any-return]

    def work() -> None:
        step(loss_of, optimizer, precision)
        objective.after_step(1, steps)

    first = float(step(loss_of, optimizer, precision))
    measured(work)  # another one to warm up
    cost = measured(work, steps)
    objective.cpu()
    return cost, first


def peer_steps(peer: str, bert: Path, batch: Batch, mode: str, steps: int) -> Cost:
    """The cost of a step of a loss of sentence-transformers, or of transformers' masked LM, and of fused AdamW."""
    precision, compiled = MODES[mode]
    ids, mask = batch["input_ids"], batch["attention_mask"]
    model: Any
    loss_of: Callable[[], Tensor]
    if peer == PEERS["mlm"]:
        model = AutoModelForMaskedLM.from_pretrained(bert, dtype=torch.float32).to(DEVICE).train()
        loss_of = lambda: model(input_ids=ids, attention_mask=mask, labels=batch["labels"]).loss  # noqa: E731
    else:
        transformer = Transformer(str(bert), model_kwargs={"dtype": torch.float32})
        modules = [transformer, Pooling(transformer.get_embedding_dimension(), "mean")]
        model = SentenceTransformer(modules=modules, device=DEVICE.type).train()
        sides = zip(ids.chunk(2), mask.chunk(2), strict=True)
        features = [{"input_ids": side, "attention_mask": side_mask} for side, side_mask in sides]
        loss, labels = getattr(losses, peer)(model), batch.get("grades")
        labels = batch["taught"][:, 0] if "taught" in batch else labels
        loss_of = lambda: loss([dict(side) for side in features], labels)  # noqa: E731
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5, fused=True)
    if compiled:
        compile_layers(model)
    work = partial(step, loss_of, optimizer, precision)
    measured(work, 2)
    return measured(work, steps)


def ours_and_theirs(
    name: str, bert: Path, sizes: Sizes, mode: str, theirs: dict[tuple[str, str, int], Cost]
) -> tuple[int, Cost, Cost, float]:
    """The pairs that fit, the cost of our step and of the peer's, and how far the first loss is from the CPU's."""
    peer = PEERS.get(name, USUAL_PEER)

    def run(pairs: int) -> tuple[Cost, float]:
        prepared = prepare(name, bert, pairs, sizes.tokens)
        cost, loss = our_steps(prepared, mode, sizes.steps)
        return cost, abs(loss - prepared.cpu_loss) / max(abs(prepared.cpu_loss), 1e-6)

    pairs, (ours, gap) = fitting(f"{name}, {mode}", sizes.pairs, run)
    if (peer, mode, pairs) not in theirs:
        prepared = prepare(name, bert, pairs, sizes.tokens)
        theirs[peer, mode, pairs] = peer_steps(peer, bert, prepared.batch, mode, sizes.steps)
    return pairs, ours, theirs[peer, mode, pairs], gap


def steps_of(
    name: str, table: Table, bert: Path, sizes: Sizes, theirs: dict[tuple[str, str, int], Cost]
) -> None:
    """Add a row for each mode of an objective; raises RuntimeError for a loss that is not the CPU's.

    `theirs` are the peers' costs by loss, mode and pairs, as several objectives have one peer.
    """
    torch.compiler.reset()
    gaps = {}
    for mode in MODES:
        pairs, ours, their_cost, gaps[mode] = ours_and_theirs(name, bert, sizes, mode, theirs)
        times = [f"{1_000 * cost.seconds:.1f} ms" for cost in (ours, their_cost)]
        ratio = f"{their_cost.seconds / ours.seconds:.2f}"
        what = f"step of {name}, {mode}, {pairs} pairs (peer: {PEERS.get(name, USUAL_PEER)})"
        table.row(what, *times, ratio, ours.cell, their_cost.cell, f"{gaps[mode]:.0e}")
    if not gaps["fp32"] <= GREATEST_GAP:
        raise RuntimeError(f"the loss of {name} in fp32 differs from the CPU's by {gaps['fp32']:.1e}")


def largest_batch(table: Table, bert: Path, sizes: Sizes) -> None:
    """Add the row of the largest batch of contrastive learning in bf16, found by halving."""
    prepared = prepare("contrastive", bert, sizes.pairs, sizes.tokens)

    def batch_of(pairs: int) -> Batch:
        ids = torch.randint(len(SPECIAL), 1_000, (2 * pairs, sizes.tokens), device=DEVICE)
        keys = torch.arange(3 * pairs, device=DEVICE).view(3, pairs).T
        return {"input_ids": ids, "attention_mask": torch.ones_like(ids), "keys": keys}

    def ours(pairs: int) -> Cost:
        return our_steps(replace(prepared, batch=batch_of(pairs)), "bf16", 1)[0]

    def theirs(pairs: int) -> Cost:
        return peer_steps(USUAL_PEER, bert, batch_of(pairs), "bf16", 1)

    what = "largest batch of contrastive, bf16, in pairs"
    (our_pairs, our_cost), (their_pairs, their_cost) = (
        fitting(f"{whose} {what}", sizes.most_pairs, run)
        for whose, run in (("our", ours), ("the peer's", theirs))
    )
    cells = f"{our_pairs:,}", f"{their_pairs:,}", f"{our_pairs / their_pairs:.2f}"
    table.row(f"{what} (peer: {USUAL_PEER})", *cells, our_cost.cell, their_cost.cell)
