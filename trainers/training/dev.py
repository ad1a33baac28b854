"""The development set: graded pairs that an encoder is scored on while it is trained."""

import os
import re
from pathlib import Path

import torch
from sentence_transformers import SimilarityFunction

from pipelines.terminal.console import InputError, TwinviewsError, note
from trainers.data.examples import Examples
from trainers.data.reading import read_graded
from trainers.encoders.model import described
from trainers.encoders.vectors import Vectors
from trainers.evaluation.judge import kind_of, read_judge
from trainers.evaluation.pairs import read_pairs, spearman
from trainers.evaluation.suites import sts, sts_multilingual
from trainers.evaluation.task import DATA_VARIABLE, SEED, Missing, Task
from trainers.files import file_lines
from trainers.objective import Objective, resolve_precision

ANY_SCALE = (-1e6, 1e6)  # only the ranks of the grades matter
SIMILARITIES = ("cosine", "dot", "euclidean", "manhattan")  # sentence-transformers' names; it negates the distances


def read_dev(name: str, data: str | None) -> Examples | Task:
    """Read graded pairs: a file, as `read_graded` does, or a benchmark by its name, such as stsb-dev.

    Of any other table that `read_judge` takes, it is the task of the first figure. Benchmarks are read from `data` (a
    folder, or `hf:ORGANISATION`), else from TWINVIEWS_DATA. Raises InputError for what cannot be read or told apart.
    """
    benchmarks = {benchmark.name: benchmark for benchmark in (*sts.BENCHMARKS, *sts_multilingual.BENCHMARKS)}
    if name not in benchmarks:
        path = Path(name.partition(",")[0])
        is_text = Path(path.name.removesuffix(".gz")).suffix.lower() in ("", ".csv", ".tsv", ".txt")
        header = next(iter(file_lines(path)), "").strip('"') if is_text and path.is_file() else ""
        if not is_text or kind_of(re.split('"*[,;\t]"*', header))[0] not in ("", "grade"):
            return read_judge(name).tasks[0]
        if not Path(name).is_file():
            raise InputError(f"--dev {name}: neither a file nor a benchmark; benchmarks are {', '.join(benchmarks)}")
        examples, _ = read_graded(Path(name), ANY_SCALE)
        if examples.dropped:
            note(f"--dev {name}: left out: rows without two texts and a finite grade ({examples.dropped:,})")
        if len(set(examples.labels or [])) < 2:
            raise InputError(f"--dev {name}: all of its {len(examples)} pairs have one grade: nothing to rank")
        return examples
    folder = data or os.environ.get(DATA_VARIABLE)
    pairs = read_pairs(benchmarks[name], folder) if folder else "no data"
    if isinstance(pairs, Missing | str):
        raise InputError(f"--dev {name}: {pairs}; give --dev-data DIR (or hf:mteb), or set {DATA_VARIABLE}")
    first, second, gold = zip(*(pair for subset in pairs.subsets.values() for pair in subset), strict=True)
    return Examples(first, first, second, labels=gold)


def dev_score(
    dev: Examples | Task, objective: Objective, precision: str = "fp32", similarity: str = "cosine"
) -> float | None:
    """Return Spearman's rho x 100 of the similarities with the grades, or a task's figure; None if it is undefined.

    Texts are encoded as by the encoder that is saved: with its prompts, and cut at its own length. `similarity` is
    "cosine", or "best" for whichever of `SIMILARITIES` correlates best. Dropout is off, so no random number is drawn.
    Raises TwinviewsError for vectors that are not finite.
    """
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
