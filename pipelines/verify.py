"""Whether every file of an output is as it was written: by receipts, by `state.json`, by the hashes in recipes."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from augment.errors import InputError
from pipelines.files import beside, is_sealed, read_json, sha256_of
from pipelines.folder import (
    CARD_FILE,
    COUNTS_FILE,
    INFO_FILE,
    RECIPE_FILE,
    REPORT_FILE,
    STATE_FILE,
    read_state,
    state_text,
)
from pipelines.look.report import MARK
from pipelines.pairs import PAIR_COLUMNS
from pipelines.plan import PLAN_FILE
from pipelines.recipe import read_made
from pipelines.shards import RECEIPTS, make_receipt, read_receipt, read_table, receipt_path, shard_name, shard_number

Problem = Literal["damaged", "missing", "unfinished"]
SIDE_FILES = (PLAN_FILE, RECIPE_FILE, CARD_FILE, COUNTS_FILE, INFO_FILE)


@dataclass(frozen=True, slots=True)
class Verified:
    """A file that was looked at, what is wrong with it (None: nothing), and why that is said."""

    file: Path
    problem: Problem | None = None
    why: str = ""


def verify(paths: Sequence[Path]) -> list[Verified]:
    """Look at every file of datasets, pairs, rejects and exports; a folder of several outputs is looked through.

    Raises:
        InputError: There is nothing of ours at a path.
    """
    found: dict[Path, Verified] = {}
    for path in paths:
        of_path = list(_folder(path) if path.is_dir() else _file(path))
        if not of_path:
            what = "no output of `augment` that recorded its hashes" if path.exists() else "nothing"
            raise InputError(f"there is {what} at {path}: give a dataset folder, a pairs.arrow or an export")
        found |= {each.file: each for each in of_path}
    return list(found.values())


def _folder(folder: Path) -> Iterator[Verified]:
    if _is_dataset(folder):
        yield from _dataset(folder)
        return
    records = [*folder.rglob(PLAN_FILE), *folder.rglob(RECEIPTS)]
    datasets = sorted({record.parent for record in records if _is_dataset(record.parent)})
    for each in datasets:
        yield from _dataset(each)
    outputs = {
        output
        for ending in ("recipe.json", "card.md")
        for record in folder.rglob(f"?*.{ending}")
        if (output := _recorded_by(record, ending)) is not None
    }
    for output in sorted(outputs):
        yield from _file(output)
    for parent in sorted({output.parent for output in outputs} | {each.parent for each in datasets}):
        strays = (file for file in parent.glob("*.arrow") if file not in outputs and not _is_dataset(parent))
        yield from _rejects(sorted(strays))


def _is_dataset(folder: Path) -> bool:
    plan = read_json(folder / PLAN_FILE)
    if isinstance(plan, dict) and "twinviews" in plan:
        return True
    return (folder / RECEIPTS).is_dir() and any((folder / name).is_file() for name in (PLAN_FILE, STATE_FILE))


def _recorded_by(record: Path, ending: str) -> Path | None:
    """The file of pairs or the export that a recipe or a card belongs to; None if it is another program's."""
    plain = record.with_name(record.name.removesuffix(f".{ending}"))
    stream = plain.with_name(f"{plain.name}.arrow")
    is_export = _command(beside(plain, "recipe.json")) == "export" or plain.is_file()
    output = plain if is_export and not stream.is_file() else stream
    return output if output.is_file() or _command(beside(output, "recipe.json")) in ("build-pairs", "export") else None


def _command(recipe: Path) -> str | None:
    saved = read_json(recipe)
    command = saved.get("command") if isinstance(saved, dict) else None
    return command if isinstance(command, str) else None


def _file(path: Path) -> Iterator[Verified]:
    """Pairs or an export, by the recipe beside it; without one, rejects."""
    recipe, card = beside(path, "recipe.json"), beside(path, "card.md")
    if not recipe.is_file() and not card.is_file():
        yield from _rejects([path] if path.is_file() else [])
        return
    has_card = card.is_file() or _command(recipe) == "build-pairs"
    for each in (recipe, card) if has_card else (recipe,):
        yield _by_seal(each)
    yield from _report(beside(path, REPORT_FILE))
    recorded = read_made(recipe).get("sha256")
    if not path.is_file() or (recorded is not None and sha256_of(path) == recorded):
        yield Verified(path, None if path.is_file() else "missing")
    elif recipe.is_file() and is_sealed(recipe.read_bytes()):
        yield Verified(path, "damaged", f"it is not what {recipe.name} recorded")


def _report(report: Path) -> Iterator[Verified]:
    """A report, if there is one of ours: by its first lines, or should they be damaged, its end."""
    content = report.read_bytes() if report.is_file() else b""
    if MARK in content[:1_000] or b"<!-- checksum " in content[-50:]:
        yield _by_seal(report)


def _by_seal(path: Path) -> Verified:
    if not path.is_file():
        return Verified(path, "missing")
    intact = is_sealed(path.read_bytes())
    return Verified(path) if intact else Verified(path, "damaged", "it does not have its own checksum")


def _rejects(files: Sequence[Path]) -> Iterator[Verified]:
    """Those of some files that recipes in their folder recorded as rejects, or must have: they are not there else."""
    made = [
        read_made(recipe)
        for folder in {file.parent for file in files}
        for recipe in (*folder.glob("*.recipe.json"), *folder.glob(f"*/{RECIPE_FILE}"))
    ]
    known = {recorded for each in made if isinstance(recorded := each.get("rejects_sha256"), str)}
    hashes = {file: sha256_of(file) for file in files} if known else {}
    for file, sha256 in hashes.items():
        if sha256 in known:
            yield Verified(file)
        elif known - set(hashes.values()) and not _is_foreign(file):
            yield Verified(file, "damaged", "it is not what a recipe beside it recorded as rejects")


def _is_foreign(file: Path) -> bool:
    """Whether a file can be no rejects, not even damaged ones: it is named otherwise, or has other columns."""
    import pyarrow as pa

    try:
        with pa.memory_map(str(file)) as mapped:
            return file.suffix != ".arrow" or not set(PAIR_COLUMNS) & set(pa.ipc.open_stream(mapped).schema.names)
    except (pa.ArrowException, OSError, ValueError):
        return file.suffix != ".arrow"


def _dataset(folder: Path) -> Iterator[Verified]:
    """The files of a dataset folder, finished or not; what `state.json` says counts if it is as it was written."""
    yield from (*_report(beside(folder, REPORT_FILE)), *_report(folder / REPORT_FILE))
    state = folder / STATE_FILE
    shards, hashes = read_state(folder)
    if shards and state.read_bytes() == state_text(shards, hashes).encode():
        yield Verified(state)
    elif state.is_file():
        yield Verified(state, "damaged", "it does not have its own fingerprint")
    else:
        yield Verified(state, "unfinished", "the run was stopped: the same command goes on with it")
    for name in SIDE_FILES if state.is_file() else (PLAN_FILE,):
        path = folder / name
        if not path.is_file():
            yield Verified(path, "missing")
        elif name in hashes:
            intact = sha256_of(path) == hashes[name]
            yield Verified(path) if intact else Verified(path, "damaged", f"it is not what {STATE_FILE} recorded")
    present = {shard_number(path.name) for path in folder.iterdir()}
    present |= {shard_number(path.stem) for path in (folder / RECEIPTS).glob("*.json")}
    for index in sorted({*range(len(shards)), *(index for index in present if index is not None)}):
        yield from _shard(folder, index, shards[index][1] if index < len(shards) else None)


def _shard(folder: Path, index: int, recorded: str | None) -> Iterator[Verified]:
    """A shard, by what `state.json` recorded or else its receipt; and its receipt, which follows from the shard."""
    path, record = folder / shard_name(index), receipt_path(folder, index)
    receipt = read_receipt(folder, index)
    expected = recorded or (receipt.sha256 if receipt is not None else None)
    sha256 = sha256_of(path) if path.is_file() else None
    intact = sha256 is not None and sha256 == expected
    if intact:
        yield Verified(path)
    elif sha256 is None:
        yield Verified(path, "missing")
    elif expected is not None:
        yield Verified(path, "damaged", "it has not the hash that was recorded")
    elif not record.is_file():
        yield Verified(path, "unfinished", "it has no receipt")
        return
    if not record.is_file():
        yield Verified(record, "missing")
    elif receipt is None or (recorded is not None and receipt.sha256 != recorded):
        yield Verified(record, "damaged", "it is no receipt of that shard")
    elif intact and record.read_bytes() != make_receipt(index, read_table(path), sha256 or "").to_json().encode():
        yield Verified(record, "damaged", "it does not say what the shard holds")
    else:
        yield Verified(record)
