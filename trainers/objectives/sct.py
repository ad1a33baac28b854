"""SCT (Limkonchotiwat et al. 2023): one view's relations to a queue of vectors are predicted from the other view."""

from typing import Literal

from pydantic import Field

from trainers.settings import DropoutOptions, later, read_presets

READS = ("views", "text")
PRESETS = read_presets(__file__)
build = later("trainers.networks.sct:Sct")


class PARAMS(DropoutOptions):
    """The options of SCT."""

    queue: int = Field(65_536, ge=0)
    """Reference vectors in each of the two queues (k)."""
    reference_temperature: float = Field(0.04, gt=0)
    """Temperature of the references' relations (t_ref)."""
    online_temperature: float = Field(0.05, gt=0)
    """Temperature of the online vectors' relations (t_on)."""
    norm: Literal["batch", "none"] = "batch"
    """Layer before each ReLU of the projector."""
    width: int = Field(10, ge=1)
    """Hidden width of the projector in multiples of the dimension."""
    projector_lr: float = Field(1.0, gt=0, le=1e6)
    """Learning rate of the projector in multiples of --lr."""
    directions: Literal["mean", "sum"] = "mean"
    """How the losses of both directions become one."""
