"""Training or fine-tuning a MarianMT model on parallel text."""

import logging
import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch
import xxhash
from safetensors import SafetensorError
from torch.utils.data import DataLoader
from transformers import (
    DataCollatorForSeq2Seq,
    MarianMTModel,
    MarianTokenizer,
    PrinterCallback,
    Trainer,
    TrainingArguments,
    set_seed,
)

from pipelines.console import InputError
from pipelines.lock import locked_folder
from trainers.marian.model import Translation, new_model
from trainers.marian.options import MarianOptions
from trainers.marian.text import ParallelIds, load_tokenizer, make_tokenizer, token_batches
from trainers.training import directory

log = logging.getLogger(__name__)

TOKENIZER, TOKENIZER_DRAFT = "tokenizer", "tokenizer.tmp"
MADE = (directory.CHECKPOINTS, directory.DRAFT, TOKENIZER, TOKENIZER_DRAFT, "model")
"""What a run writes beside its recipe."""


class TranslationTrainer(Trainer):  # type: ignore[misc]  # transformers is read without types
    """A Trainer whose batches are given, in their order."""

    batches: list[list[int]]

    def get_train_dataloader(self) -> DataLoader[Any]:
        """Return the batches."""
        loader: DataLoader[Any] = self.accelerator.prepare(
            DataLoader(self.train_dataset, batch_sampler=self.batches, collate_fn=self.data_collator)
        )
        return loader


def train_marian(pairs: Sequence[tuple[str, str]], options: MarianOptions) -> Path:
    """Train on (source, target) pairs and write the model to `options.out / "model"` in float16; return that folder.

    A run that was interrupted goes on from its last checkpoint. A source may begin with a target language code such as
    ">>de<<".

    Raises:
        InputError: The folder holds a run of another recipe or of another process, or something else; or there is no
            start model or tokenizer where the options name one, or no vocabulary can be built from so little text.
        TwinviewsError: The disk is full.
    """
    out = options.out
    text = xxhash.xxh64("\n".join(f"{source}\t{target}" for source, target in pairs).encode()).hexdigest()
    recipe = {**options.recipe(), "pairs": len(pairs), "text": text}
    with directory.resumable(out), locked_folder(out), TemporaryDirectory() as scratch:
        standing = _is_standing(out, recipe, overwrite=options.overwrite)
        set_seed(options.seed)
        if options.model:
            tokenizer, model = load_tokenizer(options.model), _start_model(options.model)
        else:
            made = out / TOKENIZER if standing and (out / TOKENIZER).is_dir() else None
            tokenizer = make_tokenizer(pairs, Path(scratch), given=made or options.tokenizer, size=options.vocabulary)
            model = new_model(recipe["shape"], tokenizer)
        # Only now: what cannot be trained must not leave a folder that belongs to it, or replace another run.
        if not standing:
            directory.begin(out, recipe, MADE)
        if not options.model and not (out / TOKENIZER).exists():
            shutil.copytree(scratch, out / TOKENIZER_DRAFT, dirs_exist_ok=True)
            (out / TOKENIZER_DRAFT).rename(out / TOKENIZER)
        _train(pairs, options, tokenizer, model)
    return out / "model"


def _train(
    pairs: Sequence[tuple[str, str]], options: MarianOptions, tokenizer: MarianTokenizer, model: MarianMTModel
) -> None:
    rows = ParallelIds(pairs, tokenizer, options.max_tokens)
    batches = token_batches(rows, budget=options.batch_tokens, epochs=options.epochs, seed=options.seed)
    log.info("%d pairs, %d target tokens an epoch, %d steps", len(rows), len(rows.targets.values), len(batches))
    trainer = TranslationTrainer(
        model=Translation(model.float(), options.label_smoothing),
        train_dataset=rows,
        data_collator=DataCollatorForSeq2Seq(tokenizer),
        args=_arguments(options, len(batches)),
    )
    trainer.batches = batches
    # It prints raw dictionaries to stdout.
    trainer.remove_callback(PrinterCallback)
    checkpoint = directory.newest_checkpoint(options.out)
    trainer.train(resume_from_checkpoint=str(checkpoint) if checkpoint else None)
    for part in (model.half(), tokenizer):
        part.save_pretrained(options.out / "model")


def _arguments(options: MarianOptions, steps: int) -> TrainingArguments:
    return TrainingArguments(
        output_dir=str(options.out / directory.CHECKPOINTS),
        max_steps=steps,
        learning_rate=options.lr,
        lr_scheduler_type="warmup_stable_decay",
        lr_scheduler_kwargs={"num_decay_steps": round(steps * options.decay), "decay_type": "1-sqrt"},
        warmup_steps=min(options.warmup_steps, steps // 5),
        optim="adamw_torch_fused",
        adam_beta2=0.98,
        adam_epsilon=1e-9,
        max_grad_norm=1.0,
        bf16=options.precision == "bf16",
        use_cpu=not torch.cuda.is_available(),
        seed=options.seed,
        save_steps=options.save_steps,
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


def _is_standing(out: Path, recipe: Mapping[str, Any], *, overwrite: bool) -> bool:
    """Whether the run of this recipe, but for the number of epochs, is in `out`, to be gone on with.

    The rate is constant until the last steps, so a run that is given more epochs goes on as if it had had them.
    """
    before = directory.standing_recipe(out, lambda found: found.keys() >= {"vocabulary_from", "batch_tokens", "text"})
    if before is None or overwrite:
        return False
    directory.check_same(out, {**before, "epochs": None}, {**recipe, "epochs": None})
    return True
