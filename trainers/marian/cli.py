"""`train marian`: train or fine-tune a translation model on parallel text."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from pipelines.console import ConfigOption, InputError, note, show

Text = Annotated[
    list[Path] | None, typer.Option("--parallel", help="A file of source<TAB>target lines; may be given several times.")
]
Start = Annotated[
    str | None, typer.Option("--model", help="A MarianMT directory or Hub name to fine-tune; without it a new one.")
]
Vocabulary = Annotated[
    Path | None, typer.Option("--tokenizer", help="A folder with the tokenizer to share; without it one is built.")
]


def marian(
    parallel: Text = None,
    model: Start = None,
    tokenizer: Vocabulary = None,
    out: Annotated[Path, typer.Option(help="Folder of the run.")] = Path("runs/marian"),
    vocabulary: Annotated[int, typer.Option(help="Ids of a new joint vocabulary.", min=100)] = 8_000,
    d_model: Annotated[int, typer.Option(help="Width of a new model.", min=8)] = 256,
    ffn: Annotated[int, typer.Option(help="Inner width of its feed-forward layers.", min=8)] = 768,
    heads: Annotated[int, typer.Option(help="Attention heads of every layer.", min=1)] = 4,
    encoder_layers: Annotated[int, typer.Option(min=1)] = 4,
    decoder_layers: Annotated[int, typer.Option(min=1)] = 2,
    dropout: Annotated[float, typer.Option(min=0, max=0.9)] = 0.0,
    epochs: Annotated[
        float, typer.Option(help="Passes over the pairs; given more, a run that was interrupted goes on.", min=0.01)
    ] = 1.5,
    batch_tokens: Annotated[int, typer.Option(help="Target tokens a batch, padding included.", min=1)] = 2_048,
    lr: Annotated[float, typer.Option(help="Learning rate after the warm-up.", min=0)] = 1e-3,
    warmup_steps: Annotated[int, typer.Option(min=0)] = 500,
    decay: Annotated[
        float, typer.Option(help="Share of the steps, the last ones, over which the rate falls to 0.", min=0, max=1)
    ] = 0.25,
    label_smoothing: Annotated[float, typer.Option(min=0, max=0.9)] = 0.1,
    max_tokens: Annotated[int, typer.Option(help="Longer sides are cut.", min=2, max=512)] = 96,
    precision: Annotated[str, typer.Option(help="bf16 (autocast) or fp32.")] = "bf16",
    save_steps: Annotated[int, typer.Option(help="Steps between checkpoints.", min=1)] = 500,
    limit: Annotated[int | None, typer.Option(help="Use only the first N pairs.", min=1)] = None,
    seed: Annotated[int, typer.Option(min=0)] = 1,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would be done; write nothing.")] = False,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace an earlier run in --out.")] = False,
    config: ConfigOption = None,
) -> None:
    """Train a MarianMT model on parallel text, or fine-tune one.

    A source may begin with a target language code (">>de<< A dog."), as in OPUS-MT's multilingual models.
    An interrupted run goes on from its last checkpoint when the same command is given again.

    Example: train marian --parallel en-de.tsv --out runs/en-de
    """
    if not parallel:
        raise InputError("no parallel text: give --parallel FILE with lines of source<TAB>target")
    if precision not in ("bf16", "fp32"):
        raise InputError(f"unknown --precision {precision!r}: choose bf16 or fp32")
    if d_model % (2 * heads):
        raise InputError(f"--d-model {d_model} is not divisible by twice --heads {heads}")
    if int(os.environ.get("WORLD_SIZE", "1")) > 1:
        raise InputError(
            f"train marian trains in one process, not in {os.environ['WORLD_SIZE']}: start it without torchrun"
        )
    from trainers.marian.parallel import read_parallel

    pairs = [pair for path in parallel for pair in read_parallel(path)][:limit]
    if dry_run:
        show(f"{len(pairs):,} pairs, {epochs} epochs -> {out / 'model'}; nothing written")
        return
    from trainers.marian.model import Shape
    from trainers.marian.train import MarianRecipe, train_marian

    recipe = MarianRecipe(
        start=model,
        vocabulary_from=str(tokenizer) if tokenizer else None,
        vocabulary=vocabulary,
        shape=Shape(d_model, ffn, heads, encoder_layers, decoder_layers, dropout),
        epochs=epochs,
        batch_tokens=batch_tokens,
        lr=lr,
        warmup_steps=warmup_steps,
        decay=decay,
        label_smoothing=label_smoothing,
        max_tokens=max_tokens,
        seed=seed,
        bf16=precision == "bf16",
    )
    folder = train_marian(pairs, out, recipe, save_steps=save_steps, overwrite=overwrite)
    note(f"the model is in {folder}")
    show(str(folder))
