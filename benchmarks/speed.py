"""Our commands beside their peers, whole processes in turns; a Markdown table of medians.

python benchmarks/speed.py --data DIR [--repeats 3] [--only NAME ...] [--skip NAME] [--scale 1.0] [--baseline CHECKOUT]

DIR holds `corpora/multi30k-task2/train.1.en.gz` and `parallel/newstest/eng-deu/newstest*.eng.gz`. CHECKOUT is another
checkout of this project; our commands are also compared with what they are there. A run is a process with its start
and its files; `warm` benches count the second of two equal rounds in one process. `ratio` is the peer's time over ours.
"""

from __future__ import annotations

import argparse
import datetime
import gzip
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

from augment.models.weights import STARTER_TRANSLATION
from augment.translate.decoding import Vocabulary

HERE = Path(__file__).parent
COLUMNS = ("bench", "text", "what runs", "rows/s", "source words/s/core", "CPU s", "peak MB", "ratio", "bar")
CORES = len(os.sched_getaffinity(0))
LINES_IN_OUT = ("texts.txt", "peer.txt")


@dataclass(frozen=True)
class Run:
    """What one process took; `inside` is what it printed of its own work."""

    seconds: float
    processors: float
    megabytes: float
    inside: float | None


@dataclass(frozen=True)
class Contestant:
    """A command line, run in a folder where `setup` has run.

    Attributes:
        checkout: Where our code comes from; None for this one.
        warm: Whether the seconds that it prints count instead of the process's.
    """

    name: str
    command: Sequence[str]
    setup: Sequence[Sequence[str]] = ()
    checkout: Path | None = None
    warm: bool = False


@dataclass(frozen=True)
class Bench:
    """One row group: the first contestant is ours, the others are what it is compared with, each with its bar."""

    name: str
    text: str
    rows: int
    contestants: Sequence[Contestant]
    bars: Mapping[str, float] = field(default_factory=dict)
    cores: int | None = None


@dataclass(frozen=True)
class Texts:
    """The texts that benches work on; `scale` makes all of them smaller or larger."""

    data: Path
    scale: float

    @cached_property
    def captions(self) -> list[str]:
        """Sentences of about twelve words."""
        return _distinct([self.data / "corpora/multi30k-task2/train.1.en.gz"])

    @cached_property
    def newstest(self) -> list[str]:
        """Sentences of about 24 words."""
        return _distinct(sorted((self.data / "parallel/newstest/eng-deu").glob("newstest*.eng.gz")))

    @cached_property
    def short(self) -> list[str]:
        """Captions of at most 16 tokens, for the model of opus-mt's size."""
        tokens = Vocabulary(STARTER_TRANSLATION / "en-xx").encode(self.captions)
        return [caption for caption, ids in zip(self.captions, tokens, strict=True) if len(ids) <= 16]

    def lines(self, kind: str, rows: int) -> list[str]:
        """So many distinct lines: sentences, numbered ones where there are too few of them."""
        rows = max(8, round(rows * self.scale))
        sentences: list[str] = getattr(self, kind)
        rounds = range(-(-rows // len(sentences)))
        return [f"{sentence} {turn}" if turn else sentence for turn in rounds for sentence in sentences][:rows]


def _distinct(paths: Sequence[Path]) -> list[str]:
    text = "\n".join(gzip.decompress(path.read_bytes()).decode("utf-8") for path in paths)
    lines = sorted({line.strip() for line in text.split("\n")} - {""})
    random.Random(0).shuffle(lines)
    return lines


def augment(*words: str) -> list[str]:
    """Our command."""
    return [sys.executable, "-m", "pipelines", *words]


def peer(name: str, *words: str) -> list[str]:
    """A peer's command."""
    return [sys.executable, str(HERE / "peers.py"), name, *LINES_IN_OUT, *words]


INGEST = augment("ingest", "texts.txt")
CPU = ("--device", "cpu")
BUNDLED = ("--models", "starter")


def translators(
    ours: Sequence[str], bar: float, *models: str, beams: str
) -> tuple[list[Contestant], dict[str, float]]:
    """Our translation and its peers', with their bars."""
    translate_batch, generate = "CTranslate2 translate_batch", "transformers generate"
    found = [
        Contestant(f"augment {ours[3]}", ours, [INGEST]),
        Contestant(translate_batch, peer("translate_batch", *models, "--num-beams", beams)),
        Contestant(generate, peer("generate", *models, "--num-beams", beams)),
    ]
    return found, {translate_batch: 0.95, generate: bar}


def translations(opus: Path) -> Iterator[Bench]:
    """Back-translation with the bundled models, and one way with a model of opus-mt's size."""
    decodes = (("greedy", "1", 6.0), ("beam:4", "4", 4.0))
    for kind in ("captions", "newstest"):
        for decode, beams, bar in decodes:
            once = ("--decode", decode, "--candidates", "1")  # as the peers
            ours = augment("backtranslate", "--pivot", "de", *BUNDLED, *once, *CPU)
            rows = 6_000 if decode == "greedy" else 2_000
            contestants = translators(ours, bar, "--models", str(STARTER_TRANSLATION), beams=beams)
            yield Bench(f"backtranslate de, {decode}", kind, rows, *contestants)
    for decode, beams, bar in decodes:
        ours = augment("translate", "--to", "de", "--decode", decode, "--models", str(opus.parent), *CPU)
        # No sentence ends, so the peers write as much as ours do for 16 tokens: greedily, all turn out to be loops.
        longest = "32" if beams == "1" else "48"
        contestants = translators(ours, bar, "--models", str(opus), "--max-length", longest, beams=beams)
        yield Bench(f"translate de, opus-mt's size with random weights, {decode}", "short", 768, *contestants)
    yield Bench(
        "translate de, one core",
        "newstest",
        6_000,
        [Contestant("augment translate", augment("translate", "--to", "de", *BUNDLED, *CPU), [INGEST])],
        cores=1,
    )


def word_views(_opus: Path) -> Iterator[Bench]:
    """Views by words beside nlpaug's, cold and warm."""
    for name, nlpaug, rows, cold, warm in (
        ("synonym", "nlpaug-synonym", 6_000, 5.0, 20.0),
        ("mlm-fill", "nlpaug-contextual", 1_000, 10.0, 10.0),
    ):
        ours = augment(name, *(CPU if name == "mlm-fill" else ()))
        models = ("--models", str(STARTER_TRANSLATION))
        yield Bench(
            f"{name}, cold",
            "captions",
            rows,
            [
                Contestant(f"augment {name}", ours, [INGEST]),
                Contestant(f"augment {name} --candidates 1", [*ours, "--candidates", "1"], [INGEST]),
                Contestant(nlpaug, peer(nlpaug, *models)),
            ],
            {nlpaug: cold},
        )
        yield Bench(
            f"{name}, warm",
            "captions",
            rows,
            [
                Contestant(f"our {name}", peer(f"our-{name}", "--warm"), warm=True),
                Contestant(nlpaug, peer(nlpaug, *models, "--warm"), warm=True),
            ],
            {nlpaug: warm},
        )


def pipeline(_opus: Path) -> Iterator[Bench]:
    """Commands that no model slows down."""
    masked = [INGEST, augment("span-mask")]
    filters = ("--filter", "identical", "--filter", "length-ratio", "--filter", "repetition")
    pairs = augment("build-pairs", "--pairs", "original", "--view", "span-mask")
    for name, rows, command, setup in (
        ("ingest", 1_000_000, INGEST, ()),
        ("identity", 500_000, augment("identity"), [INGEST]),
        ("span-mask", 300_000, augment("span-mask"), [INGEST]),
        ("contradiction", 30_000, augment("contradiction"), [INGEST]),
        ("build-pairs, three filters", 300_000, [*pairs, *filters], masked),
        ("build-pairs, near-duplicates", 300_000, [*pairs, "--filter", "near-duplicates"], masked),
    ):
        yield Bench(name, "captions", rows, [Contestant(name, command, setup)])


GROUPS = {"translations": translations, "words": word_views, "pipeline": pipeline}


def with_baseline(bench: Bench, baseline: Path | None) -> Bench:
    """The bench with our command as it is in another checkout."""
    ours = bench.contestants[0]
    if baseline is None or ours.warm:
        return bench
    before = replace(ours, name=f"{ours.name} in the baseline", checkout=baseline)
    return replace(bench, contestants=[*bench.contestants, before])


def timed(contestant: Contestant, folder: Path, cores: int | None) -> Run:
    """Run a contestant's command in a folder made ready for it."""
    allowed = sorted(os.sched_getaffinity(0))[:cores]
    checkout = (contestant.checkout or HERE.parent).resolve()
    environment = os.environ | {
        "HF_HUB_OFFLINE": "1",
        "OMP_NUM_THREADS": str(len(allowed)),
        "PYTHONPATH": str(checkout),
    }
    for words in contestant.setup:
        subprocess.run(words, cwd=folder, env=environment, check=True, capture_output=True)
    started = time.perf_counter()
    with (folder / "errors.txt").open("wb") as errors:
        process = subprocess.Popen(
            contestant.command,
            cwd=folder,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=errors,
            preexec_fn=lambda: os.sched_setaffinity(0, allowed),
        )
        assert process.stdout is not None
        printed = process.stdout.read().decode()
        _, status, used = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - started
    if os.waitstatus_to_exitcode(status):
        raise SystemExit(
            f"{' '.join(contestant.command)}: {(folder / 'errors.txt').read_text('utf-8')[-2_000:]}"
        )
    inside = float(printed.split()[-1]) if contestant.warm else None
    return Run(seconds, used.ru_utime + used.ru_stime, used.ru_maxrss / 1_024, inside)


def measure(bench: Bench, lines: Sequence[str], repeats: int) -> list[list[Run]]:
    """The runs of each contestant, which take turns."""
    runs: list[list[Run]] = [[] for _ in bench.contestants]
    for _ in range(repeats):
        for contestant, done in zip(bench.contestants, runs, strict=True):
            with tempfile.TemporaryDirectory() as name:
                folder = Path(name)
                (folder / "texts.txt").write_text("".join(f"{line}\n" for line in lines), "utf-8")
                done.append(timed(contestant, folder, bench.cores))
    return runs


def table_rows(bench: Bench, lines: Sequence[str], runs: Sequence[Sequence[Run]]) -> Iterator[Sequence[str]]:
    """A row for each contestant."""
    words = sum(len(line.split()) for line in lines)
    clocks = [statistics.median(run.inside or run.seconds for run in contestant) for contestant in runs]
    for contestant, clock, done in zip(bench.contestants, clocks, runs, strict=True):
        yield (
            bench.name,
            f"{len(lines):,} {bench.text}",
            contestant.name,
            f"{len(lines) / clock:,.1f}",
            f"{words / clock / (bench.cores or CORES):,.0f}",
            f"{statistics.median(run.processors for run in done):.1f}",
            f"{max(run.megabytes for run in done):,.0f}",
            "" if contestant is bench.contestants[0] else f"{clock / clocks[0]:.2f}",
            f"{bench.bars[contestant.name]:g}" if contestant.name in bench.bars else "",
        )


def machine() -> str:
    """The kind of processor, the cores that may be used, and the day."""
    described = Path("/proc/cpuinfo").read_text("utf-8")
    kind = next(
        line.partition(":")[2].strip() for line in described.splitlines() if line.startswith("model name")
    )
    amx = "with" if "amx_tile" in described else "without"
    return f"{CORES} cores, {kind} {amx} AMX, {datetime.date.today()}"


def main() -> None:
    """Print each bench's rows as it is done."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument(
        "--only", nargs="+", help=f"of {', '.join(GROUPS)}, or parts of the names of benches or texts"
    )
    parser.add_argument("--skip", default="", help="part of the names of peers to leave out, such as generate")
    parser.add_argument("--scale", type=float, default=1.0, help="factor on the rows of each bench")
    parser.add_argument("--baseline", type=Path)
    arguments = parser.parse_args()
    texts = Texts(arguments.data, arguments.scale)
    sys.stdout.write(f"{machine()}\n\n| {' | '.join(COLUMNS)} |\n|---|---|---|{'--:|' * (len(COLUMNS) - 3)}\n")
    with tempfile.TemporaryDirectory() as models:
        opus = Path(models) / "en-de"
        # A process of its own: memory of this one would count in the peaks of those that it starts.
        subprocess.run(
            [sys.executable, str(HERE / "opus_sized.py"), str(opus)], check=True, capture_output=True
        )
        for group, benches in GROUPS.items():
            for bench in benches(opus):
                names = (group, bench.text, bench.name)
                if arguments.only and not any(part in name for part in arguments.only for name in names):
                    continue
                bench = with_baseline(bench, arguments.baseline)
                kept = [
                    each for each in bench.contestants if not arguments.skip or arguments.skip not in each.name
                ]
                bench = replace(bench, contestants=kept)
                lines = texts.lines(bench.text, bench.rows)
                for row in table_rows(bench, lines, measure(bench, lines, arguments.repeats)):
                    sys.stdout.write(f"| {' | '.join(row)} |\n")
                    sys.stdout.flush()


if __name__ == "__main__":
    main()
