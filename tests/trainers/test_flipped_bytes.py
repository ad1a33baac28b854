"""One flipped byte in any file of a finished run is told by `augment verify` and by all that read the run."""

import shutil
from pathlib import Path

import pytest
from small_trainings import Capsys, train

from pipelines.base.console import call
from pipelines.cli.app import build_app


@pytest.fixture(scope="module")
def finished(small: list[str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run."""
    run = tmp_path_factory.mktemp("finished") / "run"
    assert train("contrastive", *small, "--preset", "simcse", "--steps", "2", "--out", run) == 0
    return run


def flip(path: Path) -> bytes:
    """Flip a bit in the middle of a file, and return what it held."""
    content, place = path.read_bytes(), path.stat().st_size // 2
    path.write_bytes(content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :])
    return content


def test_a_flipped_byte_of_a_run_is_told(
    finished: Path, small: list[str], tmp_path: Path, capsys: Capsys
) -> None:
    run = shutil.copytree(finished, tmp_path / "run")
    pairs = tmp_path / "pairs.tsv"
    pairs.write_text("text1\ttext2\tgrade\na dog\ta cat\t1\na man\ta book\t0\na horse\ta bird\t0.5\n")
    again = ["contrastive", *small, "--preset", "simcse", "--steps", "2", "--out", run]
    readers = [
        ["evaluate", run, "--judge", pairs],
        ["push", run, "hf:me/it", "--dry-run"],
        again,
    ]
    readers.append(["report", run, "--sample", "0"])
    files = [path.relative_to(run).as_posix() for path in run.rglob("*") if path.is_file()]
    assert {"model.safetensors", "recipe.json", "log.jsonl", "time.jsonl", "1_Pooling/config.json"} <= {*files}
    for name in files:
        content = flip(run / name)
        assert call(build_app(), ["verify", str(run)]) == 1, name
        assert capsys.readouterr().out.startswith(("damaged: ", "missing: "))
        for command in readers if name != "README.md" else ():  # people edit the card
            assert train(*command) == 2, (name, command[0])
            assert capsys.readouterr().err.splitlines()[-1].startswith("error: ")
        (run / name).write_bytes(content)
    assert call(build_app(), ["verify", str(run)]) == 0
    assert train(*readers[1]) == 0
    assert train(*readers[-1]) == 0
    flip(run / "report.html")
    assert call(build_app(), ["verify", str(run)]) == 1
    assert "damaged: " in capsys.readouterr().out


def test_a_flipped_byte_of_results_is_told(finished: Path, tmp_path: Path, capsys: Capsys) -> None:
    run = shutil.copytree(finished, tmp_path / "run")
    pairs = tmp_path / "pairs.tsv"
    pairs.write_text("text1\ttext2\tgrade\na dog\ta cat\t1\na man\ta book\t0\na horse\ta bird\t0.5\n")
    for options in (["--judge", pairs], ["--suite", "sample"]):
        assert train("evaluate", run, *options) == 0
    files = [path for path in (run / "evaluation").iterdir() if not path.name.startswith(".")]
    assert {path.name.partition(".")[2] for path in files} == {"json", "items.npz"}
    capsys.readouterr()
    for path in files:
        content = flip(path)
        assert call(build_app(), ["verify", str(run)]) == 1, path
        assert capsys.readouterr().out.startswith(("damaged: ", "missing: "))
        if path.suffix in (".json", ".npz"):
            assert train("compare", run) == 2
            told = "is damaged" if path.name == "record.json" else "is not as it was written: evaluate again"
            assert told in capsys.readouterr().err
        path.write_bytes(content)
        capsys.readouterr()
    assert call(build_app(), ["verify", str(run)]) == 0
    assert train("compare", run) == 0


def test_a_killed_evaluation_leaves_nothing_that_the_next_one_does_not_remove(
    finished: Path, tmp_path: Path, capsys: Capsys
) -> None:
    run = shutil.copytree(finished, tmp_path / "run")
    pairs = tmp_path / "pairs.tsv"
    pairs.write_text("text1\ttext2\tgrade\na dog\ta cat\t1\na man\ta book\t0\na horse\ta bird\t0.5\n")
    command = ["evaluate", run, "--judge", pairs]
    assert train(*command) == 0
    made = sorted(path.name for path in (run / "evaluation").iterdir())
    assert train("report", run, "--sample", "0") == 0
    left = [
        run / "evaluation" / f".{name}.1123456789.augment.tmp" for name in made if not name.startswith(".")
    ]
    left.append(run / ".report.html.1123456789.augment.tmp")
    for path in left:
        path.write_text("what a killed command left")
    assert train(*command) == 0
    assert train("report", run, "--sample", "0") == 0
    capsys.readouterr()
    assert [path.name for path in left if path.exists()] == []
    assert sorted(path.name for path in (run / "evaluation").iterdir()) == made
