"""`train auto`: the training that measured best, run as if its own command had been typed."""

import shlex
from typing import Any

import typer

from augment.models.weights import MINILM
from pipelines.terminal.console import InputError, note
from trainers.data.reading import DataOptions, data_flags, read_examples
from trainers.encoders.location import locate
from trainers.settings import with_flags

READS = ("text", "views")
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


def _run(context: typer.Context, **values: Any) -> None:  # noqa: ANN401 - the data
    """Run the training that measured best on sentences, or on pairs, and say why in one line.

    Pairs with hard negatives (a column `negative`) get supervised SimCSE, which its paper recommends and which was not
    measured here. It starts from all-MiniLM-L6-v2 where that can be had. All further options are those of the training
    that is run: `--encoder`, `--out`, `--seed` and so on.

    Example: train auto --text sentences.txt
    """
    examples, where = read_examples(DataOptions(**values), READS)
    ((kind, files),) = where.items()
    command, reason = CHOICES[kind if examples.negatives is None else "negatives"]
    given = [part for file in ([files] if kind == "text" else files) for part in (f"--{kind}", file)]
    limit = ["--limit", str(values["limit"])] if values["limit"] else []
    start: list[str] = []
    if not any(argument.partition("=")[0] == "--encoder" for argument in context.args):
        try:
            locate(MINILM).check()
            start = ["--encoder", MINILM, "--pooling", "mean"]  # that it was made for
        except InputError as error:
            worth = f"{MINILM}, untrained, would be better than what this trains (78.88 on the average of 7 STS sets)"
            note(f"{worth}, but is out of reach ({error}): pip install 'twinviews[minilm]'")
    arguments = [*shlex.split(command), *given, *limit, *start, *context.args]
    rows = f"{len(examples):,} {'pairs' if kind == 'views' else 'sentences'}"
    note(f"{rows}: {reason}: {shlex.join(['train', *arguments])}")
    root = context.find_root().command
    with root.make_context("train", arguments) as made:
        root.invoke(made)


FLAGS = data_flags(READS)
VIEWS = FLAGS["views"]._replace(help="Pairs instead of sentences; again as FILE=WEIGHT for a mixture.")
auto = with_flags(_run, {**FLAGS, "views": VIEWS})
