"""Masked language modelling (Devlin et al. 2019), to adapt an encoder to a domain or to give it a masked-LM head."""

from pydantic import Field

from trainers.settings import ObjectiveOptions, later, read_presets

READS = ("text",)
PRESETS = read_presets(__file__)
build = later("trainers.networks.mlm:MaskedLm")


class PARAMS(ObjectiveOptions):
    """The options of masked language modelling."""

    masked: float = Field(0.15, gt=0, lt=1)
    """Share of a text's tokens to predict."""
    kept: float = Field(0.1, ge=0, le=0.5)
    """Share of those that stay as they are."""
    random: float = Field(0.1, ge=0, le=0.5)
    """Share of those that become a random token."""
