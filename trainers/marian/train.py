"""Training or fine-tuning a MarianMT model on parallel text."""

from __future__ import annotations

import json
import logging
import os
import shutil
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from transformers import MarianMTModel, MarianTokenizer, Trainer, TrainingArguments, set_seed
from transformers.trainer_utils import get_last_checkpoint

from trainers.marian.model import Shape, Translation, new_model
from trainers.marian.parallel import Padded, ParallelIds, TokenBatches
from trainers.marian.vocabulary import build_tokenizer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch.utils.data import DataLoader

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class MarianRecipe:
    """Everything that decides the result beside the text; the defaults made the bundled models."""

    vocabulary: int = 8_000
    shape: Shape = field(default_factory=Shape)
    epochs: int = 2
    batch_tokens: int = 2_048
    lr: float = 1e-3
    warmup_steps: int = 500
    label_smoothing: float = 0.1
    max_tokens: int = 96
    seed: int = 1
    bf16: bool = True


class TranslationTrainer(Trainer):
    """A Trainer that takes its batches from a batch sampler and saves tied weights once."""

    def __init__(self, batches: TokenBatches, **arguments: Any) -> None:  # noqa: ANN401 - Trainer's own arguments
        super().__init__(**arguments)
        self.batches = batches

    def get_train_dataloader(self) -> DataLoader[Any]:
        """Return the batches in the sampler's order."""
        from torch.utils.data import DataLoader

        loader: DataLoader[Any] = self.accelerator.prepare(
            DataLoader(self.train_dataset, batch_sampler=self.batches, collate_fn=self.data_collator)
        )
        return loader

    def _save(self, output_dir: str | None = None, state_dict: dict[str, Any] | None = None) -> None:
        from safetensors.torch import save_model

        folder = Path(output_dir or self.args.output_dir)
        folder.mkdir(parents=True, exist_ok=True)
        save_model(self.model, str(folder / "model.safetensors"))


def train_marian(
    pairs: Sequence[tuple[str, str]],
    out: Path,
    recipe: MarianRecipe,
    *,
    codes: Sequence[str] = (),
    start: str | None = None,
    vocabulary: Path | None = None,
    save_steps: int = 500,
) -> Path:
    """Train on (source, target) pairs and write the model to `out / "model"` in float16.

    A run that was interrupted goes on from its last checkpoint.

    Args:
        pairs: Sentence pairs; a source may begin with a target language code such as ">>de<<".
        out: The run's folder.
        recipe: Sizes and settings; of a model that is fine-tuned the sizes are its own.
        codes: The language codes that occur before sources.
        start: A MarianMT directory or Hub name to fine-tune; None trains a new model.
        vocabulary: A folder with a tokenizer to use; None builds a joint vocabulary from `pairs`.
        save_steps: Steps between checkpoints.

    Returns:
        The folder of the finished model.
    """
    set_seed(recipe.seed)
    out.mkdir(parents=True, exist_ok=True)
    settings = json.dumps(asdict(recipe) | {"start": start, "pairs": len(pairs)}, indent=2)
    (out / "recipe.json").write_text(settings, encoding="utf-8")
    tokenizer = _tokenizer(pairs, out, recipe, codes, start, vocabulary)
    rows = ParallelIds(pairs, tokenizer, recipe.max_tokens)
    batches = TokenBatches(rows, budget=recipe.batch_tokens, epochs=recipe.epochs, seed=recipe.seed)
    log.info("%d pairs, %d target tokens an epoch, %d steps", len(rows), rows.targets.starts[-1], len(batches))
    model = MarianMTModel.from_pretrained(start) if start else new_model(recipe.shape, tokenizer)
    cuda = torch.cuda.is_available()
    trainer = TranslationTrainer(
        batches,
        model=Translation(model.float(), recipe.label_smoothing),
        train_dataset=rows,
        data_collator=Padded(tokenizer.pad_token_id),
        args=TrainingArguments(
            output_dir=str(out),
            max_steps=len(batches),
            learning_rate=recipe.lr,
            lr_scheduler_type="linear",
            warmup_steps=min(recipe.warmup_steps, len(batches) // 5),
            optim="adamw_torch_fused",
            adam_beta2=0.98,
            adam_epsilon=1e-9,
            max_grad_norm=1.0,
            bf16=recipe.bf16,
            use_cpu=not cuda,
            seed=recipe.seed,
            save_steps=save_steps,
            save_total_limit=2,
            logging_steps=100,
            remove_unused_columns=False,
            disable_tqdm=not os.isatty(2),
            report_to="none",
        ),
    )
    trainer.train(resume_from_checkpoint=get_last_checkpoint(str(out)))
    folder = out / "model"
    model.half().save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def _tokenizer(
    pairs: Sequence[tuple[str, str]],
    out: Path,
    recipe: MarianRecipe,
    codes: Sequence[str],
    start: str | None,
    vocabulary: Path | None,
) -> MarianTokenizer:
    if start:
        return MarianTokenizer.from_pretrained(start)
    folder = out / "tokenizer"
    if vocabulary:
        shutil.copytree(vocabulary, folder, dirs_exist_ok=True)
    elif not (folder / "tokenizer_config.json").exists():
        texts = (side.rpartition("<< ")[2] for pair in pairs for side in pair)
        build_tokenizer(texts, folder, size=recipe.vocabulary, codes=codes)
    return MarianTokenizer.from_pretrained(folder)
