"""What Mirror-BERT and BSL make of an encoder: STS-B dev and the seven-set average, before and after, over seeds.

    python benchmarks/objectives.py --data ../shared/data --seeds 3 --out build/objectives

Trains by the `train` command on the 10,000 STS-B training sentences that Mirror-BERT ships (and, for BSL, on their
back-translations through German and French, made by `augment`), evaluates by `train evaluate`, and prints one table:
mean and standard deviation over the seeds, Spearman x 100, aggregation "all", masked mean pooling. What is finished
is not done again.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

SENTENCES = "corpora/stsbenchmark_train_10k_sents_random_sampled.txt"


@dataclass(frozen=True)
class Row:
    """One line of the table: its name, and the options of `train` (None: the encoder as it is)."""

    name: str
    options: tuple[str, ...] | None


def run(*command: str, cwd: Path) -> float:
    """Run one of our commands and return its seconds; stop here if it fails."""
    start = time.perf_counter()
    outcome = subprocess.run([str(Path(sys.executable).with_name(command[0])), *command[1:]], cwd=cwd, check=False)
    if outcome.returncode:
        sys.exit(f"{' '.join(command)}: exit code {outcome.returncode}")
    return time.perf_counter() - start


def scores(model: str, directory: Path, data: Path, cwd: Path, pooling: str | None) -> tuple[float, float]:
    """Evaluate a model and return STS-B dev and the average of the seven sets."""
    path = directory / "sts.json"
    if not path.exists():
        pool = ("--pooling", pooling) if pooling else ()
        run(
            "train",
            "evaluate",
            model,
            "--data",
            str(data),
            "--precision",
            "bf16",
            "--out",
            str(directory),
            *pool,
            cwd=cwd,
        )
    found = json.loads(path.read_text(encoding="utf-8"))
    return found["sets"]["stsb-dev"]["all"]["spearman"], found["average"]["all"]["spearman"]


def shown(values: list[float]) -> str:
    """Mean and standard deviation."""
    deviation = f" +- {statistics.stdev(values):.2f}" if len(values) > 1 else ""
    return f"{statistics.mean(values):.2f}{deviation}"


def main() -> None:
    """Train, evaluate, print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--rows", default="", help="only the rows whose names hold this text")
    parser.add_argument("--encoder", help="another encoder than the bundled starter")
    options = parser.parse_args()
    cwd, data = options.out.resolve(), options.data.resolve()
    cwd.mkdir(parents=True, exist_ok=True)
    encoder = ("--encoder", options.encoder) if options.encoder else ()
    run("augment", "ingest", str(data / SENTENCES), cwd=cwd)
    run("augment", "build-pairs", cwd=cwd)
    table = [
        Row("untrained, mean", None),
        Row("Mirror, preset sentence", ("mirror", "--text", "data/sentences", "--preset", "sentence")),
        Row("BSL, back-translations, preset paper", ("bsl", "--views", "data/pairs.arrow", "--preset", "paper")),
        Row("BSL, back-translations, preset code", ("bsl", "--views", "data/pairs.arrow", "--preset", "code")),
    ]
    print("| row | seeds | STS-B dev | average of 7 | seconds a training |", flush=True)
    print("|---|--:|--:|--:|--:|", flush=True)
    for row in (row for row in table if options.rows in row.name):
        dev, average, seconds = [], [], []
        for seed in range(1, options.seeds + 1 if row.options else 2):
            if row.options is None:
                found = scores(options.encoder or "starter", cwd / "runs" / "untrained", data, cwd, "mean")
            else:
                out = f"runs/{row.options[0]}-{row.options[-1]}-{seed}"
                seconds.append(run("train", *row.options, *encoder, "--seed", str(seed), "--out", out, cwd=cwd))
                found = scores(out, cwd / out / "evaluation", data, cwd, None)
            dev.append(found[0])
            average.append(found[1])
        took = f"{statistics.mean(seconds):.0f}" if seconds else ""
        print(f"| {row.name} | {len(dev)} | {shown(dev)} | {shown(average)} | {took} |", flush=True)


if __name__ == "__main__":
    main()
