"""How `./dev` installs and gets WordNet: the real script, with stand-ins for pip and for apt-get's network."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from augment.lexicon import wordnet

ROOT = Path(__file__).parents[2]
APT = """#!/bin/sh
lists=$(sed -n 's/^Dir::State::Lists "\\(.*\\)";$/\\1/p' "${APT_CONFIG:-/dev/null}")
: "${lists:=$HOME/lists}"
case $1 in
update) [ -d "$lists/partial" ] && touch "$lists/Packages" ;;
download) [ -e "$lists/Packages" ] && cp "$HOME/wordnet-base_3.0_all.deb" . ;;
esac
"""
"""Like apt-get, it needs lists of packages to download anything."""
CONTROL = "Package: wordnet-base\nVersion: 3.0\nArchitecture: all\nMaintainer: nobody\nDescription: WordNet\n"
DEAD = "http://127.0.0.1:9"
FIND = [sys.executable, "-c", "from augment.lexicon.wordnet import find; print(find())"]


@pytest.fixture
def machine(tmp_path: Path) -> dict[str, str]:
    """The environment of a machine without WordNet and without a network except for the stand-in."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "apt-get").write_text(APT)
    (tmp_path / "bin" / "apt-get").chmod(0o755)
    kept = {key: value for key, value in os.environ.items() if key not in (wordnet.VARIABLE, "NLTK_DATA")}
    places = [str(tmp_path / "bin"), str(Path(sys.executable).parent), os.environ["PATH"]]
    folders = {"PYTHONPATH": str(ROOT), "HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path / "a cache")}
    environment = {**kept, **folders, "PATH": os.pathsep.join(places), "http_proxy": DEAD, "https_proxy": DEAD}
    if subprocess.run(FIND, env=environment, capture_output=True, check=False).returncode == 0:
        pytest.skip("WordNet is installed for all users")
    return environment


def fetch(machine: dict[str, str]) -> str:
    """Run the functions of `./dev` that fetch WordNet; returns what they say."""
    (functions,) = re.findall(r"^wordnet\(\) \{.*?^\)$", (ROOT / "dev").read_text(), re.DOTALL | re.MULTILINE)
    command = ["sh", "-c", f"set -eu\n{functions}\nwordnet"]
    done = subprocess.run(command, env=machine, capture_output=True, text=True, check=True)
    assert done.stdout == ""
    return done.stderr


@pytest.mark.skipif(shutil.which("dpkg-deb") is None, reason="there is no dpkg-deb")
def test_wordnet_is_fetched_from_debian_with_package_lists_of_our_own(
    machine: dict[str, str], tmp_path: Path
) -> None:
    source = tmp_path / "package" / "usr" / "share" / "wordnet"
    source.mkdir(parents=True)
    for name in wordnet.CONTENT_FILES:
        (source / name).write_text(f"mice mouse {name}\n")
    (tmp_path / "package" / "DEBIAN").mkdir()
    (tmp_path / "package" / "DEBIAN" / "control").write_text(CONTROL)
    build = ["dpkg-deb", "--root-owner-group", "--build", "package", "wordnet-base_3.0_all.deb"]
    subprocess.run(build, cwd=tmp_path, check=True, capture_output=True)
    assert fetch(machine) == ""
    place = tmp_path / "a cache" / "twinviews" / "corpora" / "wordnet"
    assert subprocess.run(FIND, env=machine, capture_output=True, text=True, check=True).stdout == f"{place}\n"
    assert wordnet.revision(place) == wordnet.revision(source)
    assert (place / "lexnames").read_text() == wordnet.lexnames()
    assert list(place.parent.iterdir()) == [place]


def test_wordnet_that_cannot_be_fetched_is_one_line(machine: dict[str, str], tmp_path: Path) -> None:
    said = fetch(machine)
    assert said.startswith("WordNet is missing")
    assert said.count("\n") == 1
    assert not [path for path in (tmp_path / "a cache").rglob("*") if path.is_file()]


@pytest.mark.parametrize(("code", "is_absolute"), [(0, True), (0, False), (1, False)])
def test_installing_is_a_line_a_step_and_pips_words_only_if_it_fails(
    code: int, is_absolute: bool, tmp_path: Path
) -> None:
    programs = {
        "python": f'echo used >>{tmp_path}/python.log\nexec {sys.executable} "$@"',
        "pip": f"yes 'WARNING: it is ignored' | head -40 >&2\nexit {code}",
    }
    (tmp_path / "bin").mkdir()
    for name, script in programs.items():
        (tmp_path / "bin" / name).write_text(f"#!/bin/sh\n{script}\n")
        (tmp_path / "bin" / name).chmod(0o755)
    places = {
        "VENV": str(tmp_path) if is_absolute else os.path.relpath(tmp_path, ROOT),
        "PYTHON": sys.executable,
    }
    command = [str(ROOT / "dev"), "test", "--version"]
    done = subprocess.run(command, env=os.environ | places, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr.count("WARNING")) == (code, 40 * code)
    assert done.stderr.startswith("installing torch==")
    assert done.stderr.count("installing ") == 2 - code
    if code == 0:  # for the check of its version, and from PATH for WordNet and pytest
        assert (tmp_path / "python.log").read_text().count("used") >= 2
