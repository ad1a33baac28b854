"""MR, CR, SUBJ, MPQA, SST-2, TREC, MRPC: accuracy of logistic regression on frozen vectors, as SentEval.

Conneau & Kiela 2018; the classification tables of Zhang et al. 2020 (IS-BERT) and Zhang et al. 2021 (BSL).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from trainers.evaluation.labelled import Corpus, File, HubCopy, Labelled, Part, read_corpus, words
from trainers.evaluation.suites.sts import SENTEVAL
from trainers.evaluation.task import Missing, Predictions, Result, Task

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from trainers.embedding.vectors import Matrix, Vectors

METRICS = ("accuracy", "f1")
"""The share of the items that are classified right x 100, and F1 of class 1 x 100 where papers report it (MRPC)."""
COUNTED = 7

QUESTION_TYPES = ("ABBR", "DESC", "ENTY", "HUM", "LOC", "NUM")
PROTOCOLS = {
    "all": "logistic regression, 10-fold cross-validation, strength by 10 folds inside",
    "dev": "logistic regression, strength by the development items",
    "test": "logistic regression, strength by 10 folds of the training items",
}
"""By the parts of a set: all, each item held out once; train, dev and test; train and test."""
DIFFERS = "scikit-learn's as in SentEval with usepytorch off; papers also use its classifier trained by Adam"


def read_class(file: File, line: str) -> Labelled:
    """A text a line; the file is of one class."""
    return Labelled(words(line), file.label)


def read_trec(file: File, line: str) -> Labelled:
    """A question after its type and finer type."""
    kind, rest = line.split(":", 1)
    _finer, question = rest.split(" ", 1)
    return Labelled(words(question), QUESTION_TYPES.index(kind))


def read_mrpc(file: File, line: str) -> Labelled:
    """Whether two sentences are paraphrases, their ids and they themselves, separated by tabs."""
    quality, _one, _two, first, second = line.split("\t")
    return Labelled(words(first), ("0", "1").index(quality), words(second))


def read_sst2(file: File, line: str) -> Labelled:
    """A text, a tab, and 0 or 1."""
    text, label = line.split("\t")
    return Labelled(words(text), ("0", "1").index(label.strip()))


_WHERE = f"{SENTEVAL} or SentEval's get_transfer_data.bash"


def _classes(name: str, one: str, items: int, zero: str, others: int, hub: HubCopy | None = None) -> Corpus:
    files = (File(one, items, "all", 1), File(zero, others, "all", 0))
    return Corpus(
        name.lower(), name, (name,), files, read_class, "sentence", _WHERE, bytewise=True, hub=hub
    )  # fmt: skip


CORPORA = (
    _classes(
        "MR", "rt-polarity.pos", 5331, "rt-polarity.neg", 5331,
        HubCopy(
            "cornell-movie-review-data", "rotten_tomatoes", (("all", "train"), ("all", "validation"), ("all", "test"))
        ),
    ),
    _classes("CR", "custrev.pos", 2407, "custrev.neg", 1368),
    # SentEval calls the objective sentences the positive ones.
    _classes(
        "SUBJ", "subj.objective", 5000, "subj.subjective", 5000,
        HubCopy("SetFit", "subj", (("all", "train"), ("all", "test"))),
    ),
    _classes("MPQA", "mpqa.pos", 3312, "mpqa.neg", 7294),
    Corpus(
        "sst2", "SST-2", ("SST/binary", "sst/binary", "SST2"),
        (
            File("sentiment-train", 67349, "train"), File("sentiment-dev", 872, "dev"),
            File("sentiment-test", 1821, "test"),
        ),
        read_sst2, "sentence and a label of 0 or 1, a tab between them", _WHERE,
    ),
    Corpus(
        "trec", "TREC", ("TREC",), (File("train_5500.label", 5452, "train"), File("TREC_10.label", 500, "test")),
        read_trec, "TYPE:type and a question", _WHERE, len(QUESTION_TYPES), bytewise=True,
        hub=HubCopy("SetFit", "TREC-QC", (("train", "train"), ("test", "test")), label="label_coarse"),
    ),
    Corpus(
        "mrpc", "MRPC", ("MRPC",),
        (File("msr_paraphrase_train.txt", 4076, "train"), File("msr_paraphrase_test.txt", 1725, "test")),
        read_mrpc, "row of quality (0 or 1), two numbers and two sentences", _WHERE, header=1,
        hub=HubCopy(
            "SetFit", "mrpc", (("train", "train"), ("train", "validation"), ("test", "test")), ("text1", "text2")
        ),
    ),
)  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class LabelledSet(Task):
    """A set's items by part, in the order of its files."""

    parts: Mapping[Part, tuple[Labelled, ...]]

    @property
    def size(self) -> int:
        """The number of items that are classified: all, each when it is held out, or those of the test."""
        return len(self.parts["all" if "all" in self.parts else "test"])

    def texts(self) -> Iterable[str]:
        """Yield the texts of every part."""
        for items in self.parts.values():
            for item in items:
                yield item.encoded
                if item.second is not None:
                    yield item.second

    def lines(self) -> Iterable[str]:
        """Yield part, class and texts of every item."""
        for part, items in self.parts.items():
            yield from (f"{part}\t{item.label}\t{item.encoded}\t{item.second or ''}\n" for item in items)

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
        from trainers.evaluation.regression import by_development, on_test

        train, classes = _features(senteval_order(self.parts["train"]), vectors)
        test, gold = _features(self.parts["test"], vectors)
        if "dev" in self.parts:
            judged = by_development(train, classes, *_features(self.parts["dev"], vectors), test)
        else:
            judged = on_test(train, classes, test, seed)
        right = judged.predicted == gold
        metrics = {"accuracy": _percent(right)}
        if self.parts["test"][0].second is not None:
            metrics["f1"] = f1(gold, judged.predicted)
        chosen = {"strength": judged.strengths[0], "inner": judged.inner[0]}
        return Result(metrics, _predictions(gold, right), {"chosen": chosen})

    def _held_out(self, vectors: Vectors, seed: int) -> Result:
        from trainers.evaluation.regression import held_out

        places = senteval_places(self.parts["all"])
        inputs, classes = _features([self.parts["all"][place] for place in places], vectors)
        judged = held_out(inputs, classes, seed)
        right = judged.predicted == classes
        folds = {
            f"fold {number}": {"accuracy": _percent(right[rows]), "strength": strength, "inner": inner}
            for number, (rows, strength, inner) in enumerate(
                zip(judged.held, judged.strengths, judged.inner, strict=True), 1
            )
        }
        files = np.argsort(places)
        return Result({"accuracy": _percent(right)}, _predictions(classes[files], right[files]), folds)


def senteval_places(items: Sequence[Labelled]) -> list[int]:
    """Return the places of the items as SentEval sorts them before it folds them: by numbers of words, then by class.

    An empty line has no words there; only its batches put a full stop in its place.
    """

    def key(place: int) -> tuple[int, int, int]:
        item = items[place]
        return len(item.first.split()), len((item.second or "").split()), item.label

    return sorted(range(len(items)), key=key)


def senteval_order(items: Sequence[Labelled]) -> list[Labelled]:
    """Return the items in SentEval's order."""
    return [items[place] for place in senteval_places(items)]


def f1(gold: ArrayLike, predicted: ArrayLike) -> float:
    """Return the harmonic mean of precision and recall of class 1, x 100; 0 where nothing of it is found."""
    from sklearn.metrics import f1_score

    return 100 * float(f1_score(gold, predicted, zero_division=0.0))


def _features(items: Sequence[Labelled], vectors: Vectors) -> tuple[Matrix, NDArray[np.int64]]:
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


def _predictions(gold: NDArray[np.int64], right: NDArray[np.bool_]) -> Predictions:
    return Predictions("mean", gold.astype(np.float64), right.astype(np.float64))


def _percent(right: NDArray[np.bool_]) -> float:
    return 100 * float(np.mean(right))


def find(data: str) -> tuple[list[LabelledSet], list[Missing]]:
    """Read the sets from a folder or the Hub; raises InputError for a malformed file or a wrong count."""
    read = [read_set(corpus, data) for corpus in CORPORA]
    found = [item for item in read if isinstance(item, LabelledSet)]
    return found, [item for item in read if isinstance(item, Missing)]


def read_set(corpus: Corpus, data: str) -> LabelledSet | Missing:
    """Read one set, with the protocol that its parts decide; raises as `find`."""
    read = read_corpus(corpus, data)
    if isinstance(read, Missing):
        return read
    protocol = next(text for part, text in PROTOCOLS.items() if part in read.parts)
    note = "; ".join(filter(None, (protocol, DIFFERS, read.remark)))
    return LabelledSet(
        name=corpus.name, title=corpus.title, source=read.source, files=read.files, note=note, parts=read.parts
    )
