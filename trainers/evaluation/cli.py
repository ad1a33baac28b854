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
    from trainers.evaluation.suite import Scores, Suite


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
    precision: options.PrecisionChoice = "fp32",
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

    model, seed, fit = given["model"], given["seed"], given["fit"]
    if given["flow_epochs"] and not given["flow"]:
        raise InputError(f"--flow-epochs {given['flow_epochs']} without --flow: add it, or leave this out")
    epochs = (given["flow_epochs"] or 1) if given["flow"] else None
    text, adaptation = open_fit(model, given["whiten"], epochs, fit, seed)
    suites = _find(given["suite"], given["data"])
    if given["dry_run"]:
        _show_found(suites, model)
        return
    encoder = open_encoder(model, Encoding(**{name: given[name] for name in Encoding.__slots__}), text)
    folder = _cache_folder(given["cache"], off=given["no_cache"])
    trained = getattr(encoder, "directory", None)
    deciding = {name: given[name] for name in ("pooling", "max_tokens", "precision", "whiten")}
    deciding |= {"flow_epochs": epochs, "fit": str(fit) if fit else None, "seed": seed}
    settings = deciding | {
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
        kept, suites, seed=seed, adaptation=adaptation, fit=text, trained=trained, settings=settings
    )
    _report(evaluation, directory, json=given["json"], mteb=given["mteb"])


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
    return find_suites(names, data)


def _show_found(suites: Sequence[Suite], model: str) -> None:
    from trainers.evaluation.suite import distinct_texts

    found = [(suite.name, task.title, task.size, task.source) for suite in suites for task in suite.tasks]
    table(("suite", "set", "size", "source"), found)
    for suite in suites:
        for item in suite.missing:
            note(f"{suite.name}: missing: {item}")
    texts = distinct_texts(task for suite in suites for task in suite.tasks)
    note(f"dry run: {len(texts)} distinct texts would be encoded with {model}")


def _cache_folder(folder: Path | None, *, off: bool) -> Path | None:
    from trainers.embedding.cache import cache_folder

    if off and folder is not None:
        raise InputError(f"--cache {folder} and --no-cache: give one of them")
    if folder is not None and folder.expanduser().is_file():
        raise InputError(f"--cache {folder} is no folder: give another, or --no-cache")
    return None if off else (folder.expanduser() if folder is not None else cache_folder())


def _report(evaluation: Sequence[Scores], directory: Path, *, json: bool, mteb: bool) -> None:
    from trainers.evaluation import record, report
    from trainers.evaluation.signature import suite_signature

    single = len(evaluation) == 1
    if json:
        show_json(evaluation[0].values if single else {"suites": {each.suite.name: each.values for each in evaluation}})
    for scores in evaluation:
        if scores.suite.tasks and not json:
            show(("" if scores is evaluation[0] else "\n") + report.title(scores))
            names = report.columns(scores)
            table(names, report.rows(scores), right=names[1:])
        for line in report.notes(scores):
            note(line if single else f"{scores.suite.name}: {line}")
        if scores.suite.tasks:
            note(f"signature: {suite_signature(scores.values)}")
    first = evaluation[0].values
    for line in first["remarks"]:
        note(line)
    if first["seconds"]["cached_texts"]:
        note(f"{first['seconds']['cached_texts']:,} texts were in the cache (--no-cache)")
    if not single and not json:
        show(f"\nall suites: {first['encoder']}")
        table(report.SUMMARY, map(report.summary_row, evaluation), right=("sets", "missing", "texts", "score"))
    written = record.write(directory, evaluation)
    if mteb:
        from trainers.evaluation.mteb import write_results

        written += write_results(directory / "mteb", evaluation)
    note(f"written: {', '.join(map(str, written)) if single else f'{len(written)} files in {directory}'}")
