"""`train auto`: the untouched encoder and what may be better than it, judged on your own data, and a verdict."""

import json
import shlex
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import typer
from pydantic import Field

from augment.models.weights import MINILM
from pipelines.storage.lock import write_page
from pipelines.terminal.console import InputError, note, show
from trainers.cli.evaluate import JUDGE, SHOTS
from trainers.cli.objectives import command_of, parameters
from trainers.data.reading import read_examples
from trainers.encoders.location import Source, locate
from trainers.evaluation.task import Suite
from trainers.settings import DataOptions, Options, Pooling, Request, checked, data_keys

READS = ("text", "views")
SAMPLE, UNREAD = 1000, 0.25  # texts that are looked at, and the share of unread words of what may be another language
WHITENED = "contrastive --preset tuned --epochs 0"  # the start of that training
RETAINED = {
    "contrastive --preset adapt": "an encoder made for sentences learns from pairs and stays close to what it was"
}
CHOICES: Mapping[str, Mapping[str, str]] = {
    "text": {
        "distil --preset adapt": "an encoder made for sentences learns from its own neighbourhoods",
        "contrastive --preset tuned": "SimCSE from whitened vectors measured best on text (docs/training.md)",
    },
    "views": {**RETAINED, "bsl --preset tuned": "BSL measured best on pairs (docs/training.md)"},
    "negatives": {**RETAINED, "contrastive --preset supervised-simcse": "its paper's choice for hard negatives"},
}
"""Trainings by kind of data, and why: the first for an encoder made for sentences, the last for others."""


class AutoData(DataOptions):
    """The data: sentences, or pairs."""

    views: list[str] | None = Field(None, description="Pairs instead of sentences; again for more.")


class AutoOptions(Options):
    """What is judged, how, and where it goes."""

    judge: str | None = Field(None, description=JUDGE)
    shots: int | None = Field(None, ge=1, description=SHOTS)
    train_anyway: bool = Field(False, description="Train with nothing to judge by.")
    encoder: str | None = Field(
        None, description="Encoder to start from: directory or Hub name. [all-MiniLM-L6-v2, else the bundled one]"
    )
    out: Path | None = Field(
        None, description="Folder of all that is judged, or of the training alone. [runs/auto; runs/NAME]"
    )
    dry_run: bool = Field(False, description="Say what would be done; write nothing.")
    overwrite: bool = Field(False, description="Train again what --out holds.")


def _run(context: typer.Context, **values: Any) -> None:  # noqa: ANN401 - the flags
    """Judge the untouched encoder, and what may be better, on your own data, and name the best.

    Beside the untouched encoder: the same with whitened vectors, and the training that fits the data. One of these is
    named only if the mean of its figures is higher (paired bootstrap, 5%, corrected for the number of candidates) and
    no figure is lower. If the table is too small to tell, the verdict says so, and from what gain on it could. Without
    --judge nothing is known, and only --train-anyway trains.

    The encoder is all-MiniLM-L6-v2 where that can be had. All further options are those of the training (--seed,
    --epochs and so on). The same command goes on after an interruption.

    Example: train auto --text sentences.txt --judge labelled.csv
    """
    from trainers.evaluation.judge import read_judge
    from trainers.evaluation.tfidf import with_baseline

    options = checked(AutoOptions, {key: values.pop(key) for key in AutoOptions.model_fields}).model_dump()
    if options["shots"] and not options["judge"]:
        raise InputError(f"--shots {options['shots']} is for --judge FILE: give that too, or leave it out")
    suite = with_baseline(read_judge(options["judge"], options["shots"])) if options["judge"] else None
    source = _starting_encoder(options["encoder"])
    training, data = _choose(source, values)
    common = [*data, *["--dry-run"] * options["dry_run"], *["--overwrite"] * options["overwrite"]]
    chosen = [*training, *common, *context.args]
    pooling = _check(context, chosen, source)
    common += ["--pooling", pooling]  # one for all that is compared
    if not (options["judge"] or options["train_anyway"]):
        general = source.name if source.modules() else MINILM
        show(f"keep {general} as it is: with nothing to judge by it cannot be known whether a training makes it better")
        note("--judge FILE measures it on your own data (`train evaluate --help`), --train-anyway trains without")
        return
    if suite is None:
        _train(context, [*chosen, *(["--out", str(options["out"])] if options["out"] else [])])
        return
    out = options["out"] or Path("runs/auto")
    trainings = {"whitened": [*shlex.split(WHITENED), *common], f"{training[0]}-{training[2]}": chosen}
    commands = {out / name: [*arguments, "--out", str(out / name)] for name, arguments in trainings.items()}
    if not options["dry_run"]:
        _judge(context, source, pooling, suite, commands, options["shots"])
    for arguments in commands.values() if options["dry_run"] else ():
        _train(context, arguments)


def _starting_encoder(name: str | None) -> Source:
    if name is None:
        try:
            (source := locate(MINILM)).check()
            return source
        except InputError as error:
            advice = f"is out of reach ({error}): pip install 'twinviews[minilm]'"
            note(f"{MINILM}, untrained, would be better than what this trains, but {advice}")
    return locate(name)


def _choose(source: Source, values: Mapping[str, Any]) -> tuple[list[str], list[str]]:
    """Return the training that fits the data, and the options for data and encoder; a note says why it is this one."""
    examples, data = read_examples(checked(AutoData, values), READS)
    ((kind, files),) = data.items()
    choices = CHOICES["negatives" if examples.negatives else kind]
    name = list(choices)[0 if source.modules() else -1]
    note(f"{len(examples):,} {'pairs' if kind == 'views' else 'sentences'}: {choices[name]}")
    _note_unread(source, examples.left[:SAMPLE])
    options = [word for file in ([files] if kind == "text" else files) for word in (f"--{kind}", file)]
    options += ["--limit", str(values["limit"])] if values["limit"] else []
    options += ["--encoder", source.name] if source.folder != locate(None).folder else []
    return [*name.split(), *(["--teacher", source.name] if name.startswith("distil") else [])], options


def _note_unread(source: Source, texts: Sequence[str]) -> None:
    from transformers import AutoTokenizer

    from trainers.encoders.vocabulary import share_unread

    with suppress(OSError, ValueError):  # what is wrong with an encoder's files is said when they are loaded
        tokenizer = AutoTokenizer.from_pretrained(source.transformer or source.path)
        share = share_unread(tokenizer, texts)
        if share > UNREAD:
            problem = f"{source.name} does not know, or cuts up, {share:.0%} of the words"
            way = f"train distil --preset language --teacher {source.name} --views PAIRS"
            note(f"{problem}: for another language than its own, `{way}` takes translated sentences (docs/language.md)")


def _check(context: typer.Context, arguments: Sequence[str], source: Source) -> Pooling:
    """Return the pooling of a training; raises what it would say of its options, InputError for several seeds."""
    root: Any = context.find_root().command
    with root.make_context("train", [*arguments]) as parent:
        name, command, words = root.resolve_command(parent, [*arguments])
        with _own_options(context), command.make_context(name, words, parent=parent) as training:
            if seeds := training.params.get("seeds"):
                raise InputError(f"--seeds {seeds}: one encoder of each kind is judged here: leave it out")
            _, settings, _ = Request.of(name, training.params).resolved(source.pooling())
            return settings.pooling


@contextmanager
def _own_options(context: typer.Context) -> Iterator[None]:
    """Offer the options of this command too for one that the training does not have, such as `--judg`."""
    try:
        yield
    except Exception as error:  # typer's click, with its `NoSuchOption`, is private
        own = [name for parameter in context.command.params for name in parameter.opts]
        if close := get_close_matches(getattr(error, "option_name", ""), own):
            error.possibilities = [*close, *(getattr(error, "possibilities", None) or [])]  # type: ignore[attr-defined]
        raise


def _train(context: typer.Context, arguments: Sequence[str]) -> None:
    note(shlex.join(["train", *arguments]))
    root = context.find_root().command
    with root.make_context("train", [*arguments]) as command_context:
        root.invoke(command_context)


def _judge(
    context: typer.Context,
    source: Source,
    pooling: Pooling,
    suite: Suite,
    commands: Mapping[Path, Sequence[str]],
    shots: int | None,
) -> None:
    """Score what has no scores yet, the untouched encoder first; show how they compare, and write it beside them."""
    from trainers.encoders.model import load_model
    from trainers.encoders.vectors import cached
    from trainers.evaluation.result_files import results_folder
    from trainers.evaluation.result_files import show as show_tables
    from trainers.evaluation.scoring import score_into
    from trainers.results.beside import AUTO, auto_values, baseline_of, candidate_table, untouched, verdict_on

    def score(model: str, own_pooling: Pooling | None, folder: Path) -> Path:
        encoder = cached(load_model(model, pooling=own_pooling))
        return score_into(encoder, suite, folder, settings={"shots": shots})

    start = untouched(source, pooling)
    files = {source.name: [score(start.name, start.pooling, start.folder)]}
    for folder, arguments in commands.items():
        _train(context, arguments)
        files[str(folder)] = [score(str(folder), None, results_folder(str(folder), None, [], []))]
    verdict = verdict_on(files)
    judge = {"judge": suite.tasks[0].source, "files": dict(suite.tasks[0].files), "shots": shots}
    baseline = baseline_of(files[source.name])
    values = {**judge, "encoder": source.name, **auto_values(verdict, files, folder.parent, baseline)}
    write_page(folder.with_name(AUTO), json.dumps(values, indent=2, ensure_ascii=False) + "\n")
    show_tables([candidate_table(verdict, baseline)])
    show(str(verdict))


auto = command_of(_run, [*parameters(AutoData, keys=data_keys(READS)), *parameters(AutoOptions)])
