"""`train auto`: the training that measured best, run as if its own command had been typed."""

import shlex
from typing import Any

import typer

from pipelines.encoders import MINILM
from pipelines.terminal.console import InputError, note
from trainers.data.reading import DataOptions, data_flags, read_examples
from trainers.encoders.location import locate
from trainers.settings import with_flags

READS = ("text", "views")
CHOICES = {
    "text": (
        "contrastive --preset tuned",
        "SimCSE from whitened vectors measured best on text (docs/training.md)",
    ),
    "views": ("bsl --preset tuned", "BSL measured best on pairs (docs/training.md)"),
    "negatives": (
        "contrastive --preset supervised-simcse",
        "for hard negatives supervised SimCSE is its paper's choice, not measured here",
    ),
}
"""The command for each kind of data, and why."""


def _run(context: typer.Context, **values: Any) -> None:  # noqa: ANN401 - the data
    """Run the training that measured best on text, or on pairs, and say why in one line.

    Pairs with hard negatives (a column `negative`) get supervised SimCSE, which its paper recommends and which was not
    measured here. It starts from all-MiniLM-L6-v2 where that can be had. All further options are those of the training
    that is run: `--encoder`, `--out`, `--seed` and so on.

    Example: train auto --text sentences.txt
    """
    examples, data = read_examples(DataOptions(**values), READS)
    ((kind, files),) = data.items()
    command, reason = CHOICES[kind if examples.negatives is None else "negatives"]
    arguments = shlex.split(command)
    for file in [files] if kind == "text" else files:
        arguments += [f"--{kind}", file]
    if values["limit"]:
        arguments += ["--limit", str(values["limit"])]
    if not any(argument.partition("=")[0] == "--encoder" for argument in context.args):
        try:
            locate(MINILM).check()
            arguments += ["--encoder", MINILM, "--pooling", "mean"]  # that it was made for
        except InputError as error:
            advice = f"is out of reach ({error}): pip install 'twinviews[minilm]'"
            note(f"{MINILM}, untrained, would be better than what this trains, but {advice}")
    arguments += context.args
    rows = f"{len(examples):,} {'pairs' if kind == 'views' else 'sentences'}"
    note(f"{rows}: {reason}: {shlex.join(['train', *arguments])}")
    root = context.find_root().command
    with root.make_context("train", arguments) as command_context:
        root.invoke(command_context)


FLAGS = data_flags(READS)
VIEWS = FLAGS["views"]._replace(help="Pairs instead of sentences; again as FILE=WEIGHT for a mixture.")
auto = with_flags(_run, {**FLAGS, "views": VIEWS})
