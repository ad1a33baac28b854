"""A table of sentences and what each rule makes of them, `data/rules.tsv`.

Outcomes: "-" for unchanged, "* " and a pattern of every view there is, else the views there are, separated by " | ".
"""

import csv
import re
from pathlib import Path

import pytest
from samples import built

pytestmark = pytest.mark.usefixtures("real_wordnet")

ROWS = [*csv.reader((Path(__file__).parent / "data" / "rules.tsv").open(encoding="utf-8"), delimiter="\t")]
DRAWS = 12


@pytest.mark.parametrize("rule", sorted({row[0] for row in ROWS}))
def test_every_sentence_of_the_table_comes_out_right(rule: str) -> None:
    name, _, kinds = rule.partition(" ")
    view = built(name, **({"kinds": kinds} if kinds else {}))
    rows = [row[1:] for row in ROWS if row[0] == rule]
    wrong = []
    for sentence, outcome in rows:
        results = view([sentence] * DRAWS, range(DRAWS))
        views = {str(result.text) for result in results if result.status == "ok"}
        if outcome.startswith("* "):
            is_right = bool(views) and all(re.fullmatch(outcome[2:], text) for text in views)
        else:
            is_right = views == {text for text in outcome.split(" | ") if text != "-"}
        wrong += [] if is_right else [(sentence, outcome, views)]
    assert wrong == []


def test_the_table_has_200_sentences() -> None:
    assert len({sentence for _, sentence, _ in ROWS}) >= 200
