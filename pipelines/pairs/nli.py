"""NLI corpora as pairs: a premise, a hypothesis that it entails and, on request, one that contradicts it."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain, islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import xxhash

from augment.errors import InputError
from augment.view import normalise
from pipelines.pairs.candidates import DROPPED, TASK_ROWS, PairSource
from pipelines.sentences.ingest import Seen
from pipelines.sentences.rows import Columns, listed
from pipelines.sentences.sources import Source, check_source, load_hub, read_rows
from pipelines.storage.pair_files import NEGATIVE, PAIR_COLUMNS
from pipelines.storage.plan import Input, Plan

COLUMNS = {
    "premise": ("sentence1", "premise", "ori_sentence"),
    "label": ("gold_label", "label"),
    "hypothesis": ("sentence2", "hypothesis", "new_sentence"),
}
ENTAILED = frozenset({"entailment", "entails", "entailed"})
CONTRADICTED = frozenset({"contradiction", "contradicts"})
OTHERS = frozenset({"neutral", "not_entailment", "unknown"}) | CONTRADICTED
UNLABELLED = frozenset({"", "-", "-1"})
EXAMPLE = "give e.g. snli_1.0_train.jsonl, multinli_1.0_train.txt or hf:snli"


class NliRow(NamedTuple):
    """Normalised texts, and a label in lower case, None if annotators did not agree on one."""

    premise: str
    hypothesis: str
    label: str | None


def nli_sources(names: Sequence[str], spool: Path) -> list[Source]:
    """Find NLI sources: tables in any format that `ingest` reads; text files are read as TSV.

    The premise is the column `sentence1`, `premise` or `ori_sentence`, the hypothesis `sentence2`, `hypothesis` or
    `new_sentence`, the label `gold_label` or `label`. Stdin and pipes are first copied into the folder `spool`. Raises
    InputError for no source, one that cannot be read, or one without these columns.
    """
    if not names:
        raise InputError(f"--pairs entailment needs an NLI corpus as SOURCE: {EXAMPLE}")
    checked = [check_source(name, spool) for name in names]
    sources = [replace(each, format="tsv") if each.format == "text" else each for each in checked]
    for source in sources:
        if source.format in ("markdown", "html"):
            raise InputError(f"{source.name} is a {source.format} file: {EXAMPLE}")
        next(nli_rows(source), None)
    return sources


def nli_rows(source: Source) -> Iterator[NliRow]:
    """The rows of a source; raises InputError for one that cannot be read, or whose label is a number with no name."""
    features = load_hub(source.name).features if source.format == "hub" else {}
    labels = next((features[each].names for each in COLUMNS["label"] if hasattr(features.get(each), "names")), ())

    def name(label: str | None) -> str | None:
        text = (label or "").strip().lower()
        if not text.isdecimal():
            return None if text in UNLABELLED else text
        if int(text) >= len(labels):
            raise InputError(f"{source.name}: the label {text!r} is a number without a name: give labels as words")
        return str(labels[int(text)]).lower()

    for rows in read_rows(source, partial(_choose_columns, source.name)):
        texts = (map(normalise, rows.texts), (normalise(each or "") for each in rows.pairs))
        yield from map(NliRow, *texts, map(name, rows.labels))


def _choose_columns(source: str, names: Sequence[str]) -> Columns:
    found = [next((each for each in known if each in names), "") for known in COLUMNS.values()]
    for what, column in zip(COLUMNS, found, strict=True):
        if not column:
            said = f"has no {what} column ({' or '.join(COLUMNS[what])}), only {listed(names)}"
            raise InputError(f"{source} {said}: {EXAMPLE}")
    return Columns(*found)


def entailment(sources: Sequence[Source], limit: int | None = None, *, negatives: bool = False) -> PairSource:
    """The entailed pairs of NLI sources (of their first `limit` rows), each once."""
    params = {"negatives": True} if negatives else {}
    inputs = tuple(Input(name=each.name, sha256=each.sha256) for each in sources)
    plan = Plan(kind="pairs", name="entailment", params=params, limit=limit, shard_size=0, inputs=inputs)
    made_by = dict.fromkeys((each.name for each in sources), "premises and hypotheses that they entail")
    tasks, columns = _candidates(sources, limit, negatives=negatives), {NEGATIVE: pa.string()} if negatives else {}
    return PairSource(plan, "rows", tasks, made_by, columns=columns)


def _rows(sources: Sequence[Source], limit: int | None) -> Iterator[NliRow]:
    return islice(chain.from_iterable(map(nli_rows, sources)), limit)


def _contradictions(sources: Sequence[Source], limit: int | None) -> dict[str, dict[str, None]]:
    """The distinct contradictions of each premise, in order; all are in memory."""
    found: dict[str, dict[str, None]] = {}
    for premise, hypothesis, label in _rows(sources, limit):
        if label in CONTRADICTED and hypothesis:
            found.setdefault(premise, {})[hypothesis] = None
    return found


def _candidates(sources: Sequence[Source], limit: int | None, *, negatives: bool) -> Iterator[pa.RecordBatch]:
    """A candidate for each row, with a reason if it is not entailed or is a duplicate.

    The hypotheses that a premise entails get its contradictions in turn.
    """
    contradictions, turns = _contradictions(sources, limit) if negatives else {}, Counter[str]()
    left = _rows(sources, limit)
    with TemporaryDirectory() as spool:
        seen = Seen(Path(spool))
        while rows := list(islice(left, TASK_ROWS)):
            reasons = [_reason(*row) for row in rows]
            found: list[str | None] = [None] * len(rows)
            numbers = [xxhash.xxh64_intdigest(f"{row.premise}\t{row.hypothesis}".encode()) for row in rows]
            entailed = [place for place, reason in enumerate(reasons) if reason is None]
            fresh = seen.add(np.array([numbers[place] for place in entailed], dtype=np.uint64)).tolist()
            for place, is_new in zip(entailed, fresh, strict=True):
                premise, hypothesis, _ = rows[place]
                reasons[place] = None if is_new else "exact duplicate"
                others = [each for each in contradictions.get(premise, ()) if each != hypothesis]
                found[place] = others[turns[premise] % len(others)] if is_new and others else None
                turns[premise] += is_new
            premises, hypotheses, _ = zip(*rows, strict=True)
            names = (pa.repeat(side, len(rows)) for side in ("premise", "hypothesis"))
            ids = [f"{number:016x}" for number in numbers]
            pairs = dict(zip(PAIR_COLUMNS, (ids, premises, premises, hypotheses, *names), strict=True))
            more = {DROPPED: reasons, **({NEGATIVE: found} if negatives else {})}
            arrays = {name: pa.array(values, pa.string()) for name, values in more.items()}
            yield pa.RecordBatch.from_pydict(pairs | arrays)


def _reason(premise: str, hypothesis: str, label: str | None) -> str | None:
    if label is None:
        return "no gold label"
    if label not in ENTAILED:
        return f"gold label {label}" if label in OTHERS else "another gold label"
    return None if premise and hypothesis else "empty premise or hypothesis"
