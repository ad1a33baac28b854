"""Scores as tables, signatures and files: JSON with all that is needed to repeat them, every prediction."""

import hashlib
import io
import json
import os
import re
import statistics
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, FiniteFloat

from augment.record import FileRecord, Record, checked_files, read_record
from pipelines.base import console
from pipelines.base.console import InputError
from pipelines.base.files import RECORD, atomic_write, locked_file, read_json
from trainers.encoders.location import RECIPE, Source, locate
from trainers.scores.suites import SMOKE_TEST
from trainers.scores.task import MARK, Scores

SEEN = "seen in training"
BASELINE = "TF-IDF"
DIGITS = 12  # hex digits of a checksum in a signature
DECIMALS = {"geometry": 3}  # decimals that are printed of a suite's figures, if not 2


class Stored(BaseModel):
    """What is read back from a file of results."""

    model_config = ConfigDict(strict=True, frozen=True, extra="allow")


class StoredSet(Stored):
    """One set of an evaluation: its figures, the first the set's own, the sha256 of its items, and leakage."""

    title: str
    size: int
    counted: bool
    sha256: str
    source: str = ""
    note: str | None = None
    figures: dict[str, FiniteFloat | None]
    seen_in_training: dict[str, int] | None = None
    baseline: FiniteFloat | None = None


class StoredSuite(Stored):
    """The file that `train evaluate` writes for a suite, and where it was read."""

    suite: Annotated[str, Field(pattern=r"^[\w-]+$")]
    date: str = ""
    seed: int | None = None
    model: dict[str, Any]
    settings: dict[str, Any]
    versions: dict[str, str] = {}
    sets: dict[str, StoredSet]
    file: Path = Path()


class Figure(NamedTuple):
    """A value, or the mean over seeds with their standard deviation, and the decimals that are printed."""

    value: float
    digits: int = 2
    deviation: float | None = None
    mark: str = ""

    def __str__(self) -> str:
        deviation = "" if self.deviation is None else f" +- {self.deviation:.{self.digits}f}"
        return f"{self.value:z.{self.digits}f}{deviation}{self.mark}"


def mean(values: Sequence[float | None], digits: int = 2) -> Figure | None:
    """Return mean and standard deviation (n - 1; None for one value).

    None without values or if one is unknown.
    """
    numbers = [value for value in values if value is not None]
    if not numbers or len(numbers) < len(values):
        return None
    return Figure(statistics.fmean(numbers), digits, statistics.stdev(numbers) if len(numbers) > 1 else None)


class Table(NamedTuple):
    """A title, columns and rows of text, and notes on them; the columns in `right` hold figures."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    right: tuple[str, ...]
    notes: tuple[str, ...] = ()


def group(pairs: Iterable[tuple[Any, Any]]) -> dict[Any, list[Any]]:
    """Return the distinct values of each key, keys and values in order of first appearance."""
    groups: dict[Any, dict[Any, None]] = {}
    for key, value in pairs:
        groups.setdefault(key, {})[value] = None
    return {key: list(values) for key, values in groups.items()}


def noted(remarks: Iterable[tuple[str, str]], every: int, before: str = "") -> Iterator[str]:
    """Yield each remark once, after the titles it is about, or `every set`.

    `remarks` are pairs of title and remark.
    """
    for remark, titles in group((remark, title) for title, remark in remarks).items():
        sets = "every set" if len(titles) == every > 1 else ", ".join(titles)
        yield f"{MARK if remark.startswith(MARK) else ''}{before}{sets}: {remark.removeprefix(MARK)}"


def show(tables: Sequence[Table]) -> None:
    """Print the tables to stdout, and their notes to stderr, each once."""
    for number, table in enumerate(tables):
        console.show(("\n" if number else "") + table.title)
        console.table(table.columns, table.rows, right=table.right)
    for line in dict.fromkeys(line for table in tables for line in table.notes):
        console.note(line)


def results_table(scores: Scores) -> Table:
    """Return a suite's table: the counted sets, their average, then the other sets, perhaps with leakage."""
    values, suite = scores.values, scores.suite
    average, sets = values["average"], values["sets"].values()
    leaks = [SEEN] if any(item["seen_in_training"] for item in sets) else []
    baselines = [BASELINE] if any(item["baseline"] is not None for item in sets) else []
    counted = [item for item in sets if item["counted"] and average["of"]]

    def row(name: str, items: Sequence[Mapping[str, Any]], results: Mapping[str, Any]) -> tuple[str, ...]:
        mark = f" {MARK.strip()}" if any((item["note"] or "").startswith(MARK) for item in items) else ""
        figures = [results["figures"].get(metric) for metric in suite.metrics]
        figures += [results.get("baseline") for _ in baselines]
        leak = results.get("seen_in_training")
        seen = [f"{leak['texts']} of {leak['of']}" if leak else "" for _ in leaks]
        sizes = sum(item["size"] for item in items)
        return (name + mark, str(sizes), *(_cell(figure, suite.name) for figure in figures), *seen)

    kind = "of {sets}" if values["complete"] else "(INCOMPLETE: {sets} of {of} sets)"
    rows = [row(item["title"], [item], item) for item in counted]
    rows += [row(f"average {kind.format(**average)}", counted, average)] if average["figures"] else []
    rows += [row(item["title"], [item], item) for item in sets if item not in counted]
    smoke = " (smoke test, no benchmark)" if suite.name == SMOKE_TEST else ""
    right = ("size", *suite.metrics, *baselines, *leaks)
    return Table(f"{suite.name}{smoke}: {values['encoder']}", ("set", *right), tuple(rows), right)


def _cell(value: float | None, suite: str) -> str:
    if value is None or isinstance(value, int):  # a whole number is a count
        return "" if value is None else str(value)
    return str(Figure(value, DECIMALS.get(suite, 2)))


def notes(scores: Scores) -> list[str]:
    """Return the notes on a suite's scores: on single copies, undefined metrics, leakage, and missing sets."""
    sets = scores.values["sets"].values()
    remarks: list[tuple[str, str]] = []
    for item in sets:
        metric, value = next(iter(item["figures"].items()))
        undefined = f"`{metric}` is undefined: all vectors, cosines or grades are equal"
        is_negative = metric == "score" and value is not None and value < 0
        remarks += [(item["title"], item["note"])] if item["note"] else []
        remarks += [(item["title"], undefined)] if value is None else []
        remarks += [(item["title"], "is negative: are the grades distances?")] if is_negative else []
    leaks = [(item["title"], item["seen_in_training"]) for item in sets if item["seen_in_training"]]
    seen, chosen = (", ".join(title for title, leak in leaks if leak[kind]) for kind in ("texts", "dev"))
    return [
        *noted(remarks, len(sets)),
        *([f"the model was trained on texts of {seen}: see the column `{SEEN}`"] if seen else []),
        *([f"texts of {chosen} chose this model (--dev)"] if chosen else []),
        *(f"missing: {item}" for item in scores.suite.missing),
    ]


def signature(values: Mapping[str, Any]) -> str:
    """Return every setting that decides the figures of a suite, in one line that a paper can quote.

    Example: `sts|sets:stsb|metric:all|pooling:mean|tokens:128|precision:fp32|seed:1111|items:0f3c92a1...|...`

    `values` are the stored results. The sets are those of the average, or all of them.
    """
    model, sets = values["model"], values["sets"]
    counted = [name for name, item in sets.items() if item["counted"]]
    names = counted if len(counted) > 1 else list(sets)

    def weights(card: Mapping[str, Any]) -> str:
        return str(card.get("revision") or card.get("sha256", ""))[:DIGITS]

    def joined(digests: Sequence[object]) -> str:
        text = "".join(map(str, digests))
        return (hashlib.sha256(text.encode()).hexdigest() if len(digests) > 1 else text)[:DIGITS]

    parts = {
        "sets": "+".join(names),
        "metric": "+".join(dict.fromkeys(next(iter(sets[name]["figures"])) for name in names)),
        "pooling": model.get("pooling"),
        "prompts": model.get("prompts"),
        "tokens": model.get("max_tokens"),
        "similarity": model.get("similarity") if model.get("similarity") != "cosine" else None,
        "precision": values["settings"].get("precision"),
        "seed": values.get("seed"),
        "items": joined([sets[name]["sha256"] for name in names]),
        "weights": weights(model),
        "documents": weights(model.get("documents", {})),
        "version": values.get("versions", {}).get("twinviews"),
    }
    return "|".join([values["suite"], *(f"{key}:{value}" for key, value in parts.items() if value)])


def read_recipe(directory: Path) -> dict[str, Any] | None:
    """Return the recipe of a run, None if the directory is not a run's."""
    recipe = read_json(directory / RECIPE)
    return recipe if isinstance(recipe, dict) and isinstance(recipe.get("twinviews"), dict) else None


def results_folder(
    model: str,
    parts: Sequence[str] = (),
    *,
    out: Path | None = None,
    suites: Sequence[str] = (),
    source: Source | None = None,
) -> Path:
    """Return the folder of results, made; `parts` are what is not the default.

    Raises InputError if it is another's.
    """

    def safe(text: str) -> str:
        return re.sub(r"[^\w.-]+", "--", text).strip("-.")

    with suppress(InputError):  # functions have no directory
        source = source or locate(model)
    given = Path(model).expanduser()
    name = given.resolve().name if given.is_dir() else model
    if source:
        name += f"-{source.revision[:8]}"
    is_run = source and read_recipe(source.folder)
    own = source.folder / "evaluation" if source and is_run else Path("runs", "evaluation", safe(name))
    folder = out or own / "-".join(map(safe, parts))
    with suppress(OSError):
        folder.mkdir(parents=True, exist_ok=True)
    if not folder.is_dir() or not os.access(folder, os.W_OK):
        raise InputError(f"cannot write into the folder {str(folder)!r}: give another with --out")
    for file in (folder / f"{suite}.json" for suite in suites if out):
        owner = model
        with suppress(LookupError, TypeError):
            owner = str(read_json(file)["model"]["name"])
        if Path(owner).expanduser().resolve() != given.resolve():
            raise InputError(f"{file} holds the results of {owner!r}: give another --out")
    return folder


def write(directory: Path, evaluation: Sequence[Scores]) -> list[Path]:
    """Write `<suite>.json` and `.items.npz` (`<set>/gold` and so on) of every suite; return the paths."""
    return [path for scores in evaluation if scores.suite.tasks for path in _write_suite(directory, scores)]


def _write_suite(directory: Path, scores: Scores) -> list[Path]:
    results, items = (directory / f"{scores.suite.name}{ending}" for ending in (".json", ".items.npz"))
    text = json.dumps(scores.values, indent=2, ensure_ascii=False) + "\n"
    contents = {results.name: text.encode()}
    if scores.predictions:
        arrays: dict[str, Any] = {}
        for name, predictions in scores.predictions.items():
            parts = predictions._asdict().items()
            arrays |= {f"{name}/{part}": value for part, value in parts if value is not None}
        stream = io.BytesIO()
        np.savez(stream, allow_pickle=False, **arrays)
        contents[items.name] = stream.getvalue()
    with locked_file(directory / RECORD, results, items), ExitStack() as drafts:
        record = Record()
        with suppress(InputError):  # a damaged one: what it names is evaluated again
            record = read_record(directory / RECORD) or record
        files = {name: file for name, file in record.files.items() if name not in (results.name, items.name)}
        files |= {name: FileRecord.of(content) for name, content in contents.items()}
        record = record.model_copy(update={"files": files})
        for name, content in {**contents, RECORD: record.to_json().encode()}.items():
            draft = drafts.enter_context(atomic_write(directory / name))
            draft.write(content)
            draft.flush()
        # All drafts are on the disk. The items of an earlier evaluation do not belong to this one.
        items.unlink(missing_ok=True)
    return [directory / name for name in contents]


def load(path: Path) -> StoredSuite:
    """Read a file of results; raises InputError if it cannot be read as one, or it or its items are not as written."""
    record = read_record(path.parent / RECORD)
    problems = checked_files(path.parent, record) if record else {}
    for file in (path, path.with_suffix(".items.npz")):
        if problems.get(file):
            raise InputError(f"{file} is not as it was written: evaluate again, or leave it out")
    try:
        return StoredSuite.model_validate_json(path.read_bytes()).model_copy(update={"file": path})
    except (OSError, ValueError):
        raise InputError(f"{path} has no results that can be read: make them again, or leave it out") from None
