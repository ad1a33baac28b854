"""MR, CR, SUBJ, MPQA, SST-2, TREC, MRPC: accuracy of logistic regression on frozen vectors, as SentEval.

Conneau & Kiela 2018; the classification tables of Zhang et al. 2020 (IS-BERT) and Zhang et al. 2021 (BSL).
"""

import re
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score
from sklearn.model_selection import StratifiedKFold
from threadpoolctl import threadpool_info, threadpool_limits  # type: ignore[import-untyped]

from trainers.encoders.vectors import Floats, Numbers, Vectors
from trainers.files import bad_line, check_count, file_lines, find_files
from trainers.scores.task import Metrics, Missing, Predictions, Result, Task, declared

METRICS = ("accuracy", "f1")  # of all items, and of class 1 if papers report it (MRPC), both x 100
COUNTED = 7
# By the parts of a set: all, each item held out once; train, dev and test; train and test.
PROTOCOLS = {
    "all": "logistic regression, 10-fold cross-validation, strength by 10 folds inside",
    "dev": "logistic regression, strength by the development items",
    "test": "logistic regression, strength by 10 folds of the training items",
}
DIFFERS = "scikit-learn's as in SentEval with usepytorch off; papers also use its classifier trained by Adam"
FOLDS = 10
WITHIN = tuple(2.0**power for power in range(-2, 4))  # scikit-learn's C with parts `all` or `dev`
BEFORE_TEST = tuple(2.0**power for power in range(-1, 6))  # the same if the training items are folded
DENSE = 1024  # most weights for which a Hessian, of their number squared, costs less than the many steps that it saves

Split: TypeAlias = tuple[Numbers, Numbers]


class Labelled(NamedTuple):
    """A text, or two, and the number of its class.

    Words have one space between them, and some texts have none.
    """

    first: str
    label: int
    second: str | None = None

    @property
    def texts(self) -> list[str]:
        """What is encoded: a full stop if there are no words, as in SentEval's examples."""
        return [self.first or ".", *([self.second] if self.second is not None else [])]


Parts: TypeAlias = Mapping[str, Sequence[Labelled]]  # a set's items, in file order, by part


class Corpus(NamedTuple):
    """What is known of a set before it is read: `files` have their part and number of items, after `header` lines.

    A line must match `form`, in words `line`; its groups `first` and `second` are the texts, and `label` is
    one of `classes`. Without classes, the first file has class 1 and the second class 0.
    """

    name: str
    title: str
    where: str
    folders: Sequence[str]
    files: Mapping[str, tuple[str, int]]
    form: str = "(?P<first>.*)"
    line: str = "a sentence"
    classes: Sequence[str] = ()
    header: int = 0
    bytewise: bool = False


CORPORA = [Corpus(**values) for values in declared("transfer")]


def score_labelled(parts: Parts, vectors: Vectors, seed: int) -> Result:
    """The accuracy, and F1 of a set of pairs, x 100; outcomes are in file order, `seed` shuffles the folds.

    SentEval's is the mean over folds, and one model a class; here it is of all items, and a multinomial
    model's.
    """
    train, dev, test = parts.get("all") or parts["train"], parts.get("dev", ()), parts.get("test", ())
    places = senteval_places(train)
    inputs, classes = _features([*(train[place] for place in places), *dev, *test], vectors, len(train))
    train_rows, dev_rows, test_rows = np.split(np.arange(len(classes)), [len(train), len(train) + len(dev)])
    splits = [(train_rows, test_rows)] if test else folded(classes, train_rows, seed)
    strengths = BEFORE_TEST if test and not dev else WITHIN
    predicted = np.zeros_like(classes)
    for rows, held_out in splits:
        inner = [(train_rows, dev_rows)] if dev else folded(classes, rows, seed)
        predicted[held_out] = classify(inputs, classes, rows, held_out, inner, strengths)
    order = test_rows if test else np.argsort(places)
    gold, predicted = classes[order], predicted[order]
    metrics: Metrics = {"accuracy": 100 * float(np.mean(gold == predicted))}
    if train[0].second is not None:
        metrics["f1"] = 100 * float(f1_score(gold, predicted, zero_division=0.0))
    return Result(metrics, Predictions("mean", gold.astype(float), (gold == predicted).astype(float)))


def senteval_places(items: Sequence[Labelled]) -> list[int]:
    """The places of the items as SentEval sorts them before folding: by numbers of words, then by class."""
    keys = [(len(item.first.split()), len((item.second or "").split()), item.label) for item in items]
    return sorted(range(len(items)), key=keys.__getitem__)


def _features(items: Sequence[Labelled], vectors: Vectors, train: int) -> tuple[Floats, Numbers]:
    """Return the classifier's inputs, (n, d) or for pairs |u - v| and u * v, (n, 2 d), and the classes.

    In float64, as rounding stops the solvers early; less the mean of the first `train`, which saves lbfgs many
    steps.
    """
    first, *second = (vectors.of(side) for side in zip(*(item.texts for item in items), strict=True))
    if second:
        first = np.concatenate([abs(first - second[0]), first * second[0]], axis=1)
    inputs = first.astype(np.float64) - first[:train].mean(axis=0, dtype=np.float64)
    return inputs, np.array([item.label for item in items], dtype=np.int64)


def folded(classes: Numbers, rows: Numbers, seed: int) -> list[Split]:
    """Return `FOLDS` stratified folds of `rows`, shuffled by the seed: training and held-out rows of each."""
    splits = StratifiedKFold(FOLDS, shuffle=True, random_state=seed).split(
        np.zeros((len(rows), 1)), classes[rows]
    )
    return [(rows[train], rows[test]) for train, test in splits]


def classify(
    inputs: Floats,
    classes: Numbers,
    train: Numbers,
    test: Numbers,
    inner: Sequence[Split],
    strengths: Sequence[float],
) -> Numbers:
    """Return the classes of `test` by a regression on `train`, with the strength (C) that is best on `inner`."""
    count = len(np.unique(classes))
    dense = inputs.shape[1] * (count if count > 2 else 1) <= DENSE
    solver: dict[str, Any] = {"solver": "newton-cholesky"} if dense else {"solver": "lbfgs", "tol": 1e-7}

    def shares(split: Split) -> list[float]:
        rows, test_rows = split
        model, features = LogisticRegression(**solver, max_iter=10_000, warm_start=True), inputs[rows]
        models = (model.set_params(C=strength).fit(features, classes[rows]) for strength in strengths)
        return [np.mean(fitted.predict(inputs[test_rows]) == classes[test_rows]) for fitted in models]

    # BLAS has one thread, so that figures do not depend on the number of cores; the splits share its threads.
    threads = max((pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"), default=1)
    with threadpool_limits(1), ThreadPoolExecutor(threads) as pool:
        accuracies = np.round(100 * np.mean(list(pool.map(shares, inner)), axis=0), 2)
        strength = strengths[int(np.argmax(accuracies))]
        # More exact than those of the splits, because there are few of them.
        model = LogisticRegression(**(solver | {"tol": 1e-8}), max_iter=10_000, C=strength)
        predicted: Numbers = model.fit(inputs[train], classes[train]).predict(inputs[test])
    return predicted


def find(data: str) -> list[Task | Missing]:
    """Read the sets from a folder; raises InputError for a malformed line or a wrong count."""
    sets: list[Task | Missing] = []
    for corpus in CORPORA:
        paths = find_files(list(corpus.files), corpus.folders, data)
        if isinstance(paths, str):
            sets.append(Missing(corpus.name, corpus.title, paths, corpus.where))
            continue
        parts = read_parts(corpus, paths)
        protocol = next(text for part, text in PROTOCOLS.items() if part in parts)
        items = [(part, item) for part, part_items in parts.items() for item in part_items]
        task = Task(
            name=corpus.name,
            title=corpus.title,
            source=str(paths[0].parent),
            note=f"{protocol}; {DIFFERS}",
            score=partial(score_labelled, parts),
            texts=[text for _, item in items for text in item.texts],
            size=len(parts.get("all") or parts["test"]),
            lines=[f"{part}\t{item.label}\t{item.texts[0]}\t{item.second or ''}\n" for part, item in items],
        )
        sets.append(task)
    return sets


def read_parts(corpus: Corpus, paths: Sequence[Path]) -> Parts:
    """Read a set's files, with one space between words, as SentEval gives lists of words.

    Raises InputError.
    """
    parts: dict[str, list[Labelled]] = {}
    for place, (path, (part, size)) in enumerate(zip(paths, corpus.files.values(), strict=True)):
        lines = file_lines(path, bytewise=corpus.bytewise)[corpus.header :]
        check_count(path, len(lines), size, "items")
        for number, line in enumerate(lines, 1 + corpus.header):
            match = re.fullmatch(corpus.form, line)
            if not match or (corpus.classes and match["label"] not in corpus.classes):
                raise bad_line(path, number, corpus.line, line)
            first, *second = (
                " ".join(text.split()) for name, text in match.groupdict().items() if name != "label"
            )
            label = corpus.classes.index(match["label"]) if corpus.classes else 1 - place
            parts.setdefault(part, []).append(Labelled(first, label, *second))
    return parts
