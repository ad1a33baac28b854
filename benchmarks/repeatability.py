"""How many views change with the batch size, the shards or the processes that they are made in: none should.

python benchmarks/repeatability.py --data DIR [--sentences 500] [--views "synonym;backtranslate pivot=de"]

A view is a name and parameters, as in `backtranslate pivot=de decode=beam:4 precision=fp32`. The sentences are those
of `benchmarks/views.py`, half from each corpus; the text of each row is compared with that of one run over all rows.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import yaml
from datasets import load_from_disk
from views import corpora

from augment.view import View, ViewSpec, make_view, row_seed

VIEWS = (
    "synonym",
    "mlm-fill",
    "span-mask",
    "nlpaug augmenter=RandomWordAug",
    "backtranslate models=starter pivot=de",
    "backtranslate models=starter pivot=de precision=fp32",
    "backtranslate models=starter pivot=de decode=beam:4",
    "backtranslate models=starter pivot=de precision=fp32 translator=transformers",
    "backtranslate models=starter pivot=de precision=fp32 decode=top-k:10",
)
BATCHES = (1, 8, 64)
COLUMNS = ("view", *(f"batches of {size}" for size in BATCHES), "4 shards", "4 shards, 2 processes")


def spec_of(words: str) -> ViewSpec:
    """The view that `NAME key=value ...` says."""
    name, *params = words.split()
    return ViewSpec(
        name, {key: yaml.safe_load(value) for key, value in (param.split("=", 1) for param in params)}
    )


def in_batches(view: View, texts: Sequence[str], size: int) -> list[str | None]:
    """The views of all texts, `size` in a call."""
    seeds = [row_seed(0, text, view.spec.seed_key()) for text in texts]
    made: list[str | None] = []
    for start in range(0, len(texts), size):
        part = slice(start, start + size)
        made += [one.text for one in view(texts[part], seeds[part])]
    return made


def in_shards(spec: ViewSpec, texts: Sequence[str], shards: int, workers: int) -> dict[str, str | None]:
    """The same by `augment`, as a dataset: sentence to view."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "texts.txt").write_text("\n".join(texts), encoding="utf-8")
        options = [
            f"--{key.replace('_', '-')}={value}" for key, value in spec.params.items() if value is not True
        ]
        options += [f"--{key}" for key, value in spec.params.items() if value is True]
        size = -(-len(texts) // shards)
        command = ["augment", spec.name, "texts.txt", *options, "--shard-size", size, "--workers", workers]
        command += ["--out", "out"]
        subprocess.run(list(map(str, command)), cwd=folder, check=True, capture_output=True)
        rows = load_from_disk(str(Path(folder, "out")), keep_in_memory=True)
    return dict(zip(rows["text"], rows["view"], strict=True))


def row(words: str, texts: Sequence[str]) -> Iterator[str]:
    """One row of the table: texts that differ from those of one run."""
    spec = spec_of(words)
    view = make_view(spec)
    whole = in_batches(view, texts, len(texts))
    for size in BATCHES:
        yield _differing(whole, in_batches(view, texts, size))
    one = in_shards(spec, texts, 1, 1)
    for workers in (1, 2):
        made = in_shards(spec, texts, 4, workers)
        yield _differing(list(one.values()), [made[text] for text in one])


def _differing(ours: Sequence[str | None], theirs: Sequence[str | None]) -> str:
    number = sum(a != b for a, b in zip(ours, theirs, strict=True))
    return f"{number}" if not number else f"{number} ({100 * number / len(ours):.1f}%)"


def main() -> None:
    """Print a Markdown table, each row as it comes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--sentences", type=int, default=500)
    parser.add_argument("--views", default=";".join(VIEWS), help="views, with ; between them")
    arguments = parser.parse_args()
    texts = [text for sample in corpora(arguments.data, arguments.sentences // 2).values() for text in sample]
    sys.stdout.write(f"| {' | '.join(COLUMNS)} |\n|---|{'--:|' * (len(COLUMNS) - 1)}\n")
    for words in arguments.views.split(";"):
        sys.stdout.write(f"| {words} | {' | '.join(row(words, texts))} |\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
