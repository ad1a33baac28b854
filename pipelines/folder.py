"""A dataset as a folder that `datasets.load_from_disk` opens, and whose it is: ours under one plan, or not ours."""

import hashlib
import json
import re
import shutil
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from augment.errors import InputError
from pipelines.files import TEMPORARY, write_whole
from pipelines.plan import PLAN_FILE, Kind, Plan, read_plan
from pipelines.shards import RECEIPTS, Receipt, shard_name, valid_receipt

STATE_FILE = "state.json"
INFO_FILE = "dataset_info.json"
COUNTS_FILE = "counts.json"
RECIPE_FILE = "recipe.json"
CARD_FILE = "card.md"
ADVICE = "choose another --out, or --overwrite it"
# `datasets` caches the results of map and filter beside the shards of a dataset that it opened.
OURS = re.compile(
    rf"data-\d{{5}}\.arrow|cache-\w+\.arrow|\..*\{TEMPORARY}|"
    + "|".join(map(re.escape, (RECEIPTS, STATE_FILE, INFO_FILE, COUNTS_FILE, RECIPE_FILE, CARD_FILE, PLAN_FILE)))
)


@dataclass(frozen=True, slots=True)
class Dataset:
    """A finished dataset folder: its plan, the receipts of its shards, and what was counted when it was made."""

    path: Path
    plan: Plan
    receipts: tuple[Receipt, ...]
    counts: Mapping[str, Any]

    @property
    def rows(self) -> int:
        """Rows in all shards."""
        return sum(receipt.rows for receipt in self.receipts)

    @property
    def digest(self) -> str:
        """sha256 over the shards' hashes, in order: the hash of the content."""
        return hashlib.sha256("".join(receipt.sha256 for receipt in self.receipts).encode()).hexdigest()


def sentence_schema(columns: Sequence[str]) -> Any:  # noqa: ANN401 - a pyarrow schema
    """The columns of sentences: `id`, `text`, and those of `label` and `pair` that are there; all strings."""
    import pyarrow as pa

    return pa.schema([(name, pa.string()) for name in ("id", "text", *columns)])


def view_schema() -> Any:  # noqa: ANN401 - a pyarrow schema
    """The columns of a view dataset; offsets of edits are in characters of `text`, fractions in [0, 1]."""
    import pyarrow as pa

    edit = pa.struct([("start", pa.int32()), ("end", pa.int32()), ("old", pa.string()), ("new", pa.string())])
    return pa.schema(
        [
            *((name, pa.string()) for name in ("id", "text", "view", "status", "reason", "pivot")),
            ("edits", pa.list_(edit)),
            ("target_fraction", pa.float64()),
            ("achieved_fraction", pa.float64()),
            ("alternatives", pa.list_(pa.string())),
        ]
    )


def finalise(
    folder: Path,
    plan: Plan,
    receipts: Sequence[Receipt],
    schema: Any,  # noqa: ANN401 - a pyarrow schema
    beside: Mapping[str, str],
    counts: Mapping[str, Any] | None = None,
) -> Dataset:
    """Make shards that match their receipts a dataset; `state.json`, written last, is what says that it is finished.

    Args:
        folder: Where plan and shards are.
        plan: What they were made under.
        receipts: One for each shard, in order.
        schema: The columns.
        beside: Texts of further files by name (recipe, card).
        counts: What was counted; of the receipts' statuses and reasons if None.
    """
    counts = counts if counts is not None else count_receipts(receipts)
    info = {
        "citation": "",
        "description": plan.signature or f"{plan.kind}: {plan.name}",
        "features": {field.name: _feature(field.type) for field in schema},
        "homepage": "",
        "license": "",
    }
    for name, content in {**beside, COUNTS_FILE: _json(counts), INFO_FILE: _json(info)}.items():
        write_whole(folder / name, content)
    write_whole(folder / STATE_FILE, _state(plan, receipts))
    return Dataset(folder, plan, tuple(receipts), counts)


def count_receipts(receipts: Sequence[Receipt]) -> dict[str, Any]:
    """Rows, and rows by status and by reason, over all shards."""
    statuses: Counter[str] = Counter()
    reasons: Counter[str] = Counter()
    for receipt in receipts:
        statuses.update(receipt.statuses)
        reasons.update(receipt.reasons)
    return {
        "rows": sum(receipt.rows for receipt in receipts),
        "statuses": dict(sorted(statuses.items())),
        "reasons": dict(sorted(reasons.items())),
    }


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2) + "\n"


def _feature(kind: Any) -> dict[str, Any]:  # noqa: ANN401 - a pyarrow type
    """A column's type as `datasets` writes it, without the two seconds that importing `datasets` takes."""
    import pyarrow as pa

    if pa.types.is_list(kind):
        return {"feature": _feature(kind.value_type), "_type": "List"}
    if pa.types.is_struct(kind):
        return {field.name: _feature(field.type) for field in kind}
    return {"dtype": {"double": "float64"}.get(str(kind), str(kind)), "_type": "Value"}


def _state(plan: Plan, receipts: Sequence[Receipt]) -> str:
    """`state.json`; its fingerprint comes from plan and receipts alone, so that equal runs give equal files."""
    seen = hashlib.sha256(plan.to_json().encode())
    for receipt in receipts:
        seen.update(receipt.sha256.encode())
    return _json(
        {
            "_data_files": [{"filename": receipt.file} for receipt in receipts],
            "_fingerprint": seen.hexdigest()[:16],
            "_format_columns": None,
            "_format_kwargs": {},
            "_format_type": None,
            "_output_all_columns": False,
            "_split": None,
        }
    )


def open_dataset(folder: Path, kind: Kind | None = None) -> Dataset:
    """A finished dataset folder, its shards checked against their receipts.

    Raises:
        InputError: No such folder, not one of ours, of another kind, unfinished, or damaged.
    """
    plan = read_plan(folder)
    if plan is None:
        what = "is no dataset folder of twinviews" if folder.exists() else "does not exist"
        raise InputError(f"{folder} {what} (no {PLAN_FILE} there): check the path")
    if kind is not None and plan.kind != kind:
        raise InputError(f"{folder} holds {plan.kind} ({plan.name}), {kind} are wanted: check the path")
    finished = finished_dataset(folder, plan)
    if finished is None:
        raise InputError(f"{folder} is not finished, or damaged: run the command that makes it again")
    return finished


def finished_dataset(folder: Path, plan: Plan) -> Dataset | None:
    """The dataset, if every shard and `state.json` are there and match; else None."""
    try:
        state = (folder / STATE_FILE).read_text(encoding="utf-8")
        counts = json.loads((folder / COUNTS_FILE).read_text(encoding="utf-8"))
        files = [entry["filename"] for entry in json.loads(state)["_data_files"]]
    except (FileNotFoundError, ValueError, KeyError, TypeError):
        return None
    receipts = [valid_receipt(folder, index) for index in range(len(files))]
    whole = [receipt for receipt in receipts if receipt is not None]
    if files != [shard_name(index) for index in range(len(files))] or len(whole) < len(files):
        return None
    return Dataset(folder, plan, tuple(whole), counts) if _state(plan, whole) == state else None


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
        present = sorted(entry.name for entry in out.iterdir()) if out.exists() else []
        foreign = [name for name in present if not name.endswith(TEMPORARY)]
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


def foreign_files(folder: Path) -> list[str]:
    """Names in a folder that no command of ours writes."""
    return sorted(entry.name for entry in folder.iterdir() if not OURS.fullmatch(entry.name)) if folder.exists() else []


def remove_dataset(folder: Path) -> None:
    """Remove a dataset folder that we wrote; the plan, which says that it is ours, goes last.

    Raises:
        InputError: It also holds something that we did not write; then nothing is removed.
    """
    foreign = foreign_files(folder)
    if foreign:
        raise InputError(f"{folder} also holds {foreign[0]!r}, which we did not write: move it away, or choose --out")
    (folder / STATE_FILE).unlink(missing_ok=True)
    shutil.rmtree(folder / RECEIPTS, ignore_errors=True)
    for entry in sorted(folder.iterdir(), key=lambda path: path.name == PLAN_FILE):
        entry.unlink()
    folder.rmdir()
