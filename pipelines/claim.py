"""Who owns an output folder (one of our plans, nobody, somebody else), and removal of our own files only."""

import re
from pathlib import Path

from augment.errors import InputError
from pipelines.files import is_remote, remove_temporary, temporaries
from pipelines.folder import CARD_FILE, COUNTS_FILE, INFO_FILE, RECIPE_FILE, STATE_FILE, read_state
from pipelines.lock import LOCK
from pipelines.plan import PLAN_FILE, Plan, read_plan
from pipelines.shards import RECEIPTS, read_receipt, receipt_path, shard_name, shard_number

ADVICE = "choose another --out, or --overwrite it"
FILES = (STATE_FILE, INFO_FILE, COUNTS_FILE, RECIPE_FILE, CARD_FILE, PLAN_FILE)
"""In the order of removal: `state.json`, which marks a dataset as finished, first; the plan, which marks it ours,
last."""
STAGED = "data"
"""Name of the temporary file or folder, inside the dataset's, that rows are collected in until they are complete."""
CACHE = re.compile(r"cache-\w+\.arrow")
"""Cache files that `datasets` leaves beside shards after map and filter: not ours, but harmless."""


def claim(out: Path, plan: Plan, *, overwrite: bool, advice: str = ADVICE) -> Plan | None:
    """Make sure that `out` is free for this plan or already under it; with `overwrite`, remove what we wrote there.

    Returns:
        The plan that stands there and that the run goes on under, or None if the folder is free.

    Raises:
        InputError: It belongs to another recipe (the line names the difference), or holds what we did not write.
    """
    if out.exists() and not out.is_dir():
        raise InputError(f"{out} is a file, a folder is wanted: choose another --out")
    standing = read_plan(out)
    if standing is None:
        ours = {LOCK, *(entry.name for entry in _leftovers(out))}
        foreign = sorted(entry.name for entry in out.iterdir() if entry.name not in ours) if out.exists() else []
        if foreign:
            raise InputError(f"{out} holds {foreign[0]!r} and no {PLAN_FILE}, it is not ours: choose another --out")
        return None
    if overwrite:
        remove_dataset(out)
        return None
    difference = standing.difference(plan)
    if difference is not None:
        raise InputError(f"{out} belongs to another recipe, {difference}: {advice}")
    return standing


def remove_leftovers(folder: Path) -> None:
    """Remove what interrupted runs left in a dataset folder; the caller must hold its lock."""
    for entry in _leftovers(folder):
        remove_temporary(entry)


def _leftovers(folder: Path) -> list[Path]:
    names = {STAGED, *FILES}
    found = [entry for entry, name in temporaries(folder) if name in names or shard_number(name) is not None]
    found += [entry for entry, name in temporaries(folder / RECEIPTS) if shard_number(Path(name).stem) is not None]
    return found


def remove_dataset(folder: Path) -> None:
    """Remove the files of our dataset, the plan last; the folder itself stays.

    Raises:
        InputError: The folder holds something that we did not write; nothing is removed then.
    """
    shards = _our_shards(folder)
    foreign = _foreign_files(folder, shards)
    if foreign:
        raise InputError(f"{folder} also holds {foreign[0]!r}, which we did not write: move it away, or choose --out")
    (folder / STATE_FILE).unlink(missing_ok=True)
    for index in shards:
        receipt_path(folder, index).unlink(missing_ok=True)
        (folder / shard_name(index)).unlink(missing_ok=True)
    for entry, _ in temporaries(folder / RECEIPTS):
        remove_temporary(entry)
    if not is_remote(folder) and (folder / RECEIPTS).exists():
        (folder / RECEIPTS).rmdir()
    for name in FILES:
        (folder / name).unlink(missing_ok=True)


def _our_shards(folder: Path) -> set[int]:
    """Numbers of the shards present that the plan, `state.json` or a receipt lists."""
    plan = read_plan(folder)
    planned = 0 if plan is None else len(plan.shards) or plan.params.get("shards") or 0
    known = max(planned if isinstance(planned, int) else 0, len(read_state(folder)[0]))
    present = {shard_number(path.name) for path in folder.iterdir()}
    present |= {shard_number(path.stem) for path in (folder / RECEIPTS).glob("*.json")}
    return {
        index for index in present if index is not None and (index < known or read_receipt(folder, index) is not None)
    }


def _foreign_files(folder: Path, shards: set[int]) -> list[str]:
    """Paths in a dataset folder that no command of ours wrote, cache files of `datasets` aside."""
    receipts = folder / RECEIPTS
    ours = {folder / name for name in (*FILES, LOCK, *map(shard_name, shards))}
    ours |= {receipt_path(folder, index) for index in shards}
    leftovers = {*_leftovers(folder), *(() if receipts.is_symlink() else (receipts,))}
    return sorted(
        str(entry.relative_to(folder))
        for entry in (*folder.iterdir(), *receipts.glob("*"))
        if entry not in leftovers
        and not CACHE.fullmatch(entry.name)
        and (entry not in ours or (entry.is_dir() and not entry.is_symlink()))
    )
