"""Regression of two vectors' cosine on graded pairs (Reimers and Gurevych 2019), with IS-BERT's ssl + ft and ft."""

from trainers.settings import ObjectiveOptions, later, read_presets

READS = ("graded",)
PRESETS = read_presets(__file__)
build = later("trainers.networks.regression:Regression")


class PARAMS(ObjectiveOptions):
    """The options of regression."""

    cnn: bool = False
    """Start with IS-BERT's fresh CNN (widths 1, 3, 5) on an encoder without one."""
