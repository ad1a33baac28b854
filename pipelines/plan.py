"""The plan of a dataset: written once, before its first row, and never changed."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ValidationError

from augment import __version__
from augment.errors import InputError
from augment.view import WEIGHTS_PARAMS

PLAN_FILE = "plan.json"
PLAN_MARKS = (b'"twinviews": "', b'"signature": ')
"""By either of these a damaged plan is still known as one of ours."""
Kind = Literal["sentences", "view", "pairs"]


class Input(BaseModel, frozen=True, extra="forbid"):
    """What a dataset is made from: its name as the user gave it, and the sha256 of its content."""

    name: str
    sha256: str
    rows: int | None = None


class Plan(BaseModel, frozen=True, extra="forbid"):
    """Everything that decides a dataset's rows.

    Attributes:
        kind: What the rows are.
        name: The view ("backtranslate") or the policy ("bsl"); "sentences" for sentences.
        params: The view's parameters, resolved, model revision included; else the settings of the kind.
        signature: The view's signature; None for other kinds.
        seed: The run seed that every row's seed comes from; None where nothing is drawn.
        limit: Rows of the input that count, from the first; None for all.
        shard_size: Rows in a shard; only the last has fewer.
        inputs: What it is made from.
        shards: For views, the rows of the input that each shard covers, as (start, stop).
        twinviews: Version that made the plan.
    """

    kind: Kind
    name: str
    params: Mapping[str, Any]
    signature: str | None = None
    seed: int | None = None
    limit: int | None = None
    shard_size: int
    inputs: tuple[Input, ...]
    shards: tuple[tuple[int, int], ...] = ()
    twinviews: str = __version__

    @property
    def rows(self) -> int:
        """Rows that the shards cover."""
        return self.shards[-1][1] if self.shards else 0

    def to_json(self) -> str:
        """The plan as it stands in `plan.json`."""
        return self.model_dump_json(indent=2) + "\n"

    def difference(self, other: "Plan") -> str | None:
        """The first thing, in words, in which `other` would make other rows or shards; None if there is none.

        Names of inputs and places of weights do not count where their hashes and revisions are the same.
        """
        for what, ours, theirs in _compared(self, other):
            if ours != theirs:
                return f"{what} is {_short(ours)} there and {_short(theirs)} here"
        return None


def _compared(ours: Plan, theirs: Plan) -> Iterator[tuple[str, object, object]]:
    yield "the kind", ours.kind, theirs.kind
    yield "the name", ours.name, theirs.name
    revision = ours.params.get("revision")
    same_weights = WEIGHTS_PARAMS if revision is not None and revision == theirs.params.get("revision") else ()
    for key in sorted({*ours.params, *theirs.params}.difference(same_weights)):
        yield key.replace("_", "-"), ours.params.get(key), theirs.params.get(key)
    yield "the seed", ours.seed, theirs.seed
    yield "the limit", ours.limit, theirs.limit
    yield "the number of inputs", len(ours.inputs), len(theirs.inputs)
    for mine, other in zip(ours.inputs, theirs.inputs, strict=True):
        yield f"the content of the input ({mine.name} there, {other.name} here)", mine.sha256, other.sha256
    yield "the shard size", ours.shard_size, theirs.shard_size
    yield "the version of twinviews", ours.twinviews, theirs.twinviews
    yield "the signature", ours.signature, theirs.signature
    yield "the cut into shards", ours.shards, theirs.shards


def _short(value: object) -> str:
    text = "none" if value is None else str(value) if isinstance(value, int | float) else repr(value)
    return text if len(text) <= 40 else text[:18] + "…" + text[-12:]


def read_plan(folder: Path) -> Plan | None:
    """The plan of a dataset folder; None if it has none.

    Raises:
        InputError: There is one that cannot be read.
    """
    path = folder / PLAN_FILE
    try:
        return Plan.model_validate_json(path.read_bytes())
    except (FileNotFoundError, NotADirectoryError):
        return None
    except ValidationError:
        what = "is no plan of this version, or damaged"
    except OSError as error:
        what = f"cannot be read ({error.strerror})"
    raise InputError(f"{path} {what}: choose another --out, or --overwrite it")
