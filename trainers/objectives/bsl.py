"""BSL (Zhang et al. 2021): predict the target network's vector of one view from the online network's of the other."""

from typing import Literal

from pydantic import Field

from trainers.settings import MOST, DropoutOptions, later, read_presets

READS = ("views",)
PRESETS = read_presets(__file__)
build = later("trainers.networks.bsl:Bsl")


class PARAMS(DropoutOptions):
    """The options of BSL."""

    momentum: float = Field(0.999, ge=0, le=1)
    """Delta of Eq. 4; 1 never moves the target."""
    predictor: Literal["paper", "code"] = "paper"
    """One MLP with two BatchNorms; three with one."""
    width: int = Field(8, ge=1)
    """Hidden width of the predictor in multiples of the dimension (k)."""
    predictor_warmup: int = Field(0, ge=0, le=MOST)
    """Steps that first fit the predictor alone."""
    predictor_lr: float = Field(1.0, gt=0, le=1e6)
    """Learning rate of the predictor in multiples of --lr."""
    distance: Literal["cosine", "squared"] = "cosine"
    """Eq. 2, or the squared one, 4 x Eq. 2 + 4."""
