"""IS-BERT (Zhang et al. 2020): maximise the mutual information of a sentence's vector and its own n-grams.

Give a task's own raw text as --text, as the paper does for AFS and SentEval; fine-tune on graded pairs
afterwards (ssl + ft) with `train regression --encoder runs/isbert`.
"""

from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from trainers.settings import ObjectiveOptions, later, read_presets

READS = ("text",)
PRESETS = read_presets(__file__)
build = later("trainers.networks.isbert:IsBert")


WIDTHS = (1, 3, 5)
FILTERS = 256


def _odd(widths: tuple[int, ...]) -> tuple[int, ...]:
    if not widths or any(width < 1 or width % 2 == 0 for width in widths):
        raise ValueError("a width must be odd: every token is the middle of its own n-gram")
    return widths


class PARAMS(ObjectiveOptions):
    """The options of IS-BERT."""

    widths: Annotated[tuple[int, ...], AfterValidator(_odd)] = WIDTHS
    """Odd width of a convolution."""
    filters: int = Field(FILTERS, ge=1)
    """Outputs of each convolution."""
    relu: bool = True
    """ReLU after the convolutions."""
    discriminator: Literal["learned", "dot"] = "learned"
    """Learned score, or the dot product."""
