"""Run a recipe's steps in this folder: `python recipes/run.py recipes/first-run.yaml [--dry-run]`.

Prints the time and the peak memory of each step. With --dry-run nothing is written: our programs read their command
lines, and rehearse those whose inputs are here.
"""

import os
import re
import shlex
import subprocess
import sys
import time
from glob import glob
from itertools import groupby
from os.path import expandvars
from pathlib import Path
from typing import Any
from unittest.mock import patch

import typer
import yaml
from huggingface_hub import try_to_load_from_cache
from typer.core import TyperCommand

from pipelines.base.console import call
from pipelines.cli.app import build_app
from trainers.cli.app import app as train_app

LOOP = re.compile(r"for (\w+) in (.+); do (.+); done")
PROGRAMS = {"augment": build_app(), "train": train_app}


def is_here(source: str) -> bool:
    """Whether an input is here: files of that name or pattern, or (`hub:NAME`) a model in the Hub's cache."""
    if source.startswith("hub:"):
        return isinstance(try_to_load_from_cache(source.removeprefix("hub:"), "config.json"), str)
    return bool(glob(expandvars(source)))


def rehearse(step: dict[str, Any]) -> str:
    """Let our programs read a step, and do a dry run of it if its inputs are here; returns what was done."""
    missing, said = [source for source in step.get("reads", []) if not is_here(source)], "left to the shell"
    commands = [step["run"]]
    if loop := LOOP.fullmatch(step["run"]):
        name, values, body = loop.groups()
        commands = [body.replace(f"${name}", value) for value in values.split()]
    joints = {"&&", "|", ">"}.__contains__
    for words in (list(part) for command in commands for _, part in groupby(shlex.split(command), joints)):
        if words[0] == "torchrun":
            words = ["train", *words[words.index("trainers") + 1 :]]
        if words[0] in PROGRAMS:
            arguments = [each for word in map(expandvars, words[1:]) for each in sorted(glob(word)) or [word]]
            with patch.object(TyperCommand, "invoke", lambda *_: None):
                code = call(PROGRAMS[words[0]], arguments)
            said = f"read; not here: {', '.join(missing)}" if missing else "dry run done"
            if not (code or missing or "compare" in arguments):
                code = call(PROGRAMS[words[0]], [*arguments, "--dry-run"])
            if code:
                sys.exit(code)
    return said


def run(command: str) -> int:
    """Run a command in a shell; print its time and the most memory that one of its processes had."""
    start = time.perf_counter()
    _, status, usage = os.wait4(subprocess.Popen(command, shell=True).pid, 0)
    print(f"# {time.perf_counter() - start:.0f} s, {usage.ru_maxrss / 1e6:.1f} GB", flush=True)
    return os.waitstatus_to_exitcode(status)


def main(recipe: Path, dry_run: bool = False) -> None:
    """Run or rehearse the steps of a recipe in this folder."""
    for step in yaml.safe_load(recipe.read_text(encoding="utf-8"))["steps"]:
        print("$", step["run"], flush=True)
        if dry_run:
            print("#", rehearse(step))
        elif code := run(step["run"]):
            sys.exit(code)


if __name__ == "__main__":
    typer.run(main)
