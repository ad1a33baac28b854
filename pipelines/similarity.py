"""Surface similarity: the chrF of each pair, and words in scripts with and without spaces."""

from collections.abc import Sequence

import numpy as np
import regex
from numpy.typing import NDArray

UNSPACED = regex.compile(r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}]")
"""Letters of scripts without spaces between words."""
_UNSPACED_WORD = regex.compile(rf"\p{{P}}*{UNSPACED.pattern}[\p{{M}}\p{{P}}]*")


def word_count(text: str) -> int:
    """The number of words between spaces.

    Of scripts that have none, each letter with its accents counts as a word.
    """
    return len((text if text.isascii() else _UNSPACED_WORD.sub(" x ", text)).split())


def chrf(hypotheses: Sequence[str], references: Sequence[str]) -> NDArray[np.float64]:
    """The chrF2 (Popović 2015) of each hypothesis, 0 to 100, as sacrebleu's `sentence_score`.

    Blanks are ignored.
    """
    from fastchrf import pairwise_chrf

    # fastchrf knows fewer kinds of white space than Python and sacrebleu.
    candidates, targets = ([["".join(text.split())] for text in texts] for texts in (hypotheses, references))
    return np.array(pairwise_chrf(candidates, targets) if candidates else [], dtype=np.float64).reshape(-1)
