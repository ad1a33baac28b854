"""Whether the bundled smoke set orders encoders as STS-B dev does.

    python benchmarks/smoke_set.py --data ../shared/data starter:mean starter:cls all-MiniLM-L6-v2 runs/bsl

Each MODEL, or MODEL:POOLING, is scored on both as it is and whitened on the sample corpus: Spearman x 100. The last
line correlates the two columns (Spearman), over all rows.
"""

from __future__ import annotations

import argparse
from types import SimpleNamespace
from typing import TYPE_CHECKING

import numpy as np
import torch

from pipelines.sentences.sources import SAMPLE_FILE
from trainers.encoders.functions import open_encoder
from trainers.encoders.linear import fit_linear
from trainers.encoders.vectors import Vectors, cached
from trainers.evaluation.pairs import Pairs, read_pairs, score_pairs, spearman
from trainers.evaluation.suites import sample, sts

if TYPE_CHECKING:
    from collections.abc import Sequence


def whitened(vectors: Vectors, corpus: Sequence[str]) -> Vectors:
    """Return the vectors behind a layer that whitens those of the corpus."""
    width = vectors.matrix.shape[1]
    linear = torch.nn.Linear(width, width)
    fit_linear(SimpleNamespace(linear=linear), torch.from_numpy(vectors.of(corpus)))
    with torch.no_grad():
        return vectors._replace(matrix=linear(torch.from_numpy(vectors.matrix)).numpy())


def main() -> None:
    """Encode, score, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="+", metavar="MODEL[:POOLING]")
    parser.add_argument("--data", required=True)
    options = parser.parse_args()
    (smoke,) = sample.find("")
    dev = next(
        read_pairs(benchmark, options.data) for benchmark in sts.BENCHMARKS if benchmark.name == "stsb-dev"
    )
    if not isinstance(dev, Pairs):
        raise SystemExit(str(dev))
    corpus = list(dict.fromkeys(filter(None, SAMPLE_FILE.read_text(encoding="utf-8").splitlines())))
    rows = []
    for model in options.models:
        name, _, pooling = model.partition(":")
        encoder = cached(open_encoder(name, pooling=pooling or None))
        vectors = Vectors.encode(encoder, [*smoke.texts, *dev.texts, *corpus])
        for kind, given in (("", vectors), (", whitened", whitened(vectors, corpus))):
            scores = [score_pairs(pairs.subsets, given).metrics["all"] or 0.0 for pairs in (smoke, dev)]
            rows.append(scores)
            print(f"{model + kind:50} {scores[0]:8.2f} {scores[1]:8.2f}", flush=True)
    agreement = spearman(*np.array(rows).T)
    print(f"Spearman of the two columns over {len(rows)} rows: {agreement:.3f}")


if __name__ == "__main__":
    main()
