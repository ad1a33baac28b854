"""What both programs do at their start: completion and the version."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAMS = {"augment": "pipelines", "train": "trainers"}
ROOT = Path(__file__).parents[2]


def run(program: str, *arguments: str, **more: str) -> subprocess.CompletedProcess[str]:
    code = f"import sys; sys.argv[0] = {program!r}; from {PROGRAMS[program]}.__main__ import main; main()"
    return subprocess.run(
        [sys.executable, "-P", "-c", code, *arguments],
        env={**os.environ, "PYTHONPATH": str(ROOT), **more}, capture_output=True, text=True, check=False,
    )  # fmt: skip


@pytest.mark.parametrize("program", PROGRAMS)
def test_completion_is_shown_and_completes(program: str) -> None:
    shown = run(program, "--show-completion", "bash", _TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION="1")
    assert (shown.returncode, shown.stderr) == (0, "")
    variable = f"_{program.upper()}_COMPLETE"
    assert f"complete -o default -F _{program}_completion {program}" in shown.stdout
    assert f"{variable}=complete_bash" in shown.stdout
    typed, completed = {"augment": ("sy", "synonym"), "train": ("mir", "mirror")}[program]
    words = {"COMP_WORDS": f"{program} {typed}", "COMP_CWORD": "1"}
    assert run(program, **words, **{variable: "complete_bash"}).stdout.split() == [completed]


@pytest.mark.parametrize("program", PROGRAMS)
def test_version_is_that_of_the_distribution(program: str) -> None:
    done = run(program, "--version")
    assert (done.returncode, done.stdout, done.stderr) == (0, "twinviews 0.1.0\n", "")
