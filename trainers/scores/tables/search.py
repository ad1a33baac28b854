"""A search of documents, judged by the documents that are relevant to each query: nDCG@10, MRR@10, recall@100."""

import json
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from operator import itemgetter
from weakref import WeakKeyDictionary

import numpy as np

from pipelines.base.console import InputError
from trainers.data.tables import normalised
from trainers.encoders.vectors import Floats, Numbers, Sided, Vectors
from trainers.scores.tables.pair_tables import SAME
from trainers.scores.tables.table_items import Score, TableItems, TableRow, item_groups, mean_result
from trainers.scores.task import Result

DEPTH = 100
FIGURES = ("nDCG@10", "MRR@10", f"recall@{DEPTH}")
QUERIES = 500  # how many are searched at a time
GRADES = {**{name: int(grade) for name, grade in SAME.items()}, "": 1}


@dataclass(frozen=True, slots=True)
class Search:
    """Queries with the grades of relevant documents by id, and the documents' ids by text.

    `relevant` may name documents that are not there, which nothing can find. `own` are the documents that are
    copies of a query and not relevant to it: they are left out of its ranking. `groups` number the queries
    that belong together.
    """

    relevant: Mapping[str, Mapping[str, int]]
    ids: Mapping[str, str]
    own: Mapping[str, set[str]]
    groups: Numbers
    # What the three figures share, by the vectors that they are of, as long as these are there.
    _figures: WeakKeyDictionary[Vectors, Floats] = field(default_factory=WeakKeyDictionary)

    def score(self, column: int, vectors: Vectors, seed: int) -> Result:
        """Return one of `FIGURES`; undefined if all documents have one vector."""
        if vectors.are_equal(list(self.ids), documents=True):
            return Result({"score": None})
        if vectors not in self._figures:
            self._figures[vectors] = search_figures(self, vectors)
        return mean_result(self._figures[vectors][:, column], self.groups)


def read_search(
    rows: Sequence[TableRow], library: Sequence[TableRow] | None, omitted: Counter[str]
) -> TableItems:
    """Return queries as items: rows of a query, a document and perhaps its relevance.

    A library of documents and ids.

    Without a library the documents are those of the rows. Raises InputError for an id of two documents, and if
    all relevant documents are missing.
    """
    judged = [(row, name) for row in rows for name in members(row["document"])]
    named: list[TableRow] = [{"id": name, "text": name} for _, name in judged if name]
    documents = named if library is None else library
    texts, ids = _library(documents, omitted)
    grades: dict[str, dict[str, int]] = defaultdict(dict)
    groups, own_ids = dict[str, str](), defaultdict[str, set[str]](set)
    for row, name in judged:
        query, grade = row["query"], _grade(row.get("relevance", ""))
        omitted["rows whose relevance is no whole number"] += bool(query and grade is None)
        if query and name and grade is not None:
            groups[query] = groups.get(query) or row.get("group", "")
            own_ids[query].add(row.get("query_id", ""))
            document = ids.get(texts.get(name, name), name)
            grades[query][document] = max(grade, grades[query].get(document, 0))
    relevant = {
        query: {name: grade for name, grade in of.items() if grade > 0}
        for query, of in grades.items()
        if max(of.values()) > 0
    }
    omitted["rows without a query"] = sum(not row["query"] for row in rows)
    omitted["queries without a document"] = len({row["query"] for row in rows if row["query"]}) - len(grades)
    omitted["queries without a relevant document"] = len(grades) - len(relevant)
    omitted["documents that have another id too"] = len(texts) - len(ids)
    own = _own_documents(relevant, ids, own_ids)
    return _items(relevant, ids, [groups[query] for query in relevant], own)


def _library(documents: Sequence[TableRow], omitted: Counter[str]) -> tuple[dict[str, str], dict[str, str]]:
    """Return the documents' texts by id, and the first id of each text; raises InputError for an id of two."""
    texts, ids = dict[str, str](), dict[str, str]()
    for row in documents:
        text = f"{row.get('title', '')} {row['text']}".strip()  # as BEIR and mteb join them
        if not (text and row["id"]):
            omitted["documents without text or id"] += 1
            continue
        if texts.setdefault(row["id"], text) != text:
            raise InputError(f"the id {row['id'][:60]!r} has two documents: give each its own")
        ids.setdefault(text, row["id"])
    return texts, ids


def _own_documents(
    relevant: Mapping[str, Mapping[str, int]], ids: Mapping[str, str], own_ids: Mapping[str, set[str]]
) -> dict[str, set[str]]:
    """What is left out of each query's ranking: its copies, and the document of its id (as BEIR does)."""
    present = set(ids.values())
    copies: dict[str, set[str]] = defaultdict(set)
    for text, name in ids.items():
        copies[normalised(text)].add(name)
    return {
        Sided(query, "query"): (own_ids[query] & present | copies.get(normalised(query), set()))
        - grades.keys()
        for query, grades in relevant.items()
    }


def _items(
    relevant: Mapping[str, Mapping[str, int]],
    ids: Mapping[str, str],
    groups: Sequence[str],
    own: Mapping[str, set[str]],
) -> TableItems:
    """Return the items of a search; its summary says what cannot be found and what is left out of rankings."""
    present = set(ids.values())
    names = [name for grades in relevant.values() for name in grades]
    missing = sum(name not in present for name in names)
    if names and missing == len(names):
        raise InputError(f"no document has an id or text that the queries name, such as {names[0][:60]!r}")
    queries = dict(zip(own, relevant.values(), strict=True))
    # Of equally near documents, trec_eval puts the greater id first, and `nearest` the earlier one.
    by_id = sorted(ids.items(), key=itemgetter(1), reverse=True)
    documents: dict[str, str] = {Sided(text, "document"): name for text, name in by_id}
    search = Search(queries, documents, own, item_groups([[query] for query in queries], groups))
    lines = [
        "\t".join([query, name, *[str(grade)] * (grade != 1)]) + "\n"
        for query, grades in queries.items()
        for name, grade in grades.items()
    ]
    lines += chain.from_iterable((name, "\t", text, "\n") for text, name in documents.items())
    summary = f"a search, {len(queries):,} queries on {len(documents):,} documents"
    summary += f", {missing:,} relevant ones not among them" if missing else ""
    left_out = sum(map(len, own.values()))
    summary += f", {left_out:,} times a copy of the query left out of its ranking" if left_out else ""
    scores: dict[str, Score] = {title: partial(search.score, column) for column, title in enumerate(FIGURES)}
    return TableItems(
        summary=summary,
        texts=[*queries, *documents],
        sides=(list(queries), list(documents)),
        lines=lines,
        size=len(queries),
        scores=scores if queries and len(documents) > 1 else {},
    )


def _grade(cell: str) -> int | None:
    """Return a relevance, 1 where a table gives none; None for what is no whole number."""
    with suppress(ValueError):
        return GRADES[cell.lower()] if cell.lower() in GRADES else int(cell)
    return None


def members(cell: str) -> list[str]:
    """Return the documents that a cell names: one, or those of a list; raises InputError for an object."""
    value: object = cell
    if cell[:1] + cell[-1:] in ("[]", "{}"):
        with suppress(ValueError, RecursionError):
            value = json.loads(cell)
    items = value if isinstance(value, list) else [value]
    if any(isinstance(item, dict | list) for item in items):
        raise InputError(
            f"the document {cell[:60]!r} is an object: give its text, or its id and a second file"
        )
    return [cell] if value is cell else [str(item).strip() for item in items if item is not None]


def search_figures(search: Search, vectors: Vectors) -> Floats:
    """Return the figures of each query, (queries, 3), by exact search."""
    import ir_measures

    measures = [ir_measures.nDCG @ 10, ir_measures.RR, ir_measures.R @ DEPTH]
    queries, figures = list(search.relevant), np.zeros((len(search.relevant), 3))
    for first in range(0, len(queries), QUERIES):
        block = {str(first + place): query for place, query in enumerate(queries[first : first + QUERIES])}
        judgements = {number: search.relevant[query] for number, query in block.items()}
        run = dict(zip(block, _rankings(search, list(block.values()), vectors), strict=True))
        for figure in ir_measures.iter_calc(measures, judgements, run):
            figures[int(figure.query_id), measures.index(figure.measure)] = figure.value
    # Not RR@10, which ir-measures takes from MS MARCO's script: it breaks ties the other way round.
    figures[:, 1] *= figures[:, 1] > 1 / 10.5
    return figures


def _rankings(search: Search, queries: Sequence[str], vectors: Vectors) -> Iterator[dict[str, float]]:
    """Yield the nearest documents of each query with their similarities, without its own copies."""
    depth = DEPTH + max(len(search.own[query]) for query in queries)
    rankings: list[dict[str, float]] = [{} for _ in queries]
    for documents, rows, similarities in vectors.search(queries, list(search.ids), depth):
        for ranking, near, values in zip(rankings, rows, similarities, strict=True):
            names = (search.ids[documents[row]] for row in near)
            ranking |= dict(zip(names, values.tolist(), strict=True))
    for query, ranking in zip(queries, rankings, strict=True):
        yield {name: similarity for name, similarity in ranking.items() if name not in search.own[query]}
