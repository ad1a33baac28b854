"""NCBI-disease, BC5CDR, XL-BEL, COMETA, AskAPatient, names of your own: accuracy @1 and @5 by nearest name."""

from __future__ import annotations

from pathlib import Path

from trainers.evaluation.hub import HUB
from trainers.evaluation.linking.corpora import CORPORA
from trainers.evaluation.linking.sets import SAPBERT, read_sets
from trainers.evaluation.linking.task import FIGURES as FIGURES
from trainers.evaluation.linking.task import LinkingSet
from trainers.evaluation.task import Missing

# Mirror-BERT's Table 2 has no average.
COUNTED = 0


def find(data: str) -> tuple[list[LinkingSet], list[Missing]]:
    """Read the sets from a folder; on the Hub there are none of this form.

    Raises:
        InputError: A file is malformed, or a count is not the published one.
    """
    if data.startswith(HUB):
        names = {corpus.name: corpus.title for corpus in CORPORA} | {"xl-bel": "XL-BEL", "cometa": "COMETA"}
        reason = "not on the Hub in the form that is read"
        return [], [Missing(name, title, reason, SAPBERT) for name, title in names.items()]
    return read_sets(Path(data).expanduser())
