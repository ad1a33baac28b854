"""Pairs of texts with grades, or told to be the same or not, and how the cosine agrees."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import partial

import numpy as np
from sklearn.metrics import average_precision_score

from pipelines.base.console import InputError, counted
from trainers.data.reading import first_unread, numbers_in
from trainers.data.tables import WholeTable
from trainers.encoders.vectors import Numbers, Vectors
from trainers.scores.pairs import Pair, spearman
from trainers.scores.tables.table_items import SCORE, TableItems, item_groups
from trainers.scores.task import Predictions, Result

SAME = {"1": 1.0, "true": 1.0, "yes": 1.0, "0": 0.0, "false": 0.0, "no": 0.0}
NLI = {"entailment", "neutral", "contradiction", "not_entailment", "entails", "contradicts", "contradictory"}
CLASSES = {"-1", "0", "1", "2"}  # of NLI by number, -1 for none


def check_grades(name: str, columns: Mapping[str, str], values: Iterable[str]) -> None:
    """Raise InputError if the column of grades holds classes of NLI, which are no grades, by name or by number."""
    first, second, grade = (columns[role].strip().lower() for role in ("first", "second", "grade"))
    present = {value.lower() for value in values if value}
    are_classes = present <= CLASSES and ("2" in present or (first, second) == ("premise", "hypothesis"))
    if (grade == "label" and present and are_classes) or present & NLI:
        classes = ", ".join(sorted(present)[:4])
        problem = f"{name}: {columns['grade']} ({classes}) is a class as in NLI, which tells no direction"
        advice = "call its column `same`, with 1 for entailment and 0 for contradiction, or `grade` if higher is nearer"
        raise InputError(f"{problem}: {advice}")


def read_pairs_table(whole: WholeTable, omitted: Counter[str]) -> TableItems:
    """Return pairs as items, of which a column tells whether they are the same, or a grade.

    Copies of a pair are one group.
    """
    is_same = whole.kind == "same"
    if not is_same:
        check_grades(whole.name, whole.columns, (row["grade"] for row in whole.rows))
    pairs, groups = list[Pair](), list[str]()
    cells = [row[whole.kind] for row in whole.rows]
    grades = [SAME.get(cell.lower(), np.nan) for cell in cells] if is_same else numbers_in(cells)[0]
    for row, grade in zip(whole.rows, grades, strict=True):
        if row["first"] and row["second"] and not np.isnan(grade):
            pairs.append(Pair(row["first"], row["second"], grade))
            groups.append(row.get("group", ""))
    missing = len(whole.rows) - len(pairs)
    unread = first_unread(cells, grades, whole.places)
    omitted[f"rows without two texts and a {'1 or 0' if is_same else 'finite grade'}{unread}"] = missing
    firsts, seconds = [pair.first for pair in pairs], [pair.second for pair in pairs]
    together = item_groups([pair[:2] for pair in pairs], groups)
    title = "average precision" if is_same else "Spearman"
    return TableItems(
        summary=f"{counted(len(pairs), 'pair')} {'that are the same or not' if is_same else 'with grades'}",
        texts=[*firsts, *seconds],
        sides=(firsts, seconds),
        lines=[f"{pair.gold:g}\t{pair.first}\t{pair.second}\n" for pair in pairs],
        size=len(pairs),
        scores={title: partial(score_pairs, pairs, together, is_same)}
        if len({gold for *_, gold in pairs}) > 1
        else {},
    )


def score_pairs(pairs: Sequence[Pair], groups: Numbers, is_same: bool, vectors: Vectors, seed: int) -> Result:
    """Return average precision, or Spearman's correlation with the grades, x 100.

    Undefined for equal cosines.
    """
    firsts, seconds, gold = zip(*pairs, strict=True)
    cosines = vectors.similarities(firsts, seconds)
    value = spearman(gold, cosines)
    if value is None:
        return Result({SCORE: None})
    if is_same:
        value = float(average_precision_score(gold, cosines))
    predictions = Predictions("ap" if is_same else "spearman", np.array(gold), cosines, groups)
    return Result({SCORE: 100 * value}, predictions)
