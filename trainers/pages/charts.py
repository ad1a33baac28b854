"""What a page draws: values that trainings logged as lines over the steps, and cosines as histograms."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

TITLES = {
    "loss": "Loss",
    "dev": "Development set, Spearman x 100",
    "learning_rate": "Learning rate",
    "alignment": "Alignment: distance of the two views",
    "uniformity": "Uniformity: lower is more even",
    "spread": "Spread: 0 is one direction for all",
    "isotropy": "Isotropy: 1 is even in all directions",
    "random_cosine": "Cosine of random pairs",
    "grad_norm": "Norm of the gradient",
}
"""What is logged, in the order of the page; the parts of the loss, which have names of their own, follow the loss."""
WIDTH, HEIGHT, BINS = 100, 40, 40


def charts(logs: Sequence[Sequence[Mapping[str, float]]]) -> list[dict[str, Any]]:
    """Draw what runs logged, a chart for each value with a line for each run, by the run's number, as an SVG's points.

    `logs` has the lines of each run's log, in their order.
    """
    keys = dict.fromkeys(key for log in logs for line in log for key in line if key not in ("step", "epoch"))
    drawn = []
    for key in ["loss", *(key for key in keys if key not in TITLES), *list(TITLES)[1:]]:
        runs = [[(line["step"], line[key]) for line in log if math.isfinite(line.get(key, math.nan))] for log in logs]
        points = np.array([point for run in runs for point in run])
        if not len(points):
            continue
        (first, low), (last, high) = points.min(0), points.max(0)
        across, up = WIDTH / ((last - first) or 1), (HEIGHT - 2) / ((high - low) or 1)
        lines = {
            number: " ".join(
                f"{(step - first) * across:.2f},{HEIGHT - 1 - (value - low) * up:.2f}" for step, value in run
            )
            for number, run in enumerate(runs)
            if run
        }
        title = TITLES.get(key, key.replace("_", " "))
        drawn.append({"title": title, "low": low, "high": high, "last": int(last), "lines": lines})
    return drawn


def histograms(sides: Sequence[Mapping[str, NDArray[np.float64]]]) -> tuple[float, list[dict[str, str]]]:
    """Draw the cosines of groups of pairs, before and after, on one scale; each group has the same area.

    Returns the left end of the scale, whose right end is 1, and for each side the points of a polygon by group.
    """
    low = math.floor(10 * min(float(values.min()) for side in sides for values in side.values())) / 10
    edges = np.linspace(low, 1 + 1e-9, BINS + 1)
    shares = [{name: np.histogram(values, edges)[0] / len(values) for name, values in side.items()} for side in sides]
    most = max(float(share.max()) for side in shares for share in side.values())
    xs = np.repeat(np.linspace(0, WIDTH, BINS + 1), 2)
    outlines = []
    for side in shares:
        heights = {name: np.concatenate([[0], np.repeat(share / most, 2), [0]]) for name, share in side.items()}
        outlines.append(
            {
                name: " ".join(f"{x:.2f},{HEIGHT - y * (HEIGHT - 1):.2f}" for x, y in zip(xs, ys, strict=True))
                for name, ys in heights.items()
            }
        )
    return low, outlines
