"""The loss of the first 20 steps of every objective under each of its presets: two versions should print the same.

    python benchmarks/loss_curves.py > before.txt

Each runs through the command line on the sample corpus and the bundled encoder (or another), in fp32, with dropout, at
one seed.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import tempfile
from importlib import resources
from pathlib import Path

import pyarrow as pa

from pipelines.base.console import call
from trainers.cli.app import app
from trainers.settings import load_objective, objective_names

STEPS, BATCH = 20, 8


def write_data(folder: Path) -> None:
    """Write sentences, pairs of neighbouring sentences, and the same with made-up grades."""
    sample = resources.files("pipelines").joinpath("sample", "sentences.txt").read_text(encoding="utf-8")
    texts = list(dict.fromkeys(line.strip() for line in sample.splitlines() if line.strip()))[: STEPS * BATCH]
    others = texts[1:] + texts[:1]
    (folder / "text.txt").write_text("\n".join(texts) + "\n", encoding="utf-8")
    grades = [f"{row % 6}\t{one}\t{other}" for row, (one, other) in enumerate(zip(texts, others, strict=True))]
    (folder / "graded.tsv").write_text(
        "\n".join(["score\tsentence1\tsentence2", *grades]) + "\n", encoding="utf-8"
    )
    count = len(texts)
    pairs = pa.table(
        {
            "id": [str(row) for row in range(count)],
            "text": texts,
            "view_a": texts,
            "view_b": others,
            "view_a_name": ["own"] * count,
            "view_b_name": ["next"] * count,
        }
    )
    with pa.OSFile(str(folder / "pairs.arrow"), "wb") as sink, pa.ipc.new_stream(sink, pairs.schema) as writer:
        writer.write_table(pairs)


DATA = {
    "views": ["--views", "pairs.arrow"],
    "text": ["--text", "text.txt"],
    "graded": ["--graded", "graded.tsv", "--scale", "0:5"],
}


def curve(objective: str, preset: str, given: list[str]) -> list[float]:
    """Train in the current folder; return the losses as they are logged."""
    run = [
        "--out",
        "run",
        "--precision",
        "fp32",
        "--batch-size",
        str(BATCH),
        "--epochs",
        "1",
        "--accumulate",
        "1",
    ]
    if call(app, [objective, "--preset", preset, *given, *run]) != 0:
        raise SystemExit(f"{objective} {preset} failed")
    losses = [
        json.loads(line)["loss"] for line in Path("run", "log.jsonl").read_text(encoding="utf-8").splitlines()
    ]
    shutil.rmtree("run")
    return losses


def main() -> None:
    """Print a line for every objective and preset."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, default=Path("/dev/stdout"))
    parser.add_argument("--encoder", default="starter")
    parser.add_argument("objectives", nargs="*", help="these alone")
    options = parser.parse_args()
    output = options.output.absolute()
    with tempfile.TemporaryDirectory() as folder, output.open("w", encoding="utf-8") as lines:
        os.chdir(folder)
        write_data(Path(folder))
        for name in options.objectives or objective_names():
            module = load_objective(name)
            given = [*DATA[module.READS[0]], "--encoder", options.encoder]
            if "teacher" in module.PARAMS.model_fields:
                given += ["--teacher", options.encoder]
            for preset in module.PRESETS:
                losses = curve(name, preset, given)
                lines.write(f"{name} {preset}: {' '.join(map(repr, losses))}\n")
                lines.flush()
        os.chdir("/")


if __name__ == "__main__":
    main()
