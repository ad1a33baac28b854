"""A disk that is full, as a limit on the size of files."""

from pathlib import Path

import pytest
from file_limits import no_file_above

from pipelines.console import call
from trainers.cli import app

# The recipe has some 1 kB, the weights 31; the optimiser's state, which is saved after them, twice that.
SIZES = {"the recipe": 500, "the weights": 20_000, "the optimiser": 45_000}


@pytest.mark.parametrize("size", SIZES.values(), ids=SIZES)
def test_training_on_a_full_disk_ends_with_one_line_and_is_resumed(
    size: int, text_file: Path, tiny_bert: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["mirror", "--text", text_file, "--encoder", tiny_bert, "--batch-size", 8, "--max-tokens", 24]
    arguments += ["--save-every", 2, "--out"]

    def train(out: Path) -> int:
        return call(app, [str(argument) for argument in (*arguments, out)])

    assert train(tmp_path / "whole") == 0
    capsys.readouterr()
    with no_file_above(size):
        assert train(tmp_path / "full") == 1
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert error.startswith(f"error: cannot write all of {tmp_path / 'full'} (")
    assert "free space on its disk, then give the same command again" in error
    assert train(tmp_path / "full") == 0
    for name in ("model.safetensors", "log.jsonl"):
        assert (tmp_path / "full" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()
    assert {path.name for path in (tmp_path / "full").iterdir()} == {
        path.name for path in (tmp_path / "whole").iterdir()
    }
