"""A dataset as a folder that `datasets.load_from_disk` opens.

A writer holds the folder's lock. It writes the plan, then shards and their receipts, then recipe, card and
features, and last `state.json` with the counts and the hash of every file. Each file appears whole and is
synced before the next kind is written; they are removed in reverse order. So a file with one of our names
beside a plan is ours, a shard without a matching receipt is made again, and without `state.json` nothing is
read.
"""

import errno
import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import BaseModel, Field, ValidationError

from augment.errors import InputError
from augment.version import __version__
from augment.view import WEIGHTS_PARAMS, ViewSpec
from pipelines.base.files import (
    LOCK,
    is_remote,
    is_written_by,
    sha256_of,
    sync_folder,
    temporaries,
    write_if_changed,
)
from pipelines.base.options import MAX_INTEGER
from pipelines.storage.shards import RECEIPTS, Receipt, feature, read_table, shard_number, valid_receipt

PLAN_FILE = "plan.json"
ADVICE = "choose another --out, or --overwrite it"
PLAN_MARKS = (b'"twinviews": "', b'"signature": ')
"""A damaged plan that contains one of these is ours."""
Kind = Literal["sentences", "view", "pairs"]
Count = Annotated[int, Field(strict=True, ge=0, le=MAX_INTEGER)]
STATE_FILE = "state.json"
INFO_FILE = "dataset_info.json"
RECIPE_FILE = "recipe.json"
CARD_FILE = "card.md"
REPORT_FILE = "report.html"
FILES = (STATE_FILE, INFO_FILE, RECIPE_FILE, CARD_FILE, PLAN_FILE)


class Input(BaseModel, frozen=True, extra="forbid"):
    """What a dataset is made from: its name as the user gave it, and the sha256 of its content."""

    name: str
    sha256: str
    rows: Count | None = None


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
    limit: Count | None = None
    shard_size: Count = 0
    inputs: tuple[Input, ...]
    shards: tuple[tuple[Count, Count], ...] = ()
    twinviews: str = __version__

    @property
    def spec(self) -> ViewSpec:
        """The view that it is of."""
        return ViewSpec(self.name, self.params)

    @property
    def rows(self) -> int:
        """Rows that the shards cover."""
        return self.shards[-1][1] if self.shards else 0

    def to_json(self) -> str:
        """The text of `plan.json`."""
        return self.model_dump_json(indent=2) + "\n"

    def check_same(self, new: "Plan", out: Path) -> None:
        """Raise InputError, naming a setting, if `new` makes other rows; names of inputs and weights do not count."""
        new = Plan.model_validate_json(new.to_json())  # a tuple is read as a list
        revision = self.params.get("revision")
        same_weights = (
            WEIGHTS_PARAMS if revision is not None and revision == new.params.get("revision") else ()
        )
        fields, signatures = ("seed", "limit", "shard_size"), (self.signature or "", new.signature or "")
        compared: dict[str, tuple[object, object]] = {
            "the kind": (self.kind, new.kind),
            "--pairs" if self.kind == "pairs" else "the view": (self.name, new.name),
            **{f"--{field}": (getattr(self, field), getattr(new, field)) for field in fields},
            "the version of twinviews": (self.twinviews, new.twinviews),
        }
        for key in sorted({*self.params, *new.params}.difference(same_weights, fields)):
            compared[f"--{key}"] = self.params.get(key), new.params.get(key)
        compared["the number of inputs"] = len(self.inputs), len(new.inputs)
        for source, new_source in zip(self.inputs, new.inputs, strict=False):
            compared[f"the input {source.name}, here {new_source.name}, of sha256"] = (
                source.sha256,
                new_source.sha256,
            )
        parts, new_parts = (dict(part.partition(":")[::2] for part in text.split("|")) for text in signatures)
        for key in sorted({*parts, *new_parts}):
            compared[f"the signature's {key}"] = parts.get(key), new_parts.get(key)
        compared["the shards"] = self.shards, new.shards
        for setting, (old_value, new_value) in compared.items():
            if old_value != new_value:
                option = setting.replace("_", "-") if setting.startswith("--") else setting
                difference = f"{option} {_shorten(old_value)}, not {_shorten(new_value)}"
                # The command of a view ingests too, but its --out and --overwrite are for the view.
                ingest = "run `augment ingest` with another --out or --overwrite"
                advice = ingest if new.kind == "sentences" else ADVICE
                raise InputError(f"{out} was made with other options ({difference}): {advice}")


def _shorten(value: object) -> str:
    text = "none" if value is None or value == [] else repr(value)
    # Filters are written in full: what differs may stand in the middle.
    return text if len(text) <= 40 or isinstance(value, list) else text[:18] + "…" + text[-12:]


def read_plan(folder: Path) -> Plan | None:
    """The plan of a dataset folder; None if it has none. Raises InputError if it cannot be read."""
    path = folder / PLAN_FILE
    try:
        if path.exists() and not path.is_file():  # a pipe would be waited for
            raise OSError(errno.EINVAL, "it is not a file")
        plan = Plan.model_validate_json(path.read_bytes())
        if plan.kind == "pairs" or plan.shard_size > 0:
            return plan
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise InputError(
            f"{path} cannot be read ({error.strerror}): mend that, or give another folder"
        ) from None
    except ValidationError:
        pass
    if is_written_by(path, *PLAN_MARKS):
        raise InputError(f"{path} is damaged, or of another version: {ADVICE}")
    raise InputError(f"{path} is not a plan of ours: give another folder")


class Dataset(NamedTuple):
    """A finished dataset folder: its plan, the receipts of its shards (none after a dry run), and its counts."""

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
        return _sha256("".join(receipt.sha256 for receipt in self.receipts)) if self.receipts else ""

    def first(self, limit: int | None) -> int:
        """The number of its first rows up to a limit, if there is one."""
        return min(limit or self.rows, self.rows)

    def tables(self, start: int = 0, stop: int | None = None) -> Iterator[Any]:
        """The pyarrow tables of shards `start` to `stop`, each checked by its hash."""
        return (read_table(self.path / receipt.file, receipt.sha256) for receipt in self.receipts[start:stop])

    def read(self, start: int, stop: int) -> Any:  # noqa: ANN401 - a pyarrow table
        """Rows start to stop of sentences or a view as one table; opens only the shards that hold them."""
        import pyarrow as pa

        size = self.plan.shard_size
        shards = [*self.tables(start // size, -(-stop // size))]
        return pa.concat_tables(shards).slice(start % size, stop - start)


def finalise(
    folder: Path,
    plan: Plan,
    receipts: Sequence[Receipt],
    schema: Any,  # noqa: ANN401 - a pyarrow schema
    counts: Mapping[str, Any],
    *,
    recipe: str,
    card: str,
) -> Dataset:
    """Turn the shards of these receipts into a dataset; `state.json`, written last, marks it as finished."""
    features = {field.name: feature(field.type) for field in schema}
    description = plan.signature or f"{plan.kind}: {plan.name}"
    info = {"citation": "", "description": description, "features": features, "homepage": "", "license": ""}
    texts = {PLAN_FILE: plan.to_json(), RECIPE_FILE: recipe, CARD_FILE: card, INFO_FILE: _json(info)}
    hashes = {name: _sha256(text) for name, text in texts.items()}
    state = ([(receipt.file, receipt.sha256) for receipt in receipts], hashes, counts)
    if read_state(folder) != state:
        (folder / STATE_FILE).unlink(missing_ok=True)  # it would mark other files as finished
    for name, text in (*texts.items(), (STATE_FILE, state_text(*state))):
        write_if_changed(folder / name, text)
    return Dataset(folder, plan, tuple(receipts), counts)


def state_text(shards: Sequence[tuple[str, str]], hashes: Mapping[str, str], counts: Mapping[str, Any]) -> str:
    """`state.json`: name and sha256 of every shard, the sha256 of the other files by name, counts, its fingerprint."""
    state = {
        "_counts": counts,
        "_data_files": [{"filename": name, "sha256": sha256} for name, sha256 in shards],
        "_files": dict(sorted(hashes.items())),
        "_format_columns": None,
        "_format_kwargs": {},
        "_format_type": None,
        "_output_all_columns": False,
        "_split": None,
    }
    return _json({"_fingerprint": _sha256(json.dumps(state))[:16], **state})


def read_state(folder: Path) -> tuple[list[tuple[str, str]], dict[str, str], dict[str, Any]]:
    """What `state.json` was made from, as `state_text` takes it; empty if it is missing or altered."""
    with suppress(OSError, TypeError, KeyError, AttributeError, ValueError, RecursionError):
        text = (folder / STATE_FILE).read_bytes().decode()
        state = json.loads(text)
        shards = [(shard["filename"], shard["sha256"]) for shard in state["_data_files"]]
        if text == state_text(shards, state["_files"], state["_counts"]):
            return shards, state["_files"], state["_counts"]
    return [], {}, {}


def open_dataset(folder: Path, kind: Kind | None = None, *, strict: bool = False) -> Dataset:
    """A finished dataset, its recipe and card checked only if `strict`; raises InputError if there is none."""
    plan = read_plan(folder)
    if plan is None:
        problem = f"is not a dataset folder of twinviews (no {PLAN_FILE} there)"
        raise InputError(f"{folder} {problem if folder.exists() else 'does not exist'}: check the path")
    if kind is not None and plan.kind != kind:
        raise InputError(f"{folder} holds {plan.kind} ({plan.name}), not {kind}: check the path")
    advice = "run the command that makes it again"
    if not (folder / STATE_FILE).exists():
        raise InputError(f"{folder} is not finished (it has no {STATE_FILE}): {advice}")
    shards, hashes, counts = read_state(folder)
    unchecked = () if strict else (RECIPE_FILE, CARD_FILE)
    files = {folder / name: sha256 for name, sha256 in hashes.items() if name not in unchecked}
    receipts = [valid_receipt(folder, index) for index in range(len(shards))]
    pairs = zip(receipts, shards, strict=True)
    damaged = [name for receipt, (name, sha256) in pairs if receipt is None or receipt.sha256 != sha256]
    damaged += [path.name for path, sha256 in files.items() if not path.is_file() or sha256_of(path) != sha256]
    if damaged or not shards:
        raise InputError(f"{folder / (*damaged, STATE_FILE)[0]} is missing, altered or damaged: {advice}")
    return Dataset(folder, plan, tuple(filter(None, receipts)), counts)


def finished_dataset(folder: Path) -> Dataset | None:
    """The dataset if all of its files are as they were written, otherwise None."""
    with suppress(InputError):
        return open_dataset(folder, strict=True)
    return None


def claim_folder(out: Path, plan: Plan, *, overwrite: bool = False) -> Dataset | None:
    """The finished dataset in `out` under this plan; None if it is still to be made there.

    The caller holds the folder's lock; what interrupted runs left there is removed. Raises InputError if
    `out` belongs to another recipe (and names the difference), holds foreign files, or is a file.
    """
    check_folder(out)
    is_replaced = overwrite and is_written_by(out / PLAN_FILE, *PLAN_MARKS)
    old_plan = None if is_replaced else read_plan(out)
    if old_plan is not None:
        old_plan.check_same(plan, out)
    elif not is_replaced:
        own_names = {LOCK, f".{REPORT_FILE}{LOCK}", *(entry.name for entry, _ in temporaries(out))}
        foreign = min({entry.name for entry in out.glob("*")} - own_names, default=None)
        if foreign is not None:
            raise InputError(
                f"{out} holds {foreign!r} and no {PLAN_FILE}, so it is not ours: choose another --out"
            )
    remove_leftovers(out)
    return None if old_plan is None else finished_dataset(out)


def check_folder(out: Path) -> None:
    """Raise InputError if `out` cannot be a dataset folder because a file is there."""
    if out.exists() and not out.is_dir():
        raise InputError(f"{out} cannot be created: choose another --out")


def remove_leftovers(folder: Path) -> None:
    """Remove temporary files of interrupted runs from a dataset folder; the caller holds its lock."""
    for entry, name in (*temporaries(folder), *temporaries(folder / RECEIPTS)):
        if _is_ours(name):
            entry.unlink(missing_ok=True)


def clear_dataset(folder: Path, *, plan_too: bool = False) -> None:
    """Remove the files of a dataset of ours except its plan, so that no power cut brings them back."""
    (folder / STATE_FILE).unlink(missing_ok=True)
    # The recipe stays until it is replaced: the hash of rejects in it shows that they are ours.
    exceptions = {PLAN_FILE} if plan_too else {PLAN_FILE, RECIPE_FILE}
    for parent in (folder / RECEIPTS, folder):
        for entry in [*parent.glob("*")]:
            if _is_ours(entry.name) and entry.name not in exceptions and entry.is_file():
                entry.unlink()
        sync_folder(parent)
    if not is_remote(folder):
        with suppress(OSError):  # it does not exist, or holds foreign files
            (folder / RECEIPTS).rmdir()
            sync_folder(folder)
    if plan_too:
        (folder / PLAN_FILE).unlink(missing_ok=True)


def _is_ours(name: str) -> bool:
    """Whether a file of a dataset has this name."""
    return name in (*FILES, REPORT_FILE) or shard_number(name.removesuffix(".json")) is not None


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2) + "\n"


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
