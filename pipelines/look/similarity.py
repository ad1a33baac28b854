"""How alike texts are on the surface: chrF of each, and BLEU between two views of the same sentences."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from pipelines.look.worddiff import UNSPACED

if TYPE_CHECKING:
    from sacrebleu.metrics import BLEU, CHRF


@dataclass(frozen=True, slots=True)
class Bleu:
    """A corpus BLEU (0 to 100), sacrebleu's signature of it, and the rows that it is of."""

    score: float
    signature: str
    rows: int

    def as_dict(self) -> dict[str, Any]:
        """It as JSON."""
        return {"score": self.score, "signature": self.signature, "rows": self.rows}


def chrf(hypotheses: Sequence[str], references: Sequence[str]) -> list[float]:
    """The chrF2 (0 to 100; Popović 2015) of each hypothesis against its reference, as sacrebleu computes it."""
    metric = _chrf()
    return [metric.sentence_score(one, [two]).score for one, two in zip(hypotheses, references, strict=True)]


def chrf_signature() -> str:
    """What sacrebleu calls this chrF: paste it beside the numbers."""
    return _signature(_chrf())


class SelfBleu:
    """BLEU of one view against the other over a corpus: how much of its wording two views share; lower is more diverse.

    Self-BLEU (Zhu et al. 2018) is the BLEU of generated sentences against the others that were generated; here these
    are the two views of one sentence. `view_a` is the hypothesis, `view_b` the single reference. N-grams are counted
    over all rows before precisions are taken, so the number is no mean over rows.

    Args:
        tokenize: sacrebleu's tokenizer: "13a", or "char" for scripts without spaces.
    """

    def __init__(self, tokenize: str = "13a") -> None:
        self.tokenize = tokenize
        self._metric = _bleu(tokenize)
        self._rows = 0
        self._counted: list[int] = []

    def add(self, view_a: Sequence[str], view_b: Sequence[str]) -> None:
        """Count the n-grams of more rows."""
        if view_a:
            part = self._metric.corpus_score(list(view_a), [list(view_b)])
            self._count([*part.counts, *part.totals, part.sys_len, part.ref_len], len(view_a))

    def absorb(self, other: "SelfBleu") -> None:
        """Count in what another one counted, under the same tokenizer."""
        if other._rows:
            self._count(other._counted, other._rows)

    def _count(self, counted: Sequence[int], rows: int) -> None:
        before = self._counted or [0] * len(counted)
        self._counted = [one + two for one, two in zip(before, counted, strict=True)]
        self._rows += rows

    def score(self) -> Bleu | None:
        """The BLEU of all rows; None if there are none."""
        if not self._rows:
            return None
        *counts, here, there = self._counted
        correct, total = counts[: len(counts) // 2], counts[len(counts) // 2 :]
        metric = self._metric
        score = metric.compute_bleu(correct, total, here, there, smooth_method=metric.smooth_method).score
        return Bleu(score, _signature(metric), self._rows)


def tokenizer_for(texts: Sequence[str]) -> str:
    """The tokenizer of BLEU: "char" where three letters in ten are of scripts without spaces, otherwise "13a"."""
    letters = sum(char.isalpha() for text in texts for char in text)
    unspaced = sum(len(UNSPACED.findall(text)) for text in texts)
    return "char" if unspaced > 0.3 * letters else "13a"


@cache
def _chrf() -> "CHRF":
    from sacrebleu.metrics import CHRF

    metric = CHRF()
    metric.sentence_score("", [""])  # it has no signature before it has scored something
    return metric


def _bleu(tokenize: str) -> "BLEU":
    from sacrebleu.metrics import BLEU

    # Without `force` it warns of texts that end in " ." as if they had been tokenised.
    metric = BLEU(tokenize=tokenize, force=True)
    metric.corpus_score([""], [[""]])  # it has no signature before it has scored something
    return metric


def _signature(metric: "CHRF | BLEU") -> str:
    return str(metric.get_signature())
