"""A dataset as a folder that `datasets.load_from_disk` opens: how it is finished, and checked before it is read.

A writer holds the folder's lock. Its plan comes first; then shards, a window of them at a time, and behind these their
receipts (`pipelines.shards`); then recipe, card, counts and information; last `state.json`, with the hash of every
file. Each file appears whole and is on the disk before the next kind begins. What has no receipt, or another hash than
that says, is made again; a folder without `state.json` is not read. `pipelines.claim` removes files in reverse order.
"""

import hashlib
import json
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from pathlib import Path
from typing import Any

from augment.errors import InputError
from pipelines.files import read_json, write_whole
from pipelines.plan import PLAN_FILE, Kind, Plan, read_plan
from pipelines.shards import Receipt, read_table, valid_receipt

STATE_FILE = "state.json"
INFO_FILE = "dataset_info.json"
COUNTS_FILE = "counts.json"
RECIPE_FILE = "recipe.json"
CARD_FILE = "card.md"
AGAIN = "run the command that makes it again"
REPORT_FILE = "report.html"
FILES = (STATE_FILE, INFO_FILE, COUNTS_FILE, RECIPE_FILE, CARD_FILE, PLAN_FILE)
SPANS, LOST = "spans", "spans_lost"
"""Columns with labelled spans of characters, and of a view, how many of its sentence's it could not carry."""
DERIVED = (RECIPE_FILE, CARD_FILE)
"""For readers alone: a dataset in which these were altered is still read, and the command that made it mends them."""


@dataclass(frozen=True)
class Dataset:
    """A finished dataset folder: its plan, the receipts of its shards, and what was counted when it was made.

    Sentences that a dry run counted, and that are not there, have no receipts.
    """

    path: Path
    plan: Plan
    receipts: tuple[Receipt, ...]
    counts: Mapping[str, Any]

    @property
    def rows(self) -> int:
        """Rows in all shards."""
        return sum(receipt.rows for receipt in self.receipts) if self.receipts else int(self.counts["kept"])

    @property
    def digest(self) -> str:
        """sha256 over the shards' hashes, in order: the hash of the content; empty if there are none yet."""
        return _sha256("".join(receipt.sha256 for receipt in self.receipts).encode()) if self.receipts else ""

    @cached_property
    def _starts(self) -> list[int]:
        """The first row of every shard, and the number of rows."""
        return list(accumulate((receipt.rows for receipt in self.receipts), initial=0))

    def read(self, start: int, stop: int) -> Any:  # noqa: ANN401 - a pyarrow table
        """Rows start to stop as one table; only the shards that hold them are looked for and opened."""
        import pyarrow as pa

        parts = []
        for index in range(bisect_right(self._starts, start) - 1, bisect_left(self._starts, stop)):
            receipt, first = self.receipts[index], self._starts[index]
            parts.append(read_table(self.path / receipt.file, receipt.sha256)[max(start - first, 0) : stop - first])
        return pa.concat_tables(parts)


def sentence_schema(columns: Sequence[str]) -> Any:  # noqa: ANN401 - a pyarrow schema
    """The columns of sentences: `id`, `text`, and those of `label`, `spans` and `pair` that are there."""
    import pyarrow as pa

    return pa.schema([(name, _spans() if name == SPANS else pa.string()) for name in ("id", "text", *columns)])


def _spans() -> Any:  # noqa: ANN401 - a pyarrow type
    import pyarrow as pa

    return pa.list_(pa.struct([("start", pa.int32()), ("end", pa.int32()), ("label", pa.string())]))


def view_schema(columns: Sequence[str] = ()) -> Any:  # noqa: ANN401 - a pyarrow schema
    """The columns of a view dataset; offsets of edits are in characters of `text`, fractions in [0, 1].

    Where the sentences' `columns` have spans, those of the view and how many it lost come last.
    """
    import pyarrow as pa

    edit = pa.struct([("start", pa.int32()), ("end", pa.int32()), ("old", pa.string()), ("new", pa.string())])
    return pa.schema(
        [
            *((name, pa.string()) for name in ("id", "text", "view", "status", "reason", "pivot")),
            ("edits", pa.list_(edit)),
            ("target_fraction", pa.float64()),
            ("achieved_fraction", pa.float64()),
            ("alternatives", pa.list_(pa.string())),
            *([(SPANS, _spans()), (LOST, pa.int32())] if SPANS in columns else []),
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
    """Turn shards that match their receipts into a dataset; `state.json`, written last, marks it as finished.

    Args:
        folder: Where plan and shards are.
        plan: What they were made under.
        receipts: One for each shard, in order.
        schema: The columns.
        beside: Texts of further files by name (recipe, card).
        counts: What was counted; of the receipts' statuses and reasons if None.
    """
    counts = counts if counts is not None else count_receipts(receipts)
    features = {field.name: _feature(field.type) for field in schema}
    description = plan.signature or f"{plan.kind}: {plan.name}"
    info = {"citation": "", "description": description, "features": features, "homepage": "", "license": ""}
    texts = {PLAN_FILE: plan.to_json(), **beside, COUNTS_FILE: _json(counts), INFO_FILE: _json(info)}
    hashes = {name: _sha256(text.encode()) for name, text in texts.items()}
    state = state_text([(receipt.file, receipt.sha256) for receipt in receipts], hashes)
    if read_json(folder / STATE_FILE) != json.loads(state):
        (folder / STATE_FILE).unlink(missing_ok=True)  # it would vouch for files that are no longer those
    for name, text in (*texts.items(), (STATE_FILE, state)):
        write_whole(folder / name, text)
    return Dataset(folder, plan, tuple(receipts), counts)


def count_receipts(receipts: Sequence[Receipt]) -> dict[str, Any]:
    """Rows, rows by status and by reason, and spans carried and lost where there are any, over all shards."""
    counts: dict[str, Counter[str]] = {"statuses": Counter(), "reasons": Counter()}
    for receipt in receipts:
        counts["statuses"].update(receipt.statuses)
        counts["reasons"].update(receipt.reasons)
        if receipt.spans is not None:
            counts.setdefault(SPANS, Counter()).update(receipt.spans)
    rows = sum(receipt.rows for receipt in receipts)
    return {"rows": rows, **{name: dict(sorted(each.items())) for name, each in counts.items()}}


def state_text(shards: Sequence[tuple[str, str]], hashes: Mapping[str, str]) -> str:
    """`state.json`: the sha256 of every other file, and a fingerprint of itself; equal runs give equal files.

    Args:
        shards: Name and sha256 of every shard, in order.
        hashes: The sha256 of plan, recipe, card, counts and information, by file name.
    """
    state = {
        "_data_files": [{"filename": name, "sha256": sha256} for name, sha256 in shards],
        "_files": dict(sorted(hashes.items())),
        "_format_columns": None,
        "_format_kwargs": {},
        "_format_type": None,
        "_output_all_columns": False,
        "_split": None,
    }
    return _json({"_fingerprint": _sha256(json.dumps(state).encode())[:16], **state})


def read_state(folder: Path) -> tuple[list[tuple[str, str]], dict[str, str]]:
    """What `state.json` was made from, as `state_text` takes it; empty if there is none, or it is altered."""
    state = read_json(folder / STATE_FILE)
    try:
        shards = [(each["filename"], each["sha256"]) for each in state["_data_files"]]
        hashes = state["_files"]
        return (shards, hashes) if state == json.loads(state_text(shards, hashes)) else ([], {})
    except (TypeError, KeyError, AttributeError, ValueError):
        return [], {}


def _feature(kind: Any) -> dict[str, Any]:  # noqa: ANN401 - a pyarrow type
    """A column's type as `datasets` writes it, without the two seconds that importing `datasets` takes."""
    import pyarrow as pa

    if pa.types.is_list(kind):
        return {"feature": _feature(kind.value_type), "_type": "List"}
    if pa.types.is_struct(kind):
        return {field.name: _feature(field.type) for field in kind}
    return {"dtype": {"double": "float64"}.get(str(kind), str(kind)), "_type": "Value"}


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2) + "\n"


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


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
    return _checked(folder, plan, ignored=DERIVED)


def finished_dataset(folder: Path, plan: Plan) -> Dataset | None:
    """The dataset, if every file of it is there and as it was written; else None."""
    try:
        return _checked(folder, plan)
    except InputError:
        return None


def _checked(folder: Path, plan: Plan, ignored: Sequence[str] = ()) -> Dataset:
    """The dataset; raises InputError, which names the file, if it is unfinished, altered or damaged."""
    if not (folder / STATE_FILE).exists():
        raise InputError(f"{folder} is not finished (it has no {STATE_FILE}): {AGAIN}")
    shards, hashes = read_state(folder)
    receipts = [valid_receipt(folder, index) for index in range(len(shards))]
    damaged = [] if shards else [STATE_FILE]
    for receipt, (name, sha256) in zip(receipts, shards, strict=True):
        damaged += [] if receipt is not None and receipt.sha256 == sha256 else [name]
    for name, sha256 in hashes.items():
        content = (folder / name).read_bytes() if (folder / name).is_file() else b""
        damaged += [] if name in ignored or _sha256(content) == sha256 else [name]
    if damaged:
        raise InputError(f"{folder / damaged[0]} is missing, altered or damaged: {AGAIN}")
    return Dataset(folder, plan, tuple(filter(None, receipts)), json.loads((folder / COUNTS_FILE).read_bytes()))
