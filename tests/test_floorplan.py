"""Who may import whom: nothing upward, no cycles, and heavy libraries only where they are used."""

import ast
import os
import subprocess
import sys
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
FLOORS = ("augment", "pipelines", "trainers", "data_cards")
ALLOWED = {"augment": {"augment"}, "pipelines": {"pipelines", "augment"}, "data_cards": {"data_cards"}}
FROM_BELOW = {f"pipelines.{name}" for name in ("__main__", "pairs", "console", "files", "interrupt", "lock")}
HEAVY = ("torch", "transformers", "datasets", "sentence_transformers", "nltk", "pyarrow", "sklearn", "scipy")


def modules() -> dict[str, Path]:
    found = {}
    for floor in FLOORS:
        for path in sorted((ROOT / floor).rglob("*.py")):
            parts = path.relative_to(ROOT).with_suffix("").parts
            found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


MODULES = modules()


def imports(name: str) -> Iterator[str]:
    """Modules that a module imports, by full name, in functions too."""
    tree = ast.parse(MODULES[name].read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                package = name.split(".") if MODULES[name].name == "__init__.py" else name.split(".")[:-1]
                base = ".".join([*package[: len(package) - node.level + 1], *([base] if base else [])])
            for alias in node.names:
                inner = f"{base}.{alias.name}"
                yield inner if inner in MODULES else base


def ours(name: str) -> set[str]:
    return {found for found in imports(name) if found.split(".")[0] in FLOORS}


@pytest.mark.parametrize("name", [name for name in MODULES if name.split(".")[0] in ALLOWED])
def test_lower_floors_import_nothing_from_above(name: str) -> None:
    floor = name.split(".")[0]
    assert {found for found in ours(name) if found.split(".")[0] not in ALLOWED[floor]} == set()


@pytest.mark.parametrize("name", [name for name in MODULES if name.split(".")[0] == "trainers"])
def test_trainers_import_only_what_is_allowed_from_below(name: str) -> None:
    below = {found for found in ours(name) if found.split(".")[0] in {"augment", "pipelines"}}
    assert below <= FROM_BELOW


def test_modules_import_each_other_without_cycles() -> None:
    """In functions too."""
    graph = {name: {found for found in ours(name) if found in MODULES} for name in MODULES}
    TopologicalSorter(graph).prepare()


@pytest.mark.parametrize("program", ["augment", "train"])
def test_help_imports_no_heavy_library(program: str, tmp_path: Path) -> None:
    package = {"augment": "pipelines", "train": "trainers"}[program]
    code = (
        f"import sys; sys.argv = [{program!r}, '--help']\n"
        f"from {package}.__main__ import main\n"
        "try:\n    main()\n"
        f"finally:\n    print('HEAVY', *(name for name in {HEAVY!r} if name in sys.modules), file=sys.stderr)\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path, env=environment, check=False
    )
    assert done.returncode == 0
    assert "Usage" in done.stdout
    assert done.stderr.splitlines()[-1].split() == ["HEAVY"]


def test_folders_beside_each_other_import_without_cycles() -> None:
    """A folder and one in it may use each other: the outer one holds what all in it share, and the commands."""
    graph: dict[Path, set[Path]] = {}
    for name, path in MODULES.items():
        for found in ours(name):
            here, there = path.parent, MODULES[found].parent if found in MODULES else path.parent
            if not (here.is_relative_to(there) or there.is_relative_to(here)):
                graph.setdefault(here, set()).add(there)
    TopologicalSorter(graph).prepare()
