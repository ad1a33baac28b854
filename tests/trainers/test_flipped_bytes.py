"""One flipped byte in any file of a finished run is told by `augment verify` and by all that read the run."""

import shutil
from pathlib import Path

import pytest
from small_trainings import Capsys, train

from pipelines.cli.app import build_app
from pipelines.terminal.console import call


@pytest.fixture(scope="module")
def finished(small: list[str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run."""
    run = tmp_path_factory.mktemp("finished") / "run"
    assert train("contrastive", *small, "--preset", "simcse", "--steps", "2", "--out", run) == 0
    return run


def test_a_flipped_byte_of_a_run_is_told(finished: Path, small: list[str], tmp_path: Path, capsys: Capsys) -> None:
    run = shutil.copytree(finished, tmp_path / "run")
    pairs = tmp_path / "pairs.tsv"
    pairs.write_text("text1\ttext2\tgrade\na dog\ta cat\t1\na man\ta book\t0\na horse\ta bird\t0.5\n")
    again = ["contrastive", *small, "--preset", "simcse", "--steps", "2", "--out", run]
    readers = [["evaluate", run, "--judge", pairs, "--no-cache"], ["push", run, "hf:me/it", "--dry-run"], again]
    recorded = [line.partition("  ")[2] for line in (run / "SHA256SUMS").read_text().splitlines()]
    assert {"model.safetensors", "config.json", "modules.json", "1_Pooling/config.json"} <= {*recorded}
    for name in [*recorded, "SHA256SUMS"]:
        path, place = run / name, (run / name).stat().st_size // 2
        content = path.read_bytes()
        path.write_bytes(content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :])
        assert call(build_app(), ["verify", str(run)]) == 1, name
        assert capsys.readouterr().out.startswith(("damaged: ", "missing: "))
        for command in readers:
            assert train(*command) == 2, (name, command[0])
            assert capsys.readouterr().err.splitlines()[-1].startswith("error: ")
        path.write_bytes(content)
    assert call(build_app(), ["verify", str(run)]) == 0
    assert train(*readers[1]) == 0


def test_a_killed_evaluation_leaves_nothing_that_the_next_one_does_not_remove(
    finished: Path, tmp_path: Path, capsys: Capsys
) -> None:
    run = shutil.copytree(finished, tmp_path / "run")
    pairs = tmp_path / "pairs.tsv"
    pairs.write_text("text1\ttext2\tgrade\na dog\ta cat\t1\na man\ta book\t0\na horse\ta bird\t0.5\n")
    command = ["evaluate", run, "--judge", pairs, "--no-cache"]
    assert train(*command) == 0
    made = sorted(path.name for path in (run / "evaluation").iterdir())
    assert train("report", run, "--sample", "0") == 0
    left = [run / "evaluation" / f".{name}.1123456789.augment.tmp" for name in made if not name.startswith(".")]
    left.append(run / ".report.html.1123456789.augment.tmp")
    for path in left:
        path.write_text("what a killed command left")
    assert train(*command) == 0
    assert train("report", run, "--sample", "0") == 0
    capsys.readouterr()
    assert [path.name for path in left if path.exists()] == []
    assert sorted(path.name for path in (run / "evaluation").iterdir()) == made
