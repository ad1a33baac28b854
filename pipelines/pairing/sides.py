"""Views as candidates for pairs: their columns laid beside those of the sentences, row by row."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from augment.view import view_attribute
from pipelines.filter import About, last_hop
from pipelines.folder import Dataset
from pipelines.pairing.source import TASK_ROWS, Candidates, PairSource, ViewPolicy
from pipelines.pairs import PAIR_COLUMNS
from pipelines.plan import Input

ORIGINAL = "original"


@dataclass(frozen=True)
class Side:
    """One side of a pair: a hypothesis of a view dataset (1 is the view itself), or with None the sentence itself."""

    name: str
    dataset: Dataset | None = None
    hypothesis: int = 1

    @property
    def about(self) -> About:
        """Its view and its language: the one that is translated to, or that of the sentences."""
        if self.dataset is None:
            return About(self.name, "identity")
        params = self.dataset.plan.params
        language = params.get(view_attribute(self.dataset.plan.name, "ends_in", "source"))
        return About(self.name, self.dataset.plan.name, None if language is None else last_hop(language))


class SideColumns(NamedTuple):
    """A side of a batch of sentences, as Arrow strings: the texts, why there is none, and whether it is the sentence.

    A view that equals its sentence is no reason to drop it, but a note.
    """

    texts: Any
    missing: Any
    notes: Any


def lay_beside(sentences: Any, side: Side, start: int) -> SideColumns:  # noqa: ANN401 - a record batch
    """A side of the sentences from row `start` on.

    Where a view failed, was rejected, was not made or has too few hypotheses, the text is null and a reason is given.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    count = len(sentences)
    none = pa.nulls(count, pa.string())
    if side.dataset is None:
        return SideColumns(sentences["text"], none, none)
    stop = min(start + count, side.dataset.rows)
    if start >= stop:
        return SideColumns(none, pa.repeat(f"{side.name} was not made for it", count), none)
    table = side.dataset.read(start, stop)
    lacking = pa.nulls(count - len(table), pa.string())
    columns = (table[name].combine_chunks() for name in ("view", "status", "reason"))
    views, statuses, reasons = (pa.concat_arrays([column, lacking]) for column in columns)
    because = pc.if_else(pc.equal(reasons.fill_null(""), ""), "", pc.binary_join_element_wise(": ", reasons, ""))
    missing = pc.binary_join_element_wise(f"{side.name} ", statuses, because, "")
    missing = pc.coalesce(missing, pa.scalar(f"{side.name} was not made for it"))
    unchanged = pc.equal(statuses, "unchanged")
    if side.hypothesis > 1:
        others = [(each or [])[side.hypothesis - 2 :] for each in table["alternatives"].to_pylist()]
        chosen = [each[0] if each else None for each in others] + [None] * len(lacking)
        missing = pc.if_else(views.is_valid(), f"{side.name}: no such hypothesis", missing)
        views = pa.array(chosen, pa.string())
        unchanged = pc.equal(views, sentences["text"])
    missing = pc.if_else(views.is_valid(), None, missing)
    return SideColumns(views, missing, pc.if_else(unchanged, f"{side.name} left it unchanged", None))


@dataclass(frozen=True)
class Pairing(PairSource):
    """Sentences (the first `limit`) and the sides that are paired; several couples make a pair each a sentence."""

    couples: Sequence[tuple[Side, Side]] = ()
    sides: Sequence[Side] = ()
    sentences: Dataset = field(kw_only=True)

    def about(self, name: str) -> About:
        """What a side is; a view that does not say its language has that of the sentences."""
        about = next(side.about for side in self.sides if side.name == name)
        spoken = next((side.dataset.plan.params.get("source") for side in self.sides if side.dataset is not None), None)
        return about if about.language else about._replace(language=spoken)

    def tasks(self) -> Iterator[tuple[int, int]]:
        """Ranges of sentences."""
        rows = self.sentences.rows if self.limit is None else min(self.limit, self.sentences.rows)
        return ((start, min(start + TASK_ROWS, rows)) for start in range(0, rows, TASK_ROWS))

    def candidates(self, task: tuple[int, int]) -> Candidates:
        """The candidates of some sentences, those of one sentence next to each other."""
        import numpy as np
        import pyarrow as pa

        table = self.sentences.read(*task).select(["id", "text", *self.columns])
        sentences = pa.concat_batches(table.to_batches())
        laid = {side.name: lay_beside(sentences, side, task[0]) for side in self.sides}
        found = [self._couple(sentences, one.name, two.name, laid) for one, two in self.couples]
        if self.ways == 1:
            return found[0]
        order = pa.array(np.arange(len(sentences) * self.ways).reshape(self.ways, -1).T.ravel())
        pairs, reasons, parts, notes = zip(*found, strict=True)
        joined = [pa.concat_arrays(each).take(order) for each in (reasons, parts, *zip(*notes, strict=True))]
        return Candidates(pa.concat_batches(pairs).take(order), joined[0], joined[1], joined[2:])

    def _couple(self, sentences: Any, one: str, two: str, laid: dict[str, SideColumns]) -> Candidates:  # noqa: ANN401
        """The candidates of two sides."""
        import pyarrow as pa
        import pyarrow.compute as pc

        a, b = laid[one], laid[two]
        names = (pa.repeat(name, len(sentences)) for name in (one, two))
        columns = (sentences["id"], sentences["text"], a.texts, b.texts, *names)
        pairs = dict(zip(PAIR_COLUMNS, columns, strict=True)) | {name: sentences[name] for name in self.columns}
        part = pa.scalar(f"{one} x {two}" if self.ways > 1 else None, pa.string())
        rows = pa.RecordBatch.from_pydict(pairs)
        return Candidates(rows, pc.coalesce(a.missing, b.missing), pa.repeat(part, len(sentences)), (a.notes, b.notes))


def pairing(policy: ViewPolicy, sentences: Dataset, couples: Sequence[tuple[Side, Side]], limit: int | None) -> Pairing:
    """Pair the sides of each couple; a label of the sentences comes along."""
    import pyarrow as pa

    sides = list({side.name: side for couple in couples for side in couple}.values())
    views = {side.name: side.dataset for side in sides if side.dataset is not None}
    datasets = {str(each.path): each for each in (sentences, *views.values())}
    made_by = {name: each.plan.signature or name for name, each in views.items()}
    has_labels = "label" in sentences.read(0, 1).schema.names
    return Pairing(
        policy=policy,
        unit="sentences",
        inputs=[Input(name=name, sha256=each.digest, rows=each.rows) for name, each in datasets.items()],
        params={"view": list(views)},
        made_by={side.name: made_by.get(side.name, "the sentence itself") for side in sides},
        columns={"label": pa.string()} if has_labels else {},
        limit=limit,
        ways=len(couples),
        couples=couples,
        sides=sides,
        sentences=sentences,
    )
