"""The options that `train sweep` sweeps over: their values, and all combinations of these."""

import re
from collections.abc import Collection, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import xxhash
from pydantic import TypeAdapter, ValidationError

from pipelines.terminal.console import InputError, first_problem
from trainers.settings import Flag

MAX_LABEL = 80  # characters of a value in a folder's name
Axes: TypeAlias = Mapping[str, Mapping[str, Any]]  # the values of options by key, each by its label


class Setting(NamedTuple):
    """One setting of a study: its label on every axis, by option, and the values of the options by key."""

    labels: Mapping[str, str]
    values: Mapping[str, Any]

    @property
    def title(self) -> str:
        """The setting as a reader writes it, e.g. `momentum=0.9, batch-size=16`; empty without axes."""
        return ", ".join(f"{name}={label}" for name, label in self.labels.items())

    @property
    def folder(self) -> str:
        """The name of its folder, the same in every study."""
        return ",".join(f"{name}={folder_part(label)}" for name, label in self.labels.items())


def read_axes(over: Sequence[str] | None, flags: Mapping[str, Flag], typed: Collection[str] = ()) -> Axes:
    """Read `KEY=V1,V2,...` of every `--over`.

    `flags` are the options that can be swept, by key; `typed` the keys of those on the command line. Raises
    InputError: there is nothing to sweep over, no such option, a value of another type, or something twice.
    """
    if not over:
        raise InputError("nothing to sweep over: give --over KEY=V1,V2, such as --over batch-size=16,32,64")
    axes: dict[str, Mapping[str, Any]] = {}
    for text in over:
        name, _, values = text.partition("=")
        option = name.strip().removeprefix("--").replace("_", "-")
        key = option.replace("-", "_")
        if key not in flags:
            options = ", ".join(sorted(flag.replace("_", "-") for flag in flags))
            raise InputError(f"--over {name!r}: no option of that name to sweep over; there are {options}")
        if key in axes or key in typed:
            raise InputError(f"--over {option}: the option is given twice: give all its values once, with --over")
        labels = [label.strip() for label in values.split(",")]
        if not all(labels):
            raise InputError(f"--over {text!r}: a value is empty: write it as KEY=V1,V2")
        axes[key] = dict(_read_label(option, label, flags[key]) for label in labels)
        if len({folder_part(label) for label in axes[key]}) < len(labels):
            raise InputError(f"--over {text!r}: two values have the same folder name: give each value once")
    return axes


def settings(axes: Axes) -> list[Setting]:
    """Return all combinations of the axes' values, the last axis running fastest; an empty one without axes."""
    names, combinations = [key.replace("_", "-") for key in axes], []
    for pairs in product(*(values.items() for values in axes.values())):
        labels, values = ([pair[place] for pair in pairs] for place in (0, 1))
        combinations.append(Setting(dict(zip(names, labels, strict=True)), dict(zip(axes, values, strict=True))))
    return combinations


def folder_part(label: str) -> str:
    """Return a label as part of a file name: paths become dashes, long ones a hash and their end."""
    safe = re.sub(r"[^\w.+-]+", "-", label)
    return safe if len(safe) <= MAX_LABEL else f"{xxhash.xxh64_hexdigest(label.encode())[:8]}~{safe[-MAX_LABEL + 9 :]}"


def _read_label(option: str, label: str, flag: Flag) -> tuple[str, Any]:
    """Return a label with its value; 1e-4 and 0.0001 have one label, and so one folder."""
    adapter: TypeAdapter[Any] = TypeAdapter(flag.type)
    try:
        value = adapter.validate_python(label)
    except ValidationError as error:
        try:
            # A plus joins the values of an option that takes several, unless it is part of a file's name.
            return label, adapter.validate_python([label] if Path(label).exists() else label.split("+"))
        except ValidationError:
            raise InputError(f"--over {option}={label}: {first_problem(error)[-1]}") from None
    if flag.least is not None and value < flag.least:
        raise InputError(f"--over {option}={label}: input should be at least {flag.least}")
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return repr(value).removesuffix(".0") if number else label, value
