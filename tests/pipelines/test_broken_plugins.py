"""A view or filter of another package that does not work: one line that names it, and everything else works."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from foreigners import add_package, start_beside

HEAD = '''"""A view."""
from augment.view import View, ViewResult

class Odd(View):
    name = "odd"
    {field}: int = 1

    def build(self, runtime):
        return {built}

    def __call__(self, texts, seeds):
        return {made}
'''
FILTER = '''"""A filter."""
from pipelines.pairs.filter import Filter, Verdicts

class Odd(Filter):
    def __call__(self, pairs):
        return {made}
'''
Augment = Callable[..., tuple[int, str, str]]


TRAIN = "from trainers.__main__ import main; main()"
OBJECTIVE = '''"""An objective."""
from pydantic import BaseModel

READS = ("text",)
PRESETS = {}

class PARAMS(BaseModel):
    """No options."""

def build(options, training, source):
    raise NotImplementedError
'''


def view(made: str = "[]", built: str = "self", field: str = "cut") -> str:
    return HEAD.format(made=made, built=built, field=field)


@pytest.fixture
def augment(tmp_path: Path) -> Augment:
    """`augment` in a folder with two sentences, where another package brings a module as a view or filter `odd`."""
    (tmp_path / "lines.txt").write_text("one two\nthree four\n", encoding="utf-8")

    def run(module: str, *arguments: str, group: str = "views") -> tuple[int, str, str]:
        site = add_package(tmp_path / "site", {"odd_module": module}, **{group: "odd = odd_module"})
        process = start_beside(site, tmp_path, *arguments, PYTHONDONTWRITEBYTECODE="1")
        out, err = process.communicate(timeout=120)
        return process.returncode, out, err

    return run


@pytest.mark.exhaustive
@pytest.mark.parametrize("group", ["views", "filters"])
@pytest.mark.parametrize(
    ("module", "why"),
    [
        ("import no_such_module", "ModuleNotFoundError: No module named 'no_such_module'"),
        ("raise SystemExit(3)", "SystemExit: 3"),
        ("class Odd(BaseException): ...\nraise Odd('no')", "Odd: no"),
        ("def build(params, runtime): ...", "it defines no subclass of View or Filter"),
    ],
)
def test_a_plugin_that_cannot_be_used_is_left_out(augment: Augment, group: str, module: str, why: str) -> None:
    code, out, err = augment(module, "build-pairs", "--help", group=group)
    assert (code, "Usage" in out) == (0, True)
    assert err.startswith(f"{group.removesuffix('s')} 'odd' of odd_module is left out: {why}")
    assert err.count("\n") == 1
    assert augment(module, "identity", "lines.txt", group=group)[0] == 0


def test_an_entry_point_that_names_a_class_is_left_out(tmp_path: Path) -> None:
    site = add_package(tmp_path / "site", {"odd_module": view()}, views="odd = odd_module:Odd")
    process = start_beside(site, tmp_path, "--help")
    _, err = process.communicate(timeout=120)
    why = "it defines no subclass of View or Filter"
    assert (process.returncode, err) == (0, f"view 'odd' of odd_module:Odd is left out: {why}\n")


@pytest.mark.exhaustive_after(1)
@pytest.mark.parametrize(
    ("group", "module", "arguments", "line"),
    [
        ("views", "\n\n1 / 0", ("build-pairs", "--help"), 3),
        ("views", view("1 / 0"), ("odd", "lines.txt"), 12),
        ("views", view("[len(x, x) for x in texts]"), ("odd", "lines.txt"), 12),
        ("views", view(built="1 / 0"), ("odd", "lines.txt"), 9),
        (
            "filters",
            FILTER.format(made="pairs.strings('none')"),
            ("build-pairs", "--pairs", "self", "--filter", "odd", "lines.txt"),
            6,
        ),
    ],
)
def test_a_crash_names_the_line_of_the_plugin(
    augment: Augment, tmp_path: Path, group: str, module: str, arguments: tuple[str, ...], line: int
) -> None:
    _, _, err = augment(module, *arguments, group=group)
    assert f" ({tmp_path / 'site' / 'odd_module.py'}, line {line})\n" in err


def test_a_view_with_an_option_that_all_views_have_is_refused_when_it_runs(augment: Augment) -> None:
    assert augment(view(field="seed"), "--help")[0] == 0
    code, _, err = augment(view(field="seed"), "odd", "--help")
    assert code == 1
    assert "parameter 'seed' is an option of every view command: rename it" in err


@pytest.mark.exhaustive_after(2)
@pytest.mark.parametrize(
    ("module", "said"),
    [
        (view("1 / 0"), "view 'odd' of odd_module failed: ZeroDivisionError: division by zero"),
        *(
            (
                view(made),
                "view 'odd' did not return a list of 2 ViewResult, each with a text unless it failed or is ",
            )
            for made in ("None", "list(texts)", "[]", "[ViewResult(None)] * 2")
        ),
        (view("[ViewResult(7)] * 2"), "view 'odd' of odd_module failed: ValidationError: 1 validation error"),
        (view(built="1 / 0"), "view 'odd' of odd_module failed: ZeroDivisionError: division by zero"),
        (view(built="None"), "view 'odd': build gave NoneType, which is not a View: fix the plugin"),
    ],
)
def test_a_view_that_fails_is_one_line_that_names_it(augment: Augment, module: str, said: str) -> None:
    code, _, err = augment(module, "odd", "lines.txt")
    assert code == 1
    assert f"error: {said}" in err
    assert "Traceback" not in err


@pytest.mark.exhaustive_after(1)
@pytest.mark.parametrize(
    ("module", "said"),
    [
        *(
            (FILTER.format(made=made), "of odd_module failed: ")
            for made in (
                "1 / 0",
                "None",
                "[None] * len(pairs)",
                "Verdicts([1, 2])",
                "Verdicts([None])",
                "Verdicts([None, None], [0.5])",
            )
        ),
        (view(), "is not a subclass of pipelines.pairs.filter.Filter: fix the plugin\n"),
    ],
)
def test_a_filter_that_fails_is_one_line_that_names_it(augment: Augment, module: str, said: str) -> None:
    arguments = ("build-pairs", "--pairs", "self", "--filter", "odd", "lines.txt")
    code, _, err = augment(module, *arguments, group="filters")
    assert (code, f"error: filter 'odd' {said}" in err, "Traceback" in err) == (1, True, False)


@pytest.mark.exhaustive_after(1)
@pytest.mark.parametrize(
    ("group", "name", "module", "arguments"),
    [
        ("views", "identity", view("1 / 0"), ("identity", "lines.txt")),
        ("views", "mlm_fill", view("1 / 0"), ("identity", "lines.txt")),
        (
            "filters",
            "length-ratio",
            FILTER.format(made="1 / 0"),
            ("build-pairs", "--pairs", "self", "lines.txt"),
        ),
    ],
)
def test_a_plugin_with_a_name_of_ours_is_passed_over(
    group: str, name: str, module: str, arguments: tuple[str, ...], tmp_path: Path
) -> None:
    (tmp_path / "lines.txt").write_text("one two\nthree four\n", encoding="utf-8")
    site = add_package(tmp_path / "site", {"odd_module": module}, **{group: f"{name} = odd_module"})
    filters = ("--filter", name) if group == "filters" else ()
    process = start_beside(site, tmp_path, *arguments, *filters)
    _, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    line = f"{group.removesuffix('s')} {name!r} of odd_module is passed over: Twinviews has that name"
    assert [text.split(";")[0] for text in err.splitlines() if "odd_module" in text] == [line]


def test_of_two_plugins_with_one_name_the_first_by_module_is_taken(tmp_path: Path) -> None:
    (tmp_path / "lines.txt").write_text("one two\n", encoding="utf-8")
    modules = {"odd_a": view('[ViewResult("a view")]'), "odd_b": view("1 / 0")}
    site = add_package(tmp_path / "site", modules, views="odd = odd_a")
    other = site / "another-1.0.dist-info"
    shutil.copytree(site / "foreign-1.0.dist-info", other)
    (other / "METADATA").write_text("Metadata-Version: 2.1\nName: another\nVersion: 1.0\n")
    for folder, module in ((other, "odd_a"), (site / "foreign-1.0.dist-info", "odd_b")):
        (folder / "entry_points.txt").write_text(f"[twinviews.views]\nodd = {module}\n")
    process = start_beside(site, tmp_path, "odd", "lines.txt")
    _, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    assert "view 'odd' of odd_b is passed over: odd_a has that name; rename" in err


@pytest.mark.exhaustive
@pytest.mark.parametrize("points", ["odd = odd module:", "odd =", "= = ="])
def test_a_malformed_entry_point_stops_no_command(tmp_path: Path, points: str) -> None:
    (tmp_path / "lines.txt").write_text("one two\nthree four\n", encoding="utf-8")
    site = add_package(tmp_path / "site", {}, views=points)
    process = start_beside(site, tmp_path, "identity", "lines.txt")
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    assert "2" in out
    assert "Traceback" not in err
    assert "left out" in err


@pytest.mark.exhaustive_after(1)
@pytest.mark.parametrize(
    ("made", "said"),
    [
        (
            "[ViewResult(t, 'evil') for t in texts]",
            "Input should be 'ok', 'unchanged', 'failed' or 'rejected'",
        ),
        (
            "[ViewResult(t + 'x', edits=((0, 1, 'q', 'z'),)) for t in texts]",
            "does not fit: the text there is 'o'",
        ),
        ("[ViewResult(t, edits=((0, 0, '', 'z'),)) for t in texts]", "edits that do not lead to its text"),
        ("[ViewResult(t, edits=((9, 99, '', 'z'),)) for t in texts]", "end=99, old='', new='z') does not fit"),
        ("[ViewResult(t.encode()) for t in texts]", "Input should be a valid string"),
        ("[ViewResult(t, achieved_fraction=float('nan')) for t in texts]", "Input should be "),
        ("[ViewResult(t, alternatives=(b'x',)) for t in texts]", "Input should be a valid string"),
        ("__import__('sys').exit(0)", "SystemExit: 0"),
    ],
)
def test_an_impossible_row_is_no_success(augment: Augment, made: str, said: str) -> None:
    code, _, err = augment(view(made=made), "odd", "lines.txt")
    assert code == 1, err
    assert said in err.splitlines()[-1]
    assert "'odd'" in err.splitlines()[-1]


def test_an_objective_without_presets_cannot_be_used(tmp_path: Path) -> None:
    site = add_package(tmp_path / "site", {"odd_module": OBJECTIVE}, objectives="odd = odd_module")
    process = start_beside(site, tmp_path, "odd", "--help", program=TRAIN)
    out, err = process.communicate(timeout=120)
    assert (process.returncode, out) == (2, "")
    assert err == "error: objective 'odd' of odd_module cannot be used: it has no PRESETS\n"
