"""Surface similarity: chrF of each pair, and BLEU between two views of the same sentences."""

from collections.abc import Sequence

import numpy as np
import regex
from numpy.typing import NDArray

UNSPACED = regex.compile(r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}]")
"""Letters of scripts without spaces between words."""
BATCH_LETTERS = 1 << 16
"""How many letters are counted together, with all pairs padded to the longest."""
ORDERS = 6
"""N-grams of chrF have one to six characters."""
FILLER = 2**64 - 1


def chrf(hypotheses: Sequence[str], references: Sequence[str]) -> NDArray[np.float64]:
    """The chrF2 (Popović 2015) of each hypothesis against its reference, 0 to 100: sacrebleu's `sentence_score`.

    White space does not count. The figures equal sacrebleu's to the last bit in a fraction of its time: the suffixes
    of a pair are sorted once, and then equal n-grams lie side by side.
    """
    texts = ["".join(text.split()) for pair in zip(hypotheses, references, strict=True) for text in pair]
    sizes = np.fromiter(map(len, texts), dtype=np.int64, count=len(texts)).reshape(-1, 2)
    totals, scores = sizes.sum(axis=1), np.zeros(len(sizes))
    left = np.argsort(-totals, kind="stable")  # pairs of about one length fill a matrix
    while len(left):
        rows, left = np.split(left, [max(1, BATCH_LETTERS // max(1, int(totals[left[0]])))])
        scores[rows] = _chrf([texts[place] for row in rows.tolist() for place in (2 * row, 2 * row + 1)], sizes[rows])
    return scores


def _chrf(texts: Sequence[str], sizes: NDArray[np.int64]) -> NDArray[np.float64]:
    """The scores of texts, each hypothesis before its reference, whose letters were counted: (pairs, 2)."""
    pairs = len(sizes)
    letters = np.frombuffer("".join(texts).encode("utf-32-le", "surrogatepass"), dtype=np.uint32)
    used = np.zeros(int(letters.max(initial=0)) + 1, dtype=np.bool_)
    used[letters] = True
    bits = (int(np.count_nonzero(used)) + 1).bit_length()
    if ORDERS * bits + 1 > 64:  # too many different letters for 64-bit keys
        if pairs > 1:
            half = pairs // 2
            return np.concatenate([_chrf(texts[: 2 * half], sizes[:half]), _chrf(texts[2 * half :], sizes[half:])])
        from sacrebleu.metrics import CHRF

        return np.array([CHRF(char_order=ORDERS).sentence_score(texts[0], [texts[1]]).score])
    keys = _suffixes(np.cumsum(used, dtype=np.uint64)[letters], sizes, bits)
    differ = np.full(keys.size + 1, FILLER, dtype=np.uint64)
    np.bitwise_xor(keys[:, 1:], keys[:, :-1], out=differ[:-1].reshape(keys.shape)[:, 1:])
    theirs_before = np.append(0, np.cumsum(keys & np.uint64(1), dtype=np.int64))
    precision, recall, orders = np.zeros(pairs), np.zeros(pairs), np.zeros(pairs)
    for order in range(ORDERS):
        starts = np.flatnonzero(differ >= np.uint64(1 << (1 + (ORDERS - 1 - order) * bits)))
        theirs = np.diff(theirs_before[starts])
        matched = np.append(0, np.minimum(theirs, np.diff(starts) - theirs).cumsum())
        matches = np.diff(matched[np.searchsorted(starts, np.arange(pairs + 1) * keys.shape[1])])
        ours, others = np.maximum(sizes.T - order, 0)
        both = (ours > 0) & (others > 0)
        precision += np.where(both, matches / np.maximum(ours, 1), 0)
        recall += np.where(both, matches / np.maximum(others, 1), 0)
        orders += both
    precision, recall = precision / np.maximum(orders, 1), recall / np.maximum(orders, 1)
    return 100 * (5 * precision * recall / np.where(precision + recall > 0, 4 * precision + recall, 1))


def _suffixes(letters: NDArray[np.uint64], sizes: NDArray[np.int64], bits: int) -> NDArray[np.uint64]:
    """The first six letters of every suffix as keys, a sorted row for each pair; letters are numbered from 1.

    The last bit of a key says whether it is from the reference. Shorter rows are padded with FILLER.
    """
    # Each text is padded with a letter of no text, another one for references, so that nothing matches there.
    lengths = sizes.ravel()
    number = np.repeat(np.arange(len(lengths)), lengths)
    places = np.arange(len(letters)) + ORDERS * number
    ends = np.array([0, int(letters.max(initial=0)) + 1], dtype=np.uint64)
    padded = np.repeat(np.tile(ends, len(sizes)), lengths + ORDERS)
    padded[places] = letters
    count = len(padded) - ORDERS
    key = padded[:count].copy()
    for order in range(1, ORDERS):
        key <<= np.uint64(bits)
        key |= padded[order : order + count]
    totals = sizes.sum(axis=1)
    keys = np.full((len(sizes), max(1, int(totals.max(initial=0)))), FILLER, dtype=np.uint64)
    keys[np.arange(keys.shape[1]) < totals[:, None]] = (key[places] << np.uint64(1)) | (number & 1).astype(np.uint64)
    keys.sort(axis=1)
    return keys


def chrf_signature() -> str:
    """Sacrebleu's signature of this chrF."""
    from sacrebleu.metrics import CHRF

    metric = CHRF(char_order=ORDERS)
    metric.sentence_score("", [""])  # only then does it have a signature
    return str(metric.get_signature())


def self_bleu(view_a: Sequence[str], view_b: Sequence[str]) -> tuple[float, str]:
    """The corpus BLEU of `view_a` with `view_b` as its only reference (0 to 100), and sacrebleu's signature of it.

    Lower is more diverse (Zhu et al. 2018, for two views of one sentence). Scripts without spaces are compared by
    characters.
    """
    from sacrebleu.metrics import BLEU

    letters = sum(letter.isalpha() for text in view_a for letter in text)
    unspaced = sum(len(UNSPACED.findall(text)) for text in view_a)
    # `force` silences a warning about texts that end in " .".
    metric = BLEU(tokenize="char" if unspaced > 0.3 * letters else "13a", force=True)
    score = metric.corpus_score(list(view_a), [list(view_b)]).score
    return score, str(metric.get_signature())
