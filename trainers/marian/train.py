"""`train marian`: train or fine-tune MarianMT on parallel text, and keep it in the run's folder."""

import json
import os
import shutil
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import typer
import xxhash
from pydantic import Field
from safetensors import SafetensorError

from pipelines.storage.files import write_if_changed
from pipelines.storage.lock import locked_folder
from pipelines.terminal.console import InputError, TwinviewsError, note, show
from trainers.encoders.location import first_line, quiet
from trainers.settings import Options, checked, flags_of, with_flags
from trainers.training import directory

if TYPE_CHECKING:
    from transformers import MarianMTModel, MarianTokenizer

    from trainers.marian.translation import Pairs

SHAPE = {"d_model", "ffn", "heads", "encoder_layers", "decoder_layers", "dropout"}
RUN = {"parallel", "model", "tokenizer", "out", "precision", "save_steps", "limit", "dry_run", "overwrite"}
"""Options that are not in the recipe under their own names; nor are those of `SHAPE`, which are there together."""
MADE = (*directory.LEFTOVERS, "tokenizer", "tokenizer.tmp", "model")  # what a run writes besides its recipe


class MarianOptions(Options):
    """The options of `train marian`."""

    parallel: list[Path] | None = Field(None, description="A file of source<TAB>target lines; repeat it for more.")
    model: str | None = Field(None, description="A MarianMT directory or Hub name to fine-tune; without it a new one.")
    tokenizer: Path | None = Field(None, description="A folder with the tokenizer to share; without it one is built.")
    out: Path = Field(Path("runs/marian"), description="Folder of the run.")
    vocabulary: int = Field(8_000, ge=100, description="Ids of a new joint vocabulary.")
    d_model: int = Field(256, ge=8, description="Width of a new model.")
    ffn: int = Field(768, ge=8, description="Inner width of its feed-forward layers.")
    heads: int = Field(4, ge=1, description="Attention heads of every layer.")
    encoder_layers: int = Field(4, ge=1, description="Layers of the encoder.")
    decoder_layers: int = Field(2, ge=1, description="Layers of the decoder.")
    dropout: float = Field(0.0, ge=0, le=0.9, description="Dropout rate of a new model.")
    epochs: float = Field(1.5, ge=0.01, description="Passes over the pairs; with more, an earlier run continues.")
    batch_tokens: int = Field(2_048, ge=1, description="Target tokens a batch, padding included.")
    lr: float = Field(1e-3, ge=0, description="Learning rate after the warm-up.")
    warmup_steps: int = Field(500, ge=0, description="Steps over which the rate rises from 0.")
    decay: float = Field(0.25, ge=0, le=1, description="Last share of the steps, over which the rate falls to 0.")
    label_smoothing: float = Field(0.1, ge=0, le=0.9, description="Share of the target spread over all tokens.")
    max_tokens: int = Field(96, ge=2, le=512, description="Longer sides are cut.")
    precision: Literal["bf16", "fp32"] = Field("bf16", description="bf16 (autocast) or fp32.")
    save_steps: int = Field(500, ge=1, description="Steps between checkpoints.")
    limit: int | None = Field(None, ge=1, description="Use only the first N pairs.")
    seed: int = Field(1, ge=0, description="Decides weights and order.")
    dry_run: bool = Field(False, description="Say what would be done; write nothing.")
    overwrite: bool = Field(False, description="Replace an earlier run in --out.")


def _run(_: typer.Context, **values: Any) -> None:  # noqa: ANN401 - fields of MarianOptions
    """Train a MarianMT model on parallel text, or fine-tune one.

    A source may begin with a target language code (">>de<< A dog."), as in OPUS-MT's multilingual models. The same
    command resumes an interrupted run from its last checkpoint.

    Example: train marian --parallel en-de.tsv --out runs/en-de
    """
    options = checked(MarianOptions, values)
    if not options.parallel:
        raise InputError("no parallel text: give --parallel FILE with lines of source<TAB>target")
    if options.d_model % (2 * options.heads):
        raise InputError(f"--d-model {options.d_model} is not divisible by twice --heads {options.heads}")
    if (count := os.environ.get("WORLD_SIZE", "1")) != "1":
        raise InputError(f"train marian trains in one process, not in {count}: start it without torchrun")
    from trainers.marian.translation import read_parallel

    pairs = [pair for path in options.parallel for pair in read_parallel(path)][: options.limit]
    if options.dry_run:
        show(f"{len(pairs):,} pairs, {options.epochs} epochs -> {options.out / 'model'}; nothing written")
        return
    show(str(train_marian(pairs, options)))


marian = with_flags(_run, {"": flags_of(MarianOptions)})


def train_marian(pairs: "Pairs", options: MarianOptions) -> Path:
    """Train on (source, target) pairs; write the model to `options.out / "model"` in float16 and return that folder.

    An interrupted run resumes from its last checkpoint; with other epochs, from the last one of the time when the rate
    was the same under both. Raises InputError: the folder holds something else or is in use, the start or the tokenizer
    cannot be loaded, or there is too little text. Raises TwinviewsError: the disk is full, or weights are not finite.
    """
    from transformers import MarianMTModel, MarianTokenizer, set_seed

    from trainers.marian.translation import build_tokenizer, new_model

    out, tokenizer_folder = options.out, options.out / "tokenizer"
    recipe = {
        "start": options.model,
        "vocabulary_from": str(options.tokenizer) if options.tokenizer else None,
        "shape": options.model_dump(include=SHAPE),
        "bf16": options.precision == "bf16",
        **options.model_dump(exclude=SHAPE | RUN),
        "pairs": len(pairs),
        "text": xxhash.xxh64_hexdigest("\n".join(f"{source}\t{target}" for source, target in pairs).encode()),
    }
    with directory.resumable(out), locked_folder(out):
        earlier = directory.existing_recipe(out, ("vocabulary_from", "batch_tokens", "text"))
        resumed = earlier is not None and not options.overwrite
        if earlier is not None and resumed:
            directory.check_same(out, {**earlier, "epochs": None}, {**recipe, "epochs": None})
        set_seed(options.seed)
        source = options.model or (tokenizer_folder if resumed and tokenizer_folder.is_dir() else options.tokenizer)
        if isinstance(source, Path) and not source.is_dir():
            raise InputError(f"--tokenizer {source}: no such folder")
        tokenizer = _load(MarianTokenizer, source) if source else build_tokenizer(pairs, options.vocabulary)
        start = options.model and _load(MarianMTModel, options.model, use_safetensors=True)
        model = start or new_model(recipe["shape"], tokenizer)
        # Only now: what cannot be trained must leave no folder behind and replace no other run.
        if not resumed:
            directory.begin(out, recipe, MADE)
        if not options.model and not tokenizer_folder.exists():
            tokenizer.save_pretrained(out / "tokenizer.tmp")
            (out / "tokenizer.tmp").rename(tokenizer_folder)
        _train(pairs, options, tokenizer, model, recipe, earlier["epochs"] if earlier and resumed else options.epochs)
        if not all(parameter.isfinite().all() for parameter in model.half().parameters()):
            raise TwinviewsError(f"the weights became NaN or too large for float16: lower --lr ({options.lr:g})")
        with quiet():
            for part in (model, tokenizer):
                part.save_pretrained(out / "model")
    return out / "model"


def _load(kind: Any, start: str | Path, **options: Any) -> Any:  # noqa: ANN401 - transformers is untyped here
    try:
        with quiet():
            return kind.from_pretrained(str(start), **options)
    except (OSError, ValueError, TypeError, SafetensorError) as error:
        problem = f"{first_line(error)}: give a directory or a Hub name with a tokenizer and safetensors"
        raise InputError(f"cannot load MarianMT from {str(start)!r}: {problem}") from error


def _phases(steps: int, options: MarianOptions) -> tuple[int, int]:
    """Return how many steps the warm-up and the decay take, of all steps."""
    return min(options.warmup_steps, steps // 5), round(steps * options.decay)


def _rewind(options: MarianOptions, earlier_steps: int, steps: int) -> None:
    """Remove the checkpoints from after the rates of a run of `earlier_steps` and of one of `steps` part."""
    (earlier_warmup, earlier_decay), (warmup, decay) = _phases(earlier_steps, options), _phases(steps, options)
    last = min(steps - decay, earlier_steps - earlier_decay) if warmup == earlier_warmup else 0
    for path in directory.checkpoints(options.out / directory.CHECKPOINTS):
        if directory.step_of(path) > last:
            shutil.rmtree(path)


def _train(
    pairs: "Pairs", options: MarianOptions, tokenizer: "MarianTokenizer", model: "MarianMTModel",
    recipe: Mapping[str, Any], earlier_epochs: float,
) -> None:  # fmt: skip
    """Train the model; checkpoints of `earlier_epochs` that do not fit the options' are removed first."""
    import torch
    from torch.utils.data import DataLoader
    from transformers import DataCollatorForSeq2Seq, PrinterCallback, Trainer, TrainingArguments

    from trainers.marian.translation import KeepBeforeDecay, ParallelIds, Translation, token_batches

    rows = ParallelIds(pairs, tokenizer, options.max_tokens)
    make_batches = partial(token_batches, rows, budget=options.batch_tokens, seed=options.seed)
    batches = make_batches(epochs=options.epochs)
    warmup, decay = _phases(len(batches), options)
    if earlier_epochs != options.epochs:
        _rewind(options, len(make_batches(epochs=earlier_epochs)), len(batches))
        write_if_changed(options.out / directory.RECIPE, json.dumps(recipe, indent=2, ensure_ascii=False) + "\n")
    arguments = TrainingArguments(
        output_dir=str(options.out / directory.CHECKPOINTS),
        max_steps=len(batches),
        learning_rate=options.lr,
        lr_scheduler_type="warmup_stable_decay",
        lr_scheduler_kwargs={"num_decay_steps": decay, "decay_type": "1-sqrt"},
        warmup_steps=warmup,
        optim="adamw_torch_fused",
        adam_beta2=0.98,
        adam_epsilon=1e-9,
        bf16=options.precision == "bf16",
        use_cpu=not torch.cuda.is_available(),
        seed=options.seed,
        save_steps=options.save_steps,
        logging_steps=100,
        remove_unused_columns=False,
        disable_tqdm=not os.isatty(2),
        log_level="error",
    )
    objective, collator = Translation(model.float(), options.label_smoothing), DataCollatorForSeq2Seq(tokenizer)
    trainer = Trainer(model=objective, args=arguments, train_dataset=rows, data_collator=collator)
    loader = DataLoader(rows, batch_sampler=batches, collate_fn=collator)
    trainer.get_train_dataloader = lambda: trainer.accelerator.prepare(loader)
    trainer.remove_callback(PrinterCallback)  # it prints raw dictionaries to stdout
    trainer.add_callback(KeepBeforeDecay(len(batches) - decay))
    checkpoint = directory.newest_checkpoint(options.out)
    if earlier_epochs != options.epochs:
        step = directory.step_of(checkpoint) if checkpoint else 0
        note(f"--epochs was {earlier_epochs:g}, is now {options.epochs:g}: trains again from step {step}")
    trainer.train(resume_from_checkpoint=str(checkpoint) if checkpoint else None)
