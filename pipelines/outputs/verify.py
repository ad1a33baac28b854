"""Whether every file of an output is as it was written: by receipts, `state.json`, recipes and `SHA256SUMS`."""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal, TypeAlias, get_args

from augment.errors import InputError
from augment.files import SUMS, recorded_files
from pipelines.base.files import is_sealed, is_written_by, sha256_of, sibling_path
from pipelines.base.recipe import command_of, read_made
from pipelines.inspection.report import REPORT_MARKS
from pipelines.storage.dataset import (
    FILES,
    PLAN_FILE,
    PLAN_MARKS,
    RECIPE_FILE,
    REPORT_FILE,
    STATE_FILE,
    read_plan,
    read_state,
)
from pipelines.storage.pair_files import REJECTS, REJECTS_SHA256
from pipelines.storage.shards import (
    RECEIPTS,
    make_receipt,
    read_receipt,
    read_table,
    receipt_path,
    shard_number,
)

TRAINING_REPORT = "report.html"
"""The name of a page of `train report` in a run."""
Problem: TypeAlias = Literal["damaged", "missing", "unfinished"]
Verified: TypeAlias = tuple[Path, Problem | None]
"""A file and what is wrong with it (None: nothing)."""


def verify(paths: Sequence[Path]) -> dict[Path, Problem | None]:
    """Check every file of these outputs, or of all outputs in a folder; raises InputError where there is none."""
    problems: dict[Path, Problem | None] = {}
    worst_first = (*get_args(Problem), None)
    for path in paths:
        files = _files_below(path) if path.is_dir() else []
        outputs = _outputs(files) if path.is_dir() else [path]
        verified = [file for output in outputs for file in (_dataset if output.is_dir() else _file)(output)]
        verified += _reports(*(file for file in files if file.name == TRAINING_REPORT))
        for sums in (file for file in files if file.name == SUMS):
            verified += [_checked(file, is_whole) for file, is_whole in recorded_files(sums.parent).items()]
        if not verified:
            missing = "no output that recorded its hashes" if path.exists() else "nothing"
            raise InputError(
                f"there is {missing} at {path}: give a dataset folder, a pairs.arrow or an export"
            )
        for file, problem in verified:  # one file can belong to two outputs
            problems[file] = min(problem, problems.get(file), key=worst_first.index)
    return problems


def _outputs(files: Sequence[Path]) -> list[Path]:
    """The datasets, pairs and exports that these files are of."""
    datasets = {parent for parent in {file.parent for file in files} if _is_dataset(parent)}
    recorded = {_output_of(file) for file in files if file.name[1:].endswith((".recipe.json", ".card.md"))}
    return sorted(datasets | {output for output in recorded if output is not None})


def _files_below(folder: Path) -> list[Path]:
    """The files in a folder and in those below it, linked ones too, each folder once."""
    files, visited = list[Path](), set[str]()
    for parent, folders, names in os.walk(folder, followlinks=True):
        real = os.path.realpath(parent)
        if real in visited:
            folders.clear()
        else:
            visited.add(real)
            files += (Path(parent, name) for name in names)
    return files


def _is_dataset(folder: Path) -> bool:
    """Whether a folder has a plan or, if that is missing, the state and receipts of a dataset."""
    is_planned = is_written_by(folder / PLAN_FILE, *PLAN_MARKS)
    return is_planned or ((folder / STATE_FILE).is_file() and (folder / RECEIPTS).is_dir())


def _output_of(record: Path) -> Path | None:
    """The file of pairs or the export that a recipe or a card belongs to; None for any other file."""
    export = record.with_name(record.name.removesuffix(".recipe.json").removesuffix(".card.md"))
    pairs = export.with_name(f"{export.name}.arrow")
    command = command_of(sibling_path(export, "recipe.json"))
    missing = pairs if command == "build-pairs" else export if command == "export" else None
    return next((path for path in (pairs, export) if path.is_file()), missing)


def _file(path: Path) -> Iterator[Verified]:
    """Pairs or an export, by its recipe."""
    recipe, card = sibling_path(path, "recipe.json"), sibling_path(path, "card.md")
    if not recipe.is_file() and not card.is_file():
        return
    yield _sealed(recipe)
    if card.is_file() or command_of(recipe) == "build-pairs":
        yield _sealed(card)
    yield from _reports(sibling_path(path, REPORT_FILE))
    yield from _rejects(path, recipe)
    recorded = read_made(recipe).get("sha256")  # a damaged recipe proves nothing
    yield _checked(path, path.is_file() and recorded in (None, sha256_of(path)))


def _reports(*paths: Path) -> Iterator[Verified]:
    return (_sealed(path) for path in paths if is_written_by(path, *REPORT_MARKS))


def _checked(path: Path, is_whole: bool) -> Verified:
    return path, None if is_whole else "damaged" if path.exists() else "missing"


def _sealed(path: Path) -> Verified:
    return _checked(path, path.is_file() and is_sealed(path.read_bytes()))


def _hashed(path: Path, sha256: str | None) -> Verified:
    return _checked(path, path.is_file() and sha256_of(path) == sha256)


def _rejects(out: Path, recipe: Path) -> Iterator[Verified]:
    """The rejects of pairs `out`, if they are still there."""
    recorded = read_made(recipe)
    path = out.parent / recorded.get(REJECTS, "")
    if path.is_file():
        yield _hashed(path, recorded[REJECTS_SHA256])


def _dataset(folder: Path) -> Iterator[Verified]:
    """The files of a dataset folder, finished or not."""
    yield from _reports(sibling_path(folder, REPORT_FILE), folder / REPORT_FILE)
    yield from _rejects(folder, folder / RECIPE_FILE)
    state = folder / STATE_FILE
    shards, hashes, _ = read_state(folder)
    is_finished = state.is_file()
    yield _checked(state, bool(shards)) if is_finished else (state, "unfinished")
    for path in (folder / name for name in (FILES[1:] if is_finished else [PLAN_FILE])):
        if path.name in hashes or not path.is_file():
            yield _hashed(path, hashes.get(path.name))
    if _hashed(folder / PLAN_FILE, hashes.get(PLAN_FILE))[1] is None:
        read_plan(folder)  # raises for one that was never ours, whatever its hash
    present = {shard_number(path.name) for path in folder.iterdir()}
    present |= {shard_number(path.stem) for path in (folder / RECEIPTS).glob("*.json")}
    for index in sorted({*range(len(shards)), *(index for index in present if index is not None)}):
        yield from _shard(folder, index, shards[index][1] if index < len(shards) else None)


def _shard(folder: Path, index: int, recorded: str | None) -> Iterator[Verified]:
    """A shard, by the hash in `state.json` or else in its receipt, and its receipt, which follows from the shard."""
    record = receipt_path(folder, index)
    path, receipt = folder / record.stem, read_receipt(folder, index)
    expected = recorded or (receipt.sha256 if receipt is not None else None)
    if path.is_file() and expected is None and not record.is_file():
        yield path, "unfinished"
        return
    shard = _hashed(path, expected)
    if expected is not None or not path.is_file():
        yield shard
    is_whole = receipt is not None and receipt.sha256 == expected
    if is_whole and shard[1] is None:
        made = make_receipt(index, read_table(path), str(expected))
        is_whole = record.read_bytes() == made.to_json().encode()
    yield _checked(record, is_whole)
