"""Every command that README and docs show is one that the programs take: names, options and values."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import typer

from pipelines.cli import build_app
from trainers.cli import app as train_app

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("data_cards/**/*.md")])
PROGRAMS = {"augment": typer.main.get_command(build_app()), "train": typer.main.get_command(train_app)}
BLOCK = re.compile(r"^(?: {4}|\t)(?P<command>(?:augment|train|torchrun|python) .*)$", re.MULTILINE)
FENCED = re.compile(r"^```(?:sh|bash|console)\n(.*?)^```", re.MULTILINE | re.DOTALL)
INLINE = re.compile(r"`(?P<command>(?:augment|train) [^`\n]+)`")
OUTLINE = re.compile(r"^\w+ [A-Z]{4,}|[A-Z]{4,}\b.*--|\.\.\.|…|\[")
"""A form to fill in, as `train OBJECTIVE --seeds N`."""


class Shown(NamedTuple):
    """A command on a page; whole if it stands in a block, to be pasted."""

    page: str
    command: str
    whole: bool


def shown_commands() -> Iterator[Shown]:
    for page in PAGES:
        if page.name == "CHANGELOG.md":
            continue
        text = page.read_text(encoding="utf-8").replace("\\\n", " ")
        name = str(page.relative_to(ROOT))
        for block in FENCED.findall(text):
            yield from (Shown(name, line, True) for line in block.splitlines() if re.match("augment |train ", line))
        yield from (Shown(name, match["command"], True) for match in BLOCK.finditer(text))
        for match in INLINE.finditer(text):
            if not OUTLINE.search(match["command"]):
                yield Shown(name, match["command"], False)


COMMANDS = list(dict.fromkeys(shown_commands()))


def test_the_pages_show_commands() -> None:
    blocks = sum(each.whole for each in COMMANDS)
    print(f"{len(COMMANDS)} commands on {len(PAGES)} pages, {blocks} of them in blocks")
    assert blocks > 25


@pytest.mark.parametrize("shown", COMMANDS, ids=lambda shown: f"{shown.page}: {shown.command[:60]}")
def test_a_command_is_one_that_the_program_takes(shown: Shown) -> None:
    for part in shlex.split(shown.command, comments=True, posix=True) and re.split("&&|[|;>]", shown.command):
        words = shlex.split(part, comments=True)
        if words[:1] == ["torchrun"] and "-m" in words:
            words = ["train", *words[words.index("trainers") + 1 :]]
        if words[:1] == ["python"] and words[1].endswith(".py"):
            assert (ROOT / words[1]).is_file(), f"{words[1]} is not there"
        if words and words[0] in PROGRAMS:
            said = refusal(PROGRAMS[words[0]], words)
            assert said is None or (not shown.whole and re.match("Missing|Usage", said)), said


def refusal(command: Any, words: list[str]) -> str | None:  # noqa: ANN401 - click's types, vendored by typer
    """Return what is wrong with a command line; None if nothing is. Nothing is run."""
    name, arguments, parent = words[0], words[1:], None
    while True:
        try:
            parent = command.make_context(name, [*arguments], parent=parent)
            if not hasattr(command, "resolve_command") or not parent._protected_args + parent.args:
                return None
            name, command, arguments = command.resolve_command(parent, parent._protected_args + parent.args)
        except Exception as error:
            if hasattr(error, "format_message"):
                return str(error.format_message())
            if type(error).__name__ == "Exit":
                return None
            raise
