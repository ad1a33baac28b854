"""A data folder with two sets, and options of a tiny training."""

from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def graded_data(tmp_path_factory: pytest.TempPathFactory, sentences: list[str]) -> Path:
    """A data folder that holds STS-B's test and dev sets, and none of the other six sets."""
    folder = tmp_path_factory.mktemp("data") / "stsbenchmark"
    folder.mkdir()
    for name, size in (("sts-test.csv", 1379), ("sts-dev.csv", 1500)):
        lines = [
            f"main-news\tx\t2016\t{i:04}\t{i % 11 / 2:.3f}\t{sentences[i % 48]}\t{sentences[(i * 5 + 1) % 48]}\n"
            for i in range(size)
        ]
        (folder / name).write_text("".join(lines), encoding="utf-8")
    return folder.parent


@pytest.fixture(scope="session")
def small(text_file: Path, tiny_bert: Path) -> list[str]:
    """Options of a training that takes six steps."""
    return ["--text", str(text_file), "--encoder", str(tiny_bert), "--batch-size", "8", "--max-tokens", "24"]
