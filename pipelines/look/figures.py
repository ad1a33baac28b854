"""How statistics are written for a reader: what each is called, numbers short, histograms as a line of bars."""

from collections.abc import Mapping
from typing import Any

from pipelines.look.distribution import Histogram, Summary
from pipelines.look.statistics import CHRF, Statistics

MEASURES: Mapping[str, str] = {
    "words": "words",
    "characters": "characters",
    "target_fraction": "target fraction",
    "achieved_fraction": "achieved fraction",
    "edits": "edits",
    "alternatives": "alternatives",
    "length_ratio": "length, view / text",
    "chrf": "chrF, view ~ text",
}
PAIR_MEASURES: Mapping[str, str] = {
    "length_ratio": "length, b / a",
    "length_ratio_a": "length, a / text",
    "length_ratio_b": "length, b / text",
    "chrf": "chrF, b ~ a",
    "chrf_a": "chrF, a ~ text",
    "chrf_b": "chrF, b ~ text",
}
SHARES: Mapping[str, str] = {
    "pair": "have a pair",
    "with_view": "have a view",
    "unchanged": "view equals the sentence",
    "special_tokens": "view has a special token that the sentence has not",
    "pivot_is_text": "pivot equals the sentence",
    "words_changed": "words in recorded edits",
    "identical": "the two views are identical",
    "a_is_text": "view_a equals the sentence",
    "b_is_text": "view_b equals the sentence",
}
SAMPLED = frozenset({*CHRF, "words_changed"})
QUANTILE_NAMES: Mapping[str, str] = {"min": "min", "q05": "5%", "q25": "25%", "median": "median", "q75": "75%"} | {
    "q95": "95%",
    "max": "max",
}
BARS = " ▁▂▃▄▅▆▇█"


def figure(value: float | None) -> str:
    """A number in three digits or three decimals, from a hundred on without decimals; a dash for none."""
    if value is None:
        return "–"
    if abs(value) >= 100 or value == int(value):
        return f"{value:,.0f}"
    return f"{value:.3f}" if 0.001 <= abs(value) < 0.1 else f"{value:.3g}"


def percent(value: float | None) -> str:
    """A share as a percentage with one decimal; a dash for none."""
    return "–" if value is None else f"{100 * value:.1f}"


def bars(histogram: Histogram) -> str:
    """A histogram as one line: any count above none shows."""
    most = max(histogram.counts)
    return "".join(BARS[-(-(len(BARS) - 1) * count // most)] if most else BARS[0] for count in histogram.counts)


def measures(found: Statistics, kind: str) -> list[tuple[str, Summary]]:
    """The distributions with what they are called, those of the sample marked by a star, further columns last."""
    names = PAIR_MEASURES if kind == "pairs" else MEASURES
    known = [(names[name] + ("*" if name in SAMPLED else ""), found.measures.get(name)) for name in names]
    return [(name, summary) for name, summary in known if summary is not None] + [
        (f"column {name}", summary) for name, summary in found.scores.items()
    ]


def shares(found: Statistics) -> list[tuple[str, int, int, float | None]]:
    """The shares that are of anything: what it is called, how many, of how many, the share."""
    known = ((name, found.shares.get(name)) for name in SHARES)
    return [
        (SHARES[name] + ("*" if name in SAMPLED else ""), share.count, share.of, share.value)
        for name, share in known
        if share is not None and share.of
    ]


def part_cells(name: str, part: Statistics) -> tuple[str, ...]:
    """One combination of views in a line: rows, % identical, means of length ratio and chrF, self-BLEU."""
    means = (figure(part.measures[key].mean if key in part.measures else None) for key in ("length_ratio", "chrf"))
    bleu = figure(part.self_bleu.score if part.self_bleu else None)
    return (name, f"{part.rows:,}", percent(part.shares["identical"].value), *means, bleu)


def sampling(found: Statistics) -> str | None:
    """What stands for the star; None if nothing was sampled."""
    if not found.sampled:
        return None
    return f"* over {found.sampled:,} of {found.rows:,} rows, drawn with seed {found.seed}; chrF {found.chrf_signature}"


def flat(counts: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """Nested counts as lines: `reasons: too-long`."""
    lines: list[tuple[str, Any]] = []
    for key, value in counts.items():
        if isinstance(value, Mapping):
            lines += [(f"{key}: {name}", number) for name, number in value.items()]
        else:
            lines.append((key, value))
    return lines
