"""`train labels`: a classifier from a table of labelled texts, few of each label."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import numpy as np
import typer
from pydantic import Field

from pipelines.base.console import ConfigOption, counted, note, show
from pipelines.base.options import Options, with_options
from pipelines.storage.pair_files import write_pairs
from trainers.cli.auto import starting_encoder
from trainers.cli.evaluate import ColumnsOption
from trainers.data.labelled import BATCH_SIZE, STEPS, Labelled, drawn, pairs_of, read_labelled
from trainers.data.reading import own_columns
from trainers.data.tables import normalised
from trainers.settings import Request

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from trainers.classifier import Classifier


class LabelsOptions(Options):
    """What is learned from, how, and where it goes."""

    table: Annotated[str, typer.Argument(metavar="FILE", show_default=False)]
    """Texts and their labels: CSV, TSV, JSONL, Parquet and so on."""
    test: Annotated[str | None, typer.Option(metavar="FILE")] = None
    """Such a table, held back, to score on."""
    columns: ColumnsOption = None
    encoder: str | None = None
    """Encoder to start from: directory or Hub name. [all-MiniLM-L6-v2, else the bundled one]"""
    shots: int | None = Field(None, ge=1)
    """Learn from this many texts a label."""
    steps: int | None = Field(None, ge=1)
    """Of the training. [48, or one pass if more]"""
    max_tokens: int = Field(64, ge=4)
    """Longer texts are cut here in the training."""
    seed: int = Field(1, ge=0, lt=1 << 32)
    """For --shots, pairs and training."""
    out: Path = Path("runs/labels")
    """Folder of pairs, encoder and classifier."""
    overwrite: bool = False
    """Train again what --out holds."""
    config: ConfigOption = None


@with_options
def labels(options: LabelsOptions) -> None:
    """Train an encoder on pairs of one label, and a classifier of its vectors.

    The columns are text (or sentence) and label (or category, class, intent). The encoder learns by `train
    contrastive
    --preset labels` from pairs of one label; logistic regression is fitted to its vectors. Run again, it goes
    on.

    Example: train labels labelled.csv --test held-back.csv
    """
    from trainers.training.run import run_training

    table, test, out = options.table, options.test, options.out
    own = own_columns(options.columns)
    labelled, held_back = read_labelled(table, own), read_labelled(test, own) if test else {}
    labelled = labelled if options.shots is None else drawn(labelled, options.shots, options.seed)
    keys = {*map(normalised, labelled)}
    unseen = {text: label for text, label in held_back.items() if normalised(text) not in keys}
    if shared := len(held_back) - len(unseen):
        rest = "" if unseen else ": none is left to score on"
        note(f"{test}: left out: texts that are in {table} ({shared:,}){rest}")
    held_back = unseen
    if unknown := {*held_back.values()} - {*labelled.values()}:
        count = counted(len(unknown), "label")
        note(f"{test}: {count} not in {table}, such as {min(unknown)!r}: counted as wrong")
    start = starting_encoder(options.encoder).name
    pairs, rows = out / "pairs.arrow", pairs_of(labelled, options.seed)
    counts = f"{counted(len(labelled), 'text')} with {counted(len({*labelled.values()}), 'label')}"
    note(f"{counts}, {counted(len(rows), 'pair')} of one label")
    training = {
        "preset": "labels",
        "views": [str(pairs)],
        "encoder": start,
        "steps": options.steps or max(STEPS, len(rows) // BATCH_SIZE),
        "batch_size": BATCH_SIZE,
        "max_tokens": options.max_tokens,
        "seed": options.seed,
        "out": out / "encoder",
        "overwrite": options.overwrite,
    }
    out.mkdir(parents=True, exist_ok=True)
    write_pairs(rows, pairs)
    run_training(Request.of("contrastive", training))
    _classify(labelled, held_back, start, out)


def _classify(labelled: Labelled, held_back: Labelled, start: str, out: Path) -> None:
    """Fit and save the classifier.

    Show its accuracy, as it was saved, beside that of one on the untouched encoder.
    """
    from trainers.classifier import Classifier
    from trainers.encoders.model import load_model

    texts, classes = [*labelled], [*labelled.values()]
    Classifier.fit(load_model(str(out / "encoder")), texts, classes).save(out)
    words = f"{out}: a classifier of {counted(len({*classes}), 'label')}"
    if held_back:
        before = Classifier.fit(load_model(start), texts, classes)
        hits, hits_before = (_hits(classifier, held_back) for classifier in (Classifier.load(out), before))
        words += f", accuracy {100 * hits.mean():.2f} on {counted(len(hits), 'text')}, {_difference(hits, hits_before)}"
    show(f"{words}; in Python: trainers.Classifier.load({str(out)!r})")


def _hits(classifier: "Classifier", labelled: Labelled) -> "NDArray[np.bool_]":
    predicted = [label for label, _ in classifier([*labelled])]
    return np.array([*map(str.__eq__, predicted, labelled.values())])


def _difference(hits: "NDArray[np.bool_]", before: "NDArray[np.bool_]") -> str:
    """Return the untouched encoder's accuracy and the exact p of the texts that only one gets right (McNemar 1947)."""
    from scipy.stats import binomtest

    gained, lost = int((hits & ~before).sum()), int((before & ~hits).sum())
    p = binomtest(gained, gained + lost).pvalue if gained + lost else 1.0
    words = f"p {p:.4f}" if p >= 0.0001 else "p < 0.0001"
    return (
        f"untouched {100 * before.mean():.2f} (difference {100 * (hits.mean() - before.mean()):+.2f}, {words})"
    )
