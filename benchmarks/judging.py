"""What a search on many documents costs in `--judge`: reading the tables, exact search, figures; no encoder.

    python benchmarks/judging.py [--documents 1000000] [--queries 1000] [--dimensions 384]

Queries and documents are short made-up texts whose vectors are random, of length 1; each query has one document, and
its vector is that document's with noise, so that the figures are neither 0 nor 100. Prints seconds and the most memory
that the process had, after making the vectors and at the end; the vectors alone take documents * dimensions * 4 bytes.
"""

from __future__ import annotations

import argparse
import csv
import resource
import tempfile
import time
from pathlib import Path

import numpy as np

from trainers.encoders.vectors import Vectors, unit
from trainers.scores.tables.judge import read_judge


def peak() -> float:
    """Return the most memory that this process had, in GiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def write_tables(folder: Path, queries: int, documents: int) -> str:
    """Write both tables; returns what `--judge` is given."""
    tables = {
        folder / "queries.csv": (
            ["query", "document"],
            ([f"query {row}", f"{row}"] for row in range(queries)),
        ),
        folder / "documents.csv": (
            ["id", "document"],
            ([f"{row}", f"document {row}"] for row in range(documents)),
        ),
    }
    for path, (names, rows) in tables.items():
        with path.open("w", encoding="utf-8", newline="") as stream:
            csv.writer(stream).writerows([names, *rows])
    return ",".join(map(str, tables))


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--documents", type=int, default=1_000_000)
    parser.add_argument("--queries", type=int, default=1_000)
    parser.add_argument("--dimensions", type=int, default=384)
    options = parser.parse_args()
    generator, size = np.random.default_rng(0), options.queries + options.documents
    with tempfile.TemporaryDirectory() as folder:
        start = time.perf_counter()
        suite = read_judge(write_tables(Path(folder), options.queries, options.documents))
        read = time.perf_counter() - start
    matrix = np.empty((size, options.dimensions), np.float32)
    for first in range(0, size, 65_536):
        block = matrix[first : first + 65_536]
        block[:] = unit(generator.standard_normal(block.shape, np.float32))
    queries = matrix[: options.queries]
    noise = generator.standard_normal(queries.shape, np.float32) / np.float32(4)
    queries[:] = unit(matrix[options.queries : 2 * options.queries] + noise)
    rows = {f"query {row}": row for row in range(options.queries)}
    rows |= {f"document {row}": options.queries + row for row in range(options.documents)}
    before, start = peak(), time.perf_counter()
    values = {task.title: task.score(Vectors(rows, matrix), 0).metrics["score"] for task in suite.tasks}
    seconds = time.perf_counter() - start
    figures = ", ".join(f"{title} {value:.2f}" for title, value in values.items())
    print(f"{options.documents:,} documents: {figures}")
    print(f"read in {read:.1f} s, searched and scored in {seconds:.1f} s")
    print(f"{before:.2f} GiB with the vectors made, {peak():.2f} GiB at most")


if __name__ == "__main__":
    main()
