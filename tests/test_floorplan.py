"""Who may import whom: nothing upward, and no cycles."""

import ast
import sys
import tomllib
from collections.abc import Iterator
from graphlib import TopologicalSorter
from importlib.metadata import packages_distributions
from itertools import chain
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parent.parent
FLOORS = ("augment", "pipelines", "trainers", "data_cards")
FOR_TRAINERS = {
    "pipelines",
    "pipelines.__main__",
    "pipelines.storage.pair_files",
}


def modules() -> dict[str, Path]:
    found = {}
    for floor in FLOORS:
        for path in sorted((ROOT / floor).rglob("*.py")):
            parts = path.relative_to(ROOT).with_suffix("").parts
            found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


MODULES = modules()


def imports(name: str) -> Iterator[str]:
    """Yield the modules that a module imports, by full name, in functions too."""
    tree = ast.parse(MODULES[name].read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{name} has a relative import"
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                yield inner if inner in MODULES else node.module


def ours(name: str) -> set[str]:
    return {found for found in imports(name) if found.split(".")[0] in FLOORS}


def test_every_package_that_is_imported_is_declared() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    written = [*project["dependencies"], *chain(*project["optional-dependencies"].values())]
    declared = {canonicalize_name(Requirement(each).name) for each in written}
    packages = packages_distributions()
    for name in MODULES:
        for package in {module.partition(".")[0] for module in imports(name)} - {
            *FLOORS,
            *sys.stdlib_module_names,
        }:
            providers = set(map(canonicalize_name, packages.get(package, [package])))
            assert providers & declared, f"{name} imports {package}, which pyproject.toml does not declare"


@pytest.mark.parametrize("name", MODULES)
def test_a_module_imports_from_other_floors_only_what_it_may(name: str) -> None:
    floor = name.split(".")[0]
    from_others = {found for found in ours(name) if found.split(".")[0] != floor}
    of_augment = {found for found in MODULES if found.split(".")[0] == "augment"}
    shared = ("augment.models.", "pipelines.base")
    for_trainers = {found for found in MODULES if found.startswith(shared)}
    for_trainers |= FOR_TRAINERS | {"augment.errors", "augment.files", "augment.plugins", "augment.record"}
    assert from_others <= {"pipelines": of_augment, "trainers": for_trainers}.get(floor, set())


def test_modules_import_each_other_without_cycles() -> None:
    """In functions too."""
    graph = {name: {found for found in ours(name) if found in MODULES} for name in MODULES}
    TopologicalSorter(graph).prepare()


def place(name: str) -> Path:
    """The folder of a module; of one beside folders, the module itself."""
    folder = MODULES[name].parent
    return MODULES[name] if any(path.is_dir() for path in folder.glob("[!_]*")) else folder


def test_folders_import_each_other_without_cycles() -> None:
    graph: dict[Path, set[Path]] = {}
    for name in MODULES:
        others = {place(imported) for imported in ours(name) if imported in MODULES}
        graph.setdefault(place(name), set()).update(others - {place(name)})
    TopologicalSorter(graph).prepare()
