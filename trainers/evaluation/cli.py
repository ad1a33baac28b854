"""`train evaluate`: a model's scores on a suite of graded sentence pairs."""

from __future__ import annotations

import os
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from pipelines.console import ConfigOption, InputError, note, progress, show, show_json, table

DATA_VARIABLE = "TWINVIEWS_DATA"


class Suite(StrEnum):
    """What to evaluate on."""

    sample = "sample"
    sts = "sts"


class Pooling(StrEnum):
    """How token vectors become a sentence vector."""

    mean = "mean"
    cls = "cls"


class Precision(StrEnum):
    """The number format of the forward passes."""

    fp32 = "fp32"
    bf16 = "bf16"


def evaluate(
    model: Annotated[
        str,
        typer.Argument(
            help="A sentence-transformers or transformers directory, a Hub name, or `starter`.", show_default=False
        ),
    ],
    suite: Annotated[
        Suite | None,
        typer.Option(help="sts: STS12-16, STS-B, SICK-R. sample: a bundled smoke test, the default without data."),
    ] = None,
    data: Annotated[
        str | None,
        typer.Option(envvar=DATA_VARIABLE, help="Folder with the benchmarks, or hf:mteb for the Hub.", metavar="DIR"),
    ] = None,
    pooling: Annotated[Pooling | None, typer.Option(help="Pool like this instead of what the model says.")] = None,
    batch_size: Annotated[int, typer.Option(min=1, help="Most texts in a batch.")] = 256,
    batch_tokens: Annotated[int, typer.Option(min=1, help="Most tokens in a batch, padding included.")] = 8192,
    precision: Annotated[Precision, typer.Option(help="bf16 is faster where the machine has it.")] = Precision.fp32,
    device: Annotated[str, typer.Option(help="auto, cpu, cuda, cuda:1, mps.")] = "auto",
    out: Annotated[
        Path | None,
        typer.Option(help="Folder for the results; evaluation/ beside the model if not given.", metavar="DIR"),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON instead of the table.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="List what was found; encode and write nothing.")] = False,
    config: ConfigOption = None,
) -> None:
    """Score MODEL on graded sentence pairs: Spearman x 100 of the cosine under all three aggregations.

    Papers differ in how they join the subsets of STS12-16: `all` over the concatenated pairs (SimCSE, Mirror-BERT),
    `mean` or size-`weighted` over the subsets. All three are printed; `all` is the one to quote unless you compare
    with a paper that says otherwise.

    Example: train evaluate runs/bsl --data ~/data/sts
    """
    from trainers.evaluation import report
    from trainers.evaluation.encoder import load_encoder
    from trainers.evaluation.suite import distinct_texts, evaluate_sets, find_sets

    chosen = (suite or (Suite.sts if data else Suite.sample)).value
    if suite is None and not data:
        note(f"no benchmark data given (--data DIR, --data hf:mteb or {DATA_VARIABLE}): the bundled smoke test it is")
    sets, missing = find_sets(chosen, data)
    texts = distinct_texts(sets)
    if dry_run:
        table(("set", "pairs", "source"), [(item.benchmark.title, item.pairs, item.source) for item in sets])
        for item in missing:
            note(f"missing: {item}")
        note(f"dry run: {len(texts)} distinct texts would be encoded with {model}")
        return
    encoder = load_encoder(
        model, pooling=pooling.value if pooling else None, precision=precision.value, device=device
    )  # fmt: skip
    directory = _prepare(out or _beside(model, encoder.directory))
    with progress(f"encoding with {model}", len(texts), unit="texts") as advance:
        scores = evaluate_sets(
            encoder, chosen, sets, missing, batch_size=batch_size, batch_tokens=batch_tokens, advance=advance
        )
    settings = {
        "data": data,
        "pooling": pooling.value if pooling else None,
        "precision": precision.value,
        "device": str(encoder.model.device),
        "batch_size": batch_size,
        "batch_tokens": batch_tokens,
    }
    values = report.payload(encoder, scores, settings)
    if json:
        show_json(values)
    else:
        show(report.title(encoder, scores))
        table(report.COLUMNS, report.rows(scores))
    for line in report.notes(scores):
        note(line)
    written = report.write(directory, scores, values, report.markdown(encoder, scores, values))
    note("written: " + ", ".join(map(str, written)))


def _beside(name: str, directory: Path | None) -> Path:
    """Return `evaluation/` in the model's own directory; bundled and downloaded models get one below `runs/`."""
    if directory is not None and Path(name).expanduser().is_dir():
        return directory / "evaluation"
    return Path("runs") / name.replace("/", "--") / "evaluation"


def _prepare(directory: Path) -> Path:
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(
            f"cannot make the folder {str(directory)!r} ({error.strerror}): give another with --out"
        ) from None
    if not os.access(directory, os.W_OK):
        raise InputError(f"cannot write into {str(directory)!r}: give another folder with --out")
    return directory
