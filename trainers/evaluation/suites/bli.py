"""Bilingual lexicon induction on xling-eval: Procrustes map, CSLS and cosine retrieval, mapped and unmapped."""

from __future__ import annotations

from pathlib import Path

from trainers.evaluation.hub import HUB
from trainers.evaluation.induction.sets import REPORTED, WHERE, read_pairs
from trainers.evaluation.induction.task import FIGURES as FIGURES
from trainers.evaluation.induction.task import LexiconPair
from trainers.evaluation.task import Missing

COUNTED = len(REPORTED)


def find(data: str) -> tuple[list[LexiconPair], list[Missing]]:
    """Read the pairs of languages from a folder; on the Hub there are none of this form.

    Raises:
        InputError: A file is malformed, or a count is not the published one.
    """
    if data.startswith(HUB):
        reason = "not on the Hub in the form that is read"
        return [], [Missing(f"bli-{pair}", f"BLI {pair}", reason, WHERE) for pair in REPORTED]
    return read_pairs(Path(data).expanduser())
