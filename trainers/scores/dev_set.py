"""The development set of a training, graded pairs or any table to judge by, and how an encoder is scored on it."""

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pipelines.base.console import InputError, TwinviewsError, note
from pipelines.base.tables.columns import find_kind
from trainers.data.examples import Examples
from trainers.data.reading import read_graded
from trainers.encoders.vectors import Vectors
from trainers.files import file_lines, located
from trainers.objective import Objective, resolve_precision
from trainers.scores.pairs import read_pairs, spearman
from trainers.scores.suites import sts, sts_multilingual
from trainers.scores.tables.judge import KINDS, read_judge
from trainers.scores.tables.pair_tables import check_grades
from trainers.scores.task import DATA_VARIABLE, SEED, Missing, Task

ANY_SCALE = (-1e6, 1e6)  # only the ranks of the grades matter
TRANSLATION = re.compile("stsb-[a-z]{2}(-|$)")
# sentence-transformers' names; it negates the distances
SIMILARITIES = (
    "cosine",
    "dot",
    "euclidean",
    "manhattan",
)


def read_dev(name: str, data: str | None) -> Examples | Task:
    """Read graded pairs, a file's or a benchmark's, or a judge's first task.

    Raises InputError for anything else.
    """
    benchmarks = {benchmark.name: benchmark for benchmark in (*sts.BENCHMARKS, *sts_multilingual.BENCHMARKS)}
    if name not in benchmarks:
        path = Path(name.partition(",")[0])
        is_text = Path(path.name.removesuffix(".gz")).suffix.lower() in ("", ".csv", ".tsv", ".txt")
        header = next(iter(file_lines(path)), "").strip('"') if is_text and path.is_file() else ""
        kind, columns = find_kind(name, KINDS, re.split('"*[,;\t]"*', header))
        if not is_text or kind not in ("", "grade"):
            return read_judge(name).tasks[0]
        if not Path(name).is_file():
            named = ", ".join(name for name in benchmarks if not TRANSLATION.match(name))
            named += ", and translations such as stsb-de-dev, stsb-de-en-dev"
            raise InputError(f"--dev {name}: neither a file nor a benchmark; benchmarks are {named}")
        examples, (low, high) = read_graded(Path(name), ANY_SCALE)
        if columns:
            grades = ((high - low) * label + low for label in examples.labels or ())
            check_grades(f"--dev {name}", columns, (f"{round(grade, 6):g}" for grade in grades))
        if examples.dropped:
            note(f"--dev {name}: left out: rows without two texts and a finite grade ({examples.dropped:,})")
        if len(set(examples.labels or [])) < 2:
            raise InputError(f"--dev {name}: all of its {len(examples)} pairs have one grade: nothing to rank")
        return examples
    folder = data or os.environ.get(DATA_VARIABLE)
    pairs = read_pairs(benchmarks[name], folder) if folder else "no data"
    if isinstance(pairs, Missing | str):
        raise InputError(f"--dev {name}: {pairs}; give --dev-data DIR or set {DATA_VARIABLE}")
    first, second, gold = zip(*(pair for subset in pairs.subsets.values() for pair in subset), strict=True)
    return Examples(first, first, second, labels=gold)


def dev_of(run: Path, recipe: Mapping[str, Any]) -> Examples | Task | None:
    """Read the development set of a run again, None if it had none.

    Raises InputError if it is gone or has changed.
    """
    if not recipe.get("dev"):
        return None
    name, data = (located(run, recipe[key]) if recipe.get(key) else None for key in ("dev", "dev_data"))
    dev, hashes = read_dev(str(name), data), recipe["twinviews"]
    digest, key = (dev.digest(), "dev_xxh64") if isinstance(dev, Examples) else (dev.sha256(), "dev_sha256")
    if digest != hashes.get(key, digest):
        raise InputError(f"{name} has changed since")
    return dev


def dev_score(
    dev: Examples | Task, objective: Objective, precision: str = "fp32", similarity: str = "cosine"
) -> float | None:
    """Return 100 times Spearman's rho ("best": of the best similarity), or a task's figure, None if it is undefined."""
    import torch
    from sentence_transformers import SimilarityFunction

    from trainers.encoders.model import described

    encoder, mode = objective.encoder, objective.encoder.training
    model = described(encoder, None, "bf16" if resolve_precision(precision) == "bf16" else "fp32")
    try:
        vectors = Vectors.encode(model, dev.texts if isinstance(dev, Task) else [*dev.left, *dev.right])
    except TwinviewsError as error:
        raise TwinviewsError(f"{error}, of --dev: lower --lr, or set --clip 1") from None
    finally:
        encoder.train(mode)
    if isinstance(dev, Task):
        return next(iter(dev.score(vectors, SEED).metrics.values()))
    left, right = (torch.from_numpy(vectors.of(side)).double() for side in (dev.left, dev.right))
    names = SIMILARITIES if similarity == "best" else [similarity]
    measures = map(SimilarityFunction.to_similarity_pairwise_fn, names)
    rhos = (spearman(dev.labels or [], measure(left, right).numpy()) for measure in measures)
    return max((100 * rho for rho in rhos if rho is not None), default=None)
