"""The development set of a training, graded pairs or any table to judge by, and an encoder's score on it."""

import os
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pipelines.base.console import InputError, TwinviewsError, note
from trainers.data.reading import read_graded
from trainers.data.tables import read_table
from trainers.encoders.vectors import Vectors
from trainers.files import located
from trainers.scores.pairs import Pair, Pairs, read_pairs, spearman
from trainers.scores.suites import sts, sts_multilingual
from trainers.scores.tables.judge import KINDS, read_judge
from trainers.scores.tables.pair_tables import check_grades
from trainers.scores.task import DATA_VARIABLE, SEED, Missing, Result, Task

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

ANY_SCALE = (-1e6, 1e6)  # only the ranks of the grades matter
# sentence-transformers' names; it negates the distances
SIMILARITIES = (
    "cosine",
    "dot",
    "euclidean",
    "manhattan",
)


def graded_pairs(source: str, pairs: Sequence[Pair], similarity: str = "cosine") -> Pairs:
    """Pairs as a task: how the grades correlate with a similarity, or with the best of all of them, "best"."""
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
    """Read graded pairs, a file's or a benchmark's, or a judge's first task.

    Raises InputError for anything else.

    Graded pairs are scored by `similarity`.
    """
    benchmarks = {benchmark.name: benchmark for benchmark in (*sts.BENCHMARKS, *sts_multilingual.BENCHMARKS)}
    if name in benchmarks:
        folder = data or os.environ.get(DATA_VARIABLE)
        pairs = read_pairs(benchmarks[name], folder) if folder else "no data"
        if isinstance(pairs, Missing | str):
            raise InputError(f"--dev {name}: {pairs}; give --dev-data DIR or set {DATA_VARIABLE}")
        return graded_pairs(name, [pair for subset in pairs.subsets.values() for pair in subset], similarity)
    path = Path(name.partition(",")[0])
    if not path.exists():
        named = ", ".join(benchmark.name for benchmark in (*sts.BENCHMARKS, *sts_multilingual.SETS))
        named += ", and translations such as stsb-de-dev, stsb-de-en-dev"
        raise InputError(f"--dev {name}: neither a file nor a benchmark; benchmarks are {named}")
    table = read_table(str(path), KINDS) if path.is_file() else None
    if table is None or table.kind not in ("", "grade"):
        return read_judge(name).tasks[0]
    if table.kind:
        check_grades(f"--dev {name}", table.columns, (row["grade"] for row in table.rows))
    return graded_pairs(name, _pairs_of(name), similarity)


def _pairs_of(name: str) -> list[Pair]:
    """A file's graded pairs, and say how many rows are none; raises InputError if all have one grade."""
    examples, _ = read_graded(Path(name), ANY_SCALE)
    if examples.dropped:
        note(f"--dev {name}: left out: rows without two texts and a finite grade ({examples.dropped:,})")
    if len(set(examples.labels or ())) < 2:
        raise InputError(f"--dev {name}: all of its {len(examples)} pairs have one grade: nothing to rank")
    rows = zip(examples.left, examples.right, examples.labels or (), strict=True)
    return [Pair(*row) for row in rows]


def dev_of(run: Path, recipe: Mapping[str, Any]) -> Task | None:
    """Read the development set of a run again, None if it had none.

    Raises InputError if it is gone or has changed.
    """
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
    from trainers.encoders.model import EmbeddingModel

    mode = encoder.training
    try:
        model = EmbeddingModel(encoder, precision="bf16" if bf16 else "fp32")
        vectors = Vectors.encode(model, dev.texts)
    except TwinviewsError as error:
        raise TwinviewsError(f"{error}, of --dev: lower --lr, or set --clip 1") from None
    finally:
        encoder.train(mode)
    return next(iter(dev.score(vectors, SEED).metrics.values()))
