"""What each objective makes of an encoder: STS-B dev and the seven-set average, in the rows of the papers' ablations.

    python benchmarks/objectives.py --data ../shared/data --out build/objectives --jobs 2

Makes the views of the 10,000 STS-B training sentences that Mirror-BERT ships by `augment`, trains by `train`, scores
by `train evaluate`, and prints one table: Spearman x 100, aggregation "all"; mean and standard deviation over the
seeds, one seed of momenta and batches. What is finished is not done again. Post-training of a supervised encoder,
before and after: `--encoder DIR --rows "untrained, mean|post-training" --out ANOTHER`.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

SENTENCES = "corpora/stsbenchmark_train_10k_sents_random_sampled.txt"
BACK, TWICE = "data/backtranslations.arrow", "data/twice.arrow"
VIEWS = {
    BACK: (),
    TWICE: ("--pairs", "self"),
    "data/synonyms.arrow": ("--pairs", "original", "--view", "synonym"),
    "data/mlm-fill.arrow": ("--pairs", "original", "--view", "mlm-fill"),
}
"""Pairs by file: what `augment build-pairs` is told to make them."""


@dataclass(frozen=True)
class Row:
    """One line of the table: its name, the options of `train` (none: the encoder as it is), over seeds or one."""

    name: str
    options: tuple[str, ...] = ()
    seeds: bool = False
    pooling: str = "mean"

    def folder(self, seed: int) -> Path:
        """Where the run of a seed goes: the same for the same options, so that rows may share it."""
        if not self.options:
            return Path("runs", f"untrained-{self.pooling}")
        options = [option for option in self.options if option not in DEFAULTS]
        return Path("runs", f"{re.sub(r'[^a-z0-9.]+', '-', ' '.join(options).lower()).strip('-')}-{seed}")


def mirror(name: str, preset: str) -> Row:
    """A row of Mirror-BERT's ablations."""
    return Row(f"Mirror{name}", ("mirror", "--text", "data/sentences", "--preset", preset), seeds=True)


def bsl(name: str, *options: str, pairs: str = BACK, seeds: bool = False) -> Row:
    """A row of BSL's ablations."""
    return Row(f"BSL {name}", ("bsl", "--views", pairs, *options), seeds)


DEFAULTS = ("--momentum=0.999", "--batch-size=64")
"""What the presets of BSL and the contrastive baseline say anyway."""
TUNED = ("--preset", "tuned")
MOMENTA = ("0.5", "0.9", "0.99", "0.999", "1")
BATCHES = (16, 32, 64, 128)
ROWS = (
    Row("untrained, mean"),
    Row("untrained, [CLS]", pooling="cls"),
    mirror("", "sentence"),
    mirror(", drophead for dropout", "drophead"),
    mirror(" without dropout", "no-dropout"),
    mirror(" without span mask", "no-mask"),
    mirror(" without either", "neither"),
    mirror(", controlled dropout", "controlled"),
    bsl("back-translation, preset paper", "--preset", "paper"),
    bsl("back-translation, preset code", "--preset", "code"),
    bsl("back-translation, preset tuned", *TUNED, seeds=True),
    bsl("back-translation, preset post-training", "--preset", "post-training"),
    bsl("the sentence twice, preset tuned", *TUNED, pairs=TWICE, seeds=True),
    bsl("synonym, preset tuned", *TUNED, pairs="data/synonyms.arrow", seeds=True),
    bsl("MLM-fill, preset tuned", *TUNED, pairs="data/mlm-fill.arrow", seeds=True),
    *(bsl(f"tuned, momentum {momentum}", *TUNED, f"--momentum={momentum}") for momentum in MOMENTA),
    *(bsl(f"tuned, batch {batch}", *TUNED, f"--batch-size={batch}") for batch in BATCHES),
    *(
        Row(f"contrastive, batch {batch}", ("contrastive", "--views", BACK, f"--batch-size={batch}"))
        for batch in BATCHES
    ),
    Row("contrastive, preset simcse", ("contrastive", "--text", "data/sentences", "--preset", "simcse")),
    Row("contrastive, preset tuned", ("contrastive", "--text", "data/sentences", *TUNED), seeds=True),
    Row("SCT back-translation, preset tuned", ("sct", "--views", BACK)),
    Row("SCT the sentence twice, preset tuned", ("sct", "--views", TWICE)),
    Row("IS-BERT, preset paper", ("isbert", "--text", "data/sentences", "--preset", "paper")),
    Row("IS-BERT, preset code", ("isbert", "--text", "data/sentences", "--preset", "code")),
    Row("IS-BERT, preset tuned", ("isbert", "--text", "data/sentences", "--preset", "tuned")),
    Row("MLM, preset adapt", ("mlm", "--text", "data/sentences", "--preset", "adapt")),
)


def taught(teacher: str) -> tuple[Row, ...]:
    """The rows of the objectives that learn from another encoder."""
    teacher = str(Path(teacher).resolve()) if Path(teacher).exists() else teacher
    return (Row("distilled, preset tuned", ("distil", "--text", "data/sentences", "--teacher", teacher)),)


class Bench:
    """Where the runs are, and the commands that make and score them."""

    def __init__(self, data: Path, out: Path, encoder: str | None) -> None:
        self.data, self.out, self.encoder = data, out, encoder

    def command(self, *command: str) -> float:
        """Run one of our commands in the output folder and return its seconds; stop here if it fails."""
        start = time.perf_counter()
        program = str(Path(sys.executable).with_name(command[0]))
        outcome = subprocess.run(
            [program, *command[1:]], cwd=self.out, check=False, capture_output=True, text=True
        )
        if outcome.returncode:
            sys.exit(f"{' '.join(command)}: exit code {outcome.returncode}\n{outcome.stderr[-2000:]}")
        return time.perf_counter() - start

    def views(self) -> None:
        """Make the sentences and the pairs of all views."""
        self.command("augment", "ingest", str(self.data / SENTENCES))
        for view, words in (("synonym", "wordnet"), ("mlm-fill", "any")):  # as in the paper
            self.command("augment", view, "--words", words)
        for pairs, how in VIEWS.items():
            self.command("augment", "build-pairs", *how, "--out", pairs)

    def score(self, row: Row, seed: int) -> tuple[float, float]:
        """Train if need be, evaluate if need be; return STS-B dev and the average of the seven sets."""
        folder = row.folder(seed)
        results = self.out / folder / "evaluation"
        if not (results / "sts.json").exists():
            model, pooling = self.encoder or "starter", ["--pooling", row.pooling]
            if row.options:
                start = ("--encoder", self.encoder) if self.encoder else ()
                self.command("train", *row.options, *start, "--seed", str(seed), "--out", str(folder))
                model, pooling = str(folder), []
            data = ("--suite", "sts", "--data", str(self.data), "--precision", "bf16")
            self.command("train", "evaluate", model, *data, *pooling, "--out", str(results))
        found = json.loads((results / "sts.json").read_text(encoding="utf-8"))
        return found["sets"]["stsb-dev"]["figures"]["all"], found["average"]["figures"]["all"]


def shown(values: Sequence[float]) -> str:
    """Mean and standard deviation."""
    deviation = f" +- {statistics.stdev(values):.2f}" if len(values) > 1 else ""
    return f"{statistics.mean(values):.2f}{deviation}"


def main() -> None:
    """Train, evaluate, print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--rows", default="", help="only the rows whose names match this regular expression")
    parser.add_argument("--encoder", help="another encoder than the bundled starter")
    parser.add_argument("--teacher", help="also the objectives that learn from this encoder")
    parser.add_argument(
        "--jobs", type=int, default=1, help="trainings at a time, one thread each if more than one"
    )
    options = parser.parse_args()
    if options.jobs > 1:
        # Two of OpenMP's thread pools on the same cores wait for each other most of the time.
        os.environ["OMP_NUM_THREADS"] = "1"
    bench = Bench(options.data.resolve(), options.out.resolve(), options.encoder)
    bench.out.mkdir(parents=True, exist_ok=True)
    bench.views()
    print("| row | seeds | STS-B dev | average of 7 |\n|---|--:|--:|--:|", flush=True)
    with ThreadPoolExecutor(options.jobs) as pool:
        waiting = [
            (
                row,
                [
                    pool.submit(bench.score, row, seed)
                    for seed in range(1, options.seeds + 1 if row.seeds else 2)
                ],
            )
            for row in ROWS + (taught(options.teacher) if options.teacher else ())
            if re.search(options.rows, row.name)
        ]
        for row, futures in waiting:
            dev, average = zip(*(future.result() for future in futures), strict=True)
            print(f"| {row.name} | {len(dev)} | {shown(dev)} | {shown(average)} |", flush=True)


if __name__ == "__main__":
    main()
