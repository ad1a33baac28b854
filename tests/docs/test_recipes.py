"""Every recipe is complete, the programs accept it, and its page shows it as it is in its file."""

import re
import shlex
from itertools import groupby
from pathlib import Path

import pytest
from typed_commands import PROGRAMS, refusal

from recipes.page import ORDER, PAGE, load, page, recipes

KEYS = {"title", "for", "needs", "steps", "measured"}
LOOP = re.compile(r"for (\w+) in (.+); do (.+); done")
COLUMNS = {"step", "time", "memory", "result"}


def test_the_page_orders_every_recipe() -> None:
    assert [path.stem for path in recipes()] == list(ORDER)


@pytest.mark.parametrize("path", recipes(), ids=lambda path: path.stem)
def test_a_recipe_is_complete_and_says_what_was_measured(path: Path) -> None:
    recipe = load(path)
    assert set(recipe) - {"papers"} == KEYS
    assert all(set(step) <= {"run", "reads"} for step in recipe["steps"])
    if isinstance(recipe["measured"], str):
        assert recipe["measured"].startswith("not run here")
    else:
        assert set(recipe["measured"]) == {"machine", "date", "rows"}
        assert all(set(row) == COLUMNS for row in recipe["measured"]["rows"])
        named = {row["step"] for row in recipe["measured"]["rows"]}
        assert all(any(name in step["run"] for step in recipe["steps"]) for name in named)


def refusal_of(line: str) -> str | None:
    """Return what our programs would say of a step; None if nothing is wrong with it. Nothing is run."""
    commands = [line]
    if loop := LOOP.fullmatch(line):
        name, values, body = loop.groups()
        commands = [body.replace(f"${name}", value) for value in values.split()]
    joints = {"&&", "|", ">"}.__contains__
    for words in (list(part) for command in commands for _, part in groupby(shlex.split(command), joints)):
        if words[0] == "torchrun":
            words = ["train", *words[words.index("trainers") + 1 :]]
        if words[0] in PROGRAMS and (said := refusal(PROGRAMS[words[0]], words)):
            return said
    return None


@pytest.mark.parametrize("path", recipes(), ids=lambda path: path.stem)
def test_the_programs_take_every_step(path: Path) -> None:
    for step in load(path)["steps"]:
        assert refusal_of(step["run"]) is None


@pytest.mark.parametrize(
    "step",
    [
        "train bsl --momentun 1",
        "augment translate --to",
        "augment nothing",
        "for i in a b; do train bsl --preset $i; done",
    ],
)
def test_a_step_that_no_program_takes_is_refused(step: str) -> None:
    assert refusal_of(step)


def test_the_page_is_made_from_the_recipes() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "run python recipes/page.py"
