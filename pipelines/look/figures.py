"""How numbers are written for a reader."""

from collections.abc import Mapping
from typing import Any

from pipelines.look.statistics import Statistics


def figure(value: float) -> str:
    """A number in three digits or three decimals, from a hundred on without decimals; a dash for none."""
    if value != value:
        return "–"
    if abs(value) >= 100 or value == int(value):
        return f"{value:,.0f}"
    return f"{value:.3f}" if 0.001 <= abs(value) < 0.1 else f"{value:.3g}"


def percent(value: float) -> str:
    """A share as a percentage with one decimal."""
    return f"{100 * value:.1f}"


def flat(counts: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """Nested counts as lines: `reasons: too-long`."""
    lines: list[tuple[str, Any]] = []
    for key, value in counts.items():
        nested = isinstance(value, Mapping)
        lines += [(f"{key}: {name}", number) for name, number in value.items()] if nested else [(key, value)]
    return lines


def sampling(found: Statistics) -> str:
    """Which rows the statistics are of, and by which chrF and BLEU."""
    signatures = [f"; chrF {found.chrf_signature}"] if found.chrf_signature else []
    signatures += [f"; self-BLEU {found.self_bleu[1]}"] if found.self_bleu else []
    drawn = "all" if found.sampled == found.rows else f"{found.sampled:,} of"
    seed = "" if found.sampled == found.rows else f", drawn with seed {found.seed}"
    return f"statistics over {drawn} {found.rows:,} rows{seed}{''.join(signatures)}"
