"""`train evaluate`: a model's scores on suites of evaluation sets."""

import sys
from collections.abc import Sequence
from contextlib import redirect_stdout
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from pydantic import Field

from pipelines.base import console
from pipelines.base.console import ConfigOption, InputError, MissingExtraError, note, show_json, table
from pipelines.base.options import Options, with_options
from trainers.data.reading import own_columns
from trainers.encoders.vectors import BATCH_SIZE, TextEncoder
from trainers.scores.result_files import notes, results_folder, results_table, show, signature, write
from trainers.scores.suites import ALL, SMOKE_TEST, suite_names
from trainers.scores.task import DATA_VARIABLE, SEED, Scores, Suite, distinct_texts
from trainers.settings import Pooling

SUITES = f"""What to evaluate on; repeat it for more. There are {", ".join(suite_names())}; {ALL} is all of them but \
the bundled smoke test `sample`. [sts with data, sample without]"""
JUDGE = """Your own data, by columns: text, label; query, document; text1, text2, grade; text1, text2, same. Beside \
the encoder that a run began from. Documents with ids may be in a second file: QUERIES,DOCUMENTS."""
SHOTS = "Train the classifiers of --judge on this many texts a label. [four of five folds]"
JudgeOption = Annotated[list[str] | None, typer.Option(help=f"{JUDGE} Again for more.", metavar="FILE")]
COLUMNS = "How a table calls its columns, if otherwise, such as text=body,label=topic."
ColumnsOption = Annotated[str | None, typer.Option(help=COLUMNS, metavar="NAME=COLUMN,...")]
NamedModel = Annotated[str | None, typer.Option(metavar="MODEL")]
SHOWN = typer.Option()


class EvaluateOptions(Options):
    """What is scored, on what, how, and where the results go."""

    model: Annotated[str, typer.Argument(show_default=False)] = ""
    """A sentence-transformers or transformers directory, a Hub name, `starter`, or your function as
    `package.module:function`."""
    suite: Annotated[
        list[str] | None, typer.Option(help=SUITES, metavar=f"NAME|{ALL}", show_default=False)
    ] = None
    data: Annotated[str | None, typer.Option(envvar=DATA_VARIABLE, metavar="DIR")] = None
    """Folder of the benchmarks; sets that are not there are listed with where to get them."""
    judge: JudgeOption = None
    columns: ColumnsOption = None
    shots: Annotated[int | None, Field(ge=1, description=SHOTS), SHOWN] = None
    against: NamedModel = None
    """Put the scores of --judge beside this encoder's instead."""
    documents_encoder: NamedModel = None
    """Another encoder of the same space, for the documents of --judge or the second sides of pairs."""
    plan: Annotated[float | None, Field(ge=0.1), typer.Option(metavar="POINTS")] = None
    """Say how many labels, queries or pairs show a gain of so many points; no MODEL without --judge."""
    mteb: Annotated[list[str] | None, typer.Option(metavar="TASK", show_default=False)] = None
    """A task of MTEB, read from the Hub; repeat it for more. Needs the extra `eval`."""
    pooling: Pooling | None = None
    """Pooling, instead of the model's own. padded-mean: over 64 tokens, padding included."""
    max_tokens: Annotated[int | None, Field(ge=3), SHOWN] = None
    """Most tokens of a text. [the model; padded 64]"""
    seed: Annotated[int, Field(ge=0, le=2**32 - 1), SHOWN] = SEED
    """For folds and draws; SentEval's is 1111."""
    batch_tokens: Annotated[int | None, Field(ge=1), SHOWN] = None
    """Most tokens in a batch. [16384; CPU 2048]"""
    precision: Literal["fp32", "bf16"] = "fp32"
    """bf16 moves figures by hundredths."""
    device: str = "auto"
    """auto, cpu, cuda, cuda:1, mps."""
    no_cache: bool = False
    """Encode every text, and keep no vectors."""
    out: Path | None = None
    """Folder for the results. [evaluation/ beside the model]"""
    as_json: Annotated[bool, Field(alias="json")] = False
    """Print JSON instead of the tables."""
    dry_run: bool = False
    """List found and missing sets; write nothing."""
    config: ConfigOption = None

    @property
    def parts(self) -> list[str]:
        """What is not the default, for the name of a folder of results."""
        documents = Path(self.documents_encoder or "").name
        parts = [
            self.pooling,
            f"tokens-{self.max_tokens}" if self.max_tokens else None,
            f"seed-{self.seed}" if self.seed != SEED else None,
            f"documents-{documents}" if documents else None,
            self.precision if self.precision != "fp32" else None,
        ]
        return [part for part in parts if part]

    @property
    def settings(self) -> dict[str, Any]:
        """What decides the figures, as results tell it."""
        names = ["pooling", "max_tokens", "precision", "seed", "data", "shots"]
        names += ["documents_encoder"] if self.documents_encoder else []
        return {name: getattr(self, name) for name in names}

    def open(self, name: str, own_pooling: Pooling | None = None) -> TextEncoder:
        """Return an encoder by name, beside that of documents if there is one."""
        from trainers.scores.scoring import opened

        return opened(
            name,
            self.documents_encoder,
            keep=not self.no_cache,
            pooling=self.pooling or own_pooling,
            max_tokens=self.max_tokens,
            precision=self.precision,
            batch_tokens=self.batch_tokens,
            device=self.device,
        )


@with_options
def evaluate(options: EvaluateOptions) -> None:
    """Score MODEL on suites of evaluation sets; every distinct text of all of them is encoded once.

    Papers differ in how they join the subsets of STS12-16: `all` over the concatenated pairs (SimCSE,
    Mirror-BERT), `mean` or size-`weighted` over the subsets. All three are printed; `all` is the one to quote
    unless you compare with a paper that says otherwise.

    Example: train evaluate runs/bsl --suite all --data ~/data
    """
    if options.plan and not options.judge:
        _show_plan(options.plan)
        return
    _check(options)
    suites = _suites(options)
    if options.dry_run:
        _show_sets(suites, options.model)
        return
    directory = _score(options, suites)
    for suite in suites[len(suites) - len(options.judge or ()) :]:
        with redirect_stdout(sys.stderr if options.as_json else sys.stdout):
            _put_beside(options, directory, suite)


def _show_plan(points: float, sides: Sequence[Any] = ()) -> None:
    from trainers.scores.planning import own_plan, typical_plan

    console.show(own_plan(points, *sides) if sides else typical_plan(points))


def _check(options: EvaluateOptions) -> None:
    """Raise InputError without a model, and for options that need another, or exclude each other."""
    if not options.model:
        raise InputError("no MODEL: name an encoder to score")
    if options.mteb and options.documents_encoder:
        problem = f"--documents-encoder {options.documents_encoder} is not for --mteb"
        raise InputError(f"{problem}: leave one of them out")
    for name in ("against", "shots"):
        value = getattr(options, name)
        if value and not options.judge:
            raise InputError(f"--{name} {value} is for --judge FILE: give that too, or leave it out")
    if options.mteb and find_spec("mteb") is None:
        raise MissingExtraError("--mteb", "eval")


def _put_beside(options: EvaluateOptions, directory: Path, suite: Suite) -> None:
    """Score the other encoder too, unless it has been, and show how they differ, with a verdict and a plan."""
    from trainers.scores.pages.beside import beside, other_encoder
    from trainers.scores.scoring import score_into

    other = judged = None
    try:
        if other := other_encoder(Path(options.model).expanduser(), options.against, options.parts):
            encoder = options.open(other.name, other.pooling)
            score_into(encoder, suite, other.folder, seed=options.seed, settings=options.settings)
    except InputError as error:
        if options.against is not None:
            raise
        note(f"not beside the untouched encoder: {error}")
    try:
        judged = beside(options.model, directory, suite.name, other)
        show([judged.table])
    except InputError as error:
        note(str(error))
    if options.plan:
        _show_plan(options.plan, judged.sides if judged else ())


def _suites(options: EvaluateOptions) -> list[Suite]:
    """Read the suites, those of `--judge` last; those of `--mteb` need the encoder and come later."""
    from trainers.scores.scoring import find_suites
    from trainers.scores.tables.judge import read_judge
    from trainers.scores.tfidf import with_baseline

    names, data = options.suite, options.data
    suites: list[Suite] = []
    if names or not (options.judge or options.mteb):
        if not names and data == "":
            raise InputError("--data is empty: give a folder, or leave it out")
        if not names and data is None:
            note(f"no benchmark data (--data DIR or {DATA_VARIABLE}): running the bundled smoke test")
        suites = find_suites(names or (["sts"] if data else [SMOKE_TEST]), data)
    own = own_columns(options.columns)
    return suites + [with_baseline(read_judge(table, options.shots, own)) for table in options.judge or ()]


def _show_sets(suites: Sequence[Suite], model: str) -> None:
    tasks = [(suite.name, task) for suite in suites for task in suite.tasks]
    table(
        ("suite", "set", "size", "source"),
        [(name, task.title, task.size, task.source) for name, task in tasks],
    )
    for suite in suites:
        for item in suite.missing:
            note(f"{suite.name}: missing: {item}")
    texts = distinct_texts(task for _, task in tasks)
    note(f"dry run: {len(texts)} distinct texts would be encoded with {model}")


def _score(options: EvaluateOptions, suites: Sequence[Suite]) -> Path:
    """Score an encoder, print the results, write them into a folder, and return the folder."""
    from trainers.scores.scoring import evaluate_suites

    encoder = options.open(options.model)
    names = [*(suite.name for suite in suites), *(["mteb"] if options.mteb else [])]
    directory = results_folder(options.model, options.parts, out=options.out, suites=names)
    if options.mteb:
        from trainers.scores.mteb import mteb_suite

        suites = [*suites, mteb_suite(options.mteb, encoder, directory / "mteb")]
    used = {
        "device": str(getattr(encoder, "device", "cpu")),
        "batch_size": BATCH_SIZE,
        "batch_tokens": getattr(encoder, "batch_tokens", None),
    }
    evaluation = evaluate_suites(encoder, suites, seed=options.seed, settings={**options.settings, **used})
    _print(evaluation, json=options.as_json)
    paths = write(directory, evaluation)
    several = f"{len(paths)} files in {directory}"
    note(f"written: {', '.join(map(str, paths)) if len(evaluation) == 1 else several}")
    return directory


def _print(evaluation: Sequence[Scores], *, json: bool) -> None:
    first, single = evaluation[0].values, len(evaluation) == 1
    if json:
        show_json(first if single else {"suites": {scores.suite.name: scores.values for scores in evaluation}})
    else:
        show([results_table(scores) for scores in evaluation if scores.suite.tasks])
    for scores in evaluation:
        for line in notes(scores):
            note(line if single else f"{scores.suite.name}: {line}")
        if scores.suite.tasks:
            note(f"signature: {signature(scores.values)}")
    for line in first["remarks"]:
        note(line)
    if first["seconds"]["cached_texts"]:
        note(f"{first['seconds']['cached_texts']:,} texts were in the cache (--no-cache)")
