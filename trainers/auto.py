"""`train auto`: the training that measured best for an amount of text, run as if its own command had been typed."""

from __future__ import annotations

import shlex
from math import log
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer

from pipelines.console import InputError, note


class Measured(NamedTuple):
    """A training that was measured from the bundled encoder, with STS-B dev and the average of seven STS sets.

    Both are Spearman x 100. STS-B dev chooses, the average is what is said.
    """

    data: str
    sentences: int
    name: str
    command: str
    dev: float
    average: float


MEASURED = (
    Measured("text", 10_000, "SimCSE", "contrastive --preset simcse", 78.94, 67.85),
    Measured("text", 10_000, "Mirror-BERT with [CLS]", "mirror --pooling cls", 77.03, 66.42),
    Measured("text", 10_000, "IS-BERT", "isbert --preset tuned", 74.05, 61.17),
    Measured("text", 10_000, "MLM", "mlm --preset adapt", 62.84, 49.78),
    Measured("views", 10_000, "BSL", "bsl --preset tuned", 76.12, 61.86),
    Measured("views", 10_000, "contrast", "contrastive --preset bsl --batch-size 128", 71.46, 59.86),
)
"""The rows of docs/training.md that can be told apart by their command; new amounts and objectives go here alone."""

Text = Annotated[
    Path | None,
    typer.Option(help="Sentences, one a line (.gz too), or a dataset folder. [data/sentences]", show_default=False),
]
Views = Annotated[
    list[str] | None, typer.Option(help="Pairs to train on, as `train bsl --views`.", metavar="FILE[=WEIGHT]")
]
Limit = Annotated[int | None, typer.Option(min=1, help="Take N rows only.")]


def auto(context: typer.Context, text: Text = None, views: Views = None, limit: Limit = None) -> Any:  # noqa: ANN401
    """Run the training that measured best for so many sentences, or pairs, and say why in one line.

    All further options are those of the training that is run: `--encoder`, `--out`, `--seed`, `--dry-run` and so on.

    Example: train auto --text sentences.txt
    """
    from trainers.data.kinds import SENTENCES, DataOptions, read_examples

    if text and views:
        raise InputError("--text and --views: give one of them")
    kind, files = ("views", views) if views else ("text", [str(text or SENTENCES)])
    data = DataOptions.model_validate({kind: files if views else files[0], "limit": limit})
    rows = len(read_examples(data, (kind,))[0])
    best, *others = ranking(kind, rows)
    given = [part for file in files for part in (f"--{kind}", file)]
    given += ["--limit", str(limit)] if limit else []
    arguments = [*shlex.split(best.command), *given, *context.args]
    what = "pairs" if views else "sentences"
    note(
        f"{rows:,} {what}: {best.name} is the best of {1 + len(others)} trainings measured on {best.sentences:,} "
        f"with the bundled encoder (average of 7 STS sets {best.average}, next {others[0].name} {others[0].average}): "
        f"{shlex.join(['train', *arguments])}"
    )
    root = context.find_root().command
    with root.make_context("train", arguments) as made:
        return root.invoke(made)


def ranking(data: str, rows: int) -> list[Measured]:
    """Return what was measured on this kind of data, at the amount that is nearest to `rows` as a ratio, best first."""
    found = [row for row in MEASURED if row.data == data]
    nearest = min({row.sentences for row in found}, key=lambda amount: abs(log(amount / max(rows, 1))))
    return sorted((row for row in found if row.sentences == nearest), key=lambda row: -row.dev)
