"""The options of `train marian`."""

from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from trainers.flags import Options

SHAPE = {"d_model", "ffn", "heads", "encoder_layers", "decoder_layers", "dropout"}
PLAIN = {
    *("vocabulary", "epochs", "batch_tokens", "lr", "warmup_steps"),
    *("decay", "label_smoothing", "max_tokens", "seed"),
}
"""Options that stand in the recipe by their own names; those of `SHAPE` stand there together."""


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
        return {
            "start": self.model,
            "vocabulary_from": str(self.tokenizer) if self.tokenizer else None,
            "shape": self.model_dump(include=SHAPE),
            "bf16": self.precision == "bf16",
            **self.model_dump(include=PLAIN),
        }
