"""By how much the differences of two encoders vary from item to item: the typical spreads of `train evaluate --plan`.

    python benchmarks/spreads.py TABLE ... [--encoder all-MiniLM-L6-v2]

TABLE is what `train evaluate --judge` takes. The encoder is put beside itself whitened on the table's texts, mixed with
its own vectors (a small change) and alone (a large one). Prints, for the mean of the figures, the standard deviation of
an item's difference in points.
"""

from __future__ import annotations

import argparse
import math
from functools import partial

import numpy as np
from numpy.typing import NDArray

import trainers
from trainers.encoders.functions import open_encoder
from trainers.encoders.vectors import cached, unit
from trainers.scores.statistics.verdict import mean_of, pairs_of

SMALL, LARGE = 0.3, 1.0


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tables", nargs="+")
    parser.add_argument("--encoder", default="all-MiniLM-L6-v2")
    options = parser.parse_args()
    encoder = cached(open_encoder(options.encoder))
    for table in options.tables:
        texts = list[str]()

        def vectors(batch: list[str], texts: list[str] = texts) -> NDArray[np.float32]:
            texts += batch
            return encoder.encode(batch)

        def whitened(batch: list[str], share: float, texts: list[str] = texts) -> NDArray[np.float32]:
            fitted = unit(encoder.encode(list(dict.fromkeys(texts))))
            centre = fitted.mean(axis=0)
            values, axes = np.linalg.eigh(np.cov((fitted - centre).T))
            scales = 1 / np.sqrt(np.maximum(values, values.max() / 1000))
            own = unit(encoder.encode(batch)) - share * centre
            return unit((1 - share) * own + share * unit(own @ axes * scales @ axes.T))

        before = trainers.judge(vectors, table)
        spreads = []
        for share in (SMALL, LARGE):
            after = trainers.judge(partial(whitened, share=share), table)
            sides = (
                {"": {of.stored.title: of.estimate for of in side.sets.values()}} for side in (before, after)
            )
            change = mean_of(pairs_of(*sides))
            spreads.append(
                math.sqrt(change.estimate.variance * change.estimate.groups) if change else math.nan
            )
        print(f"{table}: {spreads[0]:.0f} to {spreads[1]:.0f} points", flush=True)


if __name__ == "__main__":
    main()
