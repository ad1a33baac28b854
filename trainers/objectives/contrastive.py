"""Contrastive learning: BSL's in-batch baseline (Zhang et al. 2021, Table 7) and SimCSE (Gao et al. 2021).

If the pairs have hard negatives (columns `negative`, `negative_1` ...), each row is contrasted with all of the
batch's.
"""

from typing import Literal

from pydantic import Field

from trainers.settings import DropoutOptions, later, read_presets

READS = ("views", "text")
PRESETS = read_presets(__file__)
build = later("trainers.networks.contrastive:Contrastive")


class PARAMS(DropoutOptions):
    """The options of contrastive learning."""

    temperature: float = Field(0.05, gt=0)
    """Temperature of the cosines."""
    negatives: Literal["both", "right"] = "both"
    """Contrast views of both sides, or left with right."""
    positives: Literal["labels"] | None = None
    """labels: all rows with the same label are positives; none: a row's own pair alone."""
    twice: bool = False
    """Pair each sentence with itself; dropout alone makes the views."""
    head: bool = False
    """Train through a linear layer with tanh that the saved encoder lacks."""
    keep_head: bool = False
    """Put such a layer on an encoder without a Dense layer, and save it too."""
    guide: str | None = None
    """Encoder that finds false negatives, which are left out (GISTEmbed)."""
    needs_negatives: bool = False
    """Refuse pairs of which none has a hard negative."""
    retain: float = Field(0.0, ge=0)
    """Weight of the distance to the original vectors, which then guide."""
    relate: float = Field(0.0, ge=0)
    """Weight of the squared change of the cosines between a batch's views."""

    def other_encoders(self) -> dict[str, str]:
        """Return the guide, if one is named."""
        return {"guide": self.guide} if self.guide else {}

    def reads_labels(self) -> bool:
        """Whether rows of one label are positives of each other."""
        return self.positives == "labels"
