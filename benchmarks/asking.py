"""How near `augment rewrite` comes to what a server can give: rows a second, with and without starting.

    python benchmarks/asking.py [--rows 1000] [--concurrency 16] [--seconds 0.5]

The server is the tests' stand-in on this machine, which takes so many seconds for each answer and exchanges a few
words; it could give `concurrency / seconds` rows a second. The time of starting is that of the same command with two
rows, less one answer.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(PROJECT / "tests"))

from standin_llm import MODEL, standin  # type: ignore[import-not-found]  # noqa: E402

SENTENCE = "The small dog number {} runs to the child in the garden of the old house."


def seconds_of(folder: Path, rows: int, url: str, concurrency: int) -> float:
    """Rewrite the first `rows` sentences; returns the seconds that the command took."""
    command = [sys.executable, "-m", "pipelines", "rewrite", "sentences.txt", "--url", url, "--model", MODEL]
    options = ["--concurrency", concurrency, "--limit", rows, "--out", f"views-{rows}"]
    start = time.perf_counter()
    subprocess.run([*command, *map(str, options)], cwd=folder, check=True, capture_output=True)
    return time.perf_counter() - start


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000)
    parser.add_argument("--concurrency", type=int, default=16)
    parser.add_argument("--seconds", type=float, default=0.5)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name, standin() as server:
        folder, server.pause = Path(name), options.seconds
        sentences = [SENTENCE.format(row) for row in range(options.rows)]
        (folder / "sentences.txt").write_text("\n".join(sentences) + "\n")
        starting = seconds_of(folder, 2, server.url, options.concurrency) - options.seconds
        whole = seconds_of(folder, options.rows, server.url, options.concurrency)
    asked = sum(server.prompts.values())
    possible = options.concurrency / options.seconds
    print(f"{asked:,} requests for {options.rows:,} + 2 rows; starting took {starting:.1f} s")
    for name, seconds in (("whole", whole), ("without starting", whole - starting)):
        rate = options.rows / seconds
        print(f"{name}: {rate:.1f} rows/s of {possible:.1f} that the server gives, {rate / possible:.2f}")


if __name__ == "__main__":
    main()
