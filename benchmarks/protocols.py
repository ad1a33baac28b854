"""What papers leave unsaid about STS: how far one encoder's figures move with the protocol alone.

    python benchmarks/protocols.py --data DIR

Spearman x 100 of one model on the seven sets that papers average. The first column is the reference: masked mean of
the last layer, SentEval's tokenised text, `all` (one correlation over the concatenated subsets). Every other column
changes one thing, with the difference in brackets:

- mean, weighted: the subsets' correlations averaged, or averaged by size.
- padded: the mean over every position, padding included, at 64 tokens, as in Mirror-BERT's code. A table of its own, as
  it takes the longest.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence

from trainers.encoders.functions import open_encoder
from trainers.encoders.vectors import Vectors
from trainers.scores.pairs import Pairs, read_pairs
from trainers.scores.suites import sts
from trainers.settings import Pooling

REFERENCE = "all"
AGGREGATIONS = (REFERENCE, "mean", "weighted")
Figures = Mapping[str, float | None]


def encoded(model: str, sets: Sequence[Pairs], pooling: Pooling, options: argparse.Namespace) -> Vectors:
    """Vectors of every distinct text of the sets."""
    chosen = {name: getattr(options, name) for name in ("precision", "device")}
    return Vectors.encode(
        open_encoder(model, pooling=pooling, **chosen), (text for item in sets for text in item.texts)
    )


def scores(sets: Sequence[Pairs], vectors: Vectors) -> dict[str, Figures]:
    """Figures of every set, by its name."""
    return {item.name: item.score(vectors, 1).metrics for item in sets}


def average(table: Sequence[Figures]) -> Figures:
    """Mean of each column, None where a set has no figure in it."""
    columns = {column: [figures[column] for figures in table] for column in table[0]}
    return {
        column: None if None in values else sum(value for value in values if value is not None) / len(values)
        for column, values in columns.items()
    }


def line(title: str, pairs: int, figures: Figures) -> str:
    """One row: the reference, and every other column with its difference from it."""
    reference = figures[REFERENCE]
    cells = []
    for column, value in figures.items():
        if value is None or reference is None:
            cells.append("")
        else:
            cells.append(f"{value:.2f}" + (f" ({value - reference:+.2f})" if column != REFERENCE else ""))
    return f"| {title} | {pairs:,} | " + " | ".join(cells) + " |"


def show(sets: Sequence[Pairs], table: Sequence[Figures]) -> None:
    """Print a table with its average, at once."""
    print("| set | pairs | " + " | ".join(table[0]) + " |\n|---|--:|" + "--:|" * len(table[0]))
    for item, figures in zip(sets, table, strict=True):
        print(line(item.title, item.size, figures))
    print(line(f"average of {len(sets)}", sum(item.size for item in sets), average(table)) + "\n", flush=True)


def main() -> None:
    """Encode, print both tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", required=True, help="folder with the benchmarks")
    parser.add_argument("--model", default="starter", help="another encoder than the bundled starter")
    parser.add_argument("--precision", choices=["fp32", "bf16"], default="fp32")
    parser.add_argument("--device", default="auto")
    options = parser.parse_args()
    read = [read_pairs(benchmark, options.data) for benchmark in sts.BENCHMARKS]
    sets = [item for item in read if isinstance(item, Pairs) and item.counted]
    masked = scores(sets, encoded(options.model, sets, "mean", options))
    print(f"{options.model}, Spearman x 100\n")
    show(sets, [{how: masked[item.name].get(how) for how in AGGREGATIONS} for item in sets])
    padded = scores(sets, encoded(options.model, sets, "padded-mean", options))
    show(
        sets,
        [{REFERENCE: masked[item.name][REFERENCE], "padded": padded[item.name][REFERENCE]} for item in sets],
    )


if __name__ == "__main__":
    main()
