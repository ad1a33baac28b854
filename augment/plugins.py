"""Parts found by the name of their file, ours in a package and those of installed packages by entry points."""

from __future__ import annotations

import pkgutil
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from types import ModuleType
from typing import cast

from augment.errors import InputError


def plugin_names(package: str, group: str) -> list[str]:
    """Names of the modules of a package, "-" for "_", and of the entry points of a group, sorted."""
    modules = pkgutil.iter_modules(import_module(package).__path__)
    return sorted({module.name.replace("_", "-") for module in modules} | _points(group).keys())


def plugin_module(package: str, group: str, name: str) -> ModuleType:
    """The module of that name; an entry point comes before a file.

    Raises:
        InputError: There is none; the line names those that there are.
    """
    names = plugin_names(package, group)
    if name not in names:
        what = group.rpartition(".")[2].removesuffix("s")
        raise InputError(f"unknown {what} {name!r}: choose one of {', '.join(names)}")
    points = _points(group)
    if name in points:
        return cast(ModuleType, points[name].load())
    return import_module(f"{package}.{name.replace('-', '_')}")


def _points(group: str) -> dict[str, EntryPoint]:
    return {point.name: point for point in entry_points(group=group)}
