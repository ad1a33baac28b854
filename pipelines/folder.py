"""A dataset as a folder that `datasets.load_from_disk` opens: how it is finished, and checked before it is read.

A writer holds the folder's lock. It writes the plan, then the shards, a window at a time and their receipts after them
(`pipelines.shards`), then recipe, card, counts and information, and last `state.json` with the hash of every file. Each
file appears whole and is on the disk before the next kind begins. A shard without a receipt that fits it is made again;
a folder without `state.json` is not read. `pipelines.claim` removes files in reverse order.
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
from augment.view import Viewed
from pipelines.files import read_json, write_whole
from pipelines.plan import PLAN_FILE, Kind, Plan, read_plan
from pipelines.shards import Receipt, read_table, valid_receipt

STATE_FILE = "state.json"
INFO_FILE = "dataset_info.json"
COUNTS_FILE = "counts.json"
RECIPE_FILE = "recipe.json"
CARD_FILE = "card.md"
REPORT_FILE = "report.html"
FILES = (STATE_FILE, INFO_FILE, COUNTS_FILE, RECIPE_FILE, CARD_FILE, PLAN_FILE)
SPANS, LOST = "spans", "spans_lost"
"""Columns with labelled spans of characters and, in a view, the number of its sentence's spans that it lost."""


@dataclass(frozen=True)
class Dataset:
    """A finished dataset folder: its plan, the receipts of its shards, and what was counted when it was made.

    Sentences that a dry run only counted have no receipts.
    """

    path: Path
    plan: Plan
    receipts: tuple[Receipt, ...]
    counts: Mapping[str, Any]

    @property
    def rows(self) -> int:
        """Rows in all shards."""
        return self._starts[-1] if self.receipts else int(self.counts["kept"])

    @property
    def digest(self) -> str:
        """sha256 over the shards' hashes, in order: the hash of the content; empty if there are none yet."""
        return _sha256("".join(receipt.sha256 for receipt in self.receipts)) if self.receipts else ""

    @cached_property
    def _starts(self) -> list[int]:
        """The first row of every shard, and the number of rows."""
        return list(accumulate((receipt.rows for receipt in self.receipts), initial=0))

    def read(self, start: int, stop: int) -> Any:  # noqa: ANN401 - a pyarrow table
        """Rows start to stop as one table; opens only the shards that hold them."""
        import pyarrow as pa

        parts = []
        for index in range(bisect_right(self._starts, start) - 1, bisect_left(self._starts, stop)):
            receipt, first = self.receipts[index], self._starts[index]
            parts.append(read_table(self.path / receipt.file, receipt.sha256)[max(start - first, 0) : stop - first])
        return pa.concat_tables(parts)


def dataset_schema(columns: Sequence[str]) -> Any:  # noqa: ANN401 - a pyarrow schema
    """The schema of these columns; offsets of edits and spans are in characters of `text`, fractions in [0, 1]."""
    import pyarrow as pa

    string, offsets = pa.string(), [("start", pa.int32()), ("end", pa.int32())]
    kinds = {
        "edits": pa.list_(pa.struct([*offsets, ("old", string), ("new", string)])),
        **dict.fromkeys(("target_fraction", "achieved_fraction"), pa.float64()),
        "alternatives": pa.list_(string),
        SPANS: pa.list_(pa.struct([*offsets, ("label", string)])),
        LOST: pa.int32(),
    }
    return pa.schema([(name, kinds.get(name, string)) for name in columns])


def view_schema(columns: Sequence[str] = ()) -> Any:  # noqa: ANN401 - a pyarrow schema
    """The schema of a view of sentences with these columns; if they have spans, those of the view come last."""
    return dataset_schema(["id", "text", "view", *Viewed._fields[1:], *([SPANS, LOST] if SPANS in columns else [])])


def finalise(
    folder: Path,
    plan: Plan,
    receipts: Sequence[Receipt],
    schema: Any,  # noqa: ANN401 - a pyarrow schema
    beside: Mapping[str, str],
    counts: Mapping[str, Any] | None = None,
) -> Dataset:
    """Turn the shards of these receipts into a dataset; `state.json`, written last, marks it as finished.

    `beside` has the texts of recipe and card by file name. Without `counts`, those of the receipts are stored.
    """
    counts = counts if counts is not None else count_receipts(receipts)
    features = {field.name: _feature(field.type) for field in schema}
    description = plan.signature or f"{plan.kind}: {plan.name}"
    info = {"citation": "", "description": description, "features": features, "homepage": "", "license": ""}
    texts = {PLAN_FILE: plan.to_json(), **beside, COUNTS_FILE: _json(counts), INFO_FILE: _json(info)}
    hashes = {name: _sha256(text) for name, text in texts.items()}
    state = state_text([(receipt.file, receipt.sha256) for receipt in receipts], hashes)
    if read_json(folder / STATE_FILE) != json.loads(state):
        (folder / STATE_FILE).unlink(missing_ok=True)  # it would mark other files as finished
    for name, text in (*texts.items(), (STATE_FILE, state)):
        write_whole(folder / name, text)
    return Dataset(folder, plan, tuple(receipts), counts)


def _feature(kind: Any) -> Any:  # noqa: ANN401 - a pyarrow type
    """A column's type as `datasets` writes it; importing `datasets` itself takes two seconds."""
    name = str(kind)
    if name.startswith("list"):
        return {"feature": _feature(kind.value_type), "_type": "List"}
    if name.startswith("struct"):
        return {field.name: _feature(field.type) for field in kind}
    return {"dtype": "float64" if name == "double" else name, "_type": "Value"}


def count_receipts(receipts: Sequence[Receipt]) -> dict[str, Any]:
    """Rows, rows by status and by reason, and spans carried and lost if there are any, over all shards."""
    counts: dict[str, Counter[str]] = {"statuses": Counter(), "reasons": Counter()}
    for receipt in receipts:
        counts["statuses"].update(receipt.statuses)
        counts["reasons"].update(receipt.reasons)
        if receipt.spans is not None:
            counts.setdefault(SPANS, Counter()).update(receipt.spans)
    rows = sum(receipt.rows for receipt in receipts)
    return {"rows": rows, **{name: dict(sorted(each.items())) for name, each in counts.items()}}


def state_text(shards: Sequence[tuple[str, str]], hashes: Mapping[str, str]) -> str:
    """`state.json`: name and sha256 of every shard, the sha256 of the other files by name, its own fingerprint."""
    state = {
        "_data_files": [{"filename": name, "sha256": sha256} for name, sha256 in shards],
        "_files": dict(sorted(hashes.items())),
        "_format_columns": None,
        "_format_kwargs": {},
        "_format_type": None,
        "_output_all_columns": False,
        "_split": None,
    }
    return _json({"_fingerprint": _sha256(json.dumps(state))[:16], **state})


def read_state(folder: Path) -> tuple[list[tuple[str, str]], dict[str, str]]:
    """What `state.json` was made from, as `state_text` takes it; empty if it is missing or altered."""
    state = read_json(folder / STATE_FILE)
    try:
        shards = [(each["filename"], each["sha256"]) for each in state["_data_files"]]
        hashes = state["_files"]
        return (shards, hashes) if state == json.loads(state_text(shards, hashes)) else ([], {})
    except (TypeError, KeyError, AttributeError, ValueError):
        return [], {}


def open_dataset(folder: Path, kind: Kind | None = None) -> Dataset:
    """A finished dataset; raises InputError if it is missing, not ours, of another kind, unfinished or damaged.

    Its recipe and card are for human readers: an altered one does not matter here, and its command writes it again.
    """
    plan = read_plan(folder)
    if plan is None:
        what = "is not a dataset folder of twinviews" if folder.exists() else "does not exist"
        raise InputError(f"{folder} {what} (no {PLAN_FILE} there): check the path")
    if kind is not None and plan.kind != kind:
        raise InputError(f"{folder} holds {plan.kind} ({plan.name}), not {kind}: check the path")
    return _checked(folder, plan, ignored=(RECIPE_FILE, CARD_FILE))


def finished_dataset(folder: Path, plan: Plan) -> Dataset | None:
    """The dataset if all of its files are as they were written, otherwise None."""
    try:
        return _checked(folder, plan)
    except InputError:
        return None


def _checked(folder: Path, plan: Plan, ignored: Sequence[str] = ()) -> Dataset:
    """The dataset; raises InputError, which names the file, if it is unfinished, altered or damaged."""
    advice = "run the command that makes it again"
    if not (folder / STATE_FILE).exists():
        raise InputError(f"{folder} is not finished (it has no {STATE_FILE}): {advice}")
    shards, hashes = read_state(folder)
    receipts = [valid_receipt(folder, index) for index in range(len(shards))]
    damaged = [] if shards else [STATE_FILE]
    for receipt, (name, sha256) in zip(receipts, shards, strict=True):
        damaged += [] if receipt is not None and receipt.sha256 == sha256 else [name]
    for name, sha256 in hashes.items():
        content = (folder / name).read_bytes() if (folder / name).is_file() else b""
        damaged += [] if name in ignored or _sha256(content) == sha256 else [name]
    if damaged:
        raise InputError(f"{folder / damaged[0]} is missing, altered or damaged: {advice}")
    return Dataset(folder, plan, tuple(filter(None, receipts)), json.loads((folder / COUNTS_FILE).read_bytes()))


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2) + "\n"


def _sha256(content: str | bytes) -> str:
    return hashlib.sha256(content.encode() if isinstance(content, str) else content).hexdigest()
