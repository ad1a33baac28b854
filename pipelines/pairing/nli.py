"""NLI corpora as pairs: the premise and a hypothesis that it entails."""

import csv
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice, repeat
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal, NamedTuple

import xxhash

from augment.errors import InputError
from pipelines.filter import About
from pipelines.ingest import normalise
from pipelines.pairing.candidates import candidates
from pipelines.pairs import PAIR_COLUMNS
from pipelines.plan import Input
from pipelines.reading.lines import read_lines
from pipelines.reading.rows import Columns, listed
from pipelines.reading.sources import Source, check_source, load_hub, read_rows
from pipelines.shards import BATCH_ROWS

PREMISES = ("sentence1", "premise", "ori_sentence")
HYPOTHESES = ("sentence2", "hypothesis", "new_sentence")
LABELS = ("gold_label", "label")
ENTAILED = frozenset({"entailment", "entails", "entailed"})
OTHERS = frozenset({"neutral", "contradiction", "not_entailment", "contradicts", "unknown"})
UNLABELLED = frozenset({"", "-", "-1"})
SIDES = ("premise", "hypothesis")
EXAMPLE = "give e.g. snli_1.0_train.jsonl, multinli_1.0_train.txt or hf:snli"


class NliRow(NamedTuple):
    """One row of an NLI corpus; the label is lower case, None where annotators did not agree on one."""

    premise: str
    hypothesis: str
    label: str | None


@dataclass(frozen=True, slots=True)
class NliSource:
    """An NLI source that was looked at: which columns it has, and the names of its labels where it numbers them."""

    source: Source
    columns: Columns
    label_names: Sequence[str] | None = None

    def rows(self) -> Iterator[NliRow]:
        """Stream the rows, texts in NFC and without outer white space.

        Raises:
            InputError: A row that cannot be read, or labels that are numbers without names.
        """
        for row in read_rows(self.source, self.columns):
            premise, hypothesis = normalise(row.text), normalise(row.pair or "")
            yield from repeat(NliRow(premise, hypothesis, self._label(row.label)), row.repeats)

    def _label(self, label: str | None) -> str | None:
        text = (label or "").strip().lower()
        if text in UNLABELLED:
            return None
        if not text.isdecimal():
            return text
        if self.label_names is None or int(text) >= len(self.label_names):
            raise InputError(
                f"{self.source.name}: the label {text!r} is a number and nothing says what it means: "
                f"give labels as words, or the dataset from the Hub (hf:NAME), which names them"
            )
        return self.label_names[int(text)].lower()


@contextmanager
def nli_sources(names: Sequence[str]) -> Iterator[list[NliSource]]:
    """Look at NLI sources: JSONL, TSV (`.txt` counts as that), CSV, Parquet, Arrow, compressed or not, or `hf:NAME`.

    The premise is the column `sentence1`, `premise` or `ori_sentence`, the hypothesis `sentence2`, `hypothesis` or
    `new_sentence`, the label `gold_label` or `label`: SNLI's, MultiNLI's and GLUE's own files, and others.

    Raises:
        InputError: No source, one that cannot be read, or one without these columns.
    """
    if not names:
        raise InputError(f"--pairs entailment pairs an NLI corpus, and no SOURCE is given: {EXAMPLE}")
    with TemporaryDirectory() as spool:
        yield [_look(name, Path(spool)) for name in names]


def _look(name: str, spool: Path) -> NliSource:
    source = check_source(name, spool)
    if source.format == "text":
        source = Source(source.name, source.path, "tsv", source.sha256)
    names, label_names = _columns_of(source)
    found = [next((each for each in known if each in names), None) for known in (PREMISES, HYPOTHESES, LABELS)]
    premise, hypothesis, label = found
    if premise is None or hypothesis is None or label is None:
        missing = ("premise", "hypothesis", "label")[found.index(None)]
        known = " or ".join((PREMISES, HYPOTHESES, LABELS)[found.index(None)])
        there = listed(names) or "no columns"
        raise InputError(f"{source.name} has no {missing} column ({known}), only {there}: {EXAMPLE}")
    return NliSource(source, Columns(premise, label, hypothesis), label_names)


def _columns_of(source: Source) -> tuple[list[str], Sequence[str] | None]:
    """The names of a source's columns, and of its labels where its schema has them."""
    if source.format in ("hub", "parquet", "arrow"):
        schema = _schema_of(source)
        return list(schema.names), _label_names(schema)
    line = next((line.text for line in read_lines(source.path, source.name) if line.text.strip()), "")
    if source.format == "jsonl":
        try:
            first = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise InputError(f"{source.name}: its first line is no JSON ({error}): one object a line") from None
        return (list(first) if isinstance(first, dict) else []), None
    cells = next(csv.reader([line])) if source.format == "csv" else line.split("\t")
    return [cell.strip() for cell in cells], None


def _schema_of(source: Source) -> Any:  # noqa: ANN401 - a pyarrow schema
    import pyarrow as pa
    import pyarrow.parquet as pq

    if source.format == "hub":
        return load_hub(source.name).features.arrow_schema
    try:
        if source.format == "parquet":
            return pq.read_schema(source.path)
        with pa.memory_map(str(source.path)) as mapped:
            is_file = mapped.read(6) == b"ARROW1"
            mapped.seek(0)
            return (pa.ipc.open_file if is_file else pa.ipc.open_stream)(mapped).schema
    except (pa.ArrowInvalid, OSError) as error:
        raise InputError(
            f"{source.name} is no {source.format.title()} file, or damaged ({error}): get it again"
        ) from None


def _label_names(schema: Any) -> Sequence[str] | None:  # noqa: ANN401 - a pyarrow schema
    """The names of a ClassLabel, as `datasets` leaves them in a schema."""
    try:
        features = json.loads((schema.metadata or {})[b"huggingface"])["info"]["features"]
        return next((features[name]["names"] for name in LABELS if "names" in features.get(name, {})), None)
    except (KeyError, TypeError, ValueError):
        return None


@dataclass(frozen=True, slots=True)
class Entailment:
    """The entailed pairs of NLI sources (of their first `limit` rows), each once."""

    sources: Sequence[NliSource]
    limit: int | None = None
    policy: Literal["entailment"] = "entailment"
    unit: str = "rows"
    ways: int = 1
    seed: int | None = None

    def params(self) -> Mapping[str, Any]:
        """Nothing beside the inputs."""
        return {}

    def inputs(self) -> list[Input]:
        """The sources."""
        return [Input(name=each.source.name, sha256=each.source.sha256) for each in self.sources]

    def made_by(self) -> dict[str, str]:
        """The columns of each source."""
        return {each.source.name: f"{each.columns.text} and {each.columns.pair}" for each in self.sources}

    def columns(self) -> Mapping[str, Any]:
        """Nothing beyond what all pairs have: the label of all of them is the same."""
        return {}

    def about(self, name: str) -> About:
        """Its name alone."""
        return About(name)

    def candidates(self) -> Iterator[Any]:
        """A candidate a row: those that are not entailed or were there already come with that reason."""
        import pyarrow as pa

        # One 64-bit integer a pair, as ingest keeps of a sentence.
        seen: set[int] = set()
        rows = islice(((each, row) for each in self.sources for row in each.rows()), self.limit)
        while batch := list(islice(rows, BATCH_ROWS)):
            ids, reasons = [], []
            for _, (premise, hypothesis, label) in batch:
                number = xxhash.xxh64_intdigest(f"{premise}\t{hypothesis}".encode())
                reason = _reason(premise, hypothesis, label)
                if reason is None and number in seen:
                    reason = "exact duplicate"
                elif reason is None:
                    seen.add(number)
                ids.append(f"{number:016x}")
                reasons.append(reason)
            premises, hypotheses = ([row[column] for _, row in batch] for column in (0, 1))
            names = (pa.repeat(side, len(batch)) for side in SIDES)
            columns = zip(PAIR_COLUMNS, (ids, premises, premises, hypotheses, *names), strict=True)
            part = [each.source.name for each, _ in batch] if len(self.sources) > 1 else [None] * len(batch)
            yield candidates(dict(columns), pa.array(reasons, pa.string()), pa.array(part, pa.string()))


def _reason(premise: str, hypothesis: str, label: str | None) -> str | None:
    if label is None:
        return "no gold label"
    if label not in ENTAILED:
        return f"gold label {label}" if label in OTHERS else "another gold label"
    return None if premise and hypothesis else "empty premise or hypothesis"
