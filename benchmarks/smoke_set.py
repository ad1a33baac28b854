"""Whether the bundled smoke set orders encoders as STS-B dev does.

    python benchmarks/smoke_set.py --data ../shared/data starter:mean starter:cls all-MiniLM-L6-v2 runs/bsl

Each MODEL, or MODEL:POOLING, is scored on both as it is and whitened on the sample corpus, and TF-IDF of characters
beside them: Spearman x 100. The last line correlates the two columns (Spearman), over all rows.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from types import SimpleNamespace
from typing import TYPE_CHECKING, NamedTuple

import torch

from pipelines.base.tables.sources import SAMPLE_FILE
from trainers.encoders.functions import open_encoder
from trainers.encoders.linear import fit_linear
from trainers.encoders.vectors import Vectors
from trainers.scores.pairs import Pairs, read_pairs, score_pairs, spearman
from trainers.scores.suites import sample, sts
from trainers.scores.tfidf import TfidfVectors

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


class Row(NamedTuple):
    """An encoder and its Spearman x 100 on the smoke set and on STS-B dev."""

    encoder: str
    smoke: float
    dev: float


def whitened(vectors: Vectors, corpus: Sequence[str]) -> Vectors:
    """Return the vectors behind a layer that whitens those of the corpus."""
    width = vectors.matrix.shape[1]
    linear = torch.nn.Linear(width, width)
    fit_linear(SimpleNamespace(linear=linear), torch.from_numpy(vectors.of(corpus)))
    with torch.no_grad():
        return replace(vectors, matrix=linear(torch.from_numpy(vectors.matrix)).numpy())


def figure(pairs: Pairs, vectors: Vectors) -> float:
    """Return Spearman x 100 of the cosines and the grades, 0 where all cosines are equal."""
    return score_pairs(pairs.subsets, vectors).metrics["all"] or 0.0


def tfidf_figure(pairs: Pairs) -> float:
    """Return Spearman x 100 of the grades and the cosines of TF-IDF, fitted to the set's own texts."""
    graded = [pair for subset in pairs.subsets.values() for pair in subset]
    first, second, grades = zip(*graded, strict=True)
    return 100 * (spearman(grades, TfidfVectors(pairs.texts).similarities(first, second)) or 0.0)


def rows(models: Sequence[str], smoke: Pairs, dev: Pairs, corpus: Sequence[str]) -> Iterator[Row]:
    """Yield a row for TF-IDF, then two for each model: as it is, and whitened on the corpus."""
    yield Row("TF-IDF", tfidf_figure(smoke), tfidf_figure(dev))
    for model in models:
        name, _, pooling = model.partition(":")
        encoder = open_encoder(name, pooling=pooling or None)
        vectors = Vectors.encode(encoder, [*smoke.texts, *dev.texts, *corpus])
        yield Row(model, figure(smoke, vectors), figure(dev, vectors))
        white = whitened(vectors, corpus)
        yield Row(f"{model}, whitened", figure(smoke, white), figure(dev, white))


def agreement(scored: Sequence[Row]) -> float:
    """Return Spearman's rho in [-1, 1] of the rows' two figures; NaN if one never varies."""
    rho = spearman([row.smoke for row in scored], [row.dev for row in scored])
    return float("nan") if rho is None else rho


def main() -> None:
    """Encode, score, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="+", metavar="MODEL[:POOLING]")
    parser.add_argument("--data", required=True)
    options = parser.parse_args()
    (smoke,) = sample.find("")
    (benchmark,) = (benchmark for benchmark in sts.BENCHMARKS if benchmark.name == "stsb-dev")
    dev = read_pairs(benchmark, options.data)
    if not isinstance(dev, Pairs):
        raise SystemExit(str(dev))
    corpus = list(dict.fromkeys(filter(None, SAMPLE_FILE.read_text(encoding="utf-8").splitlines())))
    print(f"{'encoder':50} {'smoke':>8} {'dev':>8}")
    scored = []
    for row in rows(options.models, smoke, dev, corpus):
        scored.append(row)
        print(f"{row.encoder:50} {row.smoke:8.2f} {row.dev:8.2f}", flush=True)
    print(f"Spearman of the two columns over {len(scored)} rows: {agreement(scored):.3f}")


if __name__ == "__main__":
    main()
