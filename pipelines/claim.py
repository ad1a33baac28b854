"""Who owns an output folder (one of our plans, nobody, somebody else), and how its files are replaced by others.

A file is ours in a folder with a plan of ours if it has a name that we give. So the plan is there, surely, before any
other file of its dataset, and goes when all others are surely gone; `state.json`, which says that the dataset is
finished, comes last and goes first, and the receipts go with it.
"""

import re
from pathlib import Path

from augment.errors import InputError
from pipelines.files import is_remote, is_written_by, remove_temporary, sync_folder, temporaries
from pipelines.folder import FILES, REPORT_FILE, STATE_FILE, Dataset, finished_dataset
from pipelines.lock import LOCK
from pipelines.plan import PLAN_FILE, PLAN_MARKS, Plan, read_plan
from pipelines.shards import RECEIPTS, shard_number

ADVICE = "choose another --out, or --overwrite it"
STAGED = "data"
"""Name of the temporary folder, inside the dataset's, that files are collected in until they are complete."""
LOCKS = (LOCK, f".{REPORT_FILE}{LOCK}")
CACHE = re.compile(r"cache-\w+\.arrow")
"""Cache files that `datasets` leaves beside shards after map and filter: not ours, but harmless."""


def standing_dataset(out: Path, plan: Plan, *, overwrite: bool = False, advice: str = ADVICE) -> Dataset | None:
    """The dataset that stands in `out`, finished, under this plan; None if it may be, and is to be, made.

    Raises:
        InputError: It belongs to another recipe (the line names the difference), or holds what we did not write.
    """
    if out.exists() and not out.is_dir():
        raise InputError(f"{out} is a file, a folder is wanted: choose another --out")
    if overwrite and is_written_by(out / PLAN_FILE, *PLAN_MARKS):
        _check_foreign(out)
        return None
    standing = read_plan(out)
    if standing is None:
        ours = {*LOCKS, *(entry.name for entry in _leftovers(out))}
        foreign = sorted(entry.name for entry in out.iterdir() if entry.name not in ours) if out.exists() else []
        if foreign:
            raise InputError(f"{out} holds {foreign[0]!r} and no {PLAN_FILE}, it is not ours: choose another --out")
        return None
    difference = standing.difference(plan)
    if difference is not None:
        raise InputError(f"{out} belongs to another recipe, {difference}: {advice}")
    return finished_dataset(out, standing)


def remove_leftovers(folder: Path) -> None:
    """Remove what interrupted runs left in a dataset folder; the caller must hold its lock."""
    for entry in _leftovers(folder):
        remove_temporary(entry)


def _leftovers(folder: Path) -> list[Path]:
    found = (*temporaries(folder), *temporaries(folder / RECEIPTS))
    return [entry for entry, name in found if name == STAGED or _is_ours(name)]


def clear_dataset(folder: Path, *, plan_too: bool = False) -> None:
    """Remove the files of a dataset of ours, but for its plan; no power cut brings them back.

    Raises:
        InputError: The folder holds something that we did not write; nothing is removed then.
    """
    _check_foreign(folder)
    (folder / STATE_FILE).unlink(missing_ok=True)
    receipts = folder / RECEIPTS
    for entry in [*receipts.glob("*")]:
        entry.unlink()
    if not is_remote(folder) and receipts.exists():
        sync_folder(receipts)
        receipts.rmdir()
    for entry in [*folder.iterdir()]:
        if entry.name in (*FILES[1:-1], REPORT_FILE) or shard_number(entry.name) is not None:
            entry.unlink()
    _sync(folder)
    if plan_too:
        (folder / PLAN_FILE).unlink(missing_ok=True)


def put_in_place(staged: Path, folder: Path) -> None:
    """Move the files of a whole dataset, synced, from a folder within into the place of those that are there."""
    clear_dataset(folder)
    names = [entry.name for entry in staged.iterdir()]
    others = [name for name in names if name not in (PLAN_FILE, STATE_FILE)]
    for together in ([PLAN_FILE], others, [STATE_FILE]):
        for name in together:
            (staged / name).replace(folder / name)
        _sync(folder)


def _sync(folder: Path) -> None:
    if not is_remote(folder):
        sync_folder(folder)


def _is_ours(name: str) -> bool:
    """Whether we give this name in a dataset folder, or `datasets` to its cache there."""
    is_named = name in (*FILES, REPORT_FILE, RECEIPTS, *LOCKS) or CACHE.fullmatch(name) is not None
    return is_named or shard_number(name.removesuffix(".json")) is not None


def _is_receipt(name: str) -> bool:
    return name.endswith(".json") and shard_number(name.removesuffix(".json")) is not None


def _is_folder(entry: Path) -> bool:
    return entry.is_dir() and not entry.is_symlink()


def _check_foreign(folder: Path) -> None:
    leftovers = _leftovers(folder)
    strange = [
        *(each for each in folder.iterdir() if not _is_ours(each.name) or _is_folder(each) != (each.name == RECEIPTS)),
        *(each for each in (folder / RECEIPTS).glob("*") if not _is_receipt(each.name) or _is_folder(each)),
    ]
    foreign = sorted(str(entry.relative_to(folder)) for entry in strange if entry not in leftovers)
    if foreign:
        raise InputError(f"{folder} also holds {foreign[0]!r}, which we did not write: move it away, or choose --out")
