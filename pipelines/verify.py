"""Whether every file of an output is as it was written: by receipts, `state.json` and the hashes in recipes."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Literal, TypeAlias

from augment.errors import InputError
from pipelines.files import beside, is_sealed, read_json, sha256_of
from pipelines.folder import FILES, RECIPE_FILE, REPORT_FILE, STATE_FILE, read_state, state_text
from pipelines.look.report import MARK
from pipelines.pairs import PAIR_COLUMNS
from pipelines.plan import PLAN_FILE
from pipelines.recipe import read_made
from pipelines.shards import RECEIPTS, make_receipt, read_receipt, read_table, receipt_path, shard_name, shard_number

PAIR_COMMANDS = ("build-pairs", "mine-negatives")
Problem: TypeAlias = Literal["damaged", "missing", "unfinished"]
Verified: TypeAlias = tuple[Path, Problem | None]
"""A file and what is wrong with it (None: nothing)."""


def verify(paths: Sequence[Path]) -> dict[Path, Problem | None]:
    """Check every file of datasets, pairs, rejects and exports, or of all outputs in a folder.

    Raises InputError if nothing of ours is at a path.
    """
    found: dict[Path, Problem | None] = {}
    for path in paths:
        of_path = dict(_folder(path) if path.is_dir() else _file(path))
        if not of_path:
            what = "no output of `augment` that recorded its hashes" if path.exists() else "nothing"
            raise InputError(f"there is {what} at {path}: give a dataset folder, a pairs.arrow or an export")
        found |= of_path
    return found


def _folder(folder: Path) -> Iterator[Verified]:
    if _is_dataset(folder):
        yield from _dataset(folder)
        return
    records = [*folder.rglob(PLAN_FILE), *folder.rglob(RECEIPTS)]
    datasets = {record.parent for record in records if _is_dataset(record.parent)}
    recorded = {_recorded_by(record) for end in ("recipe.json", "card.md") for record in folder.rglob(f"?*.{end}")}
    outputs = {output for output in recorded if output is not None}
    for each in sorted(datasets):
        yield from _dataset(each)
    for output in sorted(outputs):
        yield from _file(output)
    for parent in sorted({each.parent for each in outputs | datasets} - datasets):
        yield from _rejects(sorted({file for file in parent.glob("*.arrow") if file.is_file()} - outputs))


def _is_dataset(folder: Path) -> bool:
    plan = read_json(folder / PLAN_FILE)
    if isinstance(plan, dict) and "twinviews" in plan:
        return True
    return (folder / RECEIPTS).is_dir() and any((folder / name).is_file() for name in (PLAN_FILE, STATE_FILE))


def _recorded_by(record: Path) -> Path | None:
    """The file of pairs or the export that a recipe or a card belongs to; None if it is not ours."""
    plain = record.with_name(record.name.removesuffix(".recipe.json").removesuffix(".card.md"))
    stream = plain.with_name(f"{plain.name}.arrow")
    command = _command(beside(plain, "recipe.json"))
    output = plain if (command == "export" or plain.is_file()) and not stream.is_file() else stream
    return output if output.is_file() or command in (*PAIR_COMMANDS, "export") else None


def _command(recipe: Path) -> object:
    saved = read_json(recipe)
    return saved.get("command") if isinstance(saved, dict) else None


def _file(path: Path) -> Iterator[Verified]:
    """Pairs or an export, by the recipe beside it; without one, rejects."""
    recipe, card = beside(path, "recipe.json"), beside(path, "card.md")
    if not recipe.is_file() and not card.is_file():
        yield from _rejects([path] if path.is_file() else [])
        return
    yield _by_seal(recipe)
    if card.is_file() or _command(recipe) in PAIR_COMMANDS:
        yield _by_seal(card)
    yield from _report(beside(path, REPORT_FILE))
    recorded = read_made(recipe).get("sha256")
    yield _by_hash(path, recorded) if recorded is not None or not path.is_file() else (path, None)


def _report(report: Path) -> Iterator[Verified]:
    """A report of ours, if there is one, known by its beginning or, if that is damaged, by its end."""
    content = report.read_bytes() if report.is_file() else b""
    if MARK in content[:1_000] or b"<!-- checksum " in content[-50:]:
        yield _by_seal(report)


def _checked(path: Path, is_whole: Callable[[Path], bool]) -> Verified:
    return path, "missing" if not path.is_file() else None if is_whole(path) else "damaged"


def _by_seal(path: Path) -> Verified:
    return _checked(path, lambda path: is_sealed(path.read_bytes()))


def _by_hash(path: Path, sha256: str | None) -> Verified:
    return _checked(path, lambda path: sha256_of(path) == sha256)


def _rejects(files: Sequence[Path]) -> Iterator[Verified]:
    """Rejects among the files: those with a recorded hash and, if one is not found, those that look like rejects."""
    folders = {file.parent for file in files}
    recipes = (each for folder in folders for each in (*folder.glob("*.recipe.json"), *folder.glob(f"*/{RECIPE_FILE}")))
    known = {read_made(recipe).get("rejects_sha256") for recipe in recipes} - {None}
    hashes = {file: sha256_of(file) for file in files} if known else {}
    for file, sha256 in hashes.items():
        if sha256 in known or (known - set(hashes.values()) and _may_be_rejects(file)):
            yield file, None if sha256 in known else "damaged"


def _may_be_rejects(file: Path) -> bool:
    """Whether a file is an Arrow stream with a column of pairs, or a damaged one."""
    import pyarrow as pa

    if file.suffix != ".arrow":
        return False
    try:
        with pa.memory_map(str(file)) as mapped:
            return not {*PAIR_COLUMNS}.isdisjoint(pa.ipc.open_stream(mapped).schema.names)
    except (pa.ArrowException, OSError, UnicodeDecodeError):
        return True


def _dataset(folder: Path) -> Iterator[Verified]:
    """The files of a dataset folder, finished or not."""
    yield from (*_report(beside(folder, REPORT_FILE)), *_report(folder / REPORT_FILE))
    state = folder / STATE_FILE
    shards, hashes = read_state(folder)
    if state.is_file():
        yield state, None if shards and state.read_bytes() == state_text(shards, hashes).encode() else "damaged"
    else:
        yield state, "unfinished"
    for path in (folder / name for name in (FILES[1:] if state.is_file() else [PLAN_FILE])):
        if path.name in hashes or not path.is_file():
            yield _by_hash(path, hashes.get(path.name))
    present = {shard_number(path.name) for path in folder.iterdir()}
    present |= {shard_number(path.stem) for path in (folder / RECEIPTS).glob("*.json")}
    for index in sorted({*range(len(shards)), *(index for index in present if index is not None)}):
        yield from _shard(folder, index, shards[index][1] if index < len(shards) else None)


def _shard(folder: Path, index: int, recorded: str | None) -> Iterator[Verified]:
    """A shard, by the hash in `state.json` or else in its receipt, and its receipt, which follows from the shard."""
    path, record = folder / shard_name(index), receipt_path(folder, index)
    receipt = read_receipt(folder, index)
    expected = recorded or (receipt.sha256 if receipt is not None else None)
    if path.is_file() and expected is None and not record.is_file():
        yield path, "unfinished"
        return
    shard = _by_hash(path, expected)
    if not path.is_file() or expected is not None:
        yield shard

    def follows(record: Path) -> bool:
        if receipt is None or receipt.sha256 != expected:
            return False
        if shard[1] is not None:
            return True
        return record.read_bytes() == make_receipt(index, read_table(path), receipt.sha256).to_json().encode()

    yield _checked(record, follows)
