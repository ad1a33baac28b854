"""`train marian`: train or fine-tune a translation model on parallel text."""

import os
from pathlib import Path
from typing import Any, Literal

import typer
from pydantic import Field

from pipelines.console import InputError, note, show
from trainers.flags import Options, flags_of, with_flags


class MarianOptions(Options):
    """What `train marian` can be told."""

    parallel: list[Path] | None = Field(
        None, description="A file of source<TAB>target lines; may be given several times."
    )
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
    epochs: float = Field(
        1.5, ge=0.01, description="Passes over the pairs; given more, a run that was interrupted goes on."
    )
    batch_tokens: int = Field(2_048, ge=1, description="Target tokens a batch, padding included.")
    lr: float = Field(1e-3, ge=0, description="Learning rate after the warm-up.")
    warmup_steps: int = Field(500, ge=0, description="Steps over which the rate rises from 0.")
    decay: float = Field(
        0.25, ge=0, le=1, description="Share of the steps, the last ones, over which the rate falls to 0."
    )
    label_smoothing: float = Field(0.1, ge=0, le=0.9, description="Share of the target spread over all tokens.")
    max_tokens: int = Field(96, ge=2, le=512, description="Longer sides are cut.")
    precision: Literal["bf16", "fp32"] = Field("bf16", description="bf16 (autocast) or fp32.")
    save_steps: int = Field(500, ge=1, description="Steps between checkpoints.")
    limit: int | None = Field(None, ge=1, description="Use only the first N pairs.")
    seed: int = Field(1, ge=0, description="Decides weights and order.")
    dry_run: bool = Field(False, description="Say what would be done; write nothing.")
    overwrite: bool = Field(False, description="Replace an earlier run in --out.")

    def recipe(self) -> dict[str, Any]:
        """Return what decides the result beside the text, as it is written beside it."""
        shape = {"d_model", "ffn", "heads", "encoder_layers", "decoder_layers", "dropout"}
        plain = {
            *("vocabulary", "epochs", "batch_tokens", "lr", "warmup_steps"),
            *("decay", "label_smoothing", "max_tokens", "seed"),
        }
        return {
            "start": self.model,
            "vocabulary_from": str(self.tokenizer) if self.tokenizer else None,
            "shape": self.model_dump(include=shape),
            "bf16": self.precision == "bf16",
            **self.model_dump(include=plain),
        }


def _run(_: typer.Context, **values: Any) -> None:  # noqa: ANN401 - fields of MarianOptions
    """Train a MarianMT model on parallel text, or fine-tune one.

    A source may begin with a target language code (">>de<< A dog."), as in OPUS-MT's multilingual models.
    An interrupted run goes on from its last checkpoint when the same command is given again.

    Example: train marian --parallel en-de.tsv --out runs/en-de
    """
    from trainers.settings import checked

    options = checked(MarianOptions, values)
    if not options.parallel:
        raise InputError("no parallel text: give --parallel FILE with lines of source<TAB>target")
    if options.d_model % (2 * options.heads):
        raise InputError(f"--d-model {options.d_model} is not divisible by twice --heads {options.heads}")
    count = int(os.environ.get("WORLD_SIZE", "1"))
    if count > 1:
        raise InputError(f"train marian trains in one process, not in {count}: start it without torchrun")
    from trainers.marian.text import read_parallel
    from trainers.marian.train import train_marian

    pairs = [pair for path in options.parallel for pair in read_parallel(path)][: options.limit]
    if options.dry_run:
        show(f"{len(pairs):,} pairs, {options.epochs} epochs -> {options.out / 'model'}; nothing written")
        return
    folder = train_marian(pairs, options)
    note(f"the model is in {folder}")
    show(str(folder))


marian = with_flags(_run, flags_of(MarianOptions))
