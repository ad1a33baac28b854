"""nlpaug's augmenters as rows of the table of views: the whole corpus in, a text for each sentence out."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from augment.lexicon import wordnet
from augment.models.weights import STARTER_ENCODER, STARTER_TRANSLATION

Row = tuple[list[str | None], None, float]


def run(build: Callable[[], Any], texts: Sequence[str], *, whole: bool = False) -> Row:
    """Augment all texts, one by one or as one list, models loaded before the clock starts."""
    random.seed(0)
    np.random.seed(0)  # noqa: NPY002 - the generator that nlpaug draws from
    augmenter = build()
    augmenter.augment(list(texts[:2]))
    started = time.perf_counter()
    if whole:
        views: list[str | None] = list(augmenter.augment(list(texts)))
    else:
        views = [next(iter(augmenter.augment(text)), None) for text in texts]
    return views, None, time.perf_counter() - started


def synonym(share: float) -> Callable[[Sequence[str]], Row]:
    """WordNet synonyms of a share of the words."""

    def build() -> Any:  # noqa: ANN401 - an nlpaug augmenter
        import nlpaug.augmenter.word as naw
        import nltk.data

        nltk.data.path.insert(0, str(wordnet.find().parent.parent))
        return naw.SynonymAug(aug_src="wordnet", aug_p=share)

    return lambda texts: run(build, texts)


def contextual(texts: Sequence[str]) -> Row:
    """Substitution by our bundled masked language model, 20% of the words, the corpus as one list."""

    def build() -> Any:  # noqa: ANN401 - an nlpaug augmenter
        import nlpaug.augmenter.word as naw

        path = str(STARTER_ENCODER)
        return naw.ContextualWordEmbsAug(
            model_path=path, model_type="bert", action="substitute", aug_p=0.2, device="cpu", batch_size=32
        )

    return run(build, texts, whole=True)


def back_translation(texts: Sequence[str]) -> Row:
    """Back-translation over German by our bundled models, 32 sentences a batch."""

    def build() -> Any:  # noqa: ANN401 - an nlpaug augmenter
        import nlpaug.augmenter.word as naw

        there, back = (str(STARTER_TRANSLATION / name) for name in ("en-xx", "xx-en"))
        return naw.BackTranslationAug(from_model_name=there, to_model_name=back, device="cpu", max_length=128)

    views, _, seconds = run(build, [f">>de<< {text}" for text in texts], whole=True)
    return views, None, seconds


NLPAUG_ROWS: dict[str, Callable[[Sequence[str]], Row]] = {
    "nlpaug SynonymAug 0.3": synonym(0.3),
    "nlpaug SynonymAug 0.1": synonym(0.1),
    "nlpaug ContextualWordEmbsAug 0.2": contextual,
    "nlpaug BackTranslationAug de": back_translation,
}
