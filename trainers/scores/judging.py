"""Judging encoders from Python: figures of an encoder on a table, and the verdict on two."""

from collections.abc import Mapping
from typing import NamedTuple

from pipelines.base.tables.reader import TableSource
from trainers.encoders.functions import Encoder
from trainers.scores.result_files import StoredSet
from trainers.scores.runs import ScoredSet, Sets
from trainers.scores.scoring import evaluate_suites, opened
from trainers.scores.statistics.estimates import estimate
from trainers.scores.statistics.significance import score_interval
from trainers.scores.statistics.verdict import Verdict
from trainers.scores.tables.judge import read_judge
from trainers.scores.task import SEED
from trainers.scores.verdicts import verdict_of_sets


class Figure(NamedTuple):
    """A score x 100 and the ends of its 95% interval."""

    score: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.score:z.2f} ({self.low:z.2f} to {self.high:z.2f})"


class Judgement(NamedTuple):
    """An encoder's name and defined figures, and for `compare` the items behind them."""

    name: str
    figures: Mapping[str, Figure]
    sets: Sets


def judge(
    encoder: Encoder,
    table: TableSource,
    *,
    shots: int | None = None,
    seed: int = SEED,
    documents_encoder: "Encoder | None" = None,
    columns: Mapping[str, str] | None = None,
) -> Judgement:
    """Score an encoder on your own texts as `train evaluate --judge` does, whose options these are.

    `encoder` is a folder or name, a `SentenceTransformer`, or a function from a list of n texts to vectors
    (n, d). `table` is a file or a dict or `DataFrame` of columns: `text` and `label`; `query` and `document`;
    `text1`, `text2` and `grade` or `same`. `documents_encoder` is another one of the same space, for the
    documents or second texts. `columns` are those that are called otherwise, such as `{"text": "body"}`.
    Raises InputError if one of them cannot be used or the function fails, TwinviewsError for NaN or infinity.

    Example:
        >>> table = {"text1": ["a cat", "a dog"], "text2": ["a cat", "two cars"], "same": [1, 0]}
        >>> print(judge(lambda texts: [[len(text), 1] for text in texts], table).figures["average precision"])
        100.00 (1.22 to 100.00)
    """
    suite = read_judge(table, shots, columns)
    (scores,) = evaluate_suites(opened(encoder, documents_encoder), [suite], seed=seed)
    sets = dict[str, ScoredSet]()
    figures = dict[str, Figure]()
    for name, items in scores.predictions.items():
        stored = StoredSet.model_validate(scores.values["sets"][name])
        score = next(iter(stored.figures.values()))
        if score is not None:
            sets[name] = ScoredSet(stored, items, estimate(items))
            figures[stored.title] = Figure(score, *score_interval(sets[name].estimate))
    return Judgement(str(scores.values["encoder"]), figures, sets)


def compare(first: Judgement, second: Judgement) -> Verdict:
    """The verdict on the first beside the second, on the same items; raises InputError if they are not."""
    names = (first.name, second.name) if first.name != second.name else ("the first", "the second")
    return verdict_of_sets(
        {name: {"": judgement.sets} for name, judgement in zip(names[::-1], (second, first), strict=True)}
    )
