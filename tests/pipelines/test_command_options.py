"""From the fields of a model to options of a command: help, bounds, flags, and values that are refused."""

from pathlib import Path
from typing import Annotated

import pytest
import typer
from pydantic import Field

from pipelines.base.console import InputError, call
from pipelines.base.options import MAX_INTEGER, Options, checked, own_first, with_options


class Shared(Options):
    as_json: Annotated[bool, Field(alias="json")] = False
    """Results as JSON."""


class Own(Shared):
    path: Annotated[Path, typer.Argument()]
    """What is read."""
    rows: Annotated[int, Field(ge=2), typer.Option()] = 5
    """Rows to
    show."""
    hidden_bound: int | None = Field(None, ge=1)
    widths: list[int] | None = None
    """Again for more."""


@with_options
def show(options: Own) -> None:
    """Show rows."""
    print(options.rows, options.as_json, options.widths, options.hidden_bound)


APP = typer.Typer(rich_markup_mode=None)
APP.command()(show)


def test_every_field_is_an_option_with_its_docstring_and_its_own_come_first(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert call(APP, ["--help"]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "Rows to show. [default: 5]" in text
    assert "--no-json" not in text
    assert "--hidden-bound" in text, "a field without a docstring is an option too"
    assert [*own_first(Own)] == ["path", "rows", "hidden_bound", "widths", "as_json"]


def test_values_reach_the_function(capsys: pytest.CaptureFixture[str]) -> None:
    assert call(APP, ["a", "--json", "--widths", "1", "--widths", "3"]) == 0
    assert capsys.readouterr().out == "5 True [1, 3] None\n"


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["--rows", "1"], "--rows 1: input should be greater than or equal to 2"),
        (["--hidden-bound", "0"], "--hidden-bound 0: input should be greater than or equal to 1"),
        (["--rows", str(MAX_INTEGER + 1)], f"rows {MAX_INTEGER + 1}: should be between"),
    ],
)
def test_a_wrong_value_is_one_line_that_names_its_option(
    given: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call(APP, ["a", *given]) == 2
    error = capsys.readouterr().err
    assert said in error
    assert error.count("\n") == 1


def test_an_item_of_a_list_is_named_by_its_option() -> None:
    with pytest.raises(InputError, match=r"^--widths 'x': input should be a valid integer"):
        checked(Own, {"path": "a", "widths": [1, "x"]})
