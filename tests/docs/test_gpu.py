"""The benchmark for GPUs: every part of it on a CPU, without CTranslate2, and what it takes along."""

import gzip
import os
import subprocess
import sys
import tomllib
from itertools import product
from pathlib import Path

import pytest
import torch

from benchmarks.gpu_wheels import LEFT_OUT, PRESENT, needed
from trainers.settings import objective_names

ROOT = Path(__file__).parents[2]
START = """
import runpy, sys
sys.modules["ctranslate2"] = sys.modules["wordfreq"] = None
sys.argv = sys.argv[1:]
sys.path[0] = "benchmarks"  # as of a script
runpy.run_path(sys.argv[0], run_name="__main__")
"""
WORDS = {
    "a dog": "ein Hund",
    "a man": "ein Mann",
    "a woman": "eine Frau",
    "a child": "ein Kind",
    "a bird": "ein Vogel",
}
VERBS = {"sees": "sieht", "hears": "hört", "follows": "folgt"}


def lines(code: str) -> str:
    words, verbs = ([*(pairs if code == "en" else pairs.values())] for pairs in (WORDS, VERBS))
    return "".join(f"{first} {verb} {second}.\n" for first, verb, second in product(words, verbs, words))


@pytest.mark.exhaustive
def test_every_part_runs_on_a_cpu_without_ctranslate2(tmp_path: Path) -> None:
    for part, code in product(("train", "test_2016_flickr"), ("en", "de")):
        (tmp_path / f"{part}.{code}.gz").write_bytes(gzip.compress(lines(code).encode()))
    out = tmp_path / "out"
    command = [sys.executable, "-c", START, "benchmarks/gpu.py", "--small", "--parallel", str(tmp_path)]
    environment = os.environ | {"PYTHONPATH": str(ROOT), "OUT": str(out)}
    run = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr[-4_000:]
    rows = [line.strip("| ").split(" | ") for line in run.stdout.splitlines()[4:]]
    found = [row[0] for row in rows]
    modes = ("fp32", "bf16", "bf16 compiled")
    wanted = [f"step of {name}, {mode}," for name, mode in product(objective_names(), modes)]
    wanted += [f"back-translation, {decode}," for decode in ("greedy", "beam:4", "sample")]
    wanted += ["mlm-fill", "vectors of 500", "ten nearest of 500", "largest batch of contrastive", "BLEU"]
    assert [sum(name.startswith(prefix) for name in found) for prefix in wanted] == [1] * len(wanted)
    assert len(found) == len(wanted)
    assert all(float(row[3]) > 0 for row in rows)
    losses = {row[0]: float(row[6].strip("| ")) for row in rows if "fp32, 6 pairs" in row[0]}
    assert len(losses) == len(objective_names())
    assert max(losses.values()) <= 1e-3
    assert (out / "gpu.md").read_text("utf-8") == run.stdout
    files = [path for path in out.rglob("*") if path.is_file()]
    assert len(files) <= 8
    assert max(path.stat().st_size for path in files) <= 16 * 2**20
    assert (out / "model" / "model.safetensors").is_file()


def test_a_batch_is_halved_until_it_fits_and_one_line_says_so(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    from gpu_measuring import fitting

    def run(size: int) -> int:
        if size > 100:
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 GiB")
        return -size

    assert fitting("step", 512, run) == (64, -64)
    assert capsys.readouterr().err == "step: out of memory with a batch of 512; 64 fits\n"
    assert fitting("step", 64, run) == (64, -64)
    assert capsys.readouterr().err == ""


def test_the_wheels_include_what_the_wheels_need() -> None:
    dependencies = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["dependencies"]
    names = needed(dependencies)
    assert {"datasets", "dill", "multiprocess"} <= names
    assert {"pydantic", "pydantic-core", "annotated-types", "typing-inspection", "typing-extensions"} <= names
    assert not names & (PRESENT | LEFT_OUT)
