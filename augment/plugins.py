"""Plugins by name: ours are the modules of a package, those of other packages are entry points."""

import ast
import pkgutil
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from importlib.util import find_spec
from pathlib import Path
from traceback import walk_tb
from types import ModuleType
from typing import TYPE_CHECKING, cast

from augment.errors import InputError, TwinviewsError, describe, logger

if TYPE_CHECKING:
    from pydantic import BaseModel
    from pydantic.fields import FieldInfo


@dataclass(frozen=True)
class Plugins:
    """The plugins of one kind: the modules of `package`, and entry points `twinviews.KIND`, KIND its last part.

    Of several with one name, a module of ours wins, else the first entry point by module, with a warning.
    `missing_part` says what a module lacks to be such a plugin, if anything.
    """

    package: str
    missing_part: Callable[[ModuleType], str | None]

    def names(self) -> list[str]:
        """All names, a module's with "-" for "_", sorted; imports no plugin."""
        return sorted({*_files(self.package), *_points(self.package)})

    def usable_names(self) -> list[str]:
        """`names` without the entry points that cannot be imported or lack something, with one warning for each."""
        return sorted({*_files(self.package), *_usable_points(self)})

    def module(self, name: str) -> ModuleType:
        """The module of that name; raises InputError if there is none, with all names, or it cannot be used."""
        files, point = _files(self.package), self.entry_point(name)
        if name in files:
            return import_module(f"{self.package}.{files[name]}")
        if point is None:
            raise InputError(
                f"unknown {_kind(self.package)} {name!r}: choose one of {', '.join(self.usable_names())}"
            )
        module = _module_or_reason(self, point)
        if isinstance(module, str):
            raise InputError(f"{_label(point)} cannot be used: {module}")
        return module

    def entry_point(self, name: str) -> EntryPoint | None:
        """The entry point behind a name; None for one of ours, or for none at all."""
        return _points(self.package).get(name)

    def summary(self, name: str) -> str:
        """The first line of a plugin's docstring, or where it is from; imports no plugin."""
        module, point = _files(self.package).get(name), self.entry_point(name)
        if point is None:
            return docstring_line(f"{self.package}.{module}")
        with suppress(ImportError, AttributeError, OSError, SyntaxError):
            if line := docstring_line(point.module):
                return line
        return f"A {_kind(self.package)} of {point.value}."

    @contextmanager
    def errors_of(self, name: str) -> Iterator[None]:
        """Turn any exception of another package's plugin into a TwinviewsError that names the plugin and its line."""
        point = self.entry_point(name)
        try:
            yield
        except (TwinviewsError, GeneratorExit, KeyboardInterrupt):
            raise
        except BaseException as error:
            if point is None:
                raise
            raise TwinviewsError(
                f"{_label(point)} failed: {describe(error)}{_line_of(point, error)}"
            ) from error


def plugin_model(module: ModuleType) -> "type[BaseModel] | None":
    """The view or filter that a module defines, a pydantic model with `build`; None if there is none."""
    for value in vars(module).values():
        if hasattr(value, "model_fields") and hasattr(value, "build") and value.__module__ == module.__name__:
            return cast("type[BaseModel]", value)
    return None


def own_first(model: "type[BaseModel]") -> "dict[str, FieldInfo]":
    """The fields of a model, its own before those that it shares with others."""
    own = vars(model).get("__annotations__", {})
    return dict(sorted(model.model_fields.items(), key=lambda field: field[0] not in own))


def missing_model(module: ModuleType) -> str | None:
    """What a module lacks to be a view or a filter, if anything."""
    return None if plugin_model(module) else "it defines no subclass of View or Filter"


VIEWS = Plugins("augment.views", missing_model)
"""All views: ours, one file each in `augment/views/`, and those of installed packages."""


def docstring_line(module: str, function: str | None = None) -> str:
    """The first line of the docstring of a module, or of a function in it, without importing it."""
    spec = find_spec(module)
    source = ast.parse(Path(spec.origin).read_bytes()) if spec and spec.origin else ast.parse("")
    definitions = {node.name: node for node in source.body if isinstance(node, ast.FunctionDef)}
    return (ast.get_docstring(definitions[function] if function else source) or "").partition("\n")[0]


def _files(package: str) -> dict[str, str]:
    """Plugin names and the modules behind them: `mlm-fill` is `mlm_fill`."""
    modules = pkgutil.iter_modules(import_module(package).__path__)
    return {module.name.replace("_", "-"): module.name for module in modules}


@cache
def _points(package: str) -> dict[str, EntryPoint]:
    """The entry points that are not passed over by name, cached: finding them reads the metadata of every package."""
    owners, points = dict.fromkeys(_files(package), "Twinviews"), {}
    for point in sorted(
        entry_points(group=f"twinviews.{package.rpartition('.')[2]}"), key=lambda point: point.value
    ):
        owner = owners.setdefault(point.name.replace("_", "-"), point.value)
        if owner == point.value:
            points[point.name] = point
        else:
            logger.warning("%s is passed over: %s has that name; rename the entry point", _label(point), owner)
    return points


@cache
def _usable_points(plugins: Plugins) -> list[str]:
    modules = {name: _module_or_reason(plugins, point) for name, point in _points(plugins.package).items()}
    for name, module in modules.items():
        if isinstance(module, str):
            logger.warning("%s is left out: %s", _label(_points(plugins.package)[name]), module)
    return [name for name, module in modules.items() if not isinstance(module, str)]


@cache
def _module_or_reason(plugins: Plugins, point: EntryPoint) -> ModuleType | str:
    try:
        module: ModuleType = point.load()
        return plugins.missing_part(module) or module
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # an import may raise anything, and other plugins must still work
        return f"{describe(error)}{_line_of(point, error)}"


def _line_of(point: EntryPoint, error: BaseException) -> str:
    """The last line of the plugin's package that an error came through, as ` (FILE, line N)`.

    Empty if none.
    """
    package, line = re.split("[.:]", point.value)[0].strip(), ""
    for frame, number in walk_tb(error.__traceback__):
        if frame.f_globals.get("__name__", "").partition(".")[0] == package:
            line = f" ({frame.f_code.co_filename}, line {number})"
    return line


def _kind(package: str) -> str:
    return package.rpartition(".")[2].removesuffix("s")


def _label(point: EntryPoint) -> str:
    return f"{_kind(point.group)} {point.name!r} of {point.value}"
