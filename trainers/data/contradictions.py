"""Pairs for a training on contradictions: an English sentence, itself under other dropout, and its contradiction."""

import re
from collections.abc import Sequence
from itertools import islice
from typing import TYPE_CHECKING

from pipelines.base.console import InputError, note

if TYPE_CHECKING:
    from datasets import Dataset

ENGLISH = re.compile(r"\b(?:the|an?|is|are|to|of|and|in|on|for|with|my|how|what)\b", re.IGNORECASE)
SAMPLE, MOST = 1_000, 8_000  # texts that are looked at, and that are contradicted: a training reads 5,120 rows


def is_english(texts: Sequence[str]) -> bool:
    """Whether half of the texts have a frequent English word."""
    sample = [*islice(texts, SAMPLE)]
    return 2 * sum(ENGLISH.search(text) is not None for text in sample) >= len(sample)


def contradictions(texts: Sequence[str]) -> "Dataset | None":
    """Return pairs of a sentence and itself, each with a contradiction.

    None, with a note, if none can be made.
    """
    from pipelines import make_pairs

    sentences = [*islice(texts, MOST)]
    try:
        pairs = make_pairs(
            sentences, ["identity"], negative_view="contradiction", default_filters=False, seed=1
        )
    except InputError as error:  # WordNet is missing
        note(f"no training on contradictions: {error}")
        return None
    rows = pairs.filter(lambda negative: negative is not None, input_columns="negative")
    note(f"contradictions: of {len(rows):,} of {len(sentences):,} sentences")
    return rows if len(rows) > 1 else None
