"""`train auto`: the training that measured best, run as if its own command had been typed."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated, Any

import typer

from pipelines.console import InputError, note

CHOICES = {
    "text": (
        "contrastive --preset tuned",
        "SimCSE from whitened vectors is the best of 5 trainings measured on 10,000 with the bundled encoder (average "
        "of 7 STS sets 72.14, three seeds; next SimCSE as printed 67.85, one seed)",
    ),
    "views": (
        "bsl --preset tuned",
        "BSL is the best of 2 trainings measured on 3,900 with the bundled encoder (STS-B dev 77.83, next SimCSE on "
        "two views 73.01, one seed)",
    ),
    "negatives": (
        "contrastive --preset supervised-simcse",
        "for hard negatives supervised SimCSE is its paper's choice, not measured here",
    ),
}
"""The command for each kind of data, and why, with figures of docs/training.md."""

Text = Annotated[
    Path | None,
    typer.Option(help="Sentences, one a line (.gz too), or a dataset folder. [data/sentences]", show_default=False),
]
Views = Annotated[
    list[str] | None, typer.Option(help="Pairs to train on, as `train bsl --views`.", metavar="FILE[=WEIGHT]")
]
Limit = Annotated[int | None, typer.Option(min=1, help="Take N rows only.")]


def auto(context: typer.Context, text: Text = None, views: Views = None, limit: Limit = None) -> Any:  # noqa: ANN401
    """Run the training that measured best on sentences, or on pairs, and say why in one line.

    Pairs with hard negatives (a column `negative`) are for supervised SimCSE, by its paper: that is not measured here.

    All further options are those of the training that is run: `--encoder`, `--out`, `--seed`, `--dry-run` and so on.

    Example: train auto --text sentences.txt
    """
    from trainers.data.kinds import SENTENCES, DataOptions, read_examples

    if any(part.partition("=")[0] == "--config" for part in context.args):
        raise InputError("--config names its own training: give it to `train OBJECTIVE --config FILE`")
    if text and views:
        raise InputError("--text and --views: give one of them")
    kind, files = ("views", views) if views else ("text", [str(text or SENTENCES)])
    data = DataOptions.model_validate({kind: files if views else files[0], "limit": limit})
    examples, _ = read_examples(data, (kind,))
    command, reason = CHOICES[kind if examples.negatives is None else "negatives"]
    given = [part for file in files for part in (f"--{kind}", file)] + (["--limit", str(limit)] if limit else [])
    arguments = [*shlex.split(command), *given, *context.args]
    note(f"{len(examples):,} {'pairs' if views else 'sentences'}: {reason}: {shlex.join(['train', *arguments])}")
    root = context.find_root().command
    with root.make_context("train", arguments) as made:
        return root.invoke(made)
