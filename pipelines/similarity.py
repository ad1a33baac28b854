"""How alike texts are on the surface: chrF of each pair, and BLEU between two views of the same sentences."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING

import regex

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

UNSPACED = regex.compile(r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}]")
"""Letters of scripts without spaces between words."""
BATCH = 1_000
"""Pairs whose n-grams are counted together; with fewer than 65,536 their numbers fit into a key (see `_chrf`)."""
ORDERS = 6
"""N-grams of chrF have one to six characters."""
MIX = 0x9E3779B97F4A7C15
HASH_BITS = 48


def chrf(hypotheses: Sequence[str], references: Sequence[str]) -> NDArray[np.float64]:
    """The chrF2 (Popović 2015) of each hypothesis against its reference, 0 to 100: sacrebleu's `sentence_score`.

    White space does not count. The figures are sacrebleu's own to the last bit, in a quarter of its time, as the
    n-grams of many pairs are counted together.
    """
    import numpy as np

    cuts = range(0, len(hypotheses), BATCH)
    scores = [_chrf(hypotheses[start : start + BATCH], references[start : start + BATCH]) for start in cuts]
    return np.concatenate([np.zeros(0), *scores])


def _chrf(hypotheses: Sequence[str], references: Sequence[str]) -> NDArray[np.float64]:
    import numpy as np

    pairs = len(hypotheses)
    texts = ["".join(text.split()) for text in (*hypotheses, *references)]
    lengths = np.array([len(text) for text in texts], dtype=np.int64)
    letters = np.frombuffer("".join(texts).encode("utf-32-le", "surrogatepass"), dtype=np.uint32).astype(np.uint64)
    number = np.repeat(np.arange(2 * pairs), lengths)
    left = np.repeat(lengths.cumsum(), lengths) - np.arange(len(letters))  # letters to the end of the text
    # A key has the pair in its highest bits, the n-gram's hash, and whether it is of the reference in the lowest.
    ends = ((number % pairs).astype(np.uint64) << np.uint64(HASH_BITS)) | (number >= pairs).astype(np.uint64)
    hashes, padded = np.zeros_like(letters), np.append(letters, np.zeros(ORDERS, np.uint64))
    precision, recall, orders = np.zeros(pairs), np.zeros(pairs), np.zeros(pairs)
    for order in range(ORDERS):
        hashes = (hashes ^ padded[order : order + len(letters)]) * np.uint64(MIX)
        hashes ^= hashes >> np.uint64(32)
        matches = _matches(((hashes & np.uint64((1 << HASH_BITS) - 2)) | ends)[left > order], pairs)
        ours, theirs = np.maximum(lengths - order, 0).reshape(2, pairs)
        both = (ours > 0) & (theirs > 0)
        precision += np.where(both, matches / np.maximum(ours, 1), 0)
        recall += np.where(both, matches / np.maximum(theirs, 1), 0)
        orders += both
    precision, recall = precision / np.maximum(orders, 1), recall / np.maximum(orders, 1)
    return 100 * (5 * precision * recall / np.where(precision + recall > 0, 4 * precision + recall, 1))


def _matches(keys: NDArray[np.uint64], pairs: int) -> NDArray[np.float64]:
    """How many n-grams of each hypothesis are in its reference, each as often as it is there."""
    import numpy as np

    keys = np.sort(keys)
    grams = keys >> np.uint64(1)
    starts = np.flatnonzero(np.append(True, grams[1:] != grams[:-1])[: len(keys)])
    before = np.append(0, np.cumsum(keys & np.uint64(1)).astype(np.int64))
    theirs = np.diff(before[np.append(starts, len(keys))])
    matched = np.minimum(theirs, np.diff(starts, append=len(keys)) - theirs)
    places = (keys[starts] >> np.uint64(HASH_BITS)).astype(np.int64)
    return np.asarray(np.bincount(places, matched, pairs), dtype=np.float64)


@cache
def chrf_signature() -> str:
    """What sacrebleu calls this chrF: paste it beside the numbers."""
    from sacrebleu.metrics import CHRF

    metric = CHRF(char_order=ORDERS)
    metric.sentence_score("", [""])  # it has no signature before it has scored something
    return str(metric.get_signature())


def self_bleu(view_a: Sequence[str], view_b: Sequence[str]) -> tuple[float, str]:
    """The corpus BLEU of `view_a` with `view_b` as its only reference (0 to 100), and sacrebleu's signature of it.

    How much of its wording two views share; lower is more diverse. (Zhu et al. 2018 compare generated sentences with
    each other; here these are the two views of one sentence.) Scripts without spaces are compared by characters.
    """
    from sacrebleu.metrics import BLEU

    letters = sum(letter.isalpha() for text in view_a for letter in text)
    unspaced = sum(len(UNSPACED.findall(text)) for text in view_a)
    # Without `force` it warns of texts that end in " ." as if they had been tokenised.
    metric = BLEU(tokenize="char" if unspaced > 0.3 * letters else "13a", force=True)
    score = metric.corpus_score(list(view_a), [list(view_b)]).score
    return score, str(metric.get_signature())
