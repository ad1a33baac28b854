"""Run a recipe's steps in this folder: `python recipes/run.py recipes/first-run.yaml`.

Prints the time and the peak memory of each step.
"""

import os
import subprocess
import sys
import time
from pathlib import Path

import typer
import yaml


def run(command: str) -> int:
    """Run a command in a shell; print its time and the most memory that one of its processes had."""
    start = time.perf_counter()
    _, status, usage = os.wait4(subprocess.Popen(command, shell=True).pid, 0)
    print(f"# {time.perf_counter() - start:.0f} s, {usage.ru_maxrss / 1e6:.1f} GB", flush=True)
    return os.waitstatus_to_exitcode(status)


def main(recipe: Path) -> None:
    """Run the steps of a recipe in this folder."""
    for step in yaml.safe_load(recipe.read_text(encoding="utf-8"))["steps"]:
        print("$", step["run"], flush=True)
        if code := run(step["run"]):
            sys.exit(code)


if __name__ == "__main__":
    typer.run(main)
