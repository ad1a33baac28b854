"""A user's own table as a suite, told apart by its columns: texts with labels, a search, or pairs of texts."""

import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TypeAlias
from warnings import catch_warnings

import numpy as np
import xxhash
from numpy.typing import NDArray
from sklearn.cluster import KMeans
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score, normalized_mutual_info_score
from sklearn.model_selection import StratifiedKFold
from sklearn.neighbors import KNeighborsClassifier

from pipelines.sentences.sources import TableSource, table_cells
from pipelines.terminal.console import InputError, counted, note
from trainers.data.reading import FIRST, SCORES, SECOND
from trainers.encoders.vectors import Sided, Vectors, nearest, unit
from trainers.evaluation.pairs import spearman
from trainers.evaluation.task import Predictions, Result, Suite, Task, normalised

Columns: TypeAlias = Mapping[str, Sequence[Sequence[str]]]
Cells: TypeAlias = Sequence[tuple[str, str, str]]  # a text, its label, grade or document, and a second text
Rows: TypeAlias = "NDArray[np.int64]"
Score: TypeAlias = Callable[[Vectors, int], Result]
Sides: TypeAlias = tuple[Sequence[str], Sequence[str]] | None
Items: TypeAlias = tuple[str, Sequence[str], Sequence[str], int, Mapping[str, Score], Sides]
"""What a table was taken for, the texts to encode, the items as text, their number, how each figure is computed, and
the texts by side."""

IN_MEMORY = "the table"
PREFIX, SCORE = "judge-", "score"  # how the names of such suites begin, and their metric
KINDS: Columns = {
    "grade": (FIRST, SECOND, SCORES),
    "same": (FIRST, SECOND, ("same", "duplicate", "is_duplicate")),
    "document": (("query", "question"), ("document", "passage", "answer")),
    "label": (("text", "sentence"), ("label", "category", "class", "intent")),
}
"""What the columns may be called, by kind, which is the name of the last; a table is of the first that has them all."""
EXPECTED = "text and label; query and document; text1, text2 and grade; or text1, text2 and same"
LIBRARY: Columns = {"id": (("document", "text", "passage"), ("id", "document_id"))}  # a second table, of documents
SAME = {"1": 1.0, "1.0": 1.0, "true": 1.0, "yes": 1.0, "0": 0.0, "0.0": 0.0, "false": 0.0, "no": 0.0}
FOLDS, NEIGHBOURS, CLUSTERINGS, DEPTH = 5, 5, 10, 100  # NMI is a mean because runs of k-means differ by points
STRENGTH = 10.0  # scikit-learn's C; its default of 1 learns too little from a few vectors of length 1
QUERIES, DOCUMENTS = 500, 65_536  # how many are searched at a time: 96 MiB of documents at 384 dimensions


def kind_of(names: Iterable[str], kinds: Columns = KINDS) -> tuple[str, list[str]]:
    """Return the kind of a table with columns of these names, and how it spells those that count; "" for no kind."""
    spellings = {name.strip().lower(): name for name in names}
    for kind, roles in kinds.items():
        columns = [next((spellings[name] for name in aliases if name in spellings), "") for aliases in roles]
        if all(columns):
            return kind, columns
    return "", []


def read_judge(table: TableSource, shots: int | None = None) -> Suite:
    """Read a table as a suite: a file (after a comma one of documents), `hf:NAME`, "-" for stdin, or columns by name.

    `shots`: classifiers learn from this many texts a label. Raises InputError: other columns, or nothing to tell apart.
    """
    source = table if isinstance(table, str) else IN_MEMORY
    name, _, library = (source, "", "") if source is not table or Path(source).exists() else source.partition(",")
    digest, rows, kind, columns = _read(name if source is table else table, KINDS, EXPECTED)
    files, omitted = {name: digest}, Counter[str]()
    for option, value, column in ((library, library, "document"), (f"--shots {shots}", shots, "label")):
        if value and kind != column:
            raise InputError(f"{option}: {name} has no column {column}, but {', '.join(columns)}: leave it out")
    if kind == "document":
        documents: Cells = [(document, document, "") for _, document, _ in rows]
        if library:
            files[library], documents, *_ = _read(library, LIBRARY, "id and document")
        items = _read_search(rows, documents, omitted)
    else:
        items = _read_labels(rows, shots, omitted) if kind == "label" else _read_pairs(rows, kind == "same", omitted)
    summary, texts, lines, size, scores, sides = items
    reasons = ", ".join(f"{reason} ({count:,})" for reason, count in omitted.items() if count)
    summary += f"; left out: {reasons}" if reasons else ""
    if not scores:
        raise InputError(f"{name}: {summary}: nothing to tell apart")
    note(f"{name}: taken for {summary} (columns {', '.join(columns)})")
    stem = re.sub(r"[^\w-]+", "-", Path(name).name.removesuffix(".csv")).strip("-") or "stdin"
    # No two tables have one name: those that are not plainly named here get a hash of where they are.
    place = os.path.relpath(name) + library
    stem += f"-{xxhash.xxh64_hexdigest(place.encode('utf-8', 'surrogatepass'))[:6]}" if place != f"{stem}.csv" else ""
    stem += f"-{shots}-shots" if shots else ""
    new_task = partial(
        Task, source=source, size=size, texts=texts, lines=lines, files=files, counted=False, sides=sides
    )
    tasks = (new_task(name=re.sub(r"\W+", "-", title), title=title, score=score) for title, score in scores.items())
    return Suite(PREFIX + stem, f"{source}: {summary}", (SCORE,), 0, tuple(tasks))


def _read(table: TableSource, kinds: Columns, expected: str) -> tuple[str, Cells, str, list[str]]:
    kind, columns = "", list[str]()
    name = table if isinstance(table, str) else IN_MEMORY

    def choose(names: Sequence[str]) -> Sequence[str]:
        nonlocal kind, columns
        kind, columns = kind_of(names, kinds)
        if not kind:
            raise InputError(f"{name} has the columns {', '.join(names)[:200]}: expected {expected}")
        return columns[0], columns[-1], columns[1] if len(columns) > 2 else ""

    return *table_cells(table, choose), kind, columns


def _mean_result(outcomes: NDArray[np.float64], groups: "Rows | None" = None) -> Result:
    """Return the mean of the items' outcomes, NaN for none; their gold is their number among the task's texts."""
    predictions = Predictions("mean", np.arange(len(outcomes), dtype=float), outcomes, groups)
    return Result({SCORE: 100 * float(np.nanmean(outcomes))}, predictions)


def _read_labels(rows: Cells, shots: int | None, omitted: Counter[str]) -> Items:
    """Accuracy of classifiers and NMI of clusters, on unit vectors; copies are trained on and tested together."""
    candidates = [(label, text) for text, label, _ in rows if text and label]
    for label, _ in candidates:
        if label[0] + label[-1] in ("[]", "{}"):
            raise InputError(f"the label {label[:60]!r} is a list or an object: give a text one label")
    first_labels: dict[str, str] = {}  # of copies with several labels the first one decides the fold
    for label, text in candidates:
        first_labels.setdefault(normalised(text), label)
    members, min_members = Counter(first_labels.values()), shots + 1 if shots else FOLDS
    items = [(label, text) for label, text in candidates if members[label] >= min_members]
    omitted["rows without text or label"] = len(rows) - len(candidates)
    omitted[f"texts whose label has fewer than {min_members}"] = len(candidates) - len(items)
    labels, classes = np.unique([label for label, _ in items], return_inverse=True)
    texts, way = [text for _, text in items], f"{FOLDS} draws of {shots} a label" if shots else f"{FOLDS} folds"
    numbers: dict[str, int] = {}
    groups = np.array([numbers.setdefault(normalised(text), len(numbers)) for text in texts], dtype=np.int64)
    # The number of texts a label is part of the items, so that scores with another number are never compared.
    lines = [*([f"{shots} shots\n"] if shots else []), *(f"{label}\t{text}\n" for label, text in items)]
    neighbours = min(NEIGHBOURS, shots or NEIGHBOURS)
    scores: dict[str, Score] = {
        f"{neighbours}-NN accuracy": partial(_accuracy, texts, classes, groups, shots, False),
        "regression accuracy": partial(_accuracy, texts, classes, groups, shots, True),
        "k-means NMI": partial(_mutual_information, texts, classes, groups),
    }
    copies = len(texts) - len(numbers)
    summary = f"{counted(len(texts), 'text')} with {counted(len(labels), 'label')}, {way}"
    summary += f", {copies:,} of them copies" if copies else ""
    return summary, texts, lines, len(texts), scores if len(labels) > 1 else {}, None


def _accuracy(
    texts: Sequence[str], classes: Rows, groups: Rows, shots: int | None, regression: bool, vectors: Vectors, seed: int
) -> Result:
    inputs, hits, tests = unit(vectors.of(texts)), *np.zeros((2, len(texts)))
    firsts = np.unique(groups, return_index=True)[1]  # of equal texts the first one, whose label decides
    splits = StratifiedKFold(FOLDS, shuffle=True, random_state=seed).split(firsts, classes[firsts])
    if shots:
        orders = map(np.random.default_rng(seed).permutation, [len(firsts)] * FOLDS)
        by_label = ([order[classes[firsts[order]] == label] for label in range(classes.max() + 1)] for order in orders)
        samples = (np.concatenate([rows[:shots] for rows in parts]) for parts in by_label)
        splits = ((sample, np.setdiff1d(groups, sample)) for sample in samples)
    for train_groups, test_groups in splits:
        train, test = (np.flatnonzero(np.isin(groups, numbers)) for numbers in (train_groups, test_groups))
        count = min(NEIGHBOURS, shots or len(train))
        # Uniform votes of a few examples a label are ties, which the first label would win.
        neighbours = KNeighborsClassifier(count, metric="cosine", weights="distance" if shots else "uniform")
        model = LogisticRegression(C=STRENGTH, max_iter=10_000) if regression else neighbours
        with catch_warnings(action="ignore"):  # one example a label is not the sign of a regression
            hits[test] += model.fit(inputs[train], classes[train]).predict(inputs[test]) == classes[test]
        tests[test] += 1
    return _mean_result(np.divide(hits, tests, out=np.full(len(hits), np.nan), where=tests > 0), groups)


def _mutual_information(texts: Sequence[str], classes: Rows, groups: Rows, vectors: Vectors, seed: int) -> Result:
    inputs, runs = unit(vectors.of(texts)), range(seed, seed + CLUSTERINGS)
    clusters = [KMeans(classes.max() + 1, n_init=1, random_state=run).fit_predict(inputs) for run in runs]
    score = 100 * float(np.mean([normalized_mutual_info_score(classes, run) for run in clusters]))
    predictions = Predictions("nmi", classes.astype(float), np.stack(clusters, 1).astype(float), groups)
    return Result({SCORE: score}, predictions)


def _read_search(rows: Cells, library: Cells, omitted: Counter[str]) -> Items:
    texts: dict[str, str] = {}
    ids: dict[str, str] = {}
    for text, name, _ in library:
        if text and name and texts.setdefault(name, text) != text:
            raise InputError(f"the id {name[:60]!r} has two documents: give each its own")
        if text and name:
            ids.setdefault(text, name)
    relevant: dict[str, dict[str, int]] = {}
    for query, document, _ in rows:
        text = texts.get(document, document)
        relevant.setdefault(query, {}).update({ids[text]: 1} if text in ids else {})
    complete = ((query, answers) for query, answers in relevant.items() if query and answers)
    queries: dict[str, dict[str, int]] = {Sided(query, "query"): answers for query, answers in complete}
    omitted["rows without a query"] = sum(not query for query, *_ in rows)
    omitted["queries without a document"] = len(relevant.keys() - {""}) - len(queries)
    omitted["documents without text or id"] = sum(not (text and name) for text, name, _ in library)
    omitted["documents that have another id too"] = len(texts) - len(ids)
    ids = {Sided(text, "document"): name for text, name in ids.items()}
    # Of equally near documents, trec_eval puts the greater id first, and `nearest` the earlier one.
    documents = sorted(ids, key=ids.__getitem__, reverse=True)
    cache: dict[tuple[int, ...], NDArray[np.float64]] = {}

    def score(column: int, vectors: Vectors, seed: int) -> Result:
        parts = [vectors, *[vectors.documents] * bool(vectors.documents)]
        digest = tuple(xxhash.xxh3_64_intdigest(np.ascontiguousarray(part.matrix).data) for part in parts if part)
        if digest not in cache:  # the three figures come from one search
            cache.clear()
            cache[digest] = _search_figures(queries, documents, ids, vectors)
        return _mean_result(cache[digest][:, column])

    lines = [f"{query}\t{name}\n" for query, names in queries.items() for name in names]
    lines += chain.from_iterable((ids[text], "\t", text, "\n") for text in documents)
    scores = {title: partial(score, column) for column, title in enumerate(("nDCG@10", "MRR@10", f"recall@{DEPTH}"))}
    summary = f"a search, {len(queries):,} queries on {len(documents):,} documents"
    scores = scores if queries and len(documents) > 1 else {}
    return summary, [*queries, *documents], lines, len(queries), scores, ([*queries], documents)


def _search_figures(
    relevant: Mapping[str, dict[str, int]], documents: Sequence[str], ids: Mapping[str, str], vectors: Vectors
) -> NDArray[np.float64]:
    """Return the figures of each query, (queries, 3), by exact search; no copy of all documents is made."""
    import ir_measures

    measures = [ir_measures.nDCG @ 10, ir_measures.RR, ir_measures.R @ DEPTH]
    queries, figures = list(relevant), np.zeros((len(relevant), 3))
    for first in range(0, len(queries), QUERIES):
        block = {str(first + place): query for place, query in enumerate(queries[first : first + QUERIES])}
        query_vectors = unit(vectors.of(list(block.values())))
        run = {number: dict[str, float]() for number in block}
        for start in range(0, len(documents), DOCUMENTS):
            part = documents[start : start + DOCUMENTS]
            keys = unit((vectors.documents or vectors).of(part))
            for number, query, rows in zip(run, query_vectors, nearest(query_vectors, keys, DEPTH), strict=True):
                cosines = (keys[rows].astype(np.float64) * query).sum(-1).tolist()
                run[number] |= {ids[part[row]]: cosine for row, cosine in zip(rows, cosines, strict=True)}
        judgements = {number: relevant[query] for number, query in block.items()}
        for figure in ir_measures.iter_calc(measures, judgements, run):
            figures[int(figure.query_id), measures.index(figure.measure)] = figure.value
    # Not RR@10, which ir-measures takes from MS MARCO's script: it breaks ties the other way round.
    figures[:, 1] *= figures[:, 1] > 1 / 10.5
    return figures


def _read_pairs(rows: Cells, same: bool, omitted: Counter[str]) -> Items:
    pairs = []
    for first, value, second in rows:
        try:
            gold = SAME[value.lower()] if same else float(value)
        except (KeyError, ValueError):
            gold = np.nan
        if first and second and np.isfinite(gold):
            pairs.append((first, second, gold))
    omitted[f"rows without two texts and a {'1 or 0' if same else 'finite grade'}"] = len(rows) - len(pairs)
    firsts, seconds, golds = zip(*pairs, strict=True) if pairs else ((), (), ())

    def score(vectors: Vectors, seed: int) -> Result:
        cosines = vectors.similarities(firsts, seconds)
        value = average_precision_score(golds, cosines) if same else spearman(golds, cosines)
        predictions = Predictions("ap" if same else "spearman", np.array(golds), cosines)
        return Result({SCORE: None if value is None else 100 * float(value)}, predictions)

    lines = [f"{gold:g}\t{first}\t{second}\n" for first, second, gold in pairs]
    scores = {"average precision" if same else "Spearman": score} if len(set(golds)) > 1 else {}
    summary = f"{counted(len(pairs), 'pair')} {'that are the same or not' if same else 'with grades'}"
    return summary, [*firsts, *seconds], lines, len(pairs), scores, (firsts, seconds)
