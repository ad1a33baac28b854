"""A view and a filter of another package, and processes that know them."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa

ROOT = Path(__file__).parents[2]
SPEAK = '''"""Say the words backwards, as translations to other languages do, in several versions."""

from typing import ClassVar

from pydantic import BaseModel

from augment.view import Viewed, ViewSpec


class PARAMS(BaseModel):
    named_by: ClassVar[str] = "to"
    ends_in: ClassVar[str] = "to"
    to: str
    source: str = "xx"
    best: int = 1


class Speak:
    def __init__(self, params):
        self.spec = ViewSpec("speak", params.model_dump())

    def __call__(self, texts, seeds):
        return [self.view(text) for text in texts]

    def view(self, text):
        if "fail" in text:
            return Viewed(None, "failed", "asked-to")
        several = min(self.spec.params["best"], len(text.split()))
        versions = [f"{text[::-1]} {self.spec.params['to']}{n}" for n in range(several)]
        return Viewed(versions[0], alternatives=tuple(versions[1:]))


def build(params, runtime):
    return Speak(params)
'''
PICKY = '''"""Drop pairs with a number in the forties, slowly, and score the rest."""

import time

from pydantic import BaseModel

from pipelines.filter import FilterSpec, Verdicts


class PARAMS(BaseModel):
    nap: float = 0.0
    column: str = "luck"


class Picky:
    def __init__(self, params):
        self.spec = FilterSpec("picky", params.model_dump(), score=params.column)

    def __call__(self, pairs):
        time.sleep(self.spec.params["nap"])
        texts = pairs.strings("text")
        return Verdicts(["in the forties" if text[0] == "4" else None for text in texts], [len(t) / 4 for t in texts])


def build(params, runtime):
    return Picky(params)
'''


def start_with_foreigners(folder: Path, site: Path, *arguments: object) -> "subprocess.Popen[str]":
    """`augment` as a process in `folder` that knows the view `speak` and the filter `picky`, which lie in `site`."""
    info = site / "speak-1.0.dist-info"
    info.mkdir(parents=True, exist_ok=True)
    (site / "speak.py").write_text(SPEAK)
    (site / "picky.py").write_text(PICKY)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: speak\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[twinviews.views]\nspeak = speak\n[twinviews.filters]\npicky = picky\n")
    environment = {**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{site}", "HF_HUB_OFFLINE": "1"}
    return subprocess.Popen(
        [sys.executable, "-c", "from pipelines.cli import main; main()", *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=folder,
        env=environment,
    )


def done(process: "subprocess.Popen[str]", code: int = 0) -> str:
    out, err = process.communicate(timeout=120)
    assert process.returncode == code, err
    return err if code else out


def rows_of(path: str) -> list[dict[str, Any]]:
    with pa.memory_map(path) as mapped:
        table: list[dict[str, Any]] = pa.ipc.open_stream(mapped).read_all().to_pylist()
    return table
