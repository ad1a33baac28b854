"""`train marian`: train or fine-tune a translation model on parallel text."""

import os
from typing import Any

import typer

from pipelines.console import InputError, note, show
from trainers.flags import flags_of, with_flags
from trainers.marian.options import MarianOptions


def _run(_: typer.Context, **values: Any) -> None:  # noqa: ANN401 - fields of MarianOptions
    """Train a MarianMT model on parallel text, or fine-tune one.

    A source may begin with a target language code (">>de<< A dog."), as in OPUS-MT's multilingual models.
    An interrupted run goes on from its last checkpoint when the same command is given again.

    Example: train marian --parallel en-de.tsv --out runs/en-de
    """
    from trainers.settings import checked

    options = checked(MarianOptions, values)
    if not options.parallel:
        raise InputError("no parallel text: give --parallel FILE with lines of source<TAB>target")
    if options.d_model % (2 * options.heads):
        raise InputError(f"--d-model {options.d_model} is not divisible by twice --heads {options.heads}")
    count = int(os.environ.get("WORLD_SIZE", "1"))
    if count > 1:
        raise InputError(f"train marian trains in one process, not in {count}: start it without torchrun")
    from trainers.marian.text import read_parallel
    from trainers.marian.train import train_marian

    pairs = [pair for path in options.parallel for pair in read_parallel(path)][: options.limit]
    if options.dry_run:
        show(f"{len(pairs):,} pairs, {options.epochs} epochs -> {options.out / 'model'}; nothing written")
        return
    folder = train_marian(pairs, options)
    note(f"the model is in {folder}")
    show(str(folder))


marian = with_flags(_run, flags_of(MarianOptions))
