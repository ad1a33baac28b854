"""Mirror-BERT (Liu et al. 2021): tell a string and its own corrupted copy from all other strings of the batch.

The presets for sentences use the mean over the tokens, as the paper does with BERT. For RoBERTa it
uses the first token: add --pooling cls (and --drophead 0.05 to the preset drophead).
"""

from typing import Literal

from pydantic import Field

from trainers.settings import ObjectiveOptions, later, read_presets

READS = ("text", "views", "words")
PRESETS = read_presets(__file__)
build = later("trainers.networks.mirror:Mirror")


class PARAMS(ObjectiveOptions):
    """The options of Mirror-BERT."""

    loss: Literal["infonce", "ms"] = "infonce"
    """InfoNCE, or multi-similarity over hard triplets."""
    temperature: float = Field(0.04, gt=0)
    """Temperature of the cosines in InfoNCE."""
    span: int = Field(5, ge=0)
    """Characters masked in one copy of each string; 0 masks none."""
    dropout: float = Field(0.1, ge=0, lt=1)
    """Rate of every dropout of the encoder, attention included."""
    drophead: float = Field(0.0, ge=0, lt=1)
    """Share of attention heads dropped; with --dropout 0."""
    controlled: bool = False
    """Give both copies the same dropout masks; needs --span 0."""
    compat: bool = False
    """Masks and negatives as in the authors' code."""
