"""Real sentences and WordNet for tests, where they are at hand; else the tests are skipped."""

import gzip
import os
import random
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from augment.errors import InputError
from augment.view import View, ViewSpec, make_view

DATA = Path(os.environ.get("TWINVIEWS_TEST_DATA", Path(__file__).parents[2].parent / "shared" / "data"))


@cache
def real_sentences(count: int) -> list[str]:
    """A seeded sample, as much from captions as from STS-B's training set and Mirror-BERT's 10,000 sentences of it."""
    captions = DATA / "corpora" / "multi30k-task2" / "train.1.en.gz"
    pairs = DATA / "sts" / "stsbenchmark" / "sts-train.csv"
    sample = DATA / "corpora" / "stsbenchmark_train_10k_sents_random_sampled.txt"
    if not all(path.is_file() for path in (captions, pairs, sample)):
        pytest.skip("no research data: set TWINVIEWS_TEST_DATA")
    with gzip.open(captions, "rt", encoding="utf-8") as lines:
        texts = [[line.rstrip("\n") for line in lines]]
    cells = (line.rstrip("\n").split("\t")[5:7] for line in pairs.open(encoding="utf-8"))
    texts.append([cell for row in cells for cell in row])
    texts.append(sample.read_text(encoding="utf-8").splitlines())
    return [text for part in texts for text in random.Random(0).sample(part, count // 3)]


def built(name: str, **params: Any) -> View:  # noqa: ANN401
    """A view; the test is skipped where it needs a WordNet that is not installed."""
    try:
        return make_view(ViewSpec(name, params), device="cpu")
    except InputError as error:
        if "WordNet was not found" in str(error):
            pytest.skip(str(error))
        raise
