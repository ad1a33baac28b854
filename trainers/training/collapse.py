"""What a training's log shows of a collapse."""

from __future__ import annotations

from collections.abc import Mapping

COLLAPSED = 0.05
"""Below this spread the mean cosine between sentences is above 0.997."""

FALLEN = 5.0
"""So many points of Spearman below the untrained start, a score on the development set is no noise any more."""


def collapse(entry: Mapping[str, float], start: float | None) -> str | None:
    """Say what a log's entry shows of a collapse, None where it shows none.

    Args:
        entry: With `spread`, or with `dev`, a Spearman x 100.
        start: The development score before the training, where there is one.
    """
    if entry.get("spread", 1.0) < COLLAPSED:
        return f"spread {entry['spread']:.3f} (0 = all sentences have one direction)"
    if start is not None and entry.get("dev", start) < start - FALLEN:
        return f"dev score {entry['dev']:.2f}, untrained it was {start:.2f}"
    return None
