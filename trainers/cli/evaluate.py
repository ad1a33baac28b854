"""`train evaluate`: a model's scores on suites of evaluation sets."""

import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import redirect_stdout
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from pipelines.terminal import console
from pipelines.terminal.console import ConfigOption, InputError, MissingExtraError, note, show_json, table
from trainers.encoders.vectors import BATCH_SIZE, TextEncoder, cached
from trainers.evaluation.result_files import notes, results_folder, results_table, show, signature, write
from trainers.evaluation.suites import ALL, SMOKE_TEST, suite_names
from trainers.evaluation.task import DATA_VARIABLE, SEED, Scores, Suite, distinct_texts
from trainers.settings import Pooling

if TYPE_CHECKING:  # it imports the judge, which takes seconds
    from trainers.results.beside import Judged

MODEL = """A sentence-transformers or transformers directory, a Hub name, `starter`, or \
your function as `package.module:function`."""
SUITES = f"""What to evaluate on; repeat it for more. There are {", ".join(suite_names())}; {ALL} is all of them but \
the bundled smoke test `sample`. [sts with data, sample without]"""
DATA = "Folder of the benchmarks; sets that are not there are listed with where to get them."
JUDGE = """Your own data, by columns: text, label; query, document; text1, text2, grade; text1, text2, same. Beside \
the encoder that a run began from. Documents with ids may be in a second file: QUERIES,DOCUMENTS."""
DOCUMENTS = "Another encoder of the same space, for the documents of --judge or the second sides of pairs."
AGAINST = "Put the scores of --judge beside this encoder's instead."
PLAN = "Say how many labels, queries or pairs show a gain of so many points; no MODEL without --judge."
SHOTS = "Train the classifiers of --judge on this many texts a label. [four of five folds]"
MTEB = "A task of MTEB, read from the Hub; repeat it for more. Needs the extra `eval`."
POOLING = "Pooling, instead of the model's own. padded-mean: over 64 tokens, padding included."
JudgeOption = Annotated[str | None, typer.Option(help=JUDGE, metavar="FILE")]


def evaluate(
    model: Annotated[str, typer.Argument(help=MODEL, show_default=False)] = "",
    suite: Annotated[
        list[str] | None, typer.Option(help=SUITES, metavar=f"NAME|{ALL}", show_default=False)
    ] = None,
    data: Annotated[str | None, typer.Option(envvar=DATA_VARIABLE, help=DATA, metavar="DIR")] = None,
    judge: JudgeOption = None,
    shots: Annotated[int | None, typer.Option(min=1, help=SHOTS)] = None,
    against: Annotated[str | None, typer.Option(help=AGAINST, metavar="MODEL")] = None,
    documents_encoder: Annotated[str | None, typer.Option(help=DOCUMENTS, metavar="MODEL")] = None,
    plan: Annotated[float | None, typer.Option(min=0.1, help=PLAN, metavar="POINTS")] = None,
    mteb: Annotated[list[str] | None, typer.Option(help=MTEB, metavar="TASK", show_default=False)] = None,
    pooling: Annotated[Pooling | None, typer.Option(help=POOLING)] = None,
    max_tokens: Annotated[
        int | None, typer.Option(min=3, help="Most tokens of a text. [the model; padded 64]")
    ] = None,
    seed: Annotated[
        int, typer.Option(min=0, max=2**32 - 1, help="For folds and draws; SentEval's is 1111.")
    ] = SEED,
    batch_tokens: Annotated[
        int | None, typer.Option(min=1, help="Most tokens in a batch. [16384; CPU 2048]")
    ] = None,
    precision: Annotated[
        Literal["fp32", "bf16"], typer.Option(help="bf16 moves figures by hundredths.")
    ] = "fp32",
    device: Annotated[str, typer.Option(help="auto, cpu, cuda, cuda:1, mps.")] = "auto",
    no_cache: Annotated[
        bool, typer.Option("--no-cache", help="Encode every text, and keep no vectors.")
    ] = False,
    out: Annotated[
        Path | None, typer.Option(help="Folder for the results. [evaluation/ beside the model]")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON instead of the tables.")] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="List found and missing sets; write nothing.")
    ] = False,
    config: ConfigOption = None,
) -> None:
    """Score MODEL on suites of evaluation sets; every distinct text of all of them is encoded once.

    Papers differ in how they join the subsets of STS12-16: `all` over the concatenated pairs (SimCSE,
    Mirror-BERT), `mean` or size-`weighted` over the subsets. All three are printed; `all` is the one to quote
    unless you compare with a paper that says otherwise.

    Example: train evaluate runs/bsl --suite all --data ~/data
    """
    if plan and not judge:
        _show_plan(plan, None)
        return
    _check_options(model, judge, against, mteb, documents_encoder)
    suites = _suites(suite, data, judge, shots, mteb)
    if dry_run:
        _show_sets(suites, model)
        return
    settings = {
        "pooling": pooling,
        "max_tokens": max_tokens,
        "precision": precision,
        "seed": seed,
        "data": data,
    }
    settings |= {"shots": shots, **({"documents_encoder": documents_encoder} if documents_encoder else {})}
    opened = partial(_open, settings, batch_tokens, device, keep=not no_cache)
    directory = _score(model, opened(model, pooling), suites, mteb, out, settings, json=json)
    if judge is not None:
        with redirect_stdout(sys.stderr if json else sys.stdout):
            _put_beside(model, directory, suites[-1], opened, against, settings, plan)


def _show_plan(points: float, judged: "Judged | None") -> None:
    from trainers.results.planning import own_plan, typical_plan

    console.show(own_plan(points, *judged.sides) if judged and judged.sides else typical_plan(points))


def _check_options(
    model: str,
    judge: str | None,
    against: str | None,
    mteb: Sequence[str] | None,
    documents_encoder: str | None,
) -> None:
    """Raise InputError without a model, and for options that need another, or exclude each other."""
    if not model:
        raise InputError("no MODEL: name an encoder to score")
    if mteb and documents_encoder:
        raise InputError(f"--documents-encoder {documents_encoder} is not for --mteb: leave one of them out")
    if against and not judge:
        raise InputError(f"--against {against} is for --judge FILE: give that too, or leave it out")


def _open(
    settings: Mapping[str, Any],
    batch_tokens: int | None,
    device: str,
    name: str,
    own_pooling: Pooling | None,
    *,
    keep: bool,
) -> TextEncoder:
    """Return an encoder by name, beside that of documents if there is one; `keep` their vectors on disk."""
    from trainers.encoders.functions import open_encoder
    from trainers.encoders.two_sides import TwoEncoders

    options: dict[str, Any] = {
        "precision": settings["precision"],
        "batch_tokens": batch_tokens,
        "device": device,
    }
    pooling = settings["pooling"] or own_pooling
    encoder = open_encoder(name, pooling=pooling, max_tokens=settings["max_tokens"], **options)
    encoder = cached(encoder) if keep else encoder
    if "documents_encoder" not in settings:
        return encoder
    other = open_encoder(settings["documents_encoder"], **options)
    return TwoEncoders(encoder, cached(other) if keep else other)


def _parts(settings: Mapping[str, Any]) -> list[str]:
    """Return what is not the default, for the name of a folder of results."""
    parts = [settings["pooling"]] if settings["pooling"] else []
    parts += [f"tokens-{settings['max_tokens']}"] if settings["max_tokens"] else []
    parts += [f"seed-{settings['seed']}"] if settings["seed"] != SEED else []
    parts += (
        [f"documents-{Path(settings['documents_encoder']).name}"] if "documents_encoder" in settings else []
    )
    return parts + ([settings["precision"]] if settings["precision"] != "fp32" else [])


def _put_beside(
    model: str,
    directory: Path,
    suite: Suite,
    opened: Callable[[str, Pooling | None], TextEncoder],
    against: str | None,
    settings: Mapping[str, Any],
    plan: float | None,
) -> None:
    """Score the other encoder too, unless it has been, and show how they differ, with a verdict and a plan."""
    from trainers.evaluation.scoring import score_into
    from trainers.results.beside import beside, other_encoder

    other = judged = None
    try:
        if other := other_encoder(Path(model).expanduser(), against, _parts(settings)):
            encoder = opened(other.name, other.pooling)
            score_into(encoder, suite, other.folder, seed=settings["seed"], settings=settings)
    except InputError as error:
        if against is not None:
            raise
        note(f"not beside the untouched encoder: {error}")
    try:
        judged = beside(model, directory, suite.name, other)
        show([judged.table])
    except InputError as error:
        note(str(error))
    if plan:
        _show_plan(plan, judged)


def _suites(
    names: Sequence[str] | None,
    data: str | None,
    judge: str | None,
    shots: int | None,
    mteb: Sequence[str] | None,
) -> list[Suite]:
    """Read the suites, that of `--judge` last; those of `--mteb` need the encoder and come later."""
    from trainers.evaluation.judge import read_judge
    from trainers.evaluation.scoring import find_suites
    from trainers.evaluation.tfidf import with_baseline

    if mteb and find_spec("mteb") is None:
        raise MissingExtraError("--mteb", "eval")
    if shots and not judge:
        raise InputError(f"--shots {shots} is for --judge FILE: give that too, or leave it out")
    suites: list[Suite] = []
    if names or not (judge or mteb):
        if not names and data == "":
            raise InputError("--data is empty: give a folder, or leave it out")
        if not names and data is None:
            note(f"no benchmark data (--data DIR or {DATA_VARIABLE}): running the bundled smoke test")
        suites = find_suites(names or (["sts"] if data else [SMOKE_TEST]), data)
    return [*suites, with_baseline(read_judge(judge, shots))] if judge else suites


def _show_sets(suites: Sequence[Suite], model: str) -> None:
    tasks = [(suite.name, task) for suite in suites for task in suite.tasks]
    table(
        ("suite", "set", "size", "source"),
        [(name, task.title, task.size, task.source) for name, task in tasks],
    )
    for suite in suites:
        for item in suite.missing:
            note(f"{suite.name}: missing: {item}")
    note(
        f"dry run: {len(distinct_texts(task for _, task in tasks))} distinct texts would be encoded with {model}"
    )


def _score(
    model: str,
    encoder: TextEncoder,
    suites: Sequence[Suite],
    mteb: Sequence[str] | None,
    out: Path | None,
    settings: Mapping[str, Any],
    *,
    json: bool,
) -> Path:
    """Score an encoder, print the results, write them into a folder, and return the folder."""
    from trainers.evaluation.scoring import evaluate_suites

    names = [*(suite.name for suite in suites), *(["mteb"] if mteb else [])]
    directory = results_folder(model, out, _parts(settings), names)
    if mteb:
        from trainers.evaluation.mteb import mteb_suite

        suites = [*suites, mteb_suite(mteb, encoder, directory / "mteb")]
    used = {"device": str(getattr(encoder, "device", "cpu")), "batch_size": BATCH_SIZE}
    used |= {"batch_tokens": getattr(encoder, "batch_tokens", None)}
    evaluation = evaluate_suites(encoder, suites, seed=settings["seed"], settings={**settings, **used})
    _print(evaluation, json=json)
    paths = write(directory, evaluation)
    note(
        f"written: {', '.join(map(str, paths)) if len(evaluation) == 1 else f'{len(paths)} files in {directory}'}"
    )
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
