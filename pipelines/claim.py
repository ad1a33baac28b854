"""Who owns an output folder (one of our plans, nobody, somebody else), and how its files are replaced.

In a folder with a plan of ours, a file is ours if its name is one that we give. So the plan is on the disk before any
other file of its dataset, and is removed only after all others; `state.json`, which marks the dataset as finished, is
written last and removed first, together with the receipts.
"""

from contextlib import suppress
from pathlib import Path

from augment.errors import InputError
from pipelines.files import is_remote, is_written_by, make_folder, remove_temporary, sync_folder, temporaries
from pipelines.folder import FILES, RECIPE_FILE, REPORT_FILE, STATE_FILE, Dataset, finished_dataset
from pipelines.lock import LOCK
from pipelines.plan import PLAN_FILE, PLAN_MARKS, Plan, read_plan
from pipelines.shards import RECEIPTS, shard_number

ADVICE = "choose another --out, or --overwrite it"
STAGED = "data"
"""Name of the temporary folder, inside the dataset's, that files are collected in until they are complete."""


def standing_dataset(out: Path, plan: Plan, *, overwrite: bool = False, advice: str = ADVICE) -> Dataset | None:
    """The finished dataset in `out` under this plan; None if it is still to be made there.

    Raises InputError if `out` belongs to another recipe (and names the difference), holds foreign files, or is a file.
    """
    check_folder(out)
    if overwrite and is_written_by(out / PLAN_FILE, *PLAN_MARKS):
        return None
    standing = read_plan(out)
    if standing is None:
        ours = {LOCK, f".{REPORT_FILE}{LOCK}", *(entry.name for entry in _leftovers(out))}
        foreign = min({entry.name for entry in out.glob("*")} - ours, default=None)
        if foreign is not None:
            raise InputError(f"{out} holds {foreign!r} and no {PLAN_FILE}, so it is not ours: choose another --out")
        return None
    difference = standing.difference(plan)
    if difference is not None:
        raise InputError(f"{out} belongs to another recipe, {difference}: {advice}")
    return finished_dataset(out, standing)


def check_folder(out: Path) -> None:
    """Raise InputError if `out` cannot be a dataset folder because a file is there."""
    if out.exists() and not out.is_dir():
        raise InputError(f"{out} cannot be made, something is in the way: choose another --out")


def remove_leftovers(folder: Path) -> None:
    """Remove what interrupted runs left in a dataset folder; the caller holds its lock."""
    for entry in _leftovers(folder):
        remove_temporary(entry)


def clear_dataset(folder: Path, *, plan_too: bool = False) -> None:
    """Remove the files of a dataset of ours except its plan, so that no power cut brings them back."""
    (folder / STATE_FILE).unlink(missing_ok=True)
    for place in (folder / RECEIPTS, folder):
        for entry in [*place.glob("*")]:
            # The recipe stays until it is replaced: it tells that the rejects of pairs are ours.
            kept = entry.name == PLAN_FILE or (entry.name == RECIPE_FILE and not plan_too)
            if _is_ours(entry.name) and not kept and entry.is_file():
                entry.unlink()
        if not is_remote(place) and place.exists():
            sync_folder(place)
    if not is_remote(folder):
        with suppress(OSError):  # it does not exist, or holds files of somebody else
            (folder / RECEIPTS).rmdir()
            sync_folder(folder)
    if plan_too:
        (folder / PLAN_FILE).unlink(missing_ok=True)


def put_in_place(staged: Path, folder: Path) -> None:
    """Replace the dataset in `folder` by the finished, synced one in `staged`, a folder inside it."""
    clear_dataset(folder)
    made = [entry.relative_to(staged) for entry in staged.rglob("*") if entry.is_file()]
    others = [file for file in made if file.name not in (PLAN_FILE, STATE_FILE)]
    for together in ([Path(PLAN_FILE)], others, [Path(STATE_FILE)]):
        for file in together:
            make_folder((folder / file).parent)
            (staged / file).replace(folder / file)
        for place in {(folder / file).parent for file in together}:
            sync_folder(place)


def _is_ours(name: str) -> bool:
    """Whether we give this name in a dataset folder."""
    return name in (*FILES, REPORT_FILE) or shard_number(name.removesuffix(".json")) is not None


def _leftovers(folder: Path) -> list[Path]:
    found = (*temporaries(folder), *temporaries(folder / RECEIPTS))
    return [entry for entry, name in found if name == STAGED or _is_ours(name)]
