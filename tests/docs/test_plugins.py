"""The package of the page on plugins, laid down as if installed, and the page's commands."""

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pyarrow as pa
import pytest

pytestmark = pytest.mark.exhaustive

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/plugins.md").read_text(encoding="utf-8")
FILE = re.compile(r"^`([\w/.]+)`[^`]*?(?:`[^`]+`[^`]*?)*```\w+\n(.*?)^```$", re.MULTILINE | re.DOTALL)
COMMAND = re.compile(r"^    ((?:augment|train) .*)$", re.MULTILINE)
SMALL = {"train spread": ["--batch-size", "8", "--precision", "fp32"]}
PROGRAMS = {
    name: f"from {module}.__main__ import main; main()"
    for name, module in (("augment", "pipelines"), ("train", "trainers"))
}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of packages with the page's package in it."""
    folder = tmp_path_factory.mktemp("site")
    files = dict(FILE.findall(PAGE))
    for name, text in files.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    project = tomllib.loads(files["pyproject.toml"])["project"]
    (folder / "neighbours-1.0.dist-info").mkdir()
    groups = project["entry-points"].items()
    points = "".join(
        f"[{group}]\n" + "".join(f"{name} = {module}\n" for name, module in lines.items())
        for group, lines in groups
    )
    (folder / "neighbours-1.0.dist-info/entry_points.txt").write_text(points)
    (folder / "neighbours-1.0.dist-info/METADATA").write_text(
        "Metadata-Version: 2.1\nName: neighbours\nVersion: 1.0\n"
    )
    return folder


def test_the_example_package_is_whole(site: Path) -> None:
    named = {f"{module.replace('.', '/')}.py" for module in re.findall(r'= "(neighbours\.\w+)"', PAGE)}
    assert named | {"neighbours/letters.py"} == {
        str(path.relative_to(site)) for path in site.glob("neighbours/*.py")
    }


def test_the_commands_of_the_page_run_with_its_package(site: Path, tmp_path: Path) -> None:
    sample = (ROOT / "pipelines/sample/sentences.txt").read_text(encoding="utf-8").splitlines()[:30]
    (tmp_path / "sentences.txt").write_text("\n".join(sample), encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{site}", "HF_HUB_OFFLINE": "1"}
    outputs = []
    for command in COMMAND.findall(PAGE):
        program, *arguments = command.split()
        arguments += SMALL.get(f"{program} {arguments[0]}", [])
        process = [sys.executable, "-c", PROGRAMS[program], *arguments]
        done = subprocess.run(
            process, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300
        )
        assert done.returncode == 0, f"{command}: {done.stderr}"
        outputs.append(done.stdout)
    pairs = pa.ipc.open_stream((tmp_path / "data/pairs.arrow").read_bytes()).read_all().to_pylist()
    assert all(sorted(pair["text"].split()) == sorted(pair["view_b"].split()) for pair in pairs)
    assert all(pair["text"].split()[-1] == pair["view_b"].split()[-1] for pair in pairs)
    assert re.search(r"other ending +\d", outputs[0]), outputs[0]
    log = (tmp_path / "runs/spread/log.jsonl").read_text(encoding="utf-8")
    assert '"alignment"' in log
    assert '"uniformity"' in log
    assert len(outputs) == 4
    for output in outputs[2:]:
        assert re.search(r"negation +3 +\d+\.\d\d", output), output
