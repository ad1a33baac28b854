"""SICK, Breaking NLI, counterfactual SNLI: is a contradiction further from its sentence than what follows from it?"""

import json
from collections import defaultdict
from collections.abc import Iterator
from functools import partial
from importlib import resources
from itertools import product
from pathlib import Path

from trainers.encoders.vectors import Vectors
from trainers.files import Rows, bad_line, columns, filled_lines, tsv_rows
from trainers.scores.pairs import (
    Pair,
    Pairs,
    Subsets,
    checked_pair,
    read_benchmarks,
    read_pairs,
    score_binary,
)
from trainers.scores.task import Missing, Result

METRICS = ("auc", "triples")
LABELS = {"entailment": 1, "contradiction": 0}  # neutral pairs are left out
NLI = ("sentence1", "sentence2", "gold_label")


def _rows(path: Path) -> Rows:
    """Return the rows of a table, or of JSON objects with the columns of NLI, header first."""
    if ".jsonl" not in path.suffixes:
        return tsv_rows(path)
    rows: Rows = [(0, list(NLI))]
    for number, line in filled_lines(path):
        try:
            rows.append((number, [str(json.loads(line)[name]) for name in NLI]))
        except (ValueError, LookupError, TypeError):
            raise bad_line(path, number, f"a JSON object with {', '.join(NLI)}", line) from None
    return rows


def _read(names: tuple[str, ...], subset: str, path: Path) -> Iterator[Pair]:
    for number, (first, second, label) in columns(path, _rows(path), names):
        if label.lower() != "neutral":
            yield checked_pair(f"{path} line {number}", (first, second), label.lower(), LABELS)


def score(subsets: Subsets, vectors: Vectors, seed: int = 0) -> Result:
    """The AUC of entailed against contradicted pairs, and how often the entailed of two is closer, x 100."""
    result = score_binary(subsets, vectors)
    similarities = result.predictions.predicted if result.predictions else ()
    cosines = defaultdict[str, dict[float, list[float]]](lambda: {0.0: [], 1.0: []})
    pairs = [pair for part in subsets.values() for pair in part]
    for pair, cosine in zip(pairs, similarities, strict=True):
        cosines[pair.first][pair.gold].append(float(cosine))
    outcomes = [near > far for texts in cosines.values() for near, far in product(texts[1.0], texts[0.0])]
    accuracy = 100 * sum(outcomes) / len(outcomes) if outcomes else None
    return result._replace(metrics={**result.metrics, "triples": accuracy})


PACKAGE = str(resources.files("trainers.scores"))
BENCHMARKS = read_benchmarks(
    "contradiction",
    score,
    nli=partial(_read, NLI),
    sick=partial(_read, ("sentence_A", "sentence_B", "entailment_judgment")),
)


def find(data: str) -> list[Pairs | Missing]:
    """Read the sets in a folder, and beside any of them the bundled one."""
    *read, bundled = (read_pairs(item, data if item.counted else PACKAGE) for item in BENCHMARKS)
    return [*read, bundled] if any(isinstance(item, Pairs) for item in read) else read
