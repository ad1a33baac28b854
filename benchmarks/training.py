"""How fast training is: our `mirror` beside sentence-transformers' trainer and a plain loop, all in one run.

    python benchmarks/training.py --text SENTENCES

Same encoder, sentences, batch, length limit, precision and optimiser. The contenders take turns; the table gives the
best round of each, and the median of the ratios within the rounds. Loading and saving are left out, tokenising is
not. "Share of peak" is the arithmetic of the tokens that are not padding, 6 operations a weight and token plus the
attention's, over what this machine reaches in one large bf16 matrix product.

- ours: `train mirror`, preset `sentence`.
- sentence-transformers: its trainer with MultipleNegativesRankingLoss over (sentence, sentence).
- plain loop: tokenises each batch and pads everything to the limit.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from datasets import Dataset
from sentence_transformers import (
    SentenceTransformer,
    SentenceTransformerTrainer,
    SentenceTransformerTrainingArguments,
)
from sentence_transformers.sentence_transformer.losses import MultipleNegativesRankingLoss
from sentence_transformers.sentence_transformer.modules import Pooling, Transformer
from torch.nn import functional
from transformers import AutoModel, AutoTokenizer

from trainers.data.examples import Examples, Rows, from_text
from trainers.encoders.location import locate
from trainers.objectives import mirror
from trainers.settings import Training, resolve
from trainers.training.fit import fit

TEMPERATURE = 0.04


@dataclass(frozen=True)
class Task:
    """What every contender trains: the sentences, in whole batches, and how."""

    encoder: str | None
    examples: Examples
    training: Training
    params: Any

    @property
    def folder(self) -> str:
        """What `from_pretrained` takes."""
        return str(locate(self.encoder).folder)


def ours(task: Task) -> float:
    """Seconds of tokenising and training by our own code."""
    objective = mirror.build(task.params, task.training, locate(task.encoder))
    with tempfile.TemporaryDirectory() as folder:
        start = time.perf_counter()
        rows = Rows(objective.columns(task.examples), 1)
        fit(objective, rows, Path(folder), 1)
        return time.perf_counter() - start


def peer(task: Task) -> float:
    """Seconds of sentence-transformers' trainer."""
    training = task.training
    transformer = Transformer(
        task.folder, max_seq_length=training.max_tokens, model_kwargs={"dtype": torch.float32}
    )
    pooling = Pooling(transformer.get_embedding_dimension(), training.pooling)
    cuda = torch.cuda.is_available()
    model = SentenceTransformer(modules=[transformer, pooling], device="cuda" if cuda else "cpu")
    texts = list(task.examples.texts)
    with tempfile.TemporaryDirectory() as folder:
        arguments = SentenceTransformerTrainingArguments(
            output_dir=folder,
            num_train_epochs=1,
            per_device_train_batch_size=training.batch_size,
            learning_rate=training.lr,
            weight_decay=training.weight_decay,
            lr_scheduler_type="constant",
            max_grad_norm=0,
            bf16=training.precision == "bf16",
            use_cpu=not cuda,
            dataloader_drop_last=True,
            dataloader_pin_memory=cuda,
            report_to="none",
            save_strategy="no",
            disable_tqdm=True,
            logging_strategy="no",
        )
        trainer = SentenceTransformerTrainer(
            model=model,
            args=arguments,
            train_dataset=Dataset.from_dict({"anchor": texts, "positive": texts}),
            loss=MultipleNegativesRankingLoss(model, scale=1 / TEMPERATURE),
        )
        start = time.perf_counter()
        trainer.train()
        return time.perf_counter() - start


def plain(task: Task) -> float:
    """Seconds of a loop that pads every text to the limit, as the published scripts do."""
    training = task.training
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    tokenizer = AutoTokenizer.from_pretrained(task.folder)
    model = AutoModel.from_pretrained(task.folder, dtype=torch.float32).to(device).train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=training.lr, weight_decay=training.weight_decay)
    texts, size = list(task.examples.texts), training.batch_size
    start = time.perf_counter()
    for first in range(0, len(texts) - size + 1, size):
        batch = texts[first : first + size]
        inputs = tokenizer(
            batch + batch,
            padding="max_length",
            truncation=True,
            max_length=training.max_tokens,
            return_tensors="pt",
        ).to(device)
        with torch.autocast(device.type, torch.bfloat16, enabled=training.precision == "bf16"):
            hidden = model(**inputs).last_hidden_state
        mask = inputs["attention_mask"].unsqueeze(-1)
        unit = functional.normalize((hidden.float() * mask).sum(1) / mask.sum(1), dim=-1)
        own = torch.eye(2 * size, dtype=torch.bool, device=device)
        scores = (unit @ unit.T / TEMPERATURE).masked_fill(own, float("-inf"))
        loss = functional.cross_entropy(scores, torch.arange(2 * size, device=device).roll(size))
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
    loss.item()
    return time.perf_counter() - start


def operations(task: Task) -> float:
    """Floating-point operations of one epoch over both sides, without padding."""
    tokenizer, model = AutoTokenizer.from_pretrained(task.folder), AutoModel.from_pretrained(task.folder)
    weights = sum(
        p.numel() for name, p in model.named_parameters() if "embeddings" not in name and "pooler" not in name
    )
    config = model.config
    ids = tokenizer(list(task.examples.texts), truncation=True, max_length=task.training.max_tokens)[
        "input_ids"
    ]
    attention = 12 * config.num_hidden_layers * config.hidden_size
    return 2 * float(sum(6 * weights * len(row) + attention * len(row) ** 2 for row in ids))


def peak(device: str, size: int) -> float:
    """Operations a second of the best of a few bf16 matrix products."""
    left = torch.randn(size, size, dtype=torch.bfloat16, device=device)
    best = float("inf")
    for _ in range(10):
        start = time.perf_counter()
        left @ left
        if device == "cuda":
            torch.cuda.synchronize()
        best = min(best, time.perf_counter() - start)
    return 2 * size**3 / best


CONTENDERS: dict[str, Callable[[Task], float]] = {
    "ours (`train mirror`)": ours,
    "sentence-transformers' trainer": peer,
    "plain loop, padded to the limit": plain,
}


def rounds(task: Task, repeats: int) -> dict[str, list[float]]:
    """Seconds of each contender, round by round, each round beginning with another one."""
    seconds: dict[str, list[float]] = {name: [] for name in CONTENDERS}
    names = list(CONTENDERS)
    for turn in range(repeats):
        for name in names[turn % len(names) :] + names[: turn % len(names)]:
            torch.manual_seed(1)
            seconds[name].append(CONTENDERS[name](task))
    return seconds


def show(task: Task, seconds: dict[str, list[float]], reached: Sequence[float]) -> None:
    """Print the table."""
    mine = seconds[next(iter(CONTENDERS))]
    print(
        f"{len(task.examples):,} sentences, batch {task.training.batch_size}, {task.training.max_tokens} tokens, "
        f"{task.training.precision}, {torch.get_num_threads()} threads\n"
    )
    print("| contender | seconds | sentences/s | ours is faster by | share of peak |\n|---|--:|--:|--:|--:|")
    for name, values in seconds.items():
        best = min(values)
        ratio = statistics.median(theirs / own for theirs, own in zip(values, mine, strict=True))
        share = reached[0] / best / reached[1]
        print(f"| {name} | {best:.1f} | {len(task.examples) / best:.0f} | {ratio:.2f} | {share:.0%} |")


def quiet() -> None:
    """Keep the libraries' reports of unused heads out of the table."""
    from transformers.utils import logging

    logging.set_verbosity_error()
    logging.disable_progress_bar()


def main() -> None:
    """Train, take times, print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--text", type=Path, required=True)
    parser.add_argument("--encoder", help="another encoder than the bundled starter")
    parser.add_argument("--sentences", type=int, default=2000)
    parser.add_argument("--batch-size", type=int, default=200)
    parser.add_argument("--precision", choices=["fp32", "bf16"], default="bf16")
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    given = {"batch_size": options.batch_size, "precision": options.precision}
    _, training, params = resolve(mirror.PRESETS, mirror.PARAMS, "sentence", given)
    whole = options.sentences // options.batch_size * options.batch_size
    task = Task(options.encoder, from_text(options.text, whole), training, params)
    quiet()
    cuda = torch.cuda.is_available()
    reached = operations(task), peak("cuda" if cuda else "cpu", 8192 if cuda else 2048)
    show(task, rounds(task, options.repeats), reached)


if __name__ == "__main__":
    main()
