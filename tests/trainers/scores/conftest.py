"""A tiny masked language model, the suite's files at full size from few sentences, the research data if it is here."""

import shutil
from pathlib import Path

import pytest
from known_vectors import WORDS, write_files
from samples import DATA
from small_trainings import write_bert

from trainers.scores.suites.sts import BENCHMARKS

SENTENCES = [
    f"{WORDS[i % 6]} {WORDS[6 + i % 7]} {' '.join(WORDS[13 : 13 + i % 5])}".strip() for i in range(42)
]


@pytest.fixture(scope="session")
def tiny_mlm(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_bert(tmp_path_factory.mktemp("model") / "tiny", WORDS, half=True, initializer_range=0.5)


@pytest.fixture
def model(tiny_mlm: Path, tmp_path: Path) -> Path:
    return shutil.copytree(tiny_mlm, tmp_path / "tiny")


def row(index: int) -> tuple[str, str, str]:
    """Return a grade and two sentences, the same for the same index."""
    return f"{index % 11 / 2:.3f}", SENTENCES[index % 42], SENTENCES[(index * 5 + 1) % 42]


def write_suite(root: Path) -> Path:
    """Write every set of the suite at its published size, in the layouts of the original distributions."""
    for benchmark in BENCHMARKS:
        layout = benchmark.layouts[0]
        for name, size in benchmark.sizes.items():
            rows = [row(index) for index in range(size)]
            if len(layout.files) == 2:
                pairs = {f"STS.input.{name}.txt": "".join(f"{one}\t{two}\n" for _, one, two in rows)}
                files = {**pairs, f"STS.gs.{name}.txt": "".join(f"{gold}\n" for gold, _, _ in rows)}
            elif benchmark.name == "sickr":
                lines = [f"{i}\t{one}\t{two}\t{gold}\tNEUTRAL\n" for i, (gold, one, two) in enumerate(rows)]
                head = "pair_ID\tsentence_A\tsentence_B\trelatedness_score\tentailment_judgment\n"
                files = {layout.files[0].format(name): head + "".join(lines)}
            else:
                lines = [
                    f"news\tx\t2016\t{i:04}\t{gold}\t{one}\t{two}\n" for i, (gold, one, two) in enumerate(rows)
                ]
                files = {layout.files[0].format(name): "".join(lines)}
            write_files(root / layout.folders[0], files)
    return root


@pytest.fixture(scope="session")
def sentences() -> list[str]:
    return SENTENCES


@pytest.fixture(scope="session")
def suite_data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_suite(tmp_path_factory.mktemp("data"))


@pytest.fixture(scope="session")
def research_data() -> Path:
    """The folder with the real benchmarks, or a skip."""
    if not (DATA / "sts").is_dir():
        pytest.skip("no research data: set TWINVIEWS_TEST_DATA")
    return DATA
