"""`train labels`: a classifier from a table of labelled texts, few of each label."""

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import numpy as np
import typer

from pipelines.base.console import ConfigOption, counted, note, show
from pipelines.storage.pair_files import write_pairs
from trainers.cli.auto import run_command, starting_encoder
from trainers.cli.evaluate import ColumnsOption
from trainers.data.labelled import BATCH_SIZE, STEPS, Labelled, drawn, pairs_of, read_labelled
from trainers.data.reading import own_columns

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from trainers.classifier import Classifier

TABLE = "Texts and their labels: CSV, TSV, JSONL, Parquet and so on."
TEST = "Such a table, held back, to score on."
LENGTH = "Of the training. [48, or one pass if more]"
ENCODER = "Encoder to start from: directory or Hub name. [all-MiniLM-L6-v2, else the bundled one]"


def labels(
    context: typer.Context,
    table: Annotated[str, typer.Argument(help=TABLE, metavar="FILE", show_default=False)],
    test: Annotated[str | None, typer.Option(help=TEST, metavar="FILE")] = None,
    columns: ColumnsOption = None,
    encoder: Annotated[str | None, typer.Option(help=ENCODER)] = None,
    shots: Annotated[int | None, typer.Option(min=1, help="Learn from this many texts a label.")] = None,
    steps: Annotated[int | None, typer.Option(min=1, help=LENGTH)] = None,
    max_tokens: Annotated[int, typer.Option(min=4, help="Longer texts are cut here in the training.")] = 64,
    seed: Annotated[int, typer.Option(min=0, max=2**32 - 1, help="For --shots, pairs and training.")] = 1,
    out: Annotated[Path, typer.Option(help="Folder of pairs, encoder and classifier.")] = Path("runs/labels"),
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would be done; write nothing.")] = False,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Train again what --out holds.")] = False,
    config: ConfigOption = None,
) -> None:
    """Train an encoder on pairs of one label, and a classifier of its vectors.

    The columns are text (or sentence) and label (or category, class, intent). The encoder learns by `train contrastive
    --preset labels` from pairs of one label; logistic regression is fitted to its vectors. Run again, it goes on.

    Example: train labels labelled.csv --test held-back.csv
    """
    own = own_columns(columns)
    labelled, held_back = read_labelled(table, own), read_labelled(test, own) if test else {}
    labelled = labelled if shots is None else drawn(labelled, shots, seed)
    if shared := labelled.keys() & held_back.keys():
        note(f"{test}: left out: texts that are in {table} ({len(shared):,})")
        held_back = {text: label for text, label in held_back.items() if text not in shared}
    if unknown := {*held_back.values()} - {*labelled.values()}:
        count = counted(len(unknown), "label")
        note(f"{test}: {count} not in {table}, such as {min(unknown)!r}: counted as wrong")
    start = starting_encoder(encoder).name
    pairs, rows = out / "pairs.arrow", pairs_of(labelled, seed)
    counts = f"{counted(len(labelled), 'text')} with {counted(len({*labelled.values()}), 'label')}"
    note(f"{counts}, {counted(len(rows), 'pair')} of one label")
    words = ["contrastive", "--preset", "labels", "--views", str(pairs), "--encoder", start]
    words += ["--steps", str(steps or max(STEPS, len(rows) // BATCH_SIZE)), "--batch-size", str(BATCH_SIZE)]
    words += ["--max-tokens", str(max_tokens), "--seed", str(seed), "--out", str(out / "encoder")]
    if dry_run:
        note(f"dry run: {shlex.join(['train', *words])}; then a classifier in {out}")
        return
    out.mkdir(parents=True, exist_ok=True)
    write_pairs(rows, pairs)
    run_command(context, [*words, *["--overwrite"] * overwrite])
    _classify(labelled, held_back, start, out)


def _classify(labelled: Labelled, held_back: Labelled, start: str, out: Path) -> None:
    """Fit and save the classifier; show its accuracy, as it was saved, beside that of one on the untouched encoder."""
    from trainers.classifier import Classifier
    from trainers.encoders.model import load_model
    from trainers.encoders.vectors import cached

    texts, classes = [*labelled], [*labelled.values()]
    Classifier.fit(cached(load_model(str(out / "encoder"))), texts, classes).save(out)
    words = f"{out}: a classifier of {counted(len({*classes}), 'label')}"
    if held_back:
        before = Classifier.fit(cached(load_model(start)), texts, classes)
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
