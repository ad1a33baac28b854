"""Views as candidates for pairs: their columns laid beside those of the sentences, row by row."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from augment.errors import InputError
from augment.view import view_attribute
from pipelines.filter import About, last_hop
from pipelines.folder import Dataset
from pipelines.pairing.candidates import Rows, ViewPolicy, candidates
from pipelines.pairs import PAIR_COLUMNS
from pipelines.plan import Input
from pipelines.shards import BATCH_ROWS, iterate_tables

ORIGINAL = "original"


@dataclass(frozen=True, slots=True)
class Side:
    """One side of a pair: a hypothesis of a view dataset (1 is the view itself), or with None the sentence itself."""

    name: str
    dataset: Dataset | None = None
    hypothesis: int = 1

    @property
    def signature(self) -> str:
        """What made it."""
        return self.dataset.plan.signature or self.name if self.dataset else "the sentence itself"

    @property
    def about(self) -> About:
        """Its view and its language: the one that is translated to, or that of the sentences."""
        if self.dataset is None:
            return About(self.name, "identity")
        params = self.dataset.plan.params
        language = params.get(view_attribute(self.dataset.plan.name, "ends_in", "source"))
        return About(self.name, self.dataset.plan.name, None if language is None else last_hop(language))

    def rows(self) -> Rows | None:
        """What its dataset says of the sentences; None for the sentence itself."""
        if self.dataset is None:
            return None
        more = ["alternatives"] if self.hypothesis > 1 and "alternatives" in _names(self.dataset) else []
        return _rows(self.dataset, ["id", "view", "status", "reason", *more])


class SideColumns(NamedTuple):
    """A side of a batch of sentences, as Arrow strings: the texts, why there is none, and whether it is the sentence.

    A view that equals its sentence is no reason to drop it, but a note.
    """

    texts: Any
    missing: Any
    notes: Any


def lay_beside(sentences: Any, side: Side, rows: Rows | None) -> SideColumns:  # noqa: ANN401 - a record batch
    """A side of a batch of sentences: as many of its `rows` as there are sentences.

    Where a view failed, was rejected, was not made or has too few hypotheses, the text is null and a reason is given.

    Raises:
        InputError: The view was made from other sentences.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    none = pa.nulls(sentences.num_rows, pa.string())
    if rows is None:
        return SideColumns(sentences["text"], none, none)
    parts = rows.take_parts(sentences.num_rows)
    ids, views, statuses, reasons = (_joined(parts, name, none) for name in ("id", "view", "status", "reason"))
    other = pc.index(pc.equal(ids, sentences["id"]), False).as_py()
    if other >= 0:
        there, here = ids[other], sentences["id"][other]
        raise InputError(f"{side.name} was made from other sentences (row {there} where {here} is): make it again")
    because = pc.if_else(pc.equal(reasons.fill_null(""), ""), "", pc.binary_join_element_wise(": ", reasons, ""))
    missing = pc.binary_join_element_wise(f"{side.name} ", statuses, because, "")
    missing = pc.if_else(
        ids.is_valid(), pc.if_else(views.is_valid(), None, missing), f"{side.name} was not made for it"
    )
    unchanged = pc.equal(statuses, "unchanged")
    if side.hypothesis > 1:
        lists = [each for part in parts for each in _alternatives(part)]
        place = side.hypothesis - 2
        chosen = [each[place] if each is not None and len(each) > place else None for each in lists]
        views = pc.if_else(views.is_valid(), _joined([{"chosen": pa.array(chosen, pa.string())}], "chosen", none), None)
        missing = pc.if_else(views.is_valid(), None, pc.coalesce(missing, f"{side.name}: no such hypothesis"))
        unchanged = pc.equal(views, sentences["text"])
    return SideColumns(views, missing, pc.if_else(unchanged, f"{side.name} left it unchanged", None))


def _joined(parts: Sequence[Any], name: str, none: Any) -> Any:  # noqa: ANN401 - pyarrow arrays
    """One column of the parts, with nulls at its end to be as long as `none`."""
    import pyarrow as pa

    columns = [part[name] for part in parts]
    lacking = len(none) - sum(map(len, columns))
    return columns[0] if len(columns) == 1 and not lacking else pa.concat_arrays([*columns, none.slice(0, lacking)])


def _alternatives(part: Any) -> list[list[str] | None]:  # noqa: ANN401 - a record batch
    names = part.schema.names
    return part["alternatives"].to_pylist() if "alternatives" in names else [None] * part.num_rows


@dataclass(frozen=True, slots=True)
class Pairing:
    """Sentences (the first `limit`) and the sides that are paired; several couples make a pair each a sentence."""

    policy: ViewPolicy
    sentences: Dataset
    couples: tuple[tuple[Side, Side], ...]
    limit: int | None = None
    unit: str = "sentences"
    seed: int | None = None

    @property
    def ways(self) -> int:
        """A candidate a couple for every sentence."""
        return len(self.couples)

    def params(self) -> Mapping[str, Any]:
        """The sides' names, which stand in the rows."""
        return {"view": [side.name for side in self._sides() if side.dataset is not None]}

    def inputs(self) -> list[Input]:
        """The sentences and every view dataset, once."""
        datasets = {str(self.sentences.path): self.sentences}
        datasets |= {str(side.dataset.path): side.dataset for side in self._sides() if side.dataset is not None}
        return [Input(name=name, sha256=each.digest, rows=each.rows) for name, each in datasets.items()]

    def made_by(self) -> dict[str, str]:
        """The sides and their signatures."""
        return {side.name: side.signature for side in self._sides()}

    def columns(self) -> Mapping[str, Any]:
        """A label, where the sentences have one."""
        import pyarrow as pa

        return {"label": pa.string()} if "label" in _names(self.sentences) else {}

    def about(self, name: str) -> About:
        """What a side is; a view that does not say its language has that of the sentences."""
        sides = self._sides()
        about = next(side.about for side in sides if side.name == name)
        spoken = next((side.dataset.plan.params.get("source") for side in sides if side.dataset is not None), None)
        return about if about.language else about._replace(language=spoken)

    def candidates(self) -> Iterator[Any]:
        """The candidates of a batch of sentences, those of one sentence next to each other.

        Raises:
            InputError: A view was not made from these sentences.
        """
        import numpy as np
        import pyarrow as pa

        sides = [(side, side.rows()) for side in self._sides()]
        rows = _rows(self.sentences, ["id", "text", *self.columns()])
        left = self.sentences.rows if self.limit is None else min(self.limit, self.sentences.rows)
        while left and (sentences := rows.take(min(left, BATCH_ROWS))) is not None:
            left -= sentences.num_rows
            laid = {side.name: lay_beside(sentences, side, views) for side, views in sides}
            couples = pa.concat_batches([self._couple(sentences, laid, one, two) for one, two in self.couples])
            order = np.arange(couples.num_rows).reshape(self.ways, -1).T.ravel()
            yield couples if self.ways == 1 else couples.take(pa.array(order))

    def _couple(
        self,
        sentences: Any,  # noqa: ANN401 - a record batch
        laid: Mapping[str, SideColumns],
        one: Side,
        two: Side,
    ) -> Any:  # noqa: ANN401 - a record batch
        """The candidates of two sides."""
        import pyarrow as pa
        import pyarrow.compute as pc

        a, b = laid[one.name], laid[two.name]
        names = (pa.repeat(name, sentences.num_rows) for name in (one.name, two.name))
        columns = (sentences["id"], sentences["text"], a.texts, b.texts, *names)
        pairs = dict(zip(PAIR_COLUMNS, columns, strict=True))
        pairs |= {name: sentences[name] for name in self.columns()}
        part = pa.repeat(f"{one.name} x {two.name}", sentences.num_rows) if self.ways > 1 else None
        return candidates(pairs, pc.coalesce(a.missing, b.missing), part, (a.notes, b.notes))

    def _sides(self) -> list[Side]:
        return list({side.name: side for couple in self.couples for side in couple}.values())


def _rows(dataset: Dataset, names: Sequence[str]) -> Rows:
    tables = iterate_tables(dataset.path, dataset.receipts)
    return Rows(batch for table in tables for batch in table.select(list(names)).to_batches())


def _names(dataset: Dataset) -> list[str]:
    """The names of its columns."""
    table = next(iterate_tables(dataset.path, dataset.receipts[:1]))
    return list(table.schema.names)
