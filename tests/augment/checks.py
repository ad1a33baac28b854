"""What tests of views share: real sentences and WordNet, if they are at hand, and what a user's mistake looks like."""

import gzip
import os
import random
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from augment.errors import InputError
from augment.view import View, ViewSpec, make_view

TEXTS = [
    "A man is playing the guitar on stage.",
    "Two dogs run through “green” grass, isn't it?",
    "The  U.S. bought 3.5% unbelievable things for their children because of the happy weather.",
    "Children like ice cream (boys mostly), of course.",
    "Cars were quickly repaired near the enormous house while the people were talking about their large boat. " * 2,
    "NASA",
]
DATA = Path(os.environ.get("TWINVIEWS_TEST_DATA", Path(__file__).parents[2].parent / "shared" / "data"))


@contextmanager
def refused(said: str) -> Iterator[None]:
    """Hold the block to an InputError of one line that contains `said`."""
    with pytest.raises(InputError) as caught:
        yield
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


@cache
def real_sentences(count: int) -> list[str]:
    """A seeded sample, equally from captions, STS-B's training set and Mirror-BERT's 10,000 sentences of it."""
    captions = DATA / "corpora" / "multi30k-task2" / "train.1.en.gz"
    pairs = DATA / "sts" / "stsbenchmark" / "sts-train.csv"
    sample = DATA / "corpora" / "stsbenchmark_train_10k_sents_random_sampled.txt"
    if not all(path.is_file() for path in (captions, pairs, sample)):
        pytest.skip("no research data: set TWINVIEWS_TEST_DATA")
    with gzip.open(captions, "rt", encoding="utf-8") as lines:
        texts = [[line.rstrip("\n") for line in lines]]
    texts.append([cell for line in pairs.open(encoding="utf-8") for cell in line.rstrip("\n").split("\t")[5:7]])
    texts.append(sample.read_text(encoding="utf-8").splitlines())
    return [text for part in texts for text in random.Random(0).sample(part, count // 3)]


def built(name: str, **params: Any) -> View:  # noqa: ANN401
    """A view; the test is skipped if it needs a WordNet that is not installed."""
    try:
        return make_view(ViewSpec(name, params), device="cpu")
    except InputError as error:
        if "WordNet was not found" in str(error):
            pytest.skip(str(error))
        raise
