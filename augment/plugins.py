"""Plugins by name: ours are the modules of a package, those of other packages are entry points."""

import logging
import pkgutil
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from types import ModuleType
from typing import TYPE_CHECKING, cast

from augment.errors import InputError, TwinviewsError

if TYPE_CHECKING:
    from pydantic import BaseModel

logger = logging.getLogger(__name__)


def plugin_names(package: str, group: str) -> list[str]:
    """Names of a package's modules ("-" for "_") and of the usable entry points of a group, sorted."""
    return sorted({*_files(package), *(name for name, point in _points(group).items() if _loaded(point))})


def plugin_module(package: str, group: str, name: str) -> ModuleType:
    """The module of that name, an entry point before our own; raises InputError, with all names, if there is none."""
    point, files = _points(group).get(name), _files(package)
    module = _loaded(point) if point else None
    if module is None and name not in files:
        kind = group.rpartition(".")[2].removesuffix("s")
        raise InputError(f"unknown {kind} {name!r}: choose one of {', '.join(plugin_names(package, group))}")
    return module or import_module(f"{package}.{files[name]}")


def plugin_model(module: ModuleType) -> "type[BaseModel] | None":
    """The pydantic model with a plugin's options: one that has `build`, or `PARAMS` in a module that has `build`."""
    for value in vars(module).values():
        if hasattr(value, "model_fields") and hasattr(value, "build") and value.__module__ == module.__name__:
            return cast("type[BaseModel]", value)
    params = getattr(module, "PARAMS", None)
    return params if hasattr(params, "model_fields") and callable(getattr(module, "build", None)) else None


@contextmanager
def blamed(group: str, name: str) -> Iterator[None]:
    """Turn any exception of another package's plugin into a TwinviewsError that names the plugin."""
    try:
        yield
    except TwinviewsError:
        raise
    except Exception as error:
        point = _points(group).get(name)
        if point is None:
            raise
        raise TwinviewsError(f"{_label(point)} failed: {_line(error)}") from error


def _files(package: str) -> dict[str, str]:
    """Plugin names and the modules behind them: `mlm-fill` is `mlm_fill`."""
    modules = pkgutil.iter_modules(import_module(package).__path__)
    return {module.name.replace("_", "-"): module.name for module in modules}


@cache
def _points(group: str) -> dict[str, EntryPoint]:
    """A group's entry points by name, cached: finding them reads the metadata of every package."""
    return {point.name: point for point in entry_points(group=group)}


@cache
def _loaded(point: EntryPoint) -> ModuleType | None:
    """The module of an entry point; None, with one warning, if it cannot be used."""
    try:
        module: ModuleType = point.load()
        why = "it needs PARAMS, a pydantic model, and build"
    except (Exception, SystemExit) as error:  # an import may raise anything, and other plugins must still work
        module, why = ModuleType("none"), _line(error)
    if plugin_model(module) is not None:
        return module
    logger.warning("%s is left out: %s", _label(point), why)
    return None


def _label(point: EntryPoint) -> str:
    return f"{point.group.rpartition('.')[2].removesuffix('s')} {point.name!r} of {point.value}"


def _line(error: BaseException) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())[:200]}".rstrip(": ")
