"""Kills at random moments, and how memory and speed go with the size of a corpus; two Markdown tables.

python benchmarks/endurance.py [--kills 200] [--interrupts 50] [--only view,train] [--sizes 100000,1000000,5000000]

The first part runs every command undisturbed, then again and again in fresh folders, each time stopped once by SIGKILL
or Ctrl-C at a random moment of its own run and then run to its end: the files must be the same byte for byte, no
temporary file or lock may be left, and Ctrl-C must give exit code 130 (0 if it came when all was done). Times and
addresses that training writes down for the reader are not compared. The second part makes corpora of the words of the
bundled sample and numbers, so that nearly no two sentences are alike, and runs ingest, two views and build-pairs.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import platform
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path

ROOT = Path(__file__).parents[1]
SAMPLE = ROOT / "pipelines" / "sample" / "sentences.txt"
SENTENCES = 300
TRAINED = ["--epochs", "2", "--batch-size", "8", "--save-every", "5"]
PAIRED = ["build-pairs", "--pairs", "original", "--view", "span-mask"]
BUNDLED = ["--models", "starter"]
COMMANDS: Mapping[str, Sequence[str]] = {
    "ingest": ["augment", "ingest", "lines.txt", "--shard-size", "50"],
    "identity": ["augment", "identity", "--shard-size", "20"],
    "span-mask": ["augment", "span-mask", "--shard-size", "20"],
    "synonym": ["augment", "synonym", "--shard-size", "20", "--workers", "2"],
    "mlm-fill": ["augment", "mlm-fill", "--shard-size", "20"],
    "backtranslate": [
        "augment",
        "backtranslate",
        "--pivot",
        "de",
        *BUNDLED,
        "--limit",
        "60",
        "--shard-size",
        "10",
    ],
    "translate": ["augment", "translate", "--to", "fr", *BUNDLED, "--limit", "60", "--shard-size", "10"],
    "build-pairs": ["augment", *PAIRED, "--filter", "near-duplicates", "--rejects"],
    "build-pairs --shards": ["augment", *PAIRED, "--shards", "4", "--out", "data/folder"],
    "train bsl": ["train", "bsl", "--limit", "96", *TRAINED],
    "train mirror": ["train", "mirror", "--text", "lines.txt", "--limit", "96", *TRAINED],
    "train isbert": ["train", "isbert", "--text", "lines.txt", "--limit", "96", *TRAINED],
    "train contrastive": ["train", "contrastive", "--views", "data/pairs.arrow", "--limit", "96", *TRAINED],
    "train mlm": ["train", "mlm", "--text", "lines.txt", "--limit", "96", *TRAINED],
}
"""Each reads what the ones before it made."""
TOLD = ("*.tmp", "*.lock")
UNCOMPARED = ("README.md", "run.json", "log.jsonl", "training_args.bin", "environment.json")
"""Files of a training that say when, how fast and where it ran."""


@dataclass
class Tally:
    """What became of the disturbed runs of one command."""

    seconds: float
    codes: Counter[str] = field(default_factory=Counter)
    same: int = 0
    runs: int = 0
    left: int = 0
    wrong: list[str] = field(default_factory=list)


def start(command: Sequence[str], folder: Path) -> subprocess.Popen[bytes]:
    """One of our command lines as a process group of its own; it hears Ctrl-C even if this script does not."""
    package = {"augment": "pipelines", "train": "trainers"}[command[0]]
    code = (
        "import signal, runpy, sys; signal.signal(signal.SIGINT, signal.default_int_handler); "
        f"sys.argv[0] = {command[0]!r}; runpy.run_module({package!r}, run_name='__main__')"
    )
    environment = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "HF_HUB_OFFLINE": "1",
        "OMP_NUM_THREADS": "1",
        "CUDA_VISIBLE_DEVICES": "",
    }
    return subprocess.Popen(
        [sys.executable, "-c", code, *command[1:]],
        cwd=folder,
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )


def finish(process: subprocess.Popen[bytes], after: float | None = None, how: int = 0) -> tuple[int, str]:
    """Wait for its end, with a signal to all its processes after so many seconds; exit code and what it said."""

    def stop() -> None:
        if process.poll() is None:
            os.killpg(process.pid, how)

    timer = threading.Timer(after or 0, stop)
    if after is not None:
        timer.start()
    _, said = process.communicate()
    timer.cancel()
    return process.returncode, said.decode(errors="replace").strip()


def content(folder: Path) -> dict[str, str]:
    """The hash of every file by its path, without those that say when a training ran."""
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name not in UNCOMPARED
    }


def disturb(
    name: str,
    command: Sequence[str],
    before: Path,
    undisturbed: Path,
    draw: random.Random,
    tally: Tally,
    how: signal.Signals,
    work: Path,
) -> None:
    """One run that is stopped at a random moment, and one that goes on from there."""
    folder = work / "disturbed"
    shutil.copytree(before, folder)
    after = draw.random() * tally.seconds
    code, said = finish(start(command, folder), after, how)
    tally.runs += 1
    tally.codes[f"{how.name} {code}"] += 1
    if code not in ((130, 0) if how == signal.SIGINT else (-signal.SIGKILL, 0)) or "Traceback" in said:
        tally.wrong.append(f"{name}: {how.name} after {after:.2f} s gave exit code {code}: {said[-300:]}")
    code, said = finish(start(command, folder))
    left = [path.name for ending in TOLD for path in folder.rglob(ending)]
    there, expected = content(folder), content(undisturbed)
    tally.left += len(left)
    tally.same += there == expected and code == 0
    if there != expected or code or left:
        other = sorted(
            path for path in there.keys() | expected.keys() if there.get(path) != expected.get(path)
        )
        tally.wrong.append(
            f"{name}: {how.name} after {after:.2f} s, then {code}: {said[-300:]} {other[:4]} {left}"
        )
    shutil.rmtree(folder)
    print(
        f"{name}: {how.name} after {after:.2f} s; {tally.same} of {tally.runs} the same",
        file=sys.stderr,
        flush=True,
    )


def stop_at_random(
    names: Sequence[str], kills: int, interrupts: int, seed: int, work: Path
) -> dict[str, Tally]:
    """Run every command undisturbed, and its share of the disturbed runs."""
    states = work / "states"
    (states / "0").mkdir(parents=True)
    (states / "0" / "lines.txt").write_text("\n".join(SAMPLE.read_text().split("\n")[:SENTENCES]) + "\n")
    tallies: dict[str, Tally] = {}
    last = max(map([*COMMANDS].index, names))
    for number, (name, command) in enumerate([*COMMANDS.items()][: last + 1]):
        shutil.copytree(states / str(number), states / str(number + 1))
        started = time.monotonic()
        code, said = finish(start(command, states / str(number + 1)))
        if code:
            raise SystemExit(f"{name} failed undisturbed: {said}")
        tallies[name] = Tally(time.monotonic() - started)
    draw = random.Random(seed)
    for how, total in ((signal.SIGKILL, kills), (signal.SIGINT, interrupts)):
        for turn in range(total):
            name = names[turn % len(names)]
            number = list(COMMANDS).index(name)
            before, after = states / str(number), states / str(number + 1)
            disturb(name, COMMANDS[name], before, after, draw, tallies[name], how, work)
    return {name: tallies[name] for name in names}


def sentences(count: int, seed: int) -> Iterator[str]:
    """Sentences of 6 to 18 of the sample's words, and a number: nearly no two alike."""
    words = sorted({word for line in SAMPLE.read_text().split("\n") for word in line.split()})
    draw = random.Random(seed)
    for number in range(count):
        yield " ".join([*draw.choices(words, k=draw.randint(6, 18)), str(number)])


SCALED: Mapping[str, Sequence[str]] = {
    "ingest": ["augment", "ingest", "lines.txt"],
    "synonym": ["augment", "synonym"],
    "span-mask": ["augment", "span-mask"],
    "build-pairs near-duplicates": ["augment", *PAIRED, "--filter", "near-duplicates"],
}


@dataclass(frozen=True)
class Run:
    """Seconds, and MiB at the peak: all that is resident in one process, and the anonymous part in all of them."""

    seconds: float
    resident: float
    anonymous: float


def measured(command: Sequence[str], folder: Path) -> Run:
    """Run a command and look at its memory, and that of its workers, ten times a second."""
    started = time.monotonic()
    process = start(command, folder)
    anonymous = 0.0
    resident = 0.0
    while process.poll() is None:
        pids = session_of(process.pid)
        anonymous = max(anonymous, sum(status_mib(pid, "RssAnon") for pid in pids))
        resident = max([resident, *(status_mib(pid, "VmHWM") for pid in pids)])
        time.sleep(0.1)
    assert process.stderr is not None
    said = process.stderr.read().decode()
    if process.returncode:
        raise SystemExit(f"{' '.join(command)} failed: {said}")
    return Run(time.monotonic() - started, resident, anonymous)


def session_of(leader: int) -> list[int]:
    """The processes that `start` and its workers are."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                if os.getsid(int(entry.name)) == leader:
                    found.append(int(entry.name))
            except ProcessLookupError:
                continue
    return found


def status_mib(pid: int, name: str) -> float:
    """A figure of a process's memory in /proc, such as RssAnon, which is no page of a file; 0 if it has ended."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return 0.0
    return sum(int(line.split()[1]) for line in status.split("\n") if line.startswith(name)) / 1024


def scale(names: Sequence[str], sizes: Sequence[int], seed: int, work: Path) -> dict[int, dict[str, Run]]:
    """These commands of `SCALED` on corpora of these sizes."""
    found: dict[int, dict[str, Run]] = {}
    for size in sizes:
        folder = work / str(size)
        folder.mkdir()
        with (folder / "lines.txt").open("w") as stream:
            stream.writelines(f"{sentence}\n" for sentence in sentences(size, seed))
        found[size] = {}
        for name in names:
            found[size][name] = measured(SCALED[name], folder)
            print(f"{size:,} {name}: {found[size][name]}", file=sys.stderr, flush=True)
        shutil.rmtree(folder)
    return found


def table(header: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Print a Markdown table."""
    for cells in (header, ["---"] * len(header), *rows):
        print("| " + " | ".join(map(str, cells)) + " |")


def machine() -> str:
    """The kind of machine, and the day."""
    models = [
        line.split(":")[1].strip()
        for line in Path("/proc/cpuinfo").read_text().split("\n")
        if "model name" in line
    ]
    model, cores = models[0] if models else platform.machine(), len(os.sched_getaffinity(0))
    return f"{model}, {cores} cores, Python {platform.python_version()}, {date.today()}"


def print_stops(tallies: Mapping[str, Tally]) -> None:
    """The table of the stopped runs, and below it what went wrong."""
    rows = []
    for name, each in tallies.items():
        codes = ", ".join(f"{count} x {code}" for code, count in sorted(each.codes.items()))
        rows.append((name, f"{each.seconds:.1f}", each.runs, each.same, each.left, codes))
    runs, same, left = (sum(row[place] for row in rows) for place in (2, 3, 4))  # type: ignore[misc]
    table(
        (
            "command",
            "s undisturbed",
            "stopped",
            "then the same",
            "temporaries and locks left",
            "signal and exit code",
        ),
        [*rows, ("all", "", runs, same, left, "")],
    )
    for each in tallies.values():
        for line in each.wrong:
            print(f"- {line}")


def print_scale(found: Mapping[int, Mapping[str, Run]]) -> None:
    """The table of sizes; growth is against the size before."""
    rows: list[tuple[object, ...]] = []
    for name in next(iter(found.values())):
        earlier: Run | None = None
        for size, runs in found.items():
            run = runs[name]
            growth = f"{run.anonymous / earlier.anonymous - 1:+.0%}" if earlier else ""
            memory = (f"{run.resident:,.0f}", f"{run.anonymous:,.0f}")
            rows.append((name, f"{size:,}", f"{size / run.seconds:,.0f}", *memory, growth))
            earlier = run
    table(("command", "sentences", "rows/s", "peak MiB resident", "peak MiB anonymous", "growth"), rows)


def main() -> None:
    """Run both parts and print their tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=200, help="runs stopped by SIGKILL, over all commands")
    parser.add_argument("--interrupts", type=int, default=50, help="runs stopped by Ctrl-C")
    parser.add_argument("--only", default="", help=f"of {', '.join({**COMMANDS, **SCALED})}")
    parser.add_argument(
        "--sizes", default="100000,1000000,5000000", help="sentences of the second part; empty for none"
    )
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    wanted = options.only.split(",") if options.only else [*COMMANDS, *SCALED]
    print(f"{machine()}\n")
    with tempfile.TemporaryDirectory(prefix="endurance-") as work:
        if options.kills or options.interrupts:
            names = [name for name in COMMANDS if name in wanted]
            print_stops(stop_at_random(names, options.kills, options.interrupts, options.seed, Path(work)))
            print()
        if options.sizes:
            names = [name for name in SCALED if name in wanted]
            print_scale(
                scale(names, [int(size) for size in options.sizes.split(",")], options.seed, Path(work))
            )


if __name__ == "__main__":
    main()
