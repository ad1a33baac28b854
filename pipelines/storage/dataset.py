"""A dataset: rows in shards, with plan, recipe and card.

As a folder also what `datasets.load_from_disk` needs.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args

from pydantic import BaseModel, ValidationError

from augment.errors import InputError
from augment.record import FileRecord, Record, checked_files
from augment.version import __version__
from augment.view import WEIGHTS_PARAMS, ViewSpec
from pipelines.base.files import RECORD, sync_folder, temporaries, write_if_changed
from pipelines.base.record import (
    ADVICE,
    Status,
    beside,
    claim,
    is_folder,
    is_whole,
    output_record,
    record_path,
    write_record,
)
from pipelines.storage.shards import (
    Shard,
    read_table,
    record_number,
    shard_files,
    shard_number,
)

Kind = Literal["sentences", "view", "pairs"]
STATE_FILE = "state.json"
INFO_FILE = "dataset_info.json"
RECIPE_FILE = "recipe.json"
CARD_FILE = "card.md"
REJECTS_FILE = "rejects.arrow"
REPORT_FILE = "report.html"
FILES = (STATE_FILE, INFO_FILE, RECIPE_FILE, CARD_FILE, REJECTS_FILE)


class Input(BaseModel, frozen=True, extra="forbid"):
    """What a dataset is made from: its name as the user gave it, and the sha256 of its content."""

    name: str
    sha256: str


class Plan(BaseModel, frozen=True, extra="forbid"):
    """Everything that decides a dataset's rows.

    `name` is the view ("backtranslate") or the policy ("bsl"); `params` are the view's resolved parameters
    with the revision of its models, or the settings of another kind. `seed` is None where nothing is drawn,
    `limit` where all rows of the input are used. Only the last shard has fewer than `shard_size` rows. Only
    views have a `signature`, and in `shards` the rows of the input that each shard covers, as (start, stop).
    """

    kind: Kind
    name: str
    params: Mapping[str, Any]
    signature: str | None = None
    seed: int | None = None
    limit: int | None = None
    shard_size: int = 0
    inputs: tuple[Input, ...]
    shards: tuple[tuple[int, int], ...] = ()
    twinviews: str = __version__

    @property
    def spec(self) -> ViewSpec:
        """The view that it is of."""
        return ViewSpec(self.name, self.params)

    @property
    def rows(self) -> int:
        """Rows that the shards cover."""
        return self.shards[-1][1] if self.shards else 0

    def deciding(self) -> dict[str, Any]:
        """What makes other rows if it differs, by name.

        Names of inputs and, beside a revision, of weights do not.
        """
        same_weights = () if self.params.get("revision") is None else WEIGHTS_PARAMS
        params = {key: value for key, value in self.params.items() if key not in same_weights}
        options = {**params, "seed": self.seed, "limit": self.limit, "shard_size": self.shard_size}
        signature = (self.signature or "").split("|")
        return {
            "--pairs" if self.kind == "pairs" else "the view": self.name,
            **{f"--{key.replace('_', '-')}": value for key, value in options.items()},
            **{f"the signature's {part.partition(':')[0]}": part for part in signature},
            "the inputs' sha256": [item.sha256 for item in self.inputs],
            "the shards": self.shards,
            "the version of twinviews": self.twinviews,
        }


def as_plan(record: Record | None, path: Path) -> Plan | None:
    """The plan of a dataset's record, which is at `path`.

    None for other records, InputError for one of another version.
    """
    if record is None or record.plan.get("kind") not in get_args(Kind):
        return None
    with suppress(ValidationError):
        return Plan.model_validate(record.plan)
    raise InputError(f"{path} is damaged, or of another version: {ADVICE}")


def read_plan(folder: Path) -> Plan | None:
    """The plan of a dataset folder; None if it has none. Raises InputError if it cannot be read."""
    return as_plan(output_record(folder), record_path(folder)) if is_folder(folder) else None


def is_dataset(out: Path) -> bool:
    """Whether a folder or a file is a dataset, finished or not."""
    return as_plan(output_record(out), record_path(out)) is not None


def claim_dataset(out: Path, plan: Plan, *, overwrite: bool = False) -> Status:
    """What a dataset is to the writer of this plan, as `claim` says it."""
    others = [beside(out, name) for name in (RECIPE_FILE, CARD_FILE, REJECTS_FILE)]
    return claim(out, plan.model_dump(), overwrite=overwrite, others=others, deciding=_deciding)


def _deciding(values: Mapping[str, Any]) -> Mapping[str, Any]:
    with suppress(ValidationError):
        return Plan.model_validate(values).deciding()
    return {"the version of twinviews": values.get("twinviews")}


class Dataset(NamedTuple):
    """A finished dataset, a folder or a file: its plan, its shards, and its counts."""

    path: Path
    plan: Plan
    shards: tuple[Shard, ...]
    counts: Mapping[str, Any]

    @property
    def rows(self) -> int:
        """Rows in all shards."""
        return sum(shard.rows for shard in self.shards)

    @property
    def digest(self) -> str:
        """sha256 over the shards' hashes, in order: the hash of the content."""
        return _sha256("".join(shard.sha256 or "" for shard in self.shards))

    def first(self, limit: int | None) -> int:
        """The number of its first rows up to a limit, if there is one."""
        return min(limit or self.rows, self.rows)

    def tables(self, start: int = 0, stop: int | None = None) -> Iterator[Any]:
        """The pyarrow tables of shards `start` to `stop`, each checked by its hash."""
        return (read_table(shard.path, shard.sha256) for shard in self.shards[start:stop])

    def read(self, start: int, stop: int) -> Any:  # noqa: ANN401 - a pyarrow table
        """Rows start to stop of sentences or a view as one table; opens only the shards that hold them."""
        import pyarrow as pa

        size = self.plan.shard_size
        shards = [*self.tables(start // size, -(-stop // size))]
        return pa.concat_tables(shards).slice(start % size, stop - start)


def begin(out: Path, plan: Plan) -> None:
    """Write the record of a dataset folder of which no shard is written."""
    write_record(out, plan.model_dump())


def finish(
    out: Path,
    plan: Plan,
    shards: Sequence[Record],
    counts: Mapping[str, Any],
    *,
    recipe: str,
    card: str,
    others: Mapping[str, FileRecord] = {},
) -> Dataset:
    """Write the record of a dataset of these shards, and then all files but these."""
    files = shard_files(shards)
    texts = {beside(out, RECIPE_FILE): recipe, beside(out, CARD_FILE): card}
    if is_folder(out):
        # Without these two `datasets.load_from_disk` opens no folder.
        texts |= {out / INFO_FILE: _json({}), out / STATE_FILE: _json(_state(files))}
        for shard in shards:
            text = shard.to_json()
            files |= {record_path(out / name).name: FileRecord.of(text.encode()) for name in shard.files}
    files |= {path.name: FileRecord.of(text.encode()) for path, text in texts.items()}
    write_record(out, plan.model_dump(), {**files, **others}, counts)
    for path, text in texts.items():
        write_if_changed(path, text)
    return as_dataset(out, plan, Record(files=files, counts=counts))


def _state(shards: Mapping[str, FileRecord]) -> dict[str, Any]:
    """What `datasets` keeps of a dataset of these shards."""
    return {
        "_data_files": [{"filename": name} for name in shards],
        "_fingerprint": _sha256("".join(shard.sha256 for shard in shards.values()))[:16],
        "_format_columns": None,
        "_format_kwargs": {},
        "_format_type": None,
        "_output_all_columns": False,
        "_split": None,
    }


def as_dataset(out: Path, plan: Plan, record: Record) -> Dataset:
    """The dataset that a record in a folder, or beside a file, is of."""
    files = {record_path(out).parent / name: file for name, file in record.files.items()}
    shards = [Shard(path, file.sha256, file.rows) for path, file in files.items() if file.rows is not None]
    return Dataset(out, plan, tuple(shards), record.counts)


def open_dataset(out: Path, kind: Kind | None = None) -> Dataset:
    """A finished dataset, of which only the shards are checked; raises InputError if there is none."""
    record = output_record(out)
    plan = as_plan(record, record_path(out))
    if record is None or plan is None:
        problem = f"is not a dataset folder of twinviews (no {RECORD} there)"
        raise InputError(f"{out} {problem if out.exists() else 'does not exist'}: check the path")
    if kind is not None and plan.kind != kind:
        raise InputError(f"{out} holds {plan.kind} ({plan.name}), not {kind}: check the path")
    advice = "run the command that makes it again"
    if not record.files:
        raise InputError(f"{out} is not finished, by its {RECORD}: {advice}")
    dataset, problems = as_dataset(out, plan, record), checked_files(record_path(out).parent, record)
    for shard in dataset.shards:
        if problems[shard.path]:
            raise InputError(f"{shard.path} is missing, altered or damaged: {advice}")
    return dataset


def finished_dataset(folder: Path) -> Dataset | None:
    """The dataset in a folder if all of its files are as they were written, otherwise None."""
    with suppress(InputError):
        record, plan = output_record(folder), read_plan(folder)
        return as_dataset(folder, plan, record) if record and plan and is_whole(folder, record) else None
    return None


def check_folder(out: Path) -> None:
    """Raise InputError if `out` cannot be a dataset folder because a file is there."""
    if out.exists() and not out.is_dir():
        raise InputError(f"{out} cannot be created: choose another --out")


def remove_leftovers(folder: Path) -> None:
    """Remove temporary files of interrupted runs from a dataset folder; the caller holds its lock."""
    for entry, name in temporaries(folder):
        if _is_ours(name) or name == RECORD:
            entry.unlink(missing_ok=True)


def clear_dataset(folder: Path, *, record_too: bool = False) -> None:
    """Remove the files of a dataset of ours except its record, so that no power cut brings them back."""
    ours = [entry for entry in folder.glob("*") if _is_ours(entry.name) and entry.is_file()]
    for entry in sorted(ours, key=lambda entry: record_number(entry.name) is None):  # records first
        entry.unlink()
    sync_folder(folder)
    if record_too:
        (folder / RECORD).unlink(missing_ok=True)


def _is_ours(name: str) -> bool:
    """Whether a file of a dataset has this name."""
    return name in FILES or shard_number(name) is not None or record_number(name) is not None


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2) + "\n"


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
