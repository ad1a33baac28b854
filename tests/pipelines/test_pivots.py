"""Views made through another view: pivots are kept, found again, and made once a sentence."""

import json
import shutil
import signal
import subprocess
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from foreigners import add_package, content, start_beside, wait_for

VIEWS = '''"""There (capitals) and back (reversed); every text that goes there is logged."""

import os
import time
from typing import ClassVar

from pydantic import BaseModel

from augment.view import Viewed, ViewSpec


class PARAMS(BaseModel):
    named_by: ClassVar[str] = "to"
    to: str = "xx"
    nap: float = 0.0


class BACK_PARAMS(BaseModel):
    named_by: ClassVar[str] = "pivot"
    pivot: str
    cut: int = 0
    nap: float = 0.0


class There:
    draws = False

    def __init__(self, params):
        self.spec = ViewSpec("there", params.model_dump())

    def __call__(self, texts, seeds):
        time.sleep(self.spec.params["nap"])
        with open(os.environ["THERE_LOG"], "a", encoding="utf-8") as log:
            log.writelines(text + "\\n" for text in texts)
        return [Viewed(None, "failed", "asked-to") if "fail" in text else Viewed(text.upper()) for text in texts]


class Back:
    draws = False

    def __init__(self, params):
        self.spec = ViewSpec("back", params.model_dump())
        self.through = There(PARAMS(to=params.pivot, nap=params.nap))

    def __call__(self, texts, seeds):
        raise AssertionError("its pivots are made first")

    def complete(self, texts, seeds, between):
        time.sleep(self.spec.params["nap"])
        return [self.view(text, pivot) for text, pivot in zip(texts, between, strict=True)]

    def view(self, text, pivot):
        if pivot.text is None:
            return Viewed(None, "failed", f"pivot-{pivot.reason}")
        return Viewed(pivot.text[::-1][self.spec.params["cut"]:] + "!", pivot=pivot.text)
'''
BUILD = "\n\ndef build(params, runtime):\n    return View(params)\n"
PLUGINS = {
    "staged_views": VIEWS,
    "view_there": "from staged_views import PARAMS, There as View\n" + BUILD,
    "view_back": "from staged_views import BACK_PARAMS as PARAMS, Back as View\n" + BUILD,
}
Start = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def start(folder: Path, tmp_path: Path) -> Start:
    site = add_package(tmp_path / "site", PLUGINS, views="there = view_there\nback = view_back")
    return partial(start_beside, site, folder, THERE_LOG=str(tmp_path / "there.log"))


@pytest.fixture
def done(start: Start) -> Callable[..., Any]:
    """A command run to its good end; its JSON."""

    def run(*arguments: object) -> Any:  # noqa: ANN401 - JSON
        process = start(*arguments, "--json")
        out, err = process.communicate(timeout=60)
        assert process.returncode == 0, err
        return json.loads(out)

    return run


@pytest.fixture
def log(tmp_path: Path) -> Callable[[], list[str]]:
    """The texts that went there so far."""
    return lambda: (tmp_path / "there.log").read_text(encoding="utf-8").splitlines()


def rows(folder: Path) -> list[dict[str, Any]]:
    shards = sorted(folder.glob("data-*.arrow"))
    return [row for shard in shards for row in pa.ipc.open_stream(shard.read_bytes()).read_all().to_pylist()]


def test_the_view_is_made_from_the_kept_pivots(done: Callable[..., Any], lines: Path, folder: Path) -> None:
    made = done("back", lines, "--pivot", "xx", "--shard-size", 25)
    (pivots,) = (folder / "data" / "pivots").iterdir()
    assert pivots.name.startswith("there-xx-")
    assert made["made_now"] == 60
    assert made["reasons"] == {"pivot-asked-to": 2}
    views, between = rows(folder / "data" / "views" / "back-xx"), rows(pivots)
    assert [row["id"] for row in views] == [row["id"] for row in between]
    assert views[3]["view"] == views[3]["text"].upper()[::-1] + "!"
    assert views[3]["pivot"] == between[3]["view"] == views[3]["text"].upper()
    assert views[-1]["view"] is None
    shutil.rmtree(folder / "data" / "pivots")
    assert done("back", lines, "--pivot", "xx", "--shard-size", 25)["made_now"] == 0, "a finished view needs no pivots"
    for name in ("card.md", "state.json"):
        (folder / "data" / "views" / "back-xx" / name).unlink()
        assert done("back", lines, "--pivot", "xx", "--shard-size", 25)["made_now"] == 0
        assert (folder / "data" / "views" / "back-xx" / name).exists()
    assert not (folder / "data" / "pivots").exists(), "nor does one whose shards are all there"


def test_a_sentence_goes_there_once(
    done: Callable[..., Any], lines: Path, folder: Path, log: Callable[[], list[str]]
) -> None:
    texts = lines.read_text(encoding="utf-8").splitlines()
    done("back", lines, "--pivot", "xx", "--limit", 10)
    assert log() == texts[:10]
    done("back", lines, "--pivot", "xx", "--limit", 10, "--cut", 2, "--out", "cut")
    assert log() == texts[:10], "another way back"
    done("back", lines, "--pivot", "yy", "--limit", 10)
    assert len(log()) == 20, "another pivot is another view"


def test_several_pivots_make_several_datasets(done: Callable[..., Any], lines: Path, folder: Path) -> None:
    made = done("back", lines, "--pivot", "xx,yy")
    assert [one["out"] for one in made] == ["data/views/back-xx", "data/views/back-yy"]
    done("back", "--pivot", "xx, yy", "--cut", 1, "--out", "both")
    assert sorted(path.name for path in (folder / "both").iterdir()) == ["back-xx", "back-yy"]
    recipe = json.loads((folder / "both" / "back-yy" / "recipe.json").read_text(encoding="utf-8"))
    assert recipe["pivot"] == "yy"


def test_dry_run_names_the_pivots_and_writes_nothing(done: Callable[..., Any], lines: Path, folder: Path) -> None:
    assert done("back", lines, "--pivot", "xx", "--dry-run")["through"].startswith("data/pivots/there-xx-")
    assert sorted(path.name for path in folder.iterdir()) == ["lines.txt"]


@pytest.mark.parametrize("stage", ["data/pivots/*", "data/views/back-xx"])
def test_killed_run_goes_on_in_either_stage(
    start: Start, done: Callable[..., Any], lines: Path, folder: Path, stage: str
) -> None:
    run = ["back", lines, "--pivot", "xx", "--shard-size", 5]
    process = start(*run, "--nap", 0.1)
    wait_for(lambda: list(folder.glob(f"{stage}/receipts/*")) or process.poll() is not None)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    done(*run, "--nap", 0.1)
    killed = content(folder / "data" / "views" / "back-xx")
    shutil.rmtree(folder / "data")
    done(*run, "--nap", 0.1)
    assert content(folder / "data" / "views" / "back-xx") == killed
