"""A classifier of texts: an encoder, a linear layer with a softmax, and the names of its labels.

It needs no pickle.
"""

import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Self
from warnings import catch_warnings

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load_file, save
from scipy.special import softmax

from augment.errors import check_several, checked_texts
from pipelines.base.console import InputError
from pipelines.base.files import read_json, write_if_changed
from trainers.encoders.vectors import Matrix, TextEncoder, unit

WEIGHTS, LABELS = "model.safetensors", "labels.json"
STRENGTHS = (1.0, 4.0, 16.0, 64.0, 256.0)  # scikit-learn's C for vectors of length 1
FOLDS = 5


@dataclass(frozen=True, slots=True)
class Classifier:
    """The probability of label k for a vector x of length 1 is softmax(W x + b)_k; W is (k, d), b (k,)."""

    encoder: TextEncoder
    labels: tuple[str, ...]
    weight: Matrix
    bias: Matrix

    @classmethod
    def fit(cls, encoder: TextEncoder, texts: Iterable[str], labels: Iterable[str]) -> Self:
        """Fit logistic regression, with the C that is best in five folds, or in as many as every label allows.

        Raises InputError for one text instead of many, and for what is no text.
        """
        from sklearn.linear_model import LogisticRegression
        from sklearn.model_selection import GridSearchCV, StratifiedKFold

        texts = checked_texts(texts)
        check_several(labels)
        labels = [*labels]
        regression = LogisticRegression(C=STRENGTHS[2], max_iter=1_000)
        folds = min(FOLDS, *Counter(labels).values())
        if folds > 1:
            splits = StratifiedKFold(folds, shuffle=True, random_state=0)
            regression = GridSearchCV(regression, {"C": STRENGTHS}, cv=splits)
        inputs = unit(encoder.encode(texts))
        with catch_warnings(action="ignore"):  # few examples a label are not the sign of a regression
            fitted = regression.fit(inputs, labels)
        fitted = getattr(fitted, "best_estimator_", fitted)
        weight, bias = fitted.coef_, fitted.intercept_
        if len(bias) == 1:  # of two labels scikit-learn has the second one's alone
            weight, bias = np.vstack([0 * weight, weight]), np.append(0 * bias, bias)
        # Of scikit-learn's order in memory safetensors would write the bytes as they are.
        arrays = (np.ascontiguousarray(array, np.float32) for array in (weight, bias))
        return cls(encoder, tuple(map(str, fitted.classes_)), *arrays)

    def probabilities(self, texts: Iterable[str]) -> Matrix:
        """Return the probability of each label for n texts, (n, labels), in the order of `labels`.

        Raises InputError for one text instead of many, and for what is no text.
        """
        scores = unit(self.encoder.encode(checked_texts(texts))) @ self.weight.T + self.bias
        return np.asarray(softmax(scores, axis=1), np.float32)

    def __call__(self, texts: Iterable[str]) -> list[tuple[str, float]]:
        """Return each text's most probable label and its probability."""
        rows = self.probabilities(texts)
        return [
            (self.labels[best], float(row[best])) for row, best in zip(rows, rows.argmax(axis=1), strict=True)
        ]

    def save(self, folder: Path) -> None:
        """Write the layer and the labels to `folder`/classifier; the encoder is in `folder`/encoder."""
        place = folder / "classifier"
        place.mkdir(parents=True, exist_ok=True)
        write_if_changed(place / WEIGHTS, save({"weight": self.weight, "bias": self.bias}))
        write_if_changed(place / LABELS, json.dumps(self.labels, indent=2, ensure_ascii=False) + "\n")

    @classmethod
    def load(cls, folder: str | Path) -> Self:
        """Load what `train labels` wrote into a folder; raises InputError if it cannot be used.

        Example:
            classify = Classifier.load("runs/labels")
            classify(["Where is my card?"])  # [("card_arrival", 0.93)]
        """
        from trainers.encoders.functions import open_encoder

        place = Path(folder) / "classifier"
        try:
            arrays, labels = load_file(place / WEIGHTS), tuple(read_json(place / LABELS))
            weight, bias = arrays["weight"], arrays["bias"]
        except (OSError, SafetensorError, LookupError, TypeError) as error:
            raise InputError(f"{place} holds no classifier ({error}): make one with `train labels`") from None
        if not len(labels) == len(weight) == len(bias):
            raise InputError(f"{place} has {len(weight)} rows for {len(labels)} labels: train it again")
        return cls(open_encoder(Path(folder) / "encoder"), labels, weight, bias)
