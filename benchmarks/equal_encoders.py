"""How often the judge tells equal encoders apart: one encoder behind random linear layers, equal but for chance.

    python benchmarks/equal_encoders.py TITLES.txt LABELS.txt [--encoder all-MiniLM-L6-v2] [--texts 600] [--layers 8]

TITLES.txt has a text a line and LABELS.txt its label. Each layer is the identity plus Gaussian noise of 0.3 of its
norm. Prints, for each figure, how many pairs of these encoders have an interval that leaves out 0, and how many
verdicts were "better" or "worse"; about one interval in twenty is expected to.
"""

from __future__ import annotations

import argparse
import csv
import tempfile
from itertools import combinations
from pathlib import Path

import numpy as np

from trainers.encoders.model import load_model
from trainers.encoders.vectors import Vectors, cached
from trainers.evaluation.judge import read_judge
from trainers.results.judged import verdict_of
from trainers.results.significance import LEVEL, estimate, p_value

NOISE = 0.3


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("titles", type=Path)
    parser.add_argument("labels", type=Path)
    parser.add_argument("--encoder", default="all-MiniLM-L6-v2")
    parser.add_argument("--texts", type=int, default=600)
    parser.add_argument("--layers", type=int, default=8)
    options = parser.parse_args()
    columns = (path.read_text(encoding="utf-8").splitlines() for path in (options.titles, options.labels))
    rows, rng = list(zip(*columns, strict=True)), np.random.default_rng(0)
    chosen = [rows[row] for row in rng.permutation(len(rows))[: options.texts]]
    with tempfile.TemporaryDirectory() as folder:
        table = Path(folder, "table.csv")
        with table.open("w", encoding="utf-8", newline="") as stream:
            csv.writer(stream).writerows([("text", "label"), *chosen])
        suite = read_judge(str(table))
    vectors = Vectors.encode(cached(load_model(options.encoder)), [text for text, _ in chosen])
    width = vectors.matrix.shape[1]
    estimates = []
    for _ in range(options.layers):
        layer = np.eye(width) + NOISE * rng.standard_normal((width, width)) / np.sqrt(width)
        moved = vectors._replace(matrix=(vectors.matrix @ layer).astype(np.float32))
        results = {task.title: task.score(moved, 1111).predictions for task in suite.tasks}
        estimates.append({title: estimate(items) for title, items in results.items() if items is not None})
    pairs = list(combinations(estimates, 2))
    gains = [{title: second[title] - first[title] for title in first} for first, second in pairs]
    for title in estimates[0]:
        outside = sum(p_value(gain[title]) <= LEVEL for gain in gains)
        print(f"{title}: {outside} of {len(pairs)} intervals leave out 0")
    print(f"verdicts: {sum(verdict_of(gain).outcome != 'unclear' for gain in gains)} of {len(pairs)} are not unclear")


if __name__ == "__main__":
    main()
