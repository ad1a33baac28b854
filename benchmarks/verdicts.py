"""How often a table tells equal encoders apart, and how often it shows a gain of the size that it is said to show.

    python benchmarks/verdicts.py [--tables 60] [--sizes 5 12 20 50 300 1000 5000] [--kinds NAME ...]

Each table is drawn anew, and four encoders of it that are equal but for chance: their vectors, similarities or outcomes
share a part that is drawn once, and each has noise of its own. All six pairs are tested. Prints as Markdown, for
each figure and number of items, the percentage of pairs with p of at most 0.05, and after a slash that of the same
pairs after a gain of the printed size: some outcomes become perfect, other scores are shifted; nan if no encoder has so
much to gain. "none" is no verdict, because there are too few independent items.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from itertools import combinations
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import KMeans

from trainers.scores.statistics import significance
from trainers.scores.statistics.candidates import MIN_ITEMS, Pair, difference
from trainers.scores.statistics.estimates import Estimate, estimate
from trainers.scores.statistics.significance import LEVEL, sign_test, smallest_difference
from trainers.scores.task import Predictions

ENCODERS, DIMENSIONS, OWN = 4, 16, 0.5
SIZES = (5, 12, 20, 50, 300, 1000, 5000)
Floats: TypeAlias = "NDArray[np.float64]"
Draw: TypeAlias = Callable[[np.random.Generator, int], list[Predictions]]


def outcomes(rng: np.random.Generator, size: int, family: int = 1) -> list[Predictions]:
    """Return hits of about 80%; items of one family share noise, and each encoder's own noise too."""
    families = np.arange(size) // family
    count = families[-1] + 1
    shared = rng.standard_normal(count)[families] + 0.3 * rng.standard_normal(size)
    hits = []
    for _ in range(ENCODERS):
        own = rng.standard_normal(count)[families] + 0.3 * rng.standard_normal(size)
        hits.append((shared + OWN * own > -1).astype(float))
    return [Predictions("mean", np.arange(float(size)), hit, families) for hit in hits]


def grades(rng: np.random.Generator, size: int, family: int = 1) -> list[Predictions]:
    """Return grades of 0 to 5 and similarities that follow them."""
    families = np.arange(size) // family
    gold = rng.integers(0, 11, families[-1] + 1)[families] / 2
    shared = 1.5 * rng.standard_normal(families[-1] + 1)[families]
    own = [rng.standard_normal(families[-1] + 1)[families] for _ in range(ENCODERS)]
    small = [0.3 * rng.standard_normal(size) for _ in range(ENCODERS)]
    return [
        Predictions("spearman", gold, gold + shared + sum(noise), families)
        for noise in zip(own, small, strict=True)
    ]


def duplicates(rng: np.random.Generator, size: int, share: float) -> list[Predictions]:
    """Return pairs of which a share is the same, by similarity."""
    gold = np.zeros(size)
    gold[: max(1, round(share * size))] = 1
    shared = 2 * gold + rng.standard_normal(size)
    return [Predictions("ap", gold, shared + OWN * rng.standard_normal(size)) for _ in range(ENCODERS)]


def vectors(rng: np.random.Generator, classes: NDArray[np.int64], distance: float) -> list[Floats]:
    """Return unit vectors (items, dimensions) of each encoder around centres that lie `distance` from the origin."""
    centres = distance * rng.standard_normal((classes.max() + 1, DIMENSIONS))
    shared = centres[classes] + rng.standard_normal((len(classes), DIMENSIONS))
    moved = [shared + OWN * rng.standard_normal(shared.shape) for _ in range(ENCODERS)]
    return [matrix / np.linalg.norm(matrix, axis=1, keepdims=True) for matrix in moved]


def accuracy(rng: np.random.Generator, size: int, shares: tuple[float, ...]) -> list[Predictions]:
    """Return hits of the nearest mean of the other texts of a label, weighted by the labels' shares."""
    classes = np.sort(rng.choice(len(shares), size, p=shares))
    found = []
    for matrix in vectors(rng, classes, 0.6):
        members = np.eye(len(shares))[classes]
        sums = members.T @ matrix
        counts = members.sum(axis=0)
        scores = matrix @ (sums / np.maximum(counts, 1)[:, None]).T
        own = np.einsum("id,id->i", matrix, sums[classes] - matrix) / np.maximum(counts[classes] - 1, 1)
        scores[np.arange(size), classes] = own
        found.append((scores + 0.1 * np.log(shares)).argmax(axis=1) == classes)
    return [Predictions("mean", np.arange(float(size)), hits.astype(float)) for hits in found]


def clusterings(rng: np.random.Generator, size: int, labels: int, distance: float) -> list[Predictions]:
    """Return ten runs of k-means, as the judge makes them."""
    classes = rng.integers(0, labels, size)
    labels = int(classes.max() + 1)
    tables = []
    for matrix in vectors(rng, classes, distance):
        runs = [KMeans(min(labels, size), n_init=1, random_state=run).fit_predict(matrix) for run in range(10)]
        tables.append(Predictions("nmi", classes.astype(float), np.stack(runs, axis=1).astype(float)))
    return tables


def search(rng: np.random.Generator, size: int) -> list[Predictions]:
    """Return reciprocal ranks of one right document among as many as there are queries."""
    documents = vectors(rng, np.zeros(size, dtype=np.int64), 0)
    found = []
    shared = rng.standard_normal((size, DIMENSIONS)) / np.sqrt(DIMENSIONS)
    for matrix in documents:
        cosines = (matrix + 1.2 * shared) @ matrix.T
        ranks = (cosines > np.diag(cosines)[:, None]).sum(axis=1) + 1
        found.append(np.where(ranks <= 10, 1 / ranks, 0))
    return [Predictions("mean", np.arange(float(size)), ranks) for ranks in found]


KINDS: Mapping[str, Draw] = {
    "hits": outcomes,
    "hits, families of five": partial(outcomes, family=5),
    "accuracy, balanced": partial(accuracy, shares=(0.25,) * 4),
    "accuracy, 95:5": partial(accuracy, shares=(0.95, 0.05)),
    "search, MRR@10": search,
    "graded pairs": grades,
    "graded pairs, families of five": partial(grades, family=5),
    "average precision, 30% the same": partial(duplicates, share=0.3),
    "average precision, 1% the same": partial(duplicates, share=0.01),
    "NMI, 5 separated": partial(clusterings, labels=5, distance=1.2),
    "NMI, 5 not separated": partial(clusterings, labels=5, distance=0.3),
    "NMI, 20 not separated": partial(clusterings, labels=20, distance=0.3),
}


def rates(draw: Draw, size: int, tables: int, seed: int = 0) -> tuple[float, float] | None:
    """Return the shares of pairs of equal encoders with a verdict, and of those after the gain that would have shown.

    None if there are too few items for any verdict; NaN if no encoder has so much to gain.
    """
    rng = np.random.default_rng((seed, size))
    equal, better = list[bool](), list[bool]()
    for _ in range(tables if size >= MIN_ITEMS else 0):
        encoders = [(items, estimate(items)) for items in draw(rng, size)]
        for (_, before), (items, after) in combinations(encoders, 2):
            if after.independent < MIN_ITEMS:
                continue
            pair = Pair("", "", before, after)
            equal.append(difference(pair).change in ("gain", "loss"))
            gain = smallest_difference(pair.estimate)
            if gain < 100 - after.score:
                p, low, _ = sign_test(gained(items, after, gain, rng) - before)
                better.append(p <= LEVEL and low > 0)
    return (float(np.mean(equal)), float(np.mean(better)) if better else np.nan) if equal else None


def gained(items: Predictions, after: Estimate, gain: float, rng: np.random.Generator) -> Estimate:
    """Return the estimate of an encoder that is truly better by a gain."""
    if items.statistic != "mean":
        return replace(after, parts=after.parts + gain * after.weights)
    is_right = rng.random(len(items.predicted)) < gain / (100 - after.score)
    return estimate(items._replace(predicted=np.where(is_right, 1.0, items.predicted)))


def main() -> None:
    """Simulate and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", type=int, default=60, help="of 300 items and fewer; of more, fewer")
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    parser.add_argument("--kinds", nargs="+", default=[*KINDS], choices=[*KINDS])
    options = parser.parse_args()
    significance.PATTERNS = 1_000  # as exact as these rates are, in a tenth of the time
    print("| figure |", " | ".join(f"{size:,}" for size in options.sizes), "|")
    print("|---" * (1 + len(options.sizes)) + "|")
    for kind in options.kinds:
        cells = []
        for size in options.sizes:
            cost = (size / 300) ** 0.4 if size > 300 else 1
            cost *= 3 if kind.startswith("NMI") else 1
            shares = rates(KINDS[kind], size, max(4, round(options.tables / cost)))
            cells.append(
                "none" if shares is None else "{:.1f} / {:.0f}".format(*(100 * share for share in shares))
            )
        print(f"| {kind} |", " | ".join(cells), "|", flush=True)


if __name__ == "__main__":
    main()
