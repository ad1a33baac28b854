"""How closely two encoders follow the words that sentences share, set by set; why a span mask helps here, hurts there.

    python benchmarks/word_overlap.py --data ../shared/data --first runs/mirror-1 runs/mirror-2 --second runs/no-mask-1

For each subset of the `sts` suite: Spearman x 100 with the human grades of the word overlap (Jaccard), of the first
encoders and of the second; and of either's cosines with the overlap. Cosines are averaged over the encoders of a side,
such as the seeds of one recipe. The last line correlates, over the subsets, the first's lead over the second with how
well the overlap alone judges.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from trainers.encoders.functions import open_encoder
from trainers.encoders.vectors import Vectors
from trainers.scores.pairs import Pair, Pairs, read_pairs, spearman
from trainers.scores.suites import sts

if TYPE_CHECKING:
    from numpy.typing import NDArray


def overlap(pair: Pair) -> float:
    """Return the share of the words of either sentence that both have."""
    one, other = (set(re.findall(r"\w+", text.lower())) for text in (pair.first, pair.second))
    return len(one & other) / max(1, len(one | other))


def mean_cosines(models: Sequence[Path], sets: Sequence[Pairs]) -> dict[tuple[str, str], NDArray[np.float64]]:
    """Return the cosines of each subset's pairs, averaged over the models."""
    texts = [text for graded in sets for text in graded.texts]
    encoded = [Vectors.encode(open_encoder(str(model), precision="bf16"), texts) for model in models]
    return {
        (graded.title, name): np.mean(
            [
                vectors.cosines([pair.first for pair in pairs], [pair.second for pair in pairs])
                for vectors in encoded
            ],
            axis=0,
        )
        for graded in sets
        for name, pairs in graded.subsets.items()
    }


def percent(
    first: Sequence[float] | NDArray[np.float64], second: Sequence[float] | NDArray[np.float64]
) -> float:
    """Return Spearman x 100."""
    value = spearman(first, second)
    return float("nan") if value is None else 100 * value


def main() -> None:
    """Encode, compare, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--first", type=Path, nargs="+", required=True)
    parser.add_argument("--second", type=Path, nargs="+", required=True)
    options = parser.parse_args()
    sets = [item for each in sts.BENCHMARKS if isinstance(item := read_pairs(each, str(options.data)), Pairs)]
    first, second = (mean_cosines(models, sets) for models in (options.first, options.second))
    print(
        "| subset | pairs | overlap | first | second | first - second | first ~ overlap | second ~ overlap |"
    )
    print("|---|--:|--:|--:|--:|--:|--:|--:|")
    leads, judgements = [], []
    for graded in sets:
        for name, pairs in graded.subsets.items():
            key, gold, shared = (
                (graded.title, name),
                [pair.gold for pair in pairs],
                [overlap(pair) for pair in pairs],
            )
            judged, one, other = (percent(gold, values) for values in (shared, first[key], second[key]))
            follows = [percent(shared, cosines[key]) for cosines in (first, second)]
            leads.append(one - other)
            judgements.append(judged)
            cells = " | ".join(f"{value:.1f}" for value in (judged, one, other, one - other, *follows))
            print(f"| {graded.title} {name} | {len(pairs)} | {cells} |", flush=True)
    correlation = percent(leads, judgements) / 100
    print(
        f"\nrank correlation of `first - second` with `overlap` over {len(leads)} subsets: {correlation:.2f}"
    )


if __name__ == "__main__":
    main()
