"""Texts with labels: accuracy and macro-F1 of two classifiers, and NMI of k-means."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal
from warnings import catch_warnings

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import KMeans
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score, normalized_mutual_info_score
from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold
from sklearn.neighbors import KNeighborsClassifier

from pipelines.base.console import InputError, counted
from trainers.encoders.vectors import Numbers, Vectors
from trainers.scores.tables.table_items import (
    MACRO,
    SCORE,
    Score,
    TableItems,
    TableRow,
    item_groups,
    mean_result,
)
from trainers.scores.task import Metrics, Predictions, Result

FOLDS, NEIGHBOURS = 5, 5
CLUSTERINGS = 10  # NMI is a mean because runs of k-means differ by points
STRENGTH = 10.0  # scikit-learn's C; its default of 1 learns too little from a few vectors of length 1
UNDEFINED: Metrics = {SCORE: None}


@dataclass(frozen=True, slots=True)
class LabelledTexts:
    """Texts, the numbers of their classes and groups, (texts,), and how many texts a label classifiers learn from.

    `has_groups` tells whether groups come from a column, so that one may have texts of several labels.
    """

    texts: Sequence[str]
    classes: Numbers
    groups: Numbers
    shots: int | None
    has_groups: bool


def read_labels(rows: Sequence[TableRow], shots: int | None, omitted: Counter[str]) -> TableItems:
    """Return texts with labels as items; what belongs together is trained on and tested together."""
    complete = [row for row in rows if row["text"] and row["label"]]
    names = [row.get("group", "") for row in complete]
    has_groups = any(names)
    groups = item_groups([[row["text"]] for row in complete], names)
    kept = _with_enough(complete, groups, shots + 1 if shots else FOLDS, omitted, by_first=not has_groups)
    omitted["rows without text or label"] = len(rows) - len(complete)
    texts = [complete[place]["text"] for place in kept]
    labels, classes = np.unique([complete[place]["label"] for place in kept], return_inverse=True)
    _, groups = np.unique(groups[kept], return_inverse=True)
    # The number of texts a label is part of the items, so that scores with another number are never compared.
    lines = [f"{shots} shots\n"] if shots else []
    for place in kept:
        row = complete[place]
        lines.append(f"{row['label']}\t{row['text']}\n")
    items = LabelledTexts(texts, classes, groups, shots, has_groups)
    scores: dict[str, Score] = {
        f"{min(NEIGHBOURS, shots or NEIGHBOURS)}-NN accuracy": partial(score_classifier, items, "neighbours"),
        "regression accuracy": partial(score_classifier, items, "regression"),
        "k-means NMI": partial(score_clusters, items),
    }
    return TableItems(
        summary=_summary(items),
        texts=texts,
        lines=lines,
        size=len(texts),
        scores=scores if len(labels) > 1 else {},
        metrics=(SCORE, MACRO),
    )


def _with_enough(
    rows: Sequence[TableRow], groups: Numbers, least: int, omitted: Counter[str], *, by_first: bool
) -> list[int]:
    """Return the places of the rows whose label is that of at least `least` groups, of copies only the first counts."""
    labels = [row["label"] for row in rows]
    firsts = np.unique(groups, return_index=True)[1] if by_first else range(len(rows))
    members = Counter(label for _, label in {(int(groups[place]), labels[place]) for place in firsts})
    kept = [place for place, label in enumerate(labels) if members[label] >= least]
    omitted[f"texts whose label has fewer than {least}{'' if by_first else ' groups'}"] = len(rows) - len(kept)
    return kept


def _summary(items: LabelledTexts) -> str:
    """Return the number of texts and labels, the share of the largest, and how classifiers are tested."""
    counts = np.bincount(items.classes) if len(items.classes) else np.zeros(1, int)
    labels = int((counts > 0).sum())
    summary = f"{counted(len(items.texts), 'text')} with {counted(labels, 'label')}"
    if labels > 1:
        summary += f" (always saying the largest: {100 * counts.max() / counts.sum():.1f})"
    summary += f", {FOLDS} draws of {items.shots} a label" if items.shots else f", {FOLDS} folds"
    together = len(items.texts) - len(np.unique(items.groups))
    if items.has_groups:
        return f"{summary}, in {counted(len(np.unique(items.groups)), 'group')}"
    return f"{summary}, {together:,} of them copies" if together else summary


def _splits(items: LabelledTexts, seed: int) -> Iterator[tuple[Numbers, Numbers]]:
    """Yield the places of texts to train on and to test: folds of whole groups, or draws of few texts a label."""
    classes, groups = items.classes, items.groups
    if items.shots:
        yield from _draws(items, items.shots, seed)
    elif items.has_groups:
        folds = StratifiedGroupKFold(FOLDS, shuffle=True, random_state=seed)
        yield from folds.split(classes, classes, groups)
    else:
        firsts = np.unique(groups, return_index=True)[1]  # of copies the first one, whose label decides
        folds = StratifiedKFold(FOLDS, shuffle=True, random_state=seed)
        for train, test in folds.split(firsts, classes[firsts]):
            yield np.flatnonzero(np.isin(groups, train)), np.flatnonzero(np.isin(groups, test))


def _draws(items: LabelledTexts, shots: int, seed: int) -> Iterator[tuple[Numbers, Numbers]]:
    """Yield draws of `shots` texts a label, each of another group, and all texts of the groups that were not drawn."""
    units = np.unique(np.stack([items.groups, items.classes]), axis=1, return_index=True)[1]
    rng = np.random.default_rng(seed)
    for _ in range(FOLDS):
        drawn = units[rng.permutation(len(units))]
        of_label = [drawn[items.classes[drawn] == label][:shots] for label in range(items.classes.max() + 1)]
        train = np.concatenate(of_label)
        test = np.flatnonzero(~np.isin(items.groups, items.groups[train]))
        if not len(test):
            raise InputError(
                f"--shots {shots} of each label take a text of every group: give a smaller number"
            )
        yield train, test


def score_classifier(
    items: LabelledTexts, kind: Literal["neighbours", "regression"], vectors: Vectors, seed: int
) -> Result:
    """The accuracy of a classifier on unit vectors, with macro-F1 beside it; undefined for equal vectors."""
    if vectors.are_equal(items.texts):
        return Result({**UNDEFINED, MACRO: None})
    inputs = vectors.units(items.texts)
    hits, tests = np.zeros(len(items.texts)), np.zeros(len(items.texts))
    guesses, macro = np.zeros(len(items.texts), int), list[float]()
    for train, test in _splits(items, seed):
        # Uniform votes of a few examples a label are ties, which the first label would win.
        weights = "distance" if items.shots else "uniform"
        count = min(NEIGHBOURS, items.shots or len(train))
        neighbours = KNeighborsClassifier(count, metric="cosine", weights=weights)
        model = LogisticRegression(C=STRENGTH, max_iter=10_000) if kind == "regression" else neighbours
        with catch_warnings(action="ignore"):  # one example a label is not the sign of a regression
            guesses[test] = model.fit(inputs[train], items.classes[train]).predict(inputs[test])
        hits[test] += guesses[test] == items.classes[test]
        tests[test] += 1
        macro += [_macro_f1(items.classes[test], guesses[test])] if items.shots else []
    # folds have few texts of a label: of all of them at once
    macro = macro or [_macro_f1(items.classes, guesses)]
    result = mean_result(np.divide(hits, tests, out=np.full(len(hits), np.nan), where=tests > 0), items.groups)
    return result._replace(metrics={**result.metrics, MACRO: 100 * float(np.mean(macro))})


def _macro_f1(classes: Numbers, guesses: Numbers) -> float:
    """Return the mean over labels of F1, 0 for a label that is never guessed."""
    return float(f1_score(classes, guesses, average="macro", zero_division=0))


def score_clusters(items: LabelledTexts, vectors: Vectors, seed: int) -> Result:
    """Return the NMI of classes and k-means, the mean over clusterings; undefined for equal vectors."""
    if vectors.are_equal(items.texts):
        return Result(UNDEFINED)
    inputs = vectors.units(items.texts)
    clusters: list[NDArray[np.int32]] = []
    with catch_warnings(action="ignore"):  # fewer distinct vectors than labels are no fault of the table
        for run in range(seed, seed + CLUSTERINGS):
            clusters.append(
                KMeans(items.classes.max() + 1, n_init=1, random_state=run % 2**32).fit_predict(inputs)
            )
    score = 100 * float(np.mean([normalized_mutual_info_score(items.classes, run) for run in clusters]))
    predicted = np.stack(clusters, axis=1).astype(float)
    return Result({SCORE: score}, Predictions("nmi", items.classes.astype(float), predicted, items.groups))
