"""Training or fine-tuning a MarianMT model on parallel text."""

from __future__ import annotations

import json
import logging
import os
import shutil
from dataclasses import asdict, dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import torch
import xxhash
from safetensors import SafetensorError
from torch.utils.data import DataLoader
from transformers import MarianMTModel, MarianTokenizer, PrinterCallback, Trainer, TrainingArguments, set_seed

from pipelines.console import InputError
from pipelines.lock import locked_folder
from trainers.marian.model import Shape, Translation, new_model
from trainers.marian.parallel import Padded, ParallelIds, TokenBatches
from trainers.marian.vocabulary import make_tokenizer
from trainers.training.checkpoints import CHECKPOINTS, newest_checkpoint
from trainers.training.directory import DRAFT, remove, resumable, standing_recipe, write_recipe

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


log = logging.getLogger(__name__)

TOKENIZER, TOKENIZER_DRAFT = "tokenizer", "tokenizer.tmp"
MADE = (CHECKPOINTS, DRAFT, TOKENIZER, TOKENIZER_DRAFT, "model")
"""What a run writes beside its recipe."""


@dataclass(frozen=True, slots=True)
class MarianRecipe:
    """Everything that decides the result beside the text.

    Attributes:
        start: A MarianMT directory or Hub name to fine-tune (sizes and vocabulary are then its own), or None.
        vocabulary_from: A folder with a tokenizer to share, or None to build a joint one of `vocabulary` ids.
        epochs: Passes over the pairs; a run that was given too few goes on when it is given more.
        batch_tokens: Target tokens a batch, padding included.
        lr: The learning rate after the warm-up.
        decay: Share of the steps, the last ones, over which it falls to zero.
        max_tokens: Longer sides are cut.
    """

    start: str | None = None
    vocabulary_from: str | None = None
    vocabulary: int = 8_000
    shape: Shape = field(default_factory=Shape)
    epochs: float = 1.5
    batch_tokens: int = 2_048
    lr: float = 1e-3
    warmup_steps: int = 500
    decay: float = 0.25
    label_smoothing: float = 0.1
    max_tokens: int = 96
    seed: int = 1
    bf16: bool = True


class TranslationTrainer(Trainer):  # type: ignore[misc]  # transformers is read without types
    """A Trainer that takes its batches from a batch sampler."""

    def __init__(self, batches: TokenBatches, **arguments: Any) -> None:  # noqa: ANN401 - Trainer's own arguments
        super().__init__(**arguments)
        self.batches = batches

    def get_train_dataloader(self) -> DataLoader[Any]:
        """Return the batches in the sampler's order."""
        loader: DataLoader[Any] = self.accelerator.prepare(
            DataLoader(self.train_dataset, batch_sampler=self.batches, collate_fn=self.data_collator)
        )
        return loader


def train_marian(
    pairs: Sequence[tuple[str, str]],
    out: Path,
    recipe: MarianRecipe,
    *,
    save_steps: int = 500,
    overwrite: bool = False,
) -> Path:
    """Train on (source, target) pairs and write the model to `out / "model"` in float16.

    A run that was interrupted goes on from its last checkpoint.

    Args:
        pairs: Sentence pairs; a source may begin with a target language code such as ">>de<<".
        out: The run's folder.
        recipe: Where it starts, sizes and settings.
        save_steps: Steps between checkpoints.
        overwrite: Replace the run that is in `out`.

    Returns:
        The folder of the finished model.

    Raises:
        InputError: `out` holds a run of another recipe or of another process, or something else; or there is no start
            model or tokenizer where the recipe names one, or no vocabulary can be built from so little text.
        TwinviewsError: The disk is full.
    """
    settings = _settings(pairs, recipe)
    standing = _standing(out, settings, overwrite=overwrite)
    set_seed(recipe.seed)
    with TemporaryDirectory() as scratch:
        made = out / TOKENIZER if standing else None
        tokenizer = make_tokenizer(
            pairs, Path(scratch), start=recipe.start, made=made, given=recipe.vocabulary_from, size=recipe.vocabulary
        )
        model = _start_model(recipe.start) if recipe.start else new_model(recipe.shape, tokenizer)
        # Only now: what cannot be trained must not leave a folder that belongs to it, or replace another run.
        with resumable(out), locked_folder(out):
            # Looked at before; now no other process can change it any more.
            if not _standing(out, settings, overwrite=overwrite):
                remove(out, MADE)
                write_recipe(out, settings)
            if not recipe.start and not (out / TOKENIZER).exists():
                shutil.copytree(scratch, out / TOKENIZER_DRAFT, dirs_exist_ok=True)
                (out / TOKENIZER_DRAFT).rename(out / TOKENIZER)
            return _train(pairs, out, recipe, save_steps, tokenizer, model)


def _train(
    pairs: Sequence[tuple[str, str]],
    out: Path,
    recipe: MarianRecipe,
    save_steps: int,
    tokenizer: MarianTokenizer,
    model: MarianMTModel,
) -> Path:
    rows = ParallelIds(pairs, tokenizer, recipe.max_tokens)
    batches = TokenBatches(rows, budget=recipe.batch_tokens, epochs=recipe.epochs, seed=recipe.seed)
    log.info("%d pairs, %d target tokens an epoch, %d steps", len(rows), len(rows.targets.values), len(batches))
    trainer = TranslationTrainer(
        batches,
        model=Translation(model.float(), recipe.label_smoothing),
        train_dataset=rows,
        data_collator=Padded(tokenizer.pad_token_id),
        args=_arguments(recipe, out / CHECKPOINTS, len(batches), save_steps),
    )
    # It prints raw dictionaries to stdout.
    trainer.remove_callback(PrinterCallback)
    checkpoint = newest_checkpoint(out)
    trainer.train(resume_from_checkpoint=str(checkpoint) if checkpoint else None)
    folder = out / "model"
    model.half().save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def _arguments(recipe: MarianRecipe, folder: Path, steps: int, save_steps: int) -> TrainingArguments:
    return TrainingArguments(
        output_dir=str(folder),
        max_steps=steps,
        learning_rate=recipe.lr,
        lr_scheduler_type="warmup_stable_decay",
        lr_scheduler_kwargs={"num_decay_steps": round(steps * recipe.decay), "decay_type": "1-sqrt"},
        warmup_steps=min(recipe.warmup_steps, steps // 5),
        optim="adamw_torch_fused",
        adam_beta2=0.98,
        adam_epsilon=1e-9,
        max_grad_norm=1.0,
        bf16=recipe.bf16,
        use_cpu=not torch.cuda.is_available(),
        seed=recipe.seed,
        save_steps=save_steps,
        save_total_limit=2,
        logging_steps=100,
        remove_unused_columns=False,
        disable_tqdm=not os.isatty(2),
        report_to="none",
    )


def _start_model(start: str) -> MarianMTModel:
    try:
        return MarianMTModel.from_pretrained(start, use_safetensors=True)
    except (OSError, ValueError, SafetensorError) as error:
        raise InputError(
            f"cannot load the MarianMT model {start!r} ({str(error).splitlines()[0]}): "
            "give a directory or a Hub name that has safetensors"
        ) from error


def _settings(pairs: Sequence[tuple[str, str]], recipe: MarianRecipe) -> dict[str, Any]:
    """Return the recipe as it is written, with what identifies the text."""
    text = xxhash.xxh64("\n".join(f"{source}\t{target}" for source, target in pairs).encode()).hexdigest()
    settings: dict[str, Any] = json.loads(json.dumps(asdict(recipe) | {"pairs": len(pairs), "text": text}))
    return settings


def _standing(out: Path, settings: Mapping[str, Any], *, overwrite: bool) -> bool:
    """Whether the run of these settings, but for the number of epochs, is in `out`, to be gone on with.

    The rate is constant until the last steps, so a run that is given more epochs goes on as if it had had them.
    """
    before = standing_recipe(out, lambda found: found.keys() >= {"vocabulary_from", "batch_tokens", "text"})
    if before is None or overwrite:
        return False
    changed = [
        f"{key} {before.get(key)!r} -> {value!r}"
        for key, value in settings.items()
        if key != "epochs" and before.get(key) != value
    ]
    if changed:
        raise InputError(f"{out} holds another run ({'; '.join(changed)}): choose another --out or --overwrite")
    return True
