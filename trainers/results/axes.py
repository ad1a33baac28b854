"""What a sweep goes over: `KEY=V1,V2,...` checked against an objective's options, and the settings of the product."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import xxhash

from pipelines.console import InputError
from trainers.flags import Flag

LONGEST = 80
"""Characters of a value in a folder's name."""


@dataclass(frozen=True, slots=True)
class Axis:
    """An option, by its name without dashes and by its key, and its values by how they are written."""

    name: str
    key: str
    values: Mapping[str, Any]


@dataclass(frozen=True, slots=True, eq=False)
class Setting:
    """One setting of a study: its label on every axis, and the values of the options by key."""

    labels: Mapping[str, str]
    values: Mapping[str, Any]

    @property
    def title(self) -> str:
        """The setting as a reader writes it, e.g. `momentum=0.9, batch-size=16`; empty without axes."""
        return ", ".join(f"{name}={label}" for name, label in self.labels.items())

    @property
    def folder(self) -> str:
        """The name of its folder: the same setting has the same name in every study."""
        return ",".join(f"{name}={_in_a_name(label)}" for name, label in self.labels.items())


def read_axes(over: Sequence[str] | None, flags: Mapping[str, Flag], written: Collection[str] = ()) -> tuple[Axis, ...]:
    """Read `KEY=V1,V2,...` of every `--over`.

    Args:
        over: What was written.
        flags: The options that can be swept, by key.
        written: Keys of the options that stand on the command line.

    Raises:
        InputError: Nothing to sweep over, no such option, no value or one of another type, or something twice.
    """
    if not over:
        raise InputError("nothing to sweep over: give --over KEY=V1,V2, such as --over batch-size=16,32,64")
    axes = {axis.key: axis for axis in (_axis(text, flags) for text in over)}
    if len(axes) < len(over):
        raise InputError("--over has an option twice: give all its values at once, --over KEY=V1,V2")
    for axis in axes.values():
        if axis.key in written:
            raise InputError(f"--over {axis.name} sweeps over it: leave --{axis.name} out")
    return tuple(axes.values())


def settings(axes: Sequence[Axis]) -> list[Setting]:
    """Return all combinations of the axes' values, the last axis running fastest; without axes, one that is empty."""
    made = []
    for chosen in product(*(axis.values.items() for axis in axes)):
        pairs = list(zip(axes, chosen, strict=True))
        labels = {axis.name: label for axis, (label, _) in pairs}
        made.append(Setting(labels, {axis.key: value for axis, (_, value) in pairs}))
    return made


def _axis(text: str, flags: Mapping[str, Flag]) -> Axis:
    name, _, listed = text.partition("=")
    key = name.strip().removeprefix("--").replace("-", "_")
    if key not in flags:
        known = ", ".join(sorted(flag.replace("_", "-") for flag in flags))
        raise InputError(f"--over {name!r}: no option of that name to sweep over; there are {known}")
    labels = [label.strip() for label in listed.split(",")]
    if not all(labels):
        raise InputError(f"--over {text!r}: a value is empty: write it as KEY=V1,V2")
    values: dict[str, Any] = {}
    for label in labels:
        value = _value(key, label, flags[key])
        # 1e-4 and 0.0001 are written the same way, so that they are one folder.
        number = isinstance(value, int | float) and not isinstance(value, bool)
        values[repr(value).removesuffix(".0") if number else label] = value
    if len({_in_a_name(label) for label in values}) < len(labels):
        raise InputError(f"--over {text!r}: two values give folders of one name: each value once")
    return Axis(key.replace("_", "-"), key, values)


def _value(key: str, label: str, flag: Flag) -> Any:  # noqa: ANN401 - whatever the option takes
    from pydantic import TypeAdapter, ValidationError

    taken: TypeAdapter[Any] = TypeAdapter(flag.type)
    option = f"--over {key.replace('_', '-')}={label}"
    # A file whose name has a plus in it is one value; otherwise a plus joins several.
    several = [label] if Path(label).exists() else label.split("+")
    try:
        value = taken.validate_python(label)
    except ValidationError as error:
        try:
            return taken.validate_python(several)
        except ValidationError:
            raise InputError(f"{option}: {error.errors()[0]['msg'].lower()}") from None
    if flag.least is not None and value < flag.least:
        raise InputError(f"{option}: input should be at least {flag.least}")
    return value


def _in_a_name(label: str) -> str:
    """Make a label safe in a file name: paths become dashes, and long ones keep their end behind a hash."""
    safe = re.sub(r"[^\w.+-]+", "-", label)
    if len(safe) <= LONGEST:
        return safe
    return f"{xxhash.xxh64_hexdigest(label.encode())[:8]}~{safe[-LONGEST + 9 :]}"
