"""`train auto`: the training that measured best for an amount of text, run as if its own command had been typed."""

from __future__ import annotations

import shlex
from math import log
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer

from pipelines.console import InputError, note


class Measured(NamedTuple):
    """A training that was measured from the bundled encoder, one seed, on so many sentences or pairs.

    Its scores are those on STS-B dev, which chooses, and the average of seven STS sets, which is what is said where it
    is known; both are Spearman x 100.
    """

    data: str
    rows: int
    name: str
    command: str
    dev: float
    average: float | None = None


MEASURED = (
    Measured("text", 10_000, "SimCSE", "contrastive --preset simcse", 78.94, 67.85),
    Measured("text", 10_000, "Mirror-BERT with [CLS]", "mirror --pooling cls", 77.03, 66.42),
    Measured("text", 10_000, "IS-BERT", "isbert --preset tuned", 74.05, 61.17),
    Measured("text", 10_000, "MLM", "mlm --preset adapt", 62.84, 49.78),
    # Both on the same round trips, 61 batches of 64, from [CLS]; BSL at --lr 6e-5.
    Measured("views", 3900, "BSL", "bsl --preset tuned", 75.88),
    Measured("views", 3900, "SimCSE on two views", "contrastive --preset simcse --no-twice", 73.01),
)
"""Trainings of docs/training.md that were measured on the same rows; new amounts and objectives go here alone."""
NEGATIVES = "contrastive --preset supervised-simcse"
"""For pairs with hard negatives, of which nothing here was measured."""

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

    Pairs with hard negatives (a column `negative`) are for supervised SimCSE, by its paper: that is not measured here.

    All further options are those of the training that is run: `--encoder`, `--out`, `--seed`, `--dry-run` and so on.

    Example: train auto --text sentences.txt
    """
    from trainers.data.kinds import SENTENCES, DataOptions, read_examples
    from trainers.processes import is_first, join_processes

    if any(part.partition("=")[0] == "--config" for part in context.args):
        raise InputError("--config: a recipe says what to train: give it to `train OBJECTIVE --config FILE`")
    if text and views:
        raise InputError("--text and --views: give one of them")
    kind, files = ("views", views) if views else ("text", [str(text or SENTENCES)])
    data = DataOptions.model_validate({kind: files if views else files[0], "limit": limit})
    examples, _ = read_examples(data, (kind,))
    command, reason = choice(kind, len(examples), negatives=examples.negatives is not None)
    given = [part for file in files for part in (f"--{kind}", file)]
    given += ["--limit", str(limit)] if limit else []
    arguments = [*shlex.split(command), *given, *context.args]
    join_processes()
    if is_first():
        note(f"{len(examples):,} {'pairs' if views else 'sentences'}{reason}: {shlex.join(['train', *arguments])}")
    root = context.find_root().command
    with root.make_context("train", arguments) as made:
        return root.invoke(made)


def choice(data: str, rows: int, *, negatives: bool) -> tuple[str, str]:
    """Return the command to run on so many rows, with or without hard negatives, and why in words."""
    if negatives:
        return NEGATIVES, " with hard negatives: supervised SimCSE is its paper's choice, not measured here"
    best, second, *others = ranking(data, rows)
    scores = f"STS-B dev {best.dev}, next {second.name} {second.dev}"
    if best.average is not None:
        scores = f"average of 7 STS sets {best.average}, next {second.name} {second.average}"
    return best.command, (
        f": {best.name} is the best of {2 + len(others)} trainings measured on {best.rows:,} with the bundled encoder "
        f"({scores}, one seed)"
    )


def ranking(data: str, rows: int) -> list[Measured]:
    """Return what was measured on this kind of data, at the amount that is nearest to `rows` as a ratio, best first."""
    found = [row for row in MEASURED if row.data == data]
    nearest = min({row.rows for row in found}, key=lambda amount: abs(log(amount / max(rows, 1))))
    return sorted((row for row in found if row.rows == nearest), key=lambda row: -row.dev)
