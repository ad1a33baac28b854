"""`train evaluate`: a model's scores on suites of evaluation sets."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pipelines.console import ConfigOption, InputError, note, progress, show, show_json, table
from trainers.evaluation import options
from trainers.evaluation.discovery import SMOKE_TEST, expanded
from trainers.evaluation.options import DATA_VARIABLE as DATA_VARIABLE
from trainers.evaluation.task import SEED

if TYPE_CHECKING:
    from trainers.evaluation.suite import Evaluation, Suite


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
    run(locals())


def run(given: dict[str, Any]) -> None:
    """Evaluate as `evaluate` was asked to, by the names of its options.

    Raises:
        InputError: A mistake in one of them.
    """
    from trainers.embedding.cache import cached
    from trainers.evaluation.models import Encoding, open_encoder, open_fit
    from trainers.evaluation.record import results_folder
    from trainers.evaluation.suite import evaluate_suites

    given["pooling"] = given["pooling"] and given["pooling"].value
    given["precision"] = given["precision"].value
    model, seed, fit = given["model"], given["seed"], given["fit"]
    epochs = _epochs(given["flow"], given["flow_epochs"])
    text, adaptation = open_fit(model, given["whiten"], epochs, fit, seed)
    suites = _find(given["suite"], given["data"])
    if given["dry_run"]:
        _show_found(suites, model)
        return
    encoding = Encoding(**{name: given[name] for name in Encoding.__slots__})
    folder = _cache_folder(given["cache"], off=given["no_cache"])
    encoder = open_encoder(model, encoding, text)
    trained = getattr(encoder, "directory", None)
    deciding = {name: given[name] for name in ("pooling", "max_tokens", "precision", "whiten")}
    deciding |= {"flow_epochs": epochs, "fit": str(fit) if fit else None, "seed": seed}
    settings = {
        **deciding,
        "batch_size": given["batch_size"],
        "batch_tokens": getattr(encoder, "batch_tokens", None),
        "data": given["data"],
        "device": str(getattr(encoder, "device", "cpu")),
    }
    parts = [given["pooling"], adaptation.key if adaptation else None, f"fit-{fit.name}" if fit else None]
    named = [part for part in parts if part]
    directory = results_folder(model, trained, given["out"], named, [suite.name for suite in suites], deciding)
    kept = cached(encoder, folder) if folder else encoder
    if adaptation is not None and text is not None:
        with progress("encoding the text to fit on", len(set(text.texts)), unit="texts") as advance:
            adaptation = adaptation.prepare(kept, advance)
    evaluation = evaluate_suites(
        kept, suites, seed=seed, adaptation=adaptation, fit=text, trained=trained, settings=settings, progress=progress
    )
    _report(evaluation, directory, json=given["json"], mteb=given["mteb"])


def _epochs(flow: bool, epochs: int | None) -> int | None:
    """Return the passes over the flow's text, None without a flow."""
    if epochs is not None and not flow:
        raise InputError(f"--flow-epochs {epochs} without --flow: add it, or leave this out")
    return (epochs or 1) if flow else None


def _find(names: Sequence[str] | None, data: str | None) -> list[Suite]:
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

    found = [(suite.name, task.title, task.size, task.source) for suite in suites for task in suite.tasks]
    table(("suite", "set", "size", "source"), found)
    for suite in suites:
        for item in suite.missing:
            note(f"missing: {item}" if len(suites) == 1 else f"{suite.name}: missing: {item}")
    texts = distinct_texts(task for suite in suites for task in suite.tasks)
    note(f"dry run: {len(texts)} distinct texts would be encoded with {model}")


def _cache_folder(folder: Path | None, *, off: bool) -> Path | None:
    from trainers.embedding.cache import cache_folder

    if off and folder is not None:
        raise InputError(f"--cache {folder} and --no-cache: give one of them")
    if folder is not None and folder.expanduser().exists() and not folder.expanduser().is_dir():
        raise InputError(f"--cache {folder} is no folder: give another, or --no-cache")
    return None if off else (folder.expanduser() if folder is not None else cache_folder())


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
    for line in evaluation.remarks:
        note(line)
    if evaluation.cached:
        note(f"{evaluation.cached:,} of the {evaluation.distinct_texts:,} texts were in the cache (--no-cache)")
    if not single and not json:
        show("\nall suites: " + evaluation.encoder.title)
        table(report.SUMMARY, report.summary_rows(evaluation))
    written = record.write(directory, evaluation, payloads)
    if mteb:
        from trainers.evaluation.mteb import write_results

        written += write_results(directory / "mteb", evaluation)
    note(f"written: {', '.join(map(str, written)) if single else f'{len(written)} files in {directory}'}")
