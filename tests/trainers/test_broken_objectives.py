"""An objective of another package that cannot be used is one line."""

import sys
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from pipelines.console import call
from trainers import catalogue
from trainers.cli import make_app

BROKEN = {
    "import nothing_of_that_name": "cannot be loaded: ModuleNotFoundError",
    "raise SystemExit(3)": "cannot be loaded: SystemExit: 3",
    "PARAMS = 1": "cannot be used: it has no READS, PRESETS, build",
}


@pytest.mark.parametrize("source", BROKEN)
def test_objective_that_cannot_be_used_is_one_line(
    source: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "broken_objective.py").write_text(source)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "broken_objective", raising=False)
    point = EntryPoint("broken", "broken_objective", catalogue.GROUP)
    monkeypatch.setattr(catalogue, "_third_party", lambda: {"broken": point})
    assert call(make_app(), ["broken", "--help"]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert BROKEN[source] in error
    assert call(make_app(), ["--help"]) == 0
    assert capsys.readouterr().err == ""
