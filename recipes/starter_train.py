"""Train or fine-tune a MarianMT translation model on parallel text, as `starter.sh` does with the bundled ones.

    python recipes/starter_train.py --parallel en-de.tsv --out build/en-de

The text is lines of source<TAB>target. A source may begin with a target language code (">>de<< A dog."), as in
OPUS-MT's multilingual models. Writes OUT/model in float16; the same command goes on after an interruption.
"""

from __future__ import annotations

import argparse
import io
import json
import math
import os
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import torch
from sentencepiece import SentencePieceProcessor, SentencePieceTrainer
from torch import Tensor, nn
from torch.utils.data import DataLoader, Dataset
from transformers import (
    DataCollatorForSeq2Seq,
    MarianConfig,
    MarianMTModel,
    MarianTokenizer,
    PrinterCallback,
    Trainer,
    TrainingArguments,
    set_seed,
)
from transformers.models.marian.modeling_marian import shift_tokens_right
from transformers.trainer_utils import get_last_checkpoint

from trainers.data.examples import Ragged
from trainers.files import file_lines
from trainers.objective import drop_aliases

Pairs = Sequence[tuple[str, str]]
CODE = re.compile(r">>[^<>\s]+<< ?")  # a target language code at the start of a source
POOL = 100  # batches are sorted by length within pools of about this many, so that their content stays random


def arguments(words: Sequence[str] | None = None) -> argparse.Namespace:
    """Read the command line; `--vocabulary` to `--dropout` are for a new model."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--parallel", type=Path, action="append", required=True, help="repeat it for more")
    parser.add_argument("--model", help="a MarianMT directory or Hub name to fine-tune; without it a new one")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--vocabulary", type=int, default=8_000, help="ids of the joint vocabulary")
    parser.add_argument("--d-model", type=int, default=256, help="width")
    parser.add_argument("--ffn", type=int, default=768, help="inner width of the feed-forward layers")
    parser.add_argument("--heads", type=int, default=4, help="attention heads of every layer")
    parser.add_argument("--encoder-layers", type=int, default=4)
    parser.add_argument("--decoder-layers", type=int, default=2)
    parser.add_argument("--dropout", type=float, default=0.0)
    parser.add_argument("--epochs", type=float, default=1.5)
    parser.add_argument(
        "--batch-tokens", type=int, default=2_048, help="target tokens a batch, padding included"
    )
    parser.add_argument("--lr", type=float, default=1e-3, help="learning rate after the warm-up")
    parser.add_argument("--warmup-steps", type=int, default=500, help="steps over which the rate rises from 0")
    parser.add_argument(
        "--decay", type=float, default=0.25, help="last share of the steps, over which it falls to 0"
    )
    parser.add_argument("--label-smoothing", type=float, default=0.1)
    parser.add_argument("--max-tokens", type=int, default=96, help="longer sides are cut")
    parser.add_argument("--precision", choices=("bf16", "fp32"), default="bf16")
    parser.add_argument("--save-steps", type=int, default=500, help="steps between checkpoints")
    parser.add_argument("--seed", type=int, default=1, help="decides weights and order")
    return parser.parse_args(words)


def main(words: Sequence[str] | None = None) -> None:
    """Train, or go on, and write the model."""
    options = arguments(words)
    recipe = json.loads(
        json.dumps({key: value for key, value in vars(options).items() if key != "out"}, default=str)
    )
    kept = options.out / "recipe.json"
    if kept.is_file() and json.loads(kept.read_text(encoding="utf-8")) != recipe:
        sys.exit(f"{options.out} belongs to other options, see {kept}: give another --out")
    pairs = [pair for path in options.parallel for pair in read_parallel(path)]
    set_seed(options.seed)
    if options.model:
        tokenizer = MarianTokenizer.from_pretrained(options.model)
        model = MarianMTModel.from_pretrained(options.model, use_safetensors=True)
    else:
        tokenizer = build_tokenizer(pairs, options.vocabulary)
        model = new_model(options, tokenizer)
    options.out.mkdir(parents=True, exist_ok=True)
    kept.write_text(json.dumps(recipe, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    train(pairs, options, tokenizer, model)
    if not all(parameter.isfinite().all() for parameter in model.half().parameters()):
        sys.exit(f"the weights became NaN or too large for float16: lower --lr ({options.lr:g})")
    for part in (model, tokenizer):
        part.save_pretrained(options.out / "model")
    print(options.out / "model")


def read_parallel(path: Path) -> list[tuple[str, str]]:
    """Read `source<TAB>target` lines (.gz too); further fields are ignored, blank lines and empty sides skipped."""
    pairs = []
    for number, line in enumerate(file_lines(path), start=1):
        source, *rest = (field.strip() for field in line.split("\t"))
        if source and not rest:
            sys.exit(f"{path} line {number} has no tab: {line[:60]!r}; expected source<TAB>target")
        if source and rest[0]:
            pairs.append((source, rest[0]))
    return pairs


def build_tokenizer(pairs: Pairs, size: int) -> MarianTokenizer:
    """Return a tokenizer with a unigram vocabulary of `size` ids in all, trained on both sides of the pairs.

    CTranslate2 insists on their layout (end 0, unknown 1, codes, padding last).
    """
    codes = sorted({code[0].strip() for source, _ in pairs if (code := CODE.match(source))})
    model = io.BytesIO()
    SentencePieceTrainer.train(
        sentence_iterator=(CODE.sub("", side) for pair in pairs for side in pair),
        model_writer=model,
        vocab_size=size - len(codes) - 1,
        character_coverage=0.9998,
        bos_id=-1,
        eos_id=0,
        unk_id=1,
        num_threads=1,
        input_sentence_size=500_000,
        shuffle_input_sentence=True,
        minloglevel=2,
    )
    processor = SentencePieceProcessor(model_proto=model.getvalue())
    pieces = [*map(processor.id_to_piece, range(len(processor))), *codes, "<pad>"]
    with TemporaryDirectory() as scratch:
        files = [Path(scratch, name) for name in ("source.spm", "target.spm", "vocab.json")]
        for file in files[:2]:
            file.write_bytes(model.getvalue())
        files[2].write_text(json.dumps({piece: number for number, piece in enumerate(pieces)}), "utf-8")
        MarianTokenizer(*map(str, files), model_max_length=512).save_pretrained(scratch)
        return MarianTokenizer.from_pretrained(scratch)


def new_model(shape: argparse.Namespace, tokenizer: MarianTokenizer) -> MarianMTModel:
    """Return an untrained MarianMT of the options' shape, with Xavier-uniform matrices."""
    config = MarianConfig(
        vocab_size=len(tokenizer),
        d_model=shape.d_model,
        **{f"{side}_ffn_dim": shape.ffn for side in ("encoder", "decoder")},
        **{f"{side}_attention_heads": shape.heads for side in ("encoder", "decoder")},
        **{key: getattr(shape, key) for key in ("encoder_layers", "decoder_layers", "dropout")},
        activation_function="relu",
        scale_embedding=True,
        max_position_embeddings=512,
        pad_token_id=tokenizer.pad_token_id,
        eos_token_id=tokenizer.eos_token_id,
        forced_eos_token_id=tokenizer.eos_token_id,
        decoder_start_token_id=tokenizer.pad_token_id,
        attn_implementation="eager",
    )
    model = MarianMTModel(config)
    embeddings = model.get_input_embeddings().weight
    for name, parameter in model.named_parameters():
        if parameter is not embeddings and parameter.dim() == 2 and "embed_positions" not in name:
            nn.init.xavier_uniform_(parameter)
    with torch.no_grad():
        embeddings.normal_(std=shape.d_model**-0.5)
        embeddings[tokenizer.pad_token_id].zero_()
    return model


class ParallelIds(Dataset[dict[str, list[int]]]):
    """Sentence pairs as token ids, both ending in the end symbol."""

    def __init__(self, pairs: Pairs, tokenizer: MarianTokenizer, max_tokens: int) -> None:
        limits = {"truncation": True, "max_length": max_tokens}
        self.sources = Ragged(tokenizer([source for source, _ in pairs], **limits)["input_ids"])
        self.targets = Ragged(tokenizer(text_target=[target for _, target in pairs], **limits)["input_ids"])

    def __len__(self) -> int:
        return len(self.sources)

    def __getitem__(self, index: int) -> dict[str, list[int]]:
        return {"input_ids": self.sources[index], "labels": self.targets[index]}


def token_batches(rows: ParallelIds, *, budget: int, epochs: float, seed: int) -> list[list[int]]:
    """Return batches of row numbers: sentences of similar length, up to `budget` target tokens with padding.

    Every row comes once an epoch; the last epoch may be partial. A resumed run finds its place in this sequence.
    """
    sources, targets = rows.sources.lengths, rows.targets.lengths
    pool = int(POOL * budget / max(targets.mean(), 1)) + 1
    batches: list[list[int]] = []
    for epoch in range(math.ceil(epochs)):
        random = np.random.default_rng((seed, epoch))
        order = random.permutation(len(targets))
        epoch_batches: list[list[int]] = []
        for start in range(0, len(order), pool):
            pool_rows = order[start : start + pool]
            batch: list[int] = []
            for row in pool_rows[np.lexsort((sources[pool_rows], targets[pool_rows]))].tolist():
                # Rows are sorted by length, so the newest is the longest of its batch.
                if batch and (len(batch) + 1) * targets[row] > budget:
                    epoch_batches.append(batch)
                    batch = []
                batch.append(row)
            epoch_batches.append(batch)
        batches += [epoch_batches[index] for index in random.permutation(len(epoch_batches))]
    return batches[: max(1, round(len(batches) * epochs / math.ceil(epochs)))]


class Translation(nn.Module):
    """The model and its loss."""

    _keys_to_ignore_on_save = None  # as in `Objective`

    def __init__(self, model: MarianMTModel, label_smoothing: float) -> None:
        super().__init__()
        self.model, self.label_smoothing = model, label_smoothing
        self.register_state_dict_post_hook(drop_aliases)  # type: ignore[no-untyped-call]

    def forward(self, input_ids: Tensor, attention_mask: Tensor, labels: Tensor) -> dict[str, Tensor]:
        """Return the mean cross-entropy in nats per target token.

        Ids and mask are (sentences, source tokens), labels (sentences, target tokens); no logits are computed for -100.
        """
        config = self.model.config
        shifted = shift_tokens_right(labels, config.pad_token_id, config.decoder_start_token_id)
        states = self.model.model(
            input_ids=input_ids, attention_mask=attention_mask, decoder_input_ids=shifted, use_cache=False
        ).last_hidden_state
        real = labels != -100
        logits = self.model.lm_head(states[real]) + self.model.final_logits_bias
        return {
            "loss": nn.functional.cross_entropy(logits, labels[real], label_smoothing=self.label_smoothing)
        }


def train(pairs: Pairs, options: argparse.Namespace, tokenizer: MarianTokenizer, model: MarianMTModel) -> None:
    """Train the model, from its newest checkpoint if there is one."""
    rows = ParallelIds(pairs, tokenizer, options.max_tokens)
    batches = token_batches(rows, budget=options.batch_tokens, epochs=options.epochs, seed=options.seed)
    checkpoints = str(options.out / "checkpoints")
    schedule: dict[str, Any] = {"num_decay_steps": round(len(batches) * options.decay), "decay_type": "1-sqrt"}
    settings = TrainingArguments(
        output_dir=checkpoints,
        max_steps=len(batches),
        learning_rate=options.lr,
        lr_scheduler_type="warmup_stable_decay",
        lr_scheduler_kwargs=schedule,
        warmup_steps=min(options.warmup_steps, len(batches) // 5),
        optim="adamw_torch_fused",
        adam_beta2=0.98,
        adam_epsilon=1e-9,
        bf16=options.precision == "bf16",
        use_cpu=not torch.cuda.is_available(),
        seed=options.seed,
        save_steps=options.save_steps,
        save_total_limit=2,
        logging_steps=100,
        remove_unused_columns=False,
        disable_tqdm=not os.isatty(2),
        log_level="error",
    )
    collator = DataCollatorForSeq2Seq(tokenizer)
    objective = Translation(model.float(), options.label_smoothing)
    trainer = Trainer(model=objective, args=settings, train_dataset=rows, data_collator=collator)
    loader = DataLoader(rows, batch_sampler=batches, collate_fn=collator)
    trainer.get_train_dataloader = lambda: trainer.accelerator.prepare(loader)
    trainer.remove_callback(PrinterCallback)  # it prints raw dictionaries to stdout
    trainer.train(
        resume_from_checkpoint=get_last_checkpoint(checkpoints) if Path(checkpoints).is_dir() else None
    )


if __name__ == "__main__":
    main()
