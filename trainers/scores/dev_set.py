"""The development set of a training, graded pairs or any table to judge by, and an encoder's score on it."""

import os
import re
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pipelines.base.console import InputError, TwinviewsError, note
from pipelines.base.tables.columns import find_kind
from trainers.data.reading import read_graded
from trainers.encoders.vectors import Vectors
from trainers.files import file_lines, located
from trainers.scores.pairs import Pair, Pairs, read_pairs, spearman
from trainers.scores.suites import sts, sts_multilingual
from trainers.scores.tables.judge import KINDS, read_judge
from trainers.scores.tables.pair_tables import check_grades
from trainers.scores.task import DATA_VARIABLE, SEED, Missing, Result, Task

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

ANY_SCALE = (-1e6, 1e6)  # only the ranks of the grades matter
TRANSLATION = re.compile("stsb-[a-z]{2}(-|$)")
# sentence-transformers' names; it negates the distances
SIMILARITIES = (
    "cosine",
    "dot",
    "euclidean",
    "manhattan",
)


def graded_pairs(source: str, pairs: Sequence[Pair], similarity: str = "cosine") -> Pairs:
    """Return pairs as a task: how the grades correlate with a similarity, or with the best of all of them, "best"."""
    first, second, _ = zip(*pairs, strict=True)
    return Pairs(
        name="dev",
        title="Spearman's rho",
        source=source,
        size=len(pairs),
        texts=[*first, *second],
        lines=[f"{pair.gold!r}\t{pair.first}\t{pair.second}\n" for pair in pairs],
        subsets={"": tuple(pairs)},
        score=partial(_score_graded, pairs, similarity),
    )


def _score_graded(pairs: Sequence[Pair], similarity: str, vectors: Vectors, seed: int) -> Result:
    """Return Spearman's correlation of the grades, x 100, with a similarity, None if none is defined."""
    import torch
    from sentence_transformers import SimilarityFunction

    first, second, grades = zip(*pairs, strict=True)
    left, right = (torch.from_numpy(vectors.of(side)).double() for side in (first, second))
    names = SIMILARITIES if similarity == "best" else (similarity,)
    measures = map(SimilarityFunction.to_similarity_pairwise_fn, names)
    rhos = (spearman(grades, measure(left, right).numpy()) for measure in measures)
    return Result({"spearman": max((100 * rho for rho in rhos if rho is not None), default=None)})


def read_dev(name: str, data: str | None, similarity: str = "cosine") -> Task:
    """Read graded pairs, a file's or a benchmark's, or a judge's first task; raises InputError for anything else.

    Graded pairs are scored by `similarity`.
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
        rows = zip(examples.left, examples.right, examples.labels or (), strict=True)
        return graded_pairs(name, [Pair(*row) for row in rows], similarity)
    folder = data or os.environ.get(DATA_VARIABLE)
    pairs = read_pairs(benchmarks[name], folder) if folder else "no data"
    if isinstance(pairs, Missing | str):
        raise InputError(f"--dev {name}: {pairs}; give --dev-data DIR or set {DATA_VARIABLE}")
    return graded_pairs(name, [pair for subset in pairs.subsets.values() for pair in subset], similarity)


def dev_of(run: Path, recipe: Mapping[str, Any]) -> Task | None:
    """Read the development set of a run again, None if it had none; raises InputError if it is gone or has changed."""
    if not recipe.get("dev"):
        return None
    name, data = (located(run, recipe[key]) if recipe.get(key) else None for key in ("dev", "dev_data"))
    dev = read_dev(str(name), data)
    digest = dev.sha256()
    if digest != recipe["twinviews"].get("dev_sha256", digest):
        raise InputError(f"{name} has changed since")
    return dev


def dev_score(dev: Task, encoder: "SentenceTransformer", *, bf16: bool = False) -> float | None:
    """Return a task's first figure, x 100, of an encoder in training, None if it is undefined."""
    from trainers.encoders.model import described

    mode = encoder.training
    try:
        vectors = Vectors.encode(described(encoder, None, "bf16" if bf16 else "fp32"), dev.texts)
    except TwinviewsError as error:
        raise TwinviewsError(f"{error}, of --dev: lower --lr, or set --clip 1") from None
    finally:
        encoder.train(mode)
    return next(iter(dev.score(vectors, SEED).metrics.values()))
