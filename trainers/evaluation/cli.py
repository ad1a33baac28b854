"""`train evaluate`: a model's scores on suites of evaluation sets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pipelines.console import ConfigOption, InputError, note, progress, show, show_json, table
from trainers.evaluation import options
from trainers.evaluation.discovery import SMOKE_TEST, expanded
from trainers.evaluation.options import DATA_VARIABLE as DATA_VARIABLE
from trainers.evaluation.task import SEED

if TYPE_CHECKING:
    from trainers.baselines.fitting import FitText
    from trainers.evaluation.adaptation import Adaptation
    from trainers.evaluation.suite import Evaluation, Suite
    from trainers.evaluation.vectors import TextEncoder


def evaluate(
    model: options.Model,
    suite: options.Suites = None,
    data: options.Data = None,
    pooling: options.PoolingChoice = None,
    max_tokens: options.MaxTokens = None,
    whiten: options.Whiten = None,
    flow: options.Flow = False,
    flow_epochs: options.FlowEpochs = None,
    fit: options.Fit = None,
    seed: options.Seed = SEED,
    batch_size: options.BatchSize = 256,
    batch_tokens: options.BatchTokens = None,
    precision: options.PrecisionChoice = options.Precision.fp32,
    device: options.Device = "auto",
    cache: options.Cache = None,
    no_cache: options.NoCache = False,
    out: options.Out = None,
    mteb: options.Mteb = False,
    json: options.Json = False,
    dry_run: options.DryRun = False,
    config: ConfigOption = None,
) -> None:
    """Score MODEL on suites of evaluation sets; every distinct text of all of them is encoded once.

    Papers differ in how they join the subsets of STS12-16: `all` over the concatenated pairs (SimCSE, Mirror-BERT),
    `mean` or size-`weighted` over the subsets. All three are printed; `all` is the one to quote unless you compare
    with a paper that says otherwise.

    Sets that are not in --data are listed with where they are to be had, and the others are scored.

    Untrained baselines are evaluated in the same way: `tfidf`, averaged word vectors, any encoder with --pooling,
    --whiten or --flow, and any function that takes a list of texts and returns an array with a row for each.

    Example: train evaluate runs/bsl --suite all --data ~/data
    """
    from trainers.evaluation.cache import cached
    from trainers.evaluation.models import Chosen, open_encoder
    from trainers.evaluation.place import apart, beside, prepare

    fit_text, adaptation = _fitted(model, whiten, flow, flow_epochs, fit, seed)
    suites = _found(suite, data)
    if dry_run:
        _show_found(suites, model)
        return
    chosen = Chosen(pooling.value if pooling else None, precision.value, device, batch_size, batch_tokens, max_tokens)
    vectors = _cache(cache, no_cache)
    encoder = open_encoder(model, chosen, fit_text)
    trained = getattr(encoder, "directory", None)
    deciding = {
        **{key: getattr(chosen, key) for key in ("pooling", "max_tokens", "precision")},
        "whiten": whiten,
        "flow_epochs": (flow_epochs or 1) if flow else None,
        "fit": str(fit) if fit else None,
        "seed": seed,
    }
    settings = {
        **deciding,
        "batch_size": batch_size,
        "batch_tokens": getattr(encoder, "batch_tokens", None),
        "data": data,
        "device": str(getattr(encoder, "device", "cpu")),
    }
    ways = [chosen.pooling, adaptation.method.key if adaptation else None, f"fit-{fit.name}" if fit else None]
    folder = out or beside(model, trained, [way for way in ways if way])
    directory = prepare(
        apart(folder, [suite.name for suite in suites], {"model": model, **deciding} if out else deciding)
    )
    kept = cached(encoder, vectors) if vectors else encoder
    _report(_evaluated(kept, suites, adaptation, fit_text, trained, settings), directory, json=json, mteb=mteb)


def _found(names: Sequence[str] | None, data: str | None) -> list[Suite]:
    """Find the suites that are asked for, or the usual one, and say what is done with the data."""
    from trainers.evaluation.suite import find_suites

    if data == "":
        raise InputError("--data is empty: give a folder or hf:mteb, or leave it out")
    if not names and not data:
        note(f"no benchmark data given (--data DIR, --data hf:mteb or {DATA_VARIABLE}): the bundled smoke test it is")
    names = names or (["sts"] if data else [SMOKE_TEST])
    if data and expanded(names) == [SMOKE_TEST]:
        note(f"the suite {SMOKE_TEST} is bundled: nothing is read from {data}")
    return find_suites(names, data or None)


def _show_found(suites: Sequence[Suite], model: str) -> None:
    from trainers.evaluation.suite import distinct_texts

    table(
        ("suite", "set", "size", "source"),
        [(suite.name, task.title, task.size, task.source) for suite in suites for task in suite.tasks],
    )
    _show_missing(suites)
    texts = distinct_texts(task for suite in suites for task in suite.tasks)
    note(f"dry run: {len(texts)} distinct texts would be encoded with {model}")


def _show_missing(suites: Sequence[Suite]) -> None:
    for suite in suites:
        for item in suite.missing:
            note(f"missing: {item}" if len(suites) == 1 else f"{suite.name}: missing: {item}")


def _cache(folder: Path | None, off: bool) -> Path | None:
    from trainers.evaluation.cache import cache_folder

    if off and folder is not None:
        raise InputError(f"--cache {folder} and --no-cache: give one of them")
    if folder is not None and folder.expanduser().exists() and not folder.expanduser().is_dir():
        raise InputError(f"--cache {folder} is no folder: give another, or --no-cache")
    return None if off else (folder.expanduser() if folder is not None else cache_folder())


def _evaluated(
    encoder: TextEncoder,
    suites: Sequence[Suite],
    adaptation: Adaptation | None,
    fit: FitText | None,
    trained: Path | None,
    settings: Mapping[str, Any],
) -> Evaluation:
    from trainers.evaluation.suite import evaluate_suites

    if adaptation is not None and fit is not None:
        with progress("encoding the text to fit on", len(set(fit.texts)), unit="texts") as advance:
            adaptation = adaptation.prepare(encoder, advance)
    return evaluate_suites(
        encoder, suites, seed=settings["seed"], adaptation=adaptation, fit=fit, trained=trained, settings=settings,
        progress=progress,
    )  # fmt: skip


def _report(evaluation: Evaluation, directory: Path, *, json: bool, mteb: bool) -> None:
    from trainers.evaluation import record, report
    from trainers.evaluation.signature import suite_signature

    payloads = [record.payload(evaluation, scores) for scores in evaluation.suites]
    single = len(payloads) == 1
    if json:
        show_json(payloads[0] if single else {"suites": {item["suite"]: item for item in payloads}})
    for number, scores in enumerate(evaluation.suites):
        if scores.sets and not json:
            show(("\n" if number else "") + report.title(evaluation, scores))
            table(report.columns(scores), report.rows(scores), right=(report.SEEN,))
        for line in report.notes(evaluation, scores):
            note(line if single else f"{scores.suite.name}: {line}")
    for values in payloads:
        if values["sets"]:
            note(f"signature: {suite_signature(values)}")
    for line in (*evaluation.remarks, *_from_cache(evaluation)):
        note(line)
    if not single and not json:
        show("\nall suites: " + evaluation.encoder.title)
        table(report.SUMMARY, report.summary_rows(evaluation))
    written = record.write(directory, evaluation, payloads)
    if mteb:
        from trainers.evaluation.mteb import write_results

        written += write_results(directory / "mteb", evaluation)
    note(f"written: {', '.join(map(str, written)) if single else f'{len(written)} files in {directory}'}")


def _from_cache(evaluation: Evaluation) -> list[str]:
    if not evaluation.cached:
        return []
    return [f"{evaluation.cached:,} of the {evaluation.distinct_texts:,} texts were in the cache (--no-cache)"]


def _fitted(
    model: str, whiten: str | None, flow: bool, flow_epochs: int | None, fit: Path | None, seed: int
) -> tuple[FitText | None, Adaptation | None]:
    """Return the text to fit on and the map of the vectors, as far as they are asked for."""
    from trainers.baselines.fitting import read_fit_text
    from trainers.evaluation.models import open_adaptation, uses_fit_text

    if flow_epochs is not None and not flow:
        raise InputError(f"--flow-epochs {flow_epochs} without --flow: add it, or leave this out")
    epochs = (flow_epochs or 1) if flow else None
    if fit is not None and not uses_fit_text(model, whiten, epochs):
        raise InputError(f"--fit {fit}: nothing of {model} is fitted: leave it out, or add --whiten or --flow")
    text = read_fit_text(fit) if fit is not None else None
    return text, open_adaptation(whiten, epochs, seed, text)
