"""A view or filter of another package that does not work: one line that names it, and all else goes on."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
HEAD = '''"""A view."""
from pydantic import BaseModel
from augment.view import Viewed, ViewSpec

class PARAMS(BaseModel):
    {field}: int = 1

class Odd:
    spec = ViewSpec("odd", {{"{field}": 1}})
    def __call__(self, texts, seeds):
        return {made}

def build(params, runtime):
    return {built}
'''
Augment = Callable[..., "subprocess.CompletedProcess[str]"]


def view(made: str = "[]", built: str = "Odd()", field: str = "cut") -> str:
    return HEAD.format(made=made, built=built, field=field)


@pytest.fixture
def augment(tmp_path: Path) -> Augment:
    """`augment` in a folder with two sentences, where another package brings a module as a view or filter `odd`."""
    (tmp_path / "lines.txt").write_text("one two\nthree four\n", encoding="utf-8")
    info = tmp_path / "site" / "odd-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: odd\nVersion: 1.0\n", encoding="utf-8")

    def run(module: str, *arguments: str, group: str = "views") -> "subprocess.CompletedProcess[str]":
        (info / "entry_points.txt").write_text(f"[twinviews.{group}]\nodd = odd_module\n", encoding="utf-8")
        (tmp_path / "site" / "odd_module.py").write_text(module, encoding="utf-8")
        command = [sys.executable, "-c", "from pipelines.cli import main; main()", *arguments]
        path = f"{ROOT}{os.pathsep}{tmp_path / 'site'}"
        environment = {**os.environ, "PYTHONPATH": path, "HF_HUB_OFFLINE": "1", "PYTHONDONTWRITEBYTECODE": "1"}
        return subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)

    return run


@pytest.mark.parametrize("group", ["views", "filters"])
@pytest.mark.parametrize(
    ("module", "why"),
    [
        ("import no_such_module", "ModuleNotFoundError: No module named 'no_such_module'"),
        ("raise SystemExit(3)", "SystemExit: 3"),
        ("def build(params, runtime): ...", "it needs PARAMS, a pydantic model, and build"),
    ],
)
def test_a_plugin_that_cannot_be_used_is_left_out(augment: Augment, group: str, module: str, why: str) -> None:
    done = augment(module, "build-pairs", "--help", group=group)
    assert (done.returncode, "Usage" in done.stdout) == (0, True)
    assert done.stderr == f"{group.removesuffix('s')} 'odd' of odd_module is left out: {why}\n"
    assert augment(module, "identity", "lines.txt", group=group).returncode == 0


def test_a_view_with_an_option_that_all_views_have_is_left_out(augment: Augment) -> None:
    done = augment(view(field="seed"), "--help")
    assert done.returncode == 0
    assert "parameter 'seed' is an option of every view command: rename it; it is left out" in done.stderr


@pytest.mark.parametrize(
    ("module", "said"),
    [
        (view("1 / 0"), "view 'odd' of odd_module failed: ZeroDivisionError: division by zero"),
        (view("None"), "view 'odd' gave something else than a list of Viewed: fix the view"),
        (view("list(texts)"), "view 'odd' gave something else than a list of Viewed: fix the view"),
        (view("[]"), "view 'odd' gave 0 rows for 2 sentences: fix the view"),
        (view("[Viewed(7)] * 2"), "view 'odd' of odd_module failed: ArrowTypeError: "),
        (view(built="1 / 0"), "view 'odd' of odd_module failed: ZeroDivisionError: division by zero"),
        (view(built="None"), "view 'odd': build gave NoneType, which is not a view: fix the plugin"),
    ],
)
def test_a_view_that_fails_is_one_line_that_names_it(augment: Augment, module: str, said: str) -> None:
    done = augment(module, "odd", "lines.txt")
    assert done.returncode == 1
    assert f"error: {said}" in done.stderr
    assert "Traceback" not in done.stderr


FILTER = '''"""A filter."""
from pydantic import BaseModel
from pipelines.filter import FilterSpec, Verdicts

class PARAMS(BaseModel):
    pass

class Odd:
    spec = FilterSpec("odd")
    def __call__(self, pairs):
        return {made}

def build(params, runtime):
    return Odd()
'''


@pytest.mark.parametrize("made", ["1 / 0", "None", "[None] * len(pairs)", "Verdicts([1, 2])"])
def test_a_filter_that_fails_is_one_line_that_names_it(augment: Augment, made: str) -> None:
    arguments = ("build-pairs", "--pairs", "self", "--filter", "odd", "lines.txt")
    done = augment(FILTER.format(made=made), *arguments, group="filters")
    assert done.returncode == 1, done.stderr
    assert "error: filter 'odd' of odd_module failed: " in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("made", ["Verdicts([None])", "Verdicts([None, None], [0.5])"])
def test_a_filter_judges_every_pair(augment: Augment, made: str) -> None:
    arguments = ("build-pairs", "--pairs", "self", "--filter", "odd", "lines.txt")
    done = augment(FILTER.format(made=made), *arguments, group="filters")
    assert (done.returncode, "error: filter 'odd' gave 1 verdicts for 2 pairs: fix the filter" in done.stderr) == (
        1,
        True,
    )
