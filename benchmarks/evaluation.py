"""What `train evaluate` costs: `--suite all` beside sentence-transformers encoding the same texts once.

    python benchmarks/evaluation.py MODEL --data DIR

Both run in a process of their own, in turn. Ours reads the data, encodes every distinct text, scores every set and
writes the results; theirs is `SentenceTransformer.encode` in its defaults over the same distinct texts, and nothing
else. Loading the model is in no time. The table gives the best round of each, the median of the ratios within the
rounds, and the most memory that each process had. Beside the time stands that of the processor, which other programs
on the machine disturb less.
"""

from __future__ import annotations

import argparse
import json
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch

from trainers.encoders.model import load_model
from trainers.scores import result_files as record
from trainers.scores.scoring import evaluate_suites, find_suites
from trainers.scores.task import Suite, distinct_texts

CONTENDERS = ("ours", "sentence-transformers")
TARGET = 1.15


def limited(suites: Sequence[Suite], limit: int | None) -> list[Suite]:
    """Leave out the sets with the most texts until at most `limit` distinct texts are left."""
    if limit is None:
        return list(suites)
    kept: list[Suite] = []
    texts: set[str] = set()
    for suite in suites:
        tasks = []
        for task in sorted(suite.tasks, key=lambda task: task.size):
            own = set(task.texts)
            if len(texts | own) <= limit:
                texts |= own
                tasks.append(task)
        kept.append(Suite(suite.name, suite.metrics, suite.expected, tuple(tasks)))
    return kept


def measured(work: Callable[[], Any]) -> tuple[float, float, Any]:
    """Seconds by the clock and by the processor, and what `work` gives."""
    clock, processor = time.perf_counter(), time.process_time()
    outcome = work()
    return time.perf_counter() - clock, time.process_time() - processor, outcome


def ours(options: argparse.Namespace) -> dict[str, Any]:
    """Find, encode, score and write."""
    encoder = load_model(options.model, precision=options.precision)

    def work() -> int:
        suites = limited(find_suites(options.suites, options.data), options.limit)
        with tempfile.TemporaryDirectory() as folder:
            record.write(Path(folder), evaluate_suites(encoder, suites))
        return len(distinct_texts(task for suite in suites for task in suite.tasks))

    clock, processor, texts = measured(work)
    return {"seconds": clock, "processor": processor, "texts": texts}


def theirs(options: argparse.Namespace) -> dict[str, Any]:
    """Encode the distinct texts in the library's defaults."""
    from sentence_transformers import SentenceTransformer

    suites = limited(find_suites(options.suites, options.data), options.limit)
    texts = distinct_texts(task for suite in suites for task in suite.tasks)
    model = SentenceTransformer(options.model)
    clock, processor, _ = measured(lambda: model.encode(texts))
    return {"seconds": clock, "processor": processor, "texts": len(texts)}


def contend(options: argparse.Namespace) -> None:
    """Run one contender here and write its figures to stdout."""
    if options.threads:
        torch.set_num_threads(options.threads)
    figures = theirs(options) if options.contender == "sentence-transformers" else ours(options)
    figures["memory"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    sys.stdout.write(json.dumps(figures))


def run(contender: str) -> dict[str, Any]:
    """Run a contender in a process of its own."""
    command = [sys.executable, __file__, *sys.argv[1:], "--contender", contender]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{contender}: exit code {done.returncode}\n{done.stderr[-2000:]}")
    figures: dict[str, Any] = json.loads(done.stdout)
    return figures


def show(rounds: Sequence[dict[str, dict[str, Any]]]) -> None:
    """Print the table and the shares of the suites."""
    columns = f"{'contender':24} {'seconds':>9} {'ratio':>6} {'processor':>10} {'ratio':>6} {'peak MB':>8}\n"
    sys.stdout.write(f"{rounds[0]['ours']['texts']} distinct texts, {len(rounds)} round(s)\n{columns}")
    for contender in CONTENDERS:
        figures = [found[contender] for found in rounds]
        ratios = [
            statistics.median(found[contender][key] / found["sentence-transformers"][key] for found in rounds)
            for key in ("seconds", "processor")
        ]
        seconds, processor = (min(figure[key] for figure in figures) for key in ("seconds", "processor"))
        memory = max(figure["memory"] for figure in figures)
        sys.stdout.write(
            f"{contender:24} {seconds:9.1f} {ratios[0]:6.2f} {processor:10.1f} {ratios[1]:6.2f} {memory:8.0f}\n"
        )
    sys.stdout.write(f"target: ratio at most {TARGET}\n")


def main() -> None:
    """Measure, print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", help="a sentence-transformers directory")
    parser.add_argument("--data", required=True, help="folder with the benchmarks")
    parser.add_argument("--suites", nargs="+", default=["all"], metavar="NAME")
    parser.add_argument(
        "--limit", type=int, metavar="N", help="leave out sets beyond this many distinct texts"
    )
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--precision", choices=("fp32", "bf16"), default="fp32")
    parser.add_argument("--threads", type=int, help="torch's threads, for both")
    parser.add_argument("--contender", choices=CONTENDERS, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.contender:
        contend(options)
        return
    show([{contender: run(contender) for contender in CONTENDERS} for _ in range(options.rounds)])


if __name__ == "__main__":
    main()
