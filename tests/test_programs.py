"""What both programs do when they start: help, completion, the version, and other packages with a name of ours."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from augment.errors import InputError
from augment.lexicon import wordnet

PROGRAMS = {"augment": "pipelines", "train": "trainers"}
ROOT = Path(__file__).parents[1]
HEAVY = {"torch", "transformers", "datasets", "sentence_transformers", "nltk", "pyarrow", "sklearn", "scipy"}


def run(
    program: str, *arguments: str, path: tuple[Path, ...] = (), **more: str
) -> subprocess.CompletedProcess[str]:
    places = os.pathsep.join(map(str, (*path, ROOT)))
    code = f"import sys; sys.argv[0] = {program!r}; from {PROGRAMS[program]}.__main__ import main; main()"
    return subprocess.run(
        [sys.executable, "-P", "-c", code, *arguments],
        env={**os.environ, "PYTHONPATH": places, **more},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("program", PROGRAMS)
def test_help_imports_no_heavy_library(program: str) -> None:
    done = run(program, "--help", PYTHONPROFILEIMPORTTIME="1")
    assert (done.returncode, "Usage" in done.stdout) == (0, True)
    imported = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert (imported & HEAVY, "typer" in imported) == (set(), True)


@pytest.mark.exhaustive
def test_synonym_does_not_import_nltk(tmp_path: Path) -> None:
    """Which takes half a second, and of which it needs nothing."""
    try:
        wordnet.find()
    except InputError:
        pytest.skip("WordNet is not installed")
    (tmp_path / "text.txt").write_text("The dogs were barking at an old car.\n")
    sentences, view = str(tmp_path / "sentences"), str(tmp_path / "view")
    assert run("augment", "ingest", str(tmp_path / "text.txt"), "--out", sentences).returncode == 0
    done = run("augment", "synonym", sentences, "--out", view, PYTHONPROFILEIMPORTTIME="1")
    assert done.returncode == 0
    imported = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert ("nltk" in imported, "lemminflect" in imported) == (False, True)


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


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("kind", ["augment/__init__.py", "augment.py"])
def test_namesake_that_hides_ours_ends_the_program(kind: str, program: str, tmp_path: Path) -> None:
    (tmp_path / kind).parent.mkdir(exist_ok=True)
    (tmp_path / kind).write_text("")
    hiding = run(program, "--version", path=(tmp_path,))
    said = (
        f"{tmp_path / kind} hides the package 'augment' of Twinviews: install it in an environment of its own"
    )
    assert (hiding.returncode, hiding.stdout, hiding.stderr) == (1, "", f"error: {said}\n")
    assert run(program, "--version", path=(ROOT, tmp_path)).stderr == ""
