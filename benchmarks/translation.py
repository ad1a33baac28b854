"""How much of CTranslate2's speed `augment backtranslate` keeps: whole process, translator and bare engine, one table.

python benchmarks/translation.py --data DIR [--sentences 2000] [--repeats 3] [--decodes greedy,beam:4]

DIR holds `corpora/multi30k-task2/train.1.en.gz` and `parallel/newstest/eng-deu/newstest*.eng.gz`. The three take turns
on the same sentences through German and back with the bundled models in int8, on all cores that this process may use:

- `augment backtranslate --pivot de --no-retry` as a command, its start and its files included;
- the view called in this process, models loaded before: what is left is tokens, batches and judging;
- `ctranslate2.Translator.translate_batch` on the tokens of both ways, with the better of two batch sizes.

The best turn of each counts. On a machine that others use, compare CPU seconds: the ratios last.
"""

from __future__ import annotations

import argparse
import gzip
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import ctranslate2

from augment.device import usable_cores
from augment.translate.ctranslate import COMPUTE_TYPES, converted
from augment.translate.models import TranslationModel, resolve_models
from augment.translate.vocabulary import Vocabulary
from augment.view import ViewSpec, make_view

BATCH_SIZES = (2_048, 8_192)
COLUMNS = ("corpus", "decode", "what runs", "rows/s", "source words/s/core", "CPU s", "of its speed", "of its CPU time")


@dataclass(frozen=True)
class Spent:
    """Seconds by the clock and of processors."""

    clock: float
    processors: float


def corpora(data: Path, sentences: int) -> dict[str, list[str]]:
    """A seeded sample of distinct sentences of each corpus."""
    files = {
        "captions": [data / "corpora/multi30k-task2/train.1.en.gz"],
        "newstest": sorted((data / "parallel/newstest/eng-deu").glob("newstest*.eng.gz")),
    }
    found = {}
    for name, paths in files.items():
        text = "\n".join(gzip.decompress(path.read_bytes()).decode("utf-8") for path in paths)
        lines = {line.strip() for line in text.split("\n")} - {""}
        found[name] = random.Random(0).sample(sorted(lines), sentences)
    return found


def timed(work: Callable[[], object]) -> Spent:
    """What `work` takes, its child processes included."""
    before, started = _processors(), time.perf_counter()
    work()
    return Spent(time.perf_counter() - started, _processors() - before)


def _processors() -> float:
    used = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(one.ru_utime + one.ru_stime for one in used)


def command(texts: Sequence[str], decode: str) -> Spent:
    """The whole of `augment backtranslate`, from its start to its end."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "texts.txt").write_text("\n".join(texts), encoding="utf-8")
        subprocess.run(["augment", "ingest", "texts.txt"], cwd=folder, check=True, capture_output=True)
        words = ["augment", "backtranslate", "--pivot", "de", "--decode", decode, "--no-retry", "--device", "cpu"]
        return timed(lambda: subprocess.run(words, cwd=folder, check=True, capture_output=True))


def view(texts: Sequence[str], decode: str) -> Spent:
    """The view alone."""
    made = make_view(ViewSpec("backtranslate", {"pivot": "de", "decode": decode, "retry": False}), device="cpu")
    made(texts[:2], [0, 0])
    return timed(lambda: made(texts, [0] * len(texts)))


def bare(texts: Sequence[str], decode: str) -> Spent:
    """`translate_batch` there and back, on tokens that are there already; the best batch size."""
    there, back = (resolve_models("starter", *hop) for hop in (("en", "de"), ("de", "en")))
    beams = int(decode.partition(":")[2] or 1)
    sources = _tokens(there, texts)
    pivots = [[*best, "</s>"] for best in _translated(_translator(there), sources, beams, BATCH_SIZES[0])]
    legs = [(_translator(there), sources), (_translator(back), pivots)]
    return min(
        (
            timed(lambda size=size: [_translated(model, tokens, beams, size) for model, tokens in legs])  # type: ignore[misc]
            for size in BATCH_SIZES
        ),
        key=lambda spent: spent.clock,
    )


def _tokens(model: TranslationModel, texts: Sequence[str]) -> list[list[str]]:
    vocabulary = Vocabulary(model.path)
    return [[vocabulary.source[token] for token in ids] for ids in vocabulary.encode(texts, model.prefix)]


def _translator(model: TranslationModel) -> ctranslate2.Translator:
    return ctranslate2.Translator(
        str(model.path),
        files=converted(model.path, Vocabulary(model.path), model.revision),
        compute_type=COMPUTE_TYPES["int8"],
        inter_threads=usable_cores(),
        intra_threads=1,
    )


def _translated(model: ctranslate2.Translator, tokens: list[list[str]], beams: int, size: int) -> list[list[str]]:
    found = model.translate_batch(
        tokens, beam_size=beams, max_batch_size=size // beams, batch_type="tokens", max_decoding_length=128
    )
    return [result.hypotheses[0] for result in found]


def rows(texts: Sequence[str], decode: str, repeats: int) -> Iterator[list[str]]:
    """The three lines of a corpus and a way to decode."""
    turns = [(command(texts, decode), view(texts, decode), bare(texts, decode)) for _ in range(repeats)]
    clocks = [min(spent.clock for spent in turn) for turn in zip(*turns, strict=True)]
    processors = [min(spent.processors for spent in turn) for turn in zip(*turns, strict=True)]
    words = sum(len(text.split()) for text in texts)
    names = ("augment backtranslate", "the view, loaded", "translate_batch")
    for name, clock, used in zip(names, clocks, processors, strict=True):
        yield [
            name, f"{len(texts) / clock:,.1f}", f"{words / clock / usable_cores():,.0f}", f"{used:.1f}",
            f"{clocks[-1] / clock:.2f}", f"{used / processors[-1]:.2f}",
        ]  # fmt: skip


def main() -> None:
    """Print a Markdown table, each corpus as it is done."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--sentences", type=int, default=2000)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--decodes", default="greedy,beam:4", help="ways to decode, with , between them")
    arguments = parser.parse_args()
    os.environ["HF_HUB_OFFLINE"] = "1"
    sys.stdout.write(f"| {' | '.join(COLUMNS)} |\n|---|---|---|{'--:|' * (len(COLUMNS) - 3)}\n")
    for corpus, texts in corpora(arguments.data, arguments.sentences).items():
        for decode in arguments.decodes.split(","):
            for row in rows(texts, decode, arguments.repeats):
                sys.stdout.write(f"| {' | '.join([corpus, decode, *row])} |\n")
                sys.stdout.flush()


if __name__ == "__main__":
    main()
