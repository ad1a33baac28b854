"""Labelled texts as they were read, and how well a linear classifier tells their classes apart by an encoder's vectors.

Conneau & Kiela 2018, SentEval: An Evaluation Toolkit for Universal Sentence Representations.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from trainers.evaluation.task import Items, Result
from trainers.evaluation.transfer.sets import Part, TransferSet

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from trainers.evaluation.vectors import Matrix, Vectors

FIGURES = ("accuracy", "f1")
"""The share of the items that are told right x 100, and F1 of class 1 x 100 where papers report it (MRPC)."""

PROTOCOLS = {
    "all": "logistic regression, 10-fold cross-validation, strength by 10 folds inside",
    "test": "logistic regression, strength by 10 folds of the training items",
    "dev": "logistic regression, strength by the development items",
}
DIFFERS = "scikit-learn's as in SentEval with usepytorch off; papers also use its classifier trained by Adam"


@dataclass(frozen=True, slots=True)
class Labelled:
    """A text, or two, and the number of its class; words have one space between them, and some texts have none."""

    first: str
    label: int
    second: str | None = None

    @property
    def encoded(self) -> str:
        """What stands for the first text before an encoder: a full stop for no words, as in SentEval's examples."""
        return self.first or "."


@dataclass(frozen=True, slots=True)
class LabelledSet:
    """A set's items by part, in the order of its files.

    `source` is a folder or a Hub name; `files` maps what was read to its sha256; `copy` is what is special about it.
    """

    about: TransferSet
    parts: Mapping[Part, tuple[Labelled, ...]]
    source: str
    files: Mapping[str, str] = field(default_factory=dict)
    copy: str | None = None

    @property
    def name(self) -> str:
        """The set's short name."""
        return self.about.name

    @property
    def title(self) -> str:
        """The set's name as papers print it."""
        return self.about.title

    @property
    def size(self) -> int:
        """The number of items that are classified: all, each when it is held out, or those of the test."""
        return len(self.parts["all" if "all" in self.parts else "test"])

    @property
    def note(self) -> str:
        """The protocol."""
        part = next(part for part in ("all", "dev", "test") if part in self.parts)
        return "; ".join(filter(None, (PROTOCOLS[part], DIFFERS, self.copy)))

    @property
    def counted(self) -> bool:
        """Whether papers average it with the others."""
        return self.about.counted

    def texts(self) -> Iterable[str]:
        """Yield the texts of every part."""
        for items in self.parts.values():
            for item in items:
                yield item.encoded
                if item.second is not None:
                    yield item.second

    def sha256(self) -> str:
        """Return a checksum of the items themselves."""
        digest = hashlib.sha256()
        for part, items in self.parts.items():
            for item in items:
                digest.update(f"{part}\t{item.label}\t{item.encoded}\t{item.second or ''}\n".encode())
        return digest.hexdigest()

    def score(self, vectors: Vectors, seed: int) -> Result:
        """Return the accuracy, and F1 of a set of pairs, x 100.

        The outcomes stand in the order of the files. `seed` shuffles the folds; SentEval's own is 1111. Where every
        item is held out once, the accuracy is that of all items, of which SentEval's mean over the folds differs only
        as far as these are of unequal size; `parts` has each fold, with the strength that was chosen for it.

        More than two classes have one multinomial model, and intercepts are free. SentEval's figures are from the
        years when scikit-learn's default was liblinear: a model for each class against the rest, intercepts penalised.
        """
        if "all" in self.parts:
            return self._held_out(vectors, seed)
        from trainers.evaluation.transfer.regression import by_development, on_test

        train, classes = _inputs(senteval_order(self.parts["train"]), vectors)
        test, gold = _inputs(self.parts["test"], vectors)
        if "dev" in self.parts:
            judged = by_development(train, classes, *_inputs(self.parts["dev"], vectors), test)
        else:
            judged = on_test(train, classes, test, seed)
        right = judged.predicted == gold
        chosen: dict[str, float | None] = {"strength": judged.strengths[0], "inner": judged.inner[0]}
        figures: dict[str, float | None] = {"accuracy": _percent(right)}
        if self.parts["test"][0].second is not None:
            figures["f1"] = f1(gold, judged.predicted)
        return Result(figures, _items(gold, right), {"chosen": chosen})

    def _held_out(self, vectors: Vectors, seed: int) -> Result:
        from trainers.evaluation.transfer.regression import held_out

        order = senteval_order(self.parts["all"])
        inputs, classes = _inputs(order, vectors)
        judged = held_out(inputs, classes, seed)
        right = judged.predicted == classes
        folds = {
            f"fold {number}": {"accuracy": _percent(right[rows]), "strength": strength, "inner": inner}
            for number, (rows, strength, inner) in enumerate(
                zip(judged.held, judged.strengths, judged.inner, strict=True), 1
            )
        }
        # Back into the order of the files.
        places = np.argsort(_senteval_places(self.parts["all"]))
        return Result({"accuracy": _percent(right)}, _items(classes[places], right[places]), folds)


def senteval_order(items: Sequence[Labelled]) -> list[Labelled]:
    """Return the items as SentEval sorts them before it folds them: by numbers of words, then by class.

    An empty line has no words there; only its batches put a full stop in its place.
    """
    return [items[place] for place in _senteval_places(items)]


def _senteval_places(items: Sequence[Labelled]) -> list[int]:
    def key(place: int) -> tuple[int, int, int]:
        item = items[place]
        return len(item.first.split()), len((item.second or "").split()), item.label

    return sorted(range(len(items)), key=key)


def f1(gold: ArrayLike, predicted: ArrayLike) -> float:
    """Return the harmonic mean of precision and recall of class 1, x 100; 0 where nothing of it is found."""
    true, given = np.asarray(gold) == 1, np.asarray(predicted) == 1
    total = int(true.sum() + given.sum())
    return 200 * int((true & given).sum()) / total if total else 0.0


def _inputs(items: Sequence[Labelled], vectors: Vectors) -> tuple[Matrix, NDArray[np.int64]]:
    """Return what the classifier sees, (n, d) or for pairs |u - v| beside u * v, (n, 2 d), and the classes."""
    first = vectors.of([item.encoded for item in items])
    classes = np.array([item.label for item in items], dtype=np.int64)
    if items[0].second is None:
        return first, classes
    second = vectors.of([item.second or "" for item in items])
    if isinstance(first, np.ndarray):
        return np.concatenate([abs(first - second), first * second], axis=1), classes
    from scipy.sparse import hstack

    return hstack([abs(first - second), first.multiply(second)], format="csr"), classes


def _items(gold: NDArray[np.int64], right: NDArray[np.bool_]) -> Items:
    return Items("mean", gold.astype(np.float64), right.astype(np.float64))


def _percent(right: NDArray[np.bool_]) -> float:
    return 100 * float(np.mean(right))
