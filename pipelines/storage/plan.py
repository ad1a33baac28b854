"""The plan of a dataset: written once, before its first row, and never changed."""

import errno
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field, ValidationError

from augment.errors import InputError
from augment.version import __version__
from augment.view import WEIGHTS_PARAMS, ViewSpec
from pipelines.storage.files import is_written_by

PLAN_FILE = "plan.json"
ADVICE = "choose another --out, or --overwrite it"
MAX_INTEGER = 10**18
"""Libraries fail on larger ones."""
PLAN_MARKS = (b'"twinviews": "', b'"signature": ')
"""A damaged plan that contains one of these is ours."""
Kind = Literal["sentences", "view", "pairs"]
Count = Annotated[int, Field(strict=True, ge=0, le=MAX_INTEGER)]


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
    damaged, foreign = (
        f"is damaged, or of another version: {ADVICE}",
        "is not a plan of ours: give another folder",
    )
    problem = damaged if is_written_by(path, *PLAN_MARKS) else foreign
    raise InputError(f"{path} {problem}")
