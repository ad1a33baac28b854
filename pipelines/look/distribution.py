"""Numbers that come in batches, summed up in bounded memory: mean, quantiles, a histogram."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray

QUANTILES = {"min": 0.0, "q05": 0.05, "q25": 0.25, "median": 0.5, "q75": 0.75, "q95": 0.95, "max": 1.0}
DIGITS = 4
BINS = 20


@dataclass(frozen=True, slots=True)
class Histogram:
    """Counts in bins of equal width between `low` and `high`; what lies beyond is in the outermost bins.

    Whole numbers have bins of one or more of them, from half below the lowest to half above the highest.
    """

    low: float
    high: float
    counts: tuple[int, ...]
    whole: bool = False

    @property
    def ends(self) -> tuple[float, float]:
        """What to write below its ends."""
        return (self.low + 0.5, self.high - 0.5) if self.whole else (self.low, self.high)

    def as_dict(self) -> dict[str, Any]:
        """It as JSON."""
        return {"low": self.low, "high": self.high, "counts": list(self.counts)}


@dataclass(frozen=True, slots=True)
class Summary:
    """Numbers summed up; the mean, the lowest and the highest are exact, other quantiles to four digits."""

    n: int
    mean: float
    quantiles: Mapping[str, float]
    histogram: Histogram

    def as_dict(self) -> dict[str, Any]:
        """It as JSON."""
        return {"n": self.n, "mean": self.mean, **self.quantiles, "histogram": self.histogram.as_dict()}


class Distribution:
    """Counts of the numbers seen, each to four significant digits, so that millions take no more room than thousands.

    Args:
        low: Where the histogram begins; with None at the 1% quantile.
        high: Where it ends; with None at the 99% quantile.
    """

    def __init__(self, low: float | None = None, high: float | None = None) -> None:
        self._low, self._high = low, high
        self._counts: Counter[float] = Counter()
        self._total = 0.0
        self._least, self._most = float("inf"), float("-inf")

    def add(self, values: "ArrayLike") -> None:
        """Take more numbers in; those that are not finite are left out."""
        import numpy as np

        numbers = np.asarray(values, dtype=np.float64)
        numbers = numbers[np.isfinite(numbers)]
        if not numbers.size:
            return
        self._total += float(numbers.sum())
        self._least, self._most = min(self._least, float(numbers.min())), max(self._most, float(numbers.max()))
        distinct, times = np.unique(_rounded(numbers), return_counts=True)
        self._counts.update(dict(zip(distinct.tolist(), times.tolist(), strict=True)))

    @property
    def n(self) -> int:
        """How many there are."""
        return self._counts.total()

    @property
    def is_blank(self) -> bool:
        """Whether there are none, or nothing but zeros."""
        return not self._counts or set(self._counts) == {0.0}

    def summary(self) -> Summary | None:
        """What is known of them; None if there are none."""
        import numpy as np

        if not self._counts:
            return None
        values = np.array(sorted(self._counts))
        times = np.array([self._counts[value] for value in values.tolist()])
        quantiles = dict(zip(QUANTILES, _quantiles(values, times, list(QUANTILES.values())), strict=True))
        quantiles |= {"min": self._least, "max": self._most}
        return Summary(self.n, self._total / self.n, quantiles, self._histogram(values, times))

    def _histogram(self, values: "NDArray[np.float64]", times: "NDArray[np.int64]") -> Histogram:
        import numpy as np

        first, last = _quantiles(values, times, [0.01, 0.99])
        low = first if self._low is None else self._low
        high = last if self._high is None else self._high
        bins = BINS
        whole = self._low is None and bool((values == np.round(values)).all())
        if whole:
            low, high = float(np.floor(low)), float(np.ceil(high))
            width = -(-(high - low + 1) // BINS)
            bins = int(-(-(high - low + 1) // width))
            low, high = low - 0.5, low - 0.5 + bins * width
        elif high <= low:  # all the same: one bar in the middle
            low, high = low - 0.5, low + 0.5
        counts, _ = np.histogram(np.clip(values, low, high), bins=bins, range=(low, high), weights=times)
        return Histogram(_short(low), _short(high), tuple(int(count) for count in counts), whole)


def _rounded(numbers: "NDArray[np.float64]") -> "NDArray[np.float64]":
    import numpy as np

    sizes = np.abs(numbers, where=numbers != 0, out=np.ones_like(numbers))
    scale = 10.0 ** np.clip(DIGITS - 1 - np.floor(np.log10(sizes)), -300, 300)
    rounded: NDArray[np.float64] = np.round(numbers * scale) / scale + 0.0
    return rounded


def _quantiles(values: "NDArray[np.float64]", times: "NDArray[np.int64]", wanted: Sequence[float]) -> list[float]:
    """Quantiles of `values`, ascending, of which there are `times` each; linear between neighbours, as numpy does."""
    import numpy as np

    ends = np.cumsum(times)
    places = np.array(wanted) * (int(ends[-1]) - 1)
    below, above = (values[np.searchsorted(ends, rounded(places), side="right")] for rounded in (np.floor, np.ceil))
    return [_short(value) for value in (below + (above - below) * (places - np.floor(places))).tolist()]


def _short(value: float) -> float:
    """A number without the noise of its last digits."""
    return float(f"{value:.6g}")
