"""`train evaluate`: a model's scores on suites of evaluation sets."""

import sys
from collections.abc import Mapping, Sequence
from contextlib import redirect_stdout
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from pydantic import Field

from pipelines.base.console import ConfigOption, InputError, note, show_json
from pipelines.base.options import Options, with_options
from trainers.data.reading import own_columns
from trainers.encoders.vectors import TextEncoder
from trainers.scores.result_files import load, notes, results_folder, results_table, show, signature, write
from trainers.scores.suites import ALL, SMOKE_TEST, suite_names
from trainers.scores.task import DATA_VARIABLE, SEED, Scores, Suite
from trainers.settings import Pooling

SUITES = f"""What to evaluate on; repeat it for more. There are {", ".join(suite_names())}; {ALL} is all of them but \
the bundled smoke test `sample`. [sts with data, sample without]"""
JUDGE = """Your own data, by columns: text, label; query, document; text1, text2, grade; text1, text2, same. Beside \
the encoder that a run began from. Documents with ids may be in a second file: QUERIES,DOCUMENTS."""
SHOTS = "Train the classifiers of --judge on this many texts a label. [four of five folds]"
COLUMNS = "How a table calls its columns, if otherwise, such as text=body,label=topic."
ColumnsOption = Annotated[str | None, typer.Option(help=COLUMNS, metavar="NAME=COLUMN,...")]


class TableOptions(Options):
    """A user's own tables."""

    judge: Annotated[list[str] | None, typer.Option(help=f"{JUDGE} Again for more.", metavar="FILE")] = None
    columns: ColumnsOption = None
    shots: int | None = Field(None, ge=1, description=SHOTS)

    def tables(self) -> list[Suite]:
        """Read the tables; raises InputError as `read_judge`."""
        from trainers.scores.tables.judge import read_judge
        from trainers.scores.tfidf import with_baseline

        if self.shots and not self.judge:
            raise InputError(f"--shots {self.shots} is for --judge FILE: give that too, or leave it out")
        own = own_columns(self.columns)
        return [with_baseline(read_judge(table, self.shots, own)) for table in self.judge or ()]


class EvaluateOptions(TableOptions):
    """What is scored, on what, how, and where the results go."""

    models: Annotated[list[str], typer.Argument(metavar="MODEL...", show_default=False)]
    """Sentence-transformers or transformers directories, Hub names, `starter`, or your functions as
    `package.module:function`."""
    suite: Annotated[
        list[str] | None, typer.Option(help=SUITES, metavar=f"NAME|{ALL}", show_default=False)
    ] = None
    data: Annotated[str | None, typer.Option(envvar=DATA_VARIABLE, metavar="DIR")] = None
    """Folder of the benchmarks; sets that are not there are listed with where to get them."""
    documents_encoder: Annotated[str | None, typer.Option(metavar="MODEL")] = None
    """Another encoder of the same space, for the documents of --judge or the second sides of pairs."""
    pooling: Pooling | None = None
    """Pooling, instead of the model's own. padded-mean: over 64 tokens, padding included."""
    max_tokens: int | None = Field(None, ge=3)
    """Most tokens of a text. [the model; padded 64]"""
    seed: int = Field(SEED, ge=0, lt=1 << 32)
    """For folds and draws; SentEval's is 1111."""
    precision: Literal["fp32", "bf16"] = "fp32"
    """bf16 moves figures by hundredths."""
    device: str = "auto"
    """auto, cpu, cuda, cuda:1, mps."""
    out: Path | None = None
    """Folder for the results. [evaluation/ beside the model]"""
    as_json: bool = Field(False, alias="json")
    """Print JSON instead of the tables."""
    config: ConfigOption = None

    @property
    def parts(self) -> list[str]:
        """What is not the default, for the name of a folder of results."""
        documents = Path(self.documents_encoder or "").name
        parts = [
            self.pooling,
            self.max_tokens and f"tokens-{self.max_tokens}",
            self.seed != SEED and f"seed-{self.seed}",
            documents and f"documents-{documents}",
            self.precision != "fp32" and self.precision,
        ]
        return [str(part) for part in parts if part]

    @property
    def settings(self) -> dict[str, Any]:
        """What decides the figures, as results tell it."""
        names = {"pooling", "max_tokens", "precision", "seed", "data", "shots", "columns", "documents_encoder"}
        return self.model_dump(include=names)

    def open(self, name: str, own_pooling: Pooling | None = None) -> TextEncoder:
        """Return an encoder by name, beside that of documents if there is one."""
        from trainers.scores.scoring import opened

        running = self.model_dump(include={"max_tokens", "precision", "device"})
        return opened(name, self.documents_encoder, pooling=self.pooling or own_pooling, **running)


@with_options
def evaluate(options: EvaluateOptions) -> None:
    """Score MODELs on suites of evaluation sets; of each, every distinct text of all of them is encoded once.

    Papers differ in how they join the subsets of STS12-16: `all` over the concatenated pairs (SimCSE,
    Mirror-BERT), `mean` or size-`weighted` over the subsets. All three are printed; `all` is the one to quote
    unless you compare with a paper that says otherwise.

    Example: train evaluate runs/bsl --suite all --data ~/data
    """
    if options.out and len(options.models) > 1:
        raise InputError(f"--out {options.out} holds the results of one MODEL: leave it out")
    tables = options.tables()
    suites = [*_suites(options), *tables]
    folders, printed = dict[str, Path](), dict[str, Any]()
    for model in options.models:
        folders[model], evaluation = _score(options, model, suites)
        printed[model] = _values(evaluation)
    if options.as_json:
        show_json(printed[model] if len(printed) == 1 else {"encoders": printed})
    with redirect_stdout(sys.stderr if options.as_json else sys.stdout):
        _judge(options, folders, suites)


def _suites(options: EvaluateOptions) -> list[Suite]:
    """Read the suites, none with `--judge` alone."""
    from trainers.scores.scoring import find_suites

    names, data = options.suite, options.data
    if not names and options.judge:
        return []
    if not names and data == "":
        raise InputError("--data is empty: give a folder, or leave it out")
    if not names and data is None:
        note(f"no benchmark data (--data DIR or {DATA_VARIABLE}): running the bundled smoke test")
    return find_suites(names or (["sts"] if data else [SMOKE_TEST]), data)


def _score(options: EvaluateOptions, model: str, suites: Sequence[Suite]) -> tuple[Path, Sequence[Scores]]:
    """Score an encoder, print the results, and write them into a folder; returns folder and results."""
    from trainers.scores.scoring import evaluate_suites

    encoder = options.open(model)
    names = [suite.name for suite in suites]
    directory = results_folder(model, options.parts, out=options.out, suites=names)
    settings = {**options.settings, "device": str(getattr(encoder, "device", "cpu"))}
    evaluation = evaluate_suites(encoder, suites, seed=options.seed, settings=settings)
    if not options.as_json:
        show([results_table(scores) for scores in evaluation if scores.suite.tasks])
    _print_notes(evaluation)
    paths = write(directory, evaluation)
    several = f"{len(paths)} files in {directory}"
    note(f"written: {', '.join(map(str, paths)) if len(evaluation) == 1 else several}")
    return directory, evaluation


def _judge(options: EvaluateOptions, folders: Mapping[str, Path], suites: Sequence[Suite]) -> None:
    """Score the encoders that runs began from too, unless they have been, and show the verdict on each table."""
    from trainers.scores.pages.assessment import assess
    from trainers.scores.pages.verdict_table import verdict_table
    from trainers.scores.runs import Run
    from trainers.scores.scoring import score_into
    from trainers.scores.verdicts import is_judged, judge_runs, starts_of

    tables = [suite for suite in suites if is_judged(suite.name)]
    starts = starts_of(options.models, options.parts) if tables else []
    for start in starts:
        encoder = options.open(start.name, start.pooling)
        for table in tables:
            score_into(encoder, table, start.folder, seed=options.seed, settings=options.settings)
    for table in tables:
        runs = [Run(model, [load(folder / f"{table.name}.json")]) for model, folder in folders.items()]
        try:
            judged = judge_runs(table.name, runs, options.parts)
            intervals = assess(table.name, runs, intervals=not judged and table.name != SMOKE_TEST)
            show([verdict_table(judged)] if judged else intervals)
        except InputError as error:
            note(str(error))


def _values(evaluation: Sequence[Scores]) -> dict[str, Any]:
    """Return the results of a suite, or of several by name."""
    suites = {scores.suite.name: scores.values for scores in evaluation}
    return evaluation[0].values if len(suites) == 1 else {"suites": suites}


def _print_notes(evaluation: Sequence[Scores]) -> None:
    first, single = evaluation[0].values, len(evaluation) == 1
    for scores in evaluation:
        for line in notes(scores):
            note(line if single else f"{scores.suite.name}: {line}")
        if scores.suite.tasks:
            note(f"signature: {signature(scores.values)}")
    for line in first["remarks"]:
        note(line)
