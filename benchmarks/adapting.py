"""What adapting an encoder to unlabelled text of two domains brings, and what it costs on STS-B.

    python benchmarks/adapting.py --data DIR --encoder all-MiniLM-L6-v2 --out build/adapting [--seeds 3]

Domains: 20,000 StackOverflow titles in 20 classes, 13,083 questions of Banking77 in 77. Each way sees two thirds of a
domain's texts (of Banking77's training texts), without labels. Printed are the changes, x 100, to the untouched
encoder: 5-NN accuracy (StackOverflow: each title among all others; Banking77: the test set among all training texts),
NMI of k-means with as many clusters as classes (mean of three starts), and Spearman on STS-B dev; their means over the
domains; and the seconds of the fit, without encoding. The ways are linear maps of the encoder's vectors: other choices
of `trainers.encoders.modules.sharpen`, which `train distil --preset adapt` fits, and what was tried beside it.
"""

from __future__ import annotations

import argparse
import csv
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from sentence_transformers.sentence_transformer.modules import Dense
from sklearn.cluster import KMeans
from sklearn.metrics import normalized_mutual_info_score
from torch import nn

from trainers.encoders.linear import fit_linear
from trainers.encoders.model import load_model
from trainers.encoders.vectors import nearest, smooth, unit
from trainers.scores.pairs import spearman

Vectors = NDArray[np.float32]
Map = Callable[[Vectors], Vectors]
Fit = Callable[[Vectors], Map]


class Domain(NamedTuple):
    """A domain: its texts and classes, and those to be classified by them, None for each among the others."""

    texts: list[str]
    classes: list[str]
    queries: list[str] | None = None
    query_classes: list[str] | None = None


def read_domains(data: Path) -> dict[str, Domain]:
    """Return both domains."""
    titles, labels = (
        (data / "domains" / "stackoverflow-titles" / f"{name}.txt").read_text(encoding="utf-8").splitlines()
        for name in ("titles", "labels")
    )
    tables = []
    for name in ("train", "test"):
        with (data / "domains" / "banking77" / f"{name}.csv").open(encoding="utf-8", newline="") as stream:
            tables.append([(row["text"], row["category"]) for row in csv.DictReader(stream)])
    columns = [list(column) for rows in tables for column in zip(*rows, strict=True)]
    return {"StackOverflow": Domain(titles, labels), "Banking77": Domain(*columns)}


def read_stsb(data: Path) -> tuple[list[str], list[str], NDArray[np.float64]]:
    """Return both sides and the grades of STS-B dev."""
    path = next(data.rglob("sts-dev.csv"))
    rows = [line.split("\t") for line in path.read_text(encoding="utf-8").splitlines()]
    return [row[5] for row in rows], [row[6] for row in rows], np.array([float(row[4]) for row in rows])


def removed_directions(vectors: Vectors, count: int) -> Map:
    """Subtract the mean and the first principal directions (Mu and Viswanath 2018)."""
    mean = vectors.mean(0)
    directions = np.linalg.svd(vectors - mean, full_matrices=False)[2][:count]
    return lambda x: (x - mean) - (x - mean) @ directions.T @ directions


def shrunk(vectors: Vectors, moments: Vectors, power: float) -> Map:
    """Subtract the mean and multiply by a negative power of moments (d, d), of which a hundredth is their mean."""
    values, directions = np.linalg.eigh(moments.astype(np.float64))
    weight = (directions * (0.99 * values + 0.01 * values.mean()) ** -power) @ directions.T
    mean = vectors.mean(0)
    return lambda x: ((x - mean) @ weight).astype(np.float32)


def whitened(vectors: Vectors, power: float) -> Map:
    """Whiten (Su et al. 2021), by half with a power of 1/4."""
    return shrunk(vectors, np.cov(vectors.T).astype(np.float32), power)


def shrunk_differences(vectors: Vectors, neighbours: int, power: float) -> Map:
    """Shrink what differs among neighbours, as within-class covariance normalisation does within classes."""
    differences = (vectors[:, None] - vectors[nearest(vectors, vectors, neighbours + 1)]).reshape(
        -1, vectors.shape[1]
    )
    return shrunk(vectors, differences.T @ differences, power)


def ridge(vectors: Vectors, neighbours: int) -> Map:
    """Regress the smoothed vectors on the vectors."""
    moments = vectors.T @ vectors
    penalty = 0.01 * np.trace(moments) / len(moments) * np.eye(len(moments))
    weight = np.linalg.solve(moments + penalty, vectors.T @ (smooth(vectors, neighbours) - vectors))
    return lambda x: (x + x @ weight).astype(np.float32)


def sharpened(vectors: Vectors, neighbours: int) -> Map:
    """Do both, as `train distil --preset adapt` does."""
    layer = Dense(vectors.shape[1], vectors.shape[1], activation_function=nn.Identity())
    fit_linear(layer, torch.from_numpy(vectors), neighbours)
    weight, bias = layer.linear.weight.detach().numpy(), layer.linear.bias.detach().numpy()
    return lambda x: x @ weight.T + bias


WAYS: Mapping[str, Fit] = {
    "one common direction removed": partial(removed_directions, count=1),
    "three common directions removed": partial(removed_directions, count=3),
    "whitened": partial(whitened, power=0.5),
    "whitened by half": partial(whitened, power=0.25),
    "differences of 10 neighbours shrunk, 1/4": partial(shrunk_differences, neighbours=10, power=0.25),
    "differences of 10 neighbours shrunk, 1/8": partial(shrunk_differences, neighbours=10, power=0.125),
    "regressed on smoothed vectors, 10 neighbours": partial(ridge, neighbours=10),
    "regressed on smoothed vectors, 20 neighbours": partial(ridge, neighbours=20),
    "both, 5 neighbours": partial(sharpened, neighbours=5),
    "both, 10 neighbours (`--preset adapt`)": partial(sharpened, neighbours=10),
    "both, 20 neighbours": partial(sharpened, neighbours=20),
}


def accuracy(references: Vectors, classes: list[str], queries: Vectors, truth: list[str], own: bool) -> float:
    """Return the accuracy of the majority of five neighbours, x 100; a tie goes to the nearest."""
    close = nearest(queries, references, 6 if own else 5)
    right = 0
    for row, neighbours in enumerate(close):
        names = [classes[place] for place in neighbours if not own or place != row][:5]
        right += max(names, key=lambda name: (names.count(name), -names.index(name))) == truth[row]
    return 100 * right / len(queries)


def judge(
    domain: Domain, vectors: list[Vectors], pairs: list[Vectors], grades: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return 5-NN accuracy, NMI and STS-B of the vectors of a domain's texts and queries and of both sides."""
    vectors, (left, right) = [unit(side) for side in vectors], [unit(side) for side in pairs]
    truth = domain.query_classes or domain.classes
    knn = accuracy(vectors[0], domain.classes, vectors[-1], truth, own=len(vectors) == 1)
    every, classes = np.concatenate(vectors), [*domain.classes, *(domain.query_classes or [])]
    clusters = [KMeans(len({*classes}), n_init=2, random_state=seed).fit_predict(every) for seed in range(3)]
    nmi = np.mean([normalized_mutual_info_score(classes, labels) for labels in clusters])
    return np.array([knn, 100 * nmi, 100 * (spearman(np.einsum("nd,nd->n", left, right), grades) or 0.0)])


def main() -> None:
    """Print the table, a row as it is done."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--encoder", default="all-MiniLM-L6-v2")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seeds", type=int, default=1, help="draws of the two thirds")
    options = parser.parse_args()
    encoder = load_model(options.encoder)
    domains, (left, right, grades) = read_domains(options.data), read_stsb(options.data)
    sides = [encoder.encode(side) for side in (left, right)]
    vectors = {
        name: [unit(encoder.encode(texts)) for texts in (domain.texts, domain.queries) if texts is not None]
        for name, domain in domains.items()
    }
    untouched = {name: judge(domain, vectors[name], sides, grades) for name, domain in domains.items()}
    for name, figures in untouched.items():
        print(f"untouched, {name}: 5-NN {figures[0]:.2f}, NMI {figures[1]:.2f}, STS-B {figures[2]:.2f}")
    print(
        "| way | StackOverflow: 5-NN | NMI | STS-B | Banking77: 5-NN | NMI | STS-B | mean: 5-NN | NMI | STS-B | s |"
    )
    print("|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|")

    for title, fit in WAYS.items():
        changes, seconds = {name: list[NDArray[np.float64]]() for name in domains}, 0.0
        for name, domain in domains.items():
            for seed in range(options.seeds):
                count = len(domain.texts)
                rows = np.random.default_rng(seed).permutation(count)[: count * 2 // 3]
                start = time.perf_counter()
                change = fit(vectors[name][0][rows])
                seconds += time.perf_counter() - start
                outputs, pairs = (
                    [change(side) for side in vectors[name]],
                    [change(unit(side)) for side in sides],
                )
                changes[name].append(judge(domain, outputs, pairs, grades) - untouched[name])
        means = [np.mean(values, axis=0) for values in changes.values()]
        cells = " | ".join(f"{figure:+.2f}" for figure in np.concatenate([*means, np.mean(means, axis=0)]))
        print(f"| {title} | {cells} | {seconds / len(changes) / options.seeds:.0f} |", flush=True)


if __name__ == "__main__":
    main()
