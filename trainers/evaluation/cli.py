"""`train evaluate`: a model's scores on a suite of graded sentence pairs."""

from __future__ import annotations

import os
import re
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pipelines.console import ConfigOption, InputError, note, progress, show, show_json, table

if TYPE_CHECKING:
    from trainers.baselines.fitting import FitText
    from trainers.evaluation.adaptation import Adaptation

DATA_VARIABLE = "TWINVIEWS_DATA"


class Suite(StrEnum):
    """What to evaluate on."""

    sample = "sample"
    sts = "sts"
    lexical = "lexical"


class Pooling(StrEnum):
    """How token vectors become a sentence vector."""

    mean = "mean"
    cls = "cls"
    first_last = "first-last"
    padded_mean = "padded-mean"


class Precision(StrEnum):
    """The number format of the forward passes."""

    fp32 = "fp32"
    bf16 = "bf16"


def evaluate(
    model: Annotated[
        str,
        typer.Argument(
            help="A sentence-transformers or transformers directory, a Hub name, `starter`, `tfidf`, `glove:FILE`, "
            "`fasttext:FILE`, or a function of yours as `package.module:function`.",
            show_default=False,
        ),
    ],
    suite: Annotated[
        Suite | None,
        typer.Option(
            help="sts: STS12-16, STS-B, SICK-R; the default with data. lexical: Multi-SimLex, SimLex-999. sample: a "
            "bundled smoke test, the default without data."
        ),
    ] = None,
    data: Annotated[
        str | None,
        typer.Option(envvar=DATA_VARIABLE, help="Folder with the benchmarks, or hf:mteb for the Hub.", metavar="DIR"),
    ] = None,
    pooling: Annotated[
        Pooling | None,
        typer.Option(
            help="Pool like this instead of what the model says. first-last: mean of the first and the last layer's "
            "means. padded-mean: padding included, at 64 tokens, as in Mirror-BERT's code."
        ),
    ] = None,
    whiten: Annotated[
        str | None,
        typer.Option(help="Whiten the vectors (Su et al. 2021) to so many dimensions, or all.", metavar="DIM|all"),
    ] = None,
    flow: Annotated[
        bool, typer.Option("--flow", help="Map the vectors by a flow trained on them (BERT-flow, Li et al. 2020).")
    ] = False,
    flow_epochs: Annotated[int | None, typer.Option(min=1, help="Passes over the flow's text. [1]")] = None,
    fit: Annotated[
        Path | None,
        typer.Option(
            help="Text that tfidf, --whiten or --flow is fitted on, one sentence a line. Without it whitening and flow "
            "are fitted on each set's own sentences, tfidf on all of them.",
            metavar="FILE",
        ),
    ] = None,
    seed: Annotated[int, typer.Option(help="Decides the flow's first weights and the order of its text.")] = 1,
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

    Untrained baselines are evaluated in the same way: `tfidf`, averaged word vectors, any encoder with --pooling,
    --whiten or --flow, and any function that takes a list of texts and returns an array with a row for each.

    Example: train evaluate runs/bsl --data ~/data/sts
    """
    from trainers.evaluation import report
    from trainers.evaluation.models import Chosen, open_encoder
    from trainers.evaluation.suite import distinct_texts, evaluate_sets, find_sets

    fit_text, adaptation = _fitted(model, whiten, flow, flow_epochs, fit, seed)
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
    options = Chosen(pooling.value if pooling else None, precision.value, device, batch_size, batch_tokens)
    encoder = open_encoder(model, options, fit_text)
    directory = _prepare(out or _beside(model, getattr(encoder, "directory", None), adaptation))
    if adaptation is not None and fit_text is not None:
        with progress("encoding the text to fit on", len(set(fit_text.texts)), unit="texts") as advance:
            adaptation = adaptation.prepare(encoder, advance)
    with progress(f"encoding with {model}", len(texts), unit="texts") as advance:
        scores = evaluate_sets(encoder, chosen, sets, missing, adaptation=adaptation, fit=fit_text, advance=advance)
    settings = {
        **{key: getattr(options, key) for key in ("pooling", "precision", "batch_size", "batch_tokens")},
        "data": data,
        "device": str(getattr(encoder, "device", "cpu")),
        "whiten": whiten,
        "flow_epochs": (flow_epochs or 1) if flow else None,
        "fit": str(fit) if fit else None,
        "seed": seed if flow else None,
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


def _fitted(
    model: str, whiten: str | None, flow: bool, flow_epochs: int | None, fit: Path | None, seed: int
) -> tuple[FitText | None, Adaptation | None]:
    """Return the text to fit on and the map of the vectors, as far as they are asked for."""
    from trainers.baselines.fitting import read_fit_text
    from trainers.evaluation.models import open_adaptation, uses_fit_text

    if flow_epochs is not None and not flow:
        raise InputError(f"--flow-epochs {flow_epochs} without --flow: add it, or leave this out")
    epochs = (flow_epochs or 1) if flow else None
    if fit is not None and not uses_fit_text(model, whiten, epochs):
        raise InputError(f"--fit {fit}: nothing of {model} is fitted: leave it out, or add --whiten or --flow")
    text = read_fit_text(fit) if fit is not None else None
    return text, open_adaptation(whiten, epochs, seed, text)


def _beside(name: str, directory: Path | None, adaptation: Adaptation | None = None) -> Path:
    """Return `evaluation/` in the model's own directory; what is no directory of the user's gets one below `runs/`.

    Scores behind a whitening or a flow are another encoder's: they get a folder of their own in it.
    """
    if directory is not None and Path(name).expanduser().is_dir():
        folder = directory / "evaluation"
    else:
        folder = Path("runs") / re.sub(r"[^\w.-]+", "--", name).strip("-.") / "evaluation"
    return folder / adaptation.method.key if adaptation else folder


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
