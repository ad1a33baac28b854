"""Views as candidates for pairs: their columns laid beside those of the sentences, row by row."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from augment.view import view_attribute
from pipelines.filter import About, last_hop
from pipelines.folder import Dataset
from pipelines.pairing.source import TASK_ROWS, Candidates, PairSource
from pipelines.pairs import PAIR_COLUMNS
from pipelines.plan import Input


@dataclass(frozen=True)
class Side:
    """One side of a pair: a hypothesis of a view dataset (1 is the view itself), or with None the sentence itself."""

    name: str
    dataset: Dataset | None = None
    hypothesis: int = 1


def _lay_beside(sentences: pa.RecordBatch, side: Side, start: int) -> tuple[pa.Array, pa.Array, pa.Array]:
    """A side of the sentences from row `start` on: the texts, why there is none, and a note where it is the sentence.

    Where a view failed, was rejected, was not made or has too few hypotheses, the text is null and a reason is given.
    """
    count, name = len(sentences), side.name
    if side.dataset is None:
        none = pa.nulls(count, pa.string())
        return sentences["text"], none, none
    stop = min(start + count, side.dataset.rows)
    table = side.dataset.read(start, stop) if start < stop else side.dataset.read(0, 1).slice(0, 0)
    lacking = pa.nulls(count - len(table), pa.string())
    columns = (table[column].combine_chunks() for column in ("view", "status", "reason"))
    views, statuses, reasons = (pa.concat_arrays([column, lacking]) for column in columns)
    because = pc.if_else(pc.equal(reasons.fill_null(""), ""), "", pc.binary_join_element_wise(": ", reasons, ""))
    missing = pc.binary_join_element_wise(f"{name} ", statuses, because, "")
    missing = pc.coalesce(missing, pa.scalar(f"{name} was not made for it"))
    unchanged = pc.equal(statuses, "unchanged")
    if side.hypothesis > 1:
        others = [(each or [])[side.hypothesis - 2 :] for each in table["alternatives"].to_pylist()]
        chosen = [each[0] if each else None for each in others] + [None] * len(lacking)
        missing = pc.if_else(views.is_valid(), f"{name}: no such hypothesis", missing)
        views = pa.array(chosen, pa.string())
        unchanged = pc.equal(views, sentences["text"])
    missing = pc.if_else(views.is_valid(), None, missing)
    return views, missing, pc.if_else(unchanged, f"{name} left it unchanged", None)


@dataclass(frozen=True)
class Couples:
    """Sentences and the sides that are paired; several couples make a pair each a sentence."""

    sentences: Dataset
    couples: Sequence[tuple[Side, Side]]
    columns: Sequence[str]

    @property
    def sides(self) -> dict[str, Side]:
        """Every side by its name."""
        return {side.name: side for couple in self.couples for side in couple}

    def about(self, name: str) -> About:
        """The view that made a side, and its language: the one that is translated to, or that of the sentences."""
        plans = {each: side.dataset.plan for each, side in self.sides.items() if side.dataset is not None}
        spoken = next((plan.params.get("source") for plan in plans.values()), None)
        if name not in plans:
            return About(name, "identity", spoken)
        view = plans[name].name
        language = plans[name].params.get(view_attribute(view, "ends_in", "source"))
        return About(name, view, spoken if language is None else last_hop(language))

    def candidates(self, task: tuple[int, int]) -> Candidates:
        """The candidates of a range of sentences, those of one sentence next to each other."""
        table = self.sentences.read(*task).select(["id", "text", *self.columns])
        sentences = pa.concat_batches(table.to_batches())
        laid = {name: _lay_beside(sentences, side, task[0]) for name, side in self.sides.items()}
        found = []
        for one, two in self.couples:
            (a, a_missing, a_notes), (b, b_missing, b_notes) = laid[one.name], laid[two.name]
            names = (pa.repeat(side.name, len(sentences)) for side in (one, two))
            pairs = dict(zip(PAIR_COLUMNS, (sentences["id"], sentences["text"], a, b, *names), strict=True))
            rows = pa.RecordBatch.from_pydict(pairs | {name: sentences[name] for name in self.columns})
            part = pa.scalar(f"{one.name} x {two.name}" if len(self.couples) > 1 else None, pa.string())
            missing = pc.coalesce(a_missing, b_missing)
            found.append(Candidates(rows, missing, pa.repeat(part, len(sentences)), (a_notes, b_notes)))
        if len(found) == 1:
            return found[0]
        order = pa.array(np.arange(len(sentences) * len(found)).reshape(len(found), -1).T.ravel())
        tables, reasons, parts, notes = zip(*found, strict=True)
        joined = [pa.concat_arrays(each).take(order) for each in (reasons, parts, *zip(*notes, strict=True))]
        return Candidates(pa.concat_batches(tables).take(order), joined[0], joined[1], joined[2:])


def pairing(policy: str, sentences: Dataset, couples: Sequence[tuple[Side, Side]], limit: int | None) -> PairSource:
    """Pair the sides of each couple for the first `limit` sentences; a label of the sentences comes along."""
    columns = ["label"] if "label" in sentences.read(0, 1).schema.names else []
    paired = Couples(sentences, couples, columns)
    views = {name: side.dataset for name, side in paired.sides.items() if side.dataset is not None}
    datasets = {str(each.path): each for each in (sentences, *views.values())}
    rows = sentences.rows if limit is None else min(limit, sentences.rows)
    made_by = {name: each.plan.signature or name for name, each in views.items()}
    return PairSource(
        policy=policy,
        unit="sentences",
        inputs=[Input(name=name, sha256=each.digest, rows=each.rows) for name, each in datasets.items()],
        tasks=((start, min(start + TASK_ROWS, rows)) for start in range(0, rows, TASK_ROWS)),
        candidates=paired.candidates,
        about=paired.about,
        params={"view": list(views)},
        made_by={name: made_by.get(name, "the sentence itself") for name in paired.sides},
        columns=dict.fromkeys(columns, pa.string()),
        limit=limit,
        ways=len(couples),
    )
