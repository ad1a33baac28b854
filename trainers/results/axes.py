"""What a sweep goes over: `KEY=V1,V2,...` checked against an objective's options, and the settings of the product."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from types import UnionType
from typing import Any, Union, get_args, get_origin

import xxhash

from pipelines.console import InputError
from trainers.flags import Flag

LONGEST = 80
"""Characters of a value in a folder's name."""


@dataclass(frozen=True, slots=True)
class Axis:
    """An option and the values it takes: `labels` as they were written, `values` as the option has them."""

    key: str
    labels: tuple[str, ...]
    values: tuple[Any, ...]

    @property
    def name(self) -> str:
        """The option's name without its dashes."""
        return self.key.replace("_", "-")


@dataclass(frozen=True, slots=True, eq=False)
class Setting:
    """One setting of a study: its label on every axis, and the values of the options by key."""

    labels: Mapping[str, str]
    values: Mapping[str, Any]

    @property
    def title(self) -> str:
        """The setting as a reader writes it, e.g. `momentum=0.9, batch-size=16`; empty without axes."""
        return ", ".join(f"{name}={label}" for name, label in self.labels.items())

    def run_title(self, seed: int) -> str:
        """The setting under one seed, e.g. `momentum=0.9, seed 2`."""
        return ", ".join(part for part in (self.title, f"seed {seed}") if part)

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
    axes = [_axis(text, flags) for text in over]
    keys = [axis.key for axis in axes]
    for axis in axes:
        if keys.count(axis.key) > 1:
            raise InputError(f"--over {axis.name} is given twice: give all its values at once, --over {axis.name}=A,B")
        if axis.key in written:
            raise InputError(f"--over {axis.name} sweeps over it: leave --{axis.name} out")
    return tuple(axes)


def settings(axes: Sequence[Axis]) -> tuple[Setting, ...]:
    """Return all combinations of the axes' values, the last axis running fastest; without axes, one that is empty."""
    places = [[(axis, index) for index in range(len(axis.labels))] for axis in axes]
    return tuple(
        Setting(
            {axis.name: axis.labels[index] for axis, index in chosen},
            {axis.key: axis.values[index] for axis, index in chosen},
        )
        for chosen in product(*places)
    )


def _axis(text: str, flags: Mapping[str, Flag]) -> Axis:
    name, sign, listed = text.partition("=")
    key = name.strip().removeprefix("--").replace("-", "_")
    if not sign:
        raise InputError(f"--over {text!r}: write it as KEY=V1,V2, such as --over batch-size=16,32,64")
    if key not in flags:
        known = ", ".join(sorted(flag.replace("_", "-") for flag in flags))
        raise InputError(f"--over {name!r}: no option of that name to sweep over; there are {known}")
    labels = [label.strip() for label in listed.split(",")]
    if not all(labels):
        raise InputError(f"--over {text!r}: a value is empty: write it as KEY=V1,V2")
    values = [_value(key, label, flags[key]) for label in labels]
    for index, value in enumerate(values):
        if value in values[:index]:
            raise InputError(f"--over {text!r} has {labels[index]} twice: each value once")
    written = tuple(_canonical(label, value) for label, value in zip(labels, values, strict=True))
    if len({_in_a_name(label) for label in written}) < len(written):
        raise InputError(f"--over {text!r}: two values give folders of one name: name them apart")
    return Axis(key, written, tuple(values))


def _value(key: str, label: str, flag: Flag) -> Any:  # noqa: ANN401 - whatever the option takes
    from pydantic import TypeAdapter, ValidationError

    given: Any = label
    if _takes_several(flag.type):
        # A file whose name has a plus in it is one value; otherwise a plus joins several.
        given = [label] if Path(label).exists() else label.split("+")
    option = f"--over {key.replace('_', '-')}={label}"
    try:
        value = TypeAdapter(flag.type).validate_python(given)
    except ValidationError as error:
        raise InputError(f"{option}: {error.errors()[0]['msg'].lower()}") from None
    if flag.least is not None and value < flag.least:
        raise InputError(f"{option}: input should be at least {flag.least}")
    return value


def _takes_several(annotation: Any) -> bool:  # noqa: ANN401 - a type
    if get_origin(annotation) in (Union, UnionType):
        return any(_takes_several(part) for part in get_args(annotation))
    return get_origin(annotation) in (list, tuple)


def _canonical(label: str, value: object) -> str:
    """Write 1e-4 and 0.0001 the same way, so that they are one folder; everything else stays as it was written."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return label
    return repr(value).removesuffix(".0")


def _in_a_name(label: str) -> str:
    """Make a label safe in a file name: paths become dashes, and long ones keep their end behind a hash."""
    safe = re.sub(r"[^\w.+-]+", "-", label)
    if len(safe) <= LONGEST:
        return safe
    return f"{xxhash.xxh64_hexdigest(label.encode())[:8]}~{safe[-LONGEST + 9 :]}"
