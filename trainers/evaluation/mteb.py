"""Scores in MTEB's result files. MTEB itself takes a run's directory as it is: a sentence-transformers model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from pipelines.console import note
from trainers.evaluation.record import write_json

if TYPE_CHECKING:
    from trainers.evaluation.suite import Scores

SUITES = ("sts", "sts-multilingual")
ENGLISH = ("eng-Latn",)
UNKNOWN = (
    "loader", "release_date", "languages", "n_parameters", "memory_usage_mb", "license", "open_weights",
    "public_training_code", "public_training_data", "use_instructions", "training_datasets",
)  # fmt: skip
"""Fields of a model that MTEB insists on, null where they are not known."""


class MtebTask(NamedTuple):
    """Where a set's scores stand in MTEB, and the number of pairs of its copy: another number is another test."""

    name: str
    split: str
    pairs: int
    subset: str = "default"
    languages: tuple[str, ...] = ENGLISH


TASKS: Mapping[str, MtebTask] = {
    "sts12": MtebTask("STS12", "test", 3108),
    "sts13": MtebTask("STS13", "test", 1500),
    "sts14": MtebTask("STS14", "test", 3750),
    "sts15": MtebTask("STS15", "test", 3000),
    "sts16": MtebTask("STS16", "test", 1186),
    "stsb": MtebTask("STSBenchmark", "test", 1379),
    "stsb-dev": MtebTask("STSBenchmark", "validation", 1500),
    "sickr": MtebTask("SICK-R", "test", 9927),
    "sts17-en-en": MtebTask("STS17", "test", 250, "en-en"),
    "sts17-ar-ar": MtebTask("STS17", "test", 250, "ar-ar", ("ara-Arab",)),
    "sts17-es-es": MtebTask("STS17", "test", 250, "es-es", ("spa-Latn",)),
    "sts17-en-ar": MtebTask("STS17", "test", 250, "en-ar", ("eng-Latn", "ara-Arab")),
    "sts17-en-es": MtebTask("STS17", "test", 250, "es-en", ("spa-Latn", "eng-Latn")),
    "sts17-en-tr": MtebTask("STS17", "test", 250, "en-tr", ("eng-Latn", "tur-Latn")),
    "sts17-en-de": MtebTask("STS17", "test", 250, "en-de", ("eng-Latn", "deu-Latn")),
    "sts17-en-fr": MtebTask("STS17", "test", 250, "fr-en", ("fra-Latn", "eng-Latn")),
}
"""The sets of the suites `sts` and `sts-multilingual` that MTEB has too, by their names."""


def write_results(directory: Path, evaluation: Sequence[Scores]) -> list[Path]:
    """Write what MTEB has too as its result files, a folder that `mteb.ResultCache` reads; return the paths.

    `results/<model>/<revision>/<task>.json` and `model_meta.json` below `directory`. MTEB's figures are correlations in
    [-1, 1]; its main score is Spearman's over all pairs. A set read from local files is marked as such by its revision.
    `mteb_version` is null: MTEB did not run.
    """
    found: dict[str, dict[str, Mapping[str, Any]]] = {}
    for scores in (scores for scores in evaluation if scores.suite.name in SUITES):
        for name, item in scores.values["sets"].items():
            task = TASKS.get(name)
            if task is not None and item["size"] == task.pairs:
                found.setdefault(task.name, {})[name] = item
            elif task is not None:
                note(f"--mteb: {item['title']} has {item['size']} pairs, MTEB's has {task.pairs}: not written")
    if not found:
        note("--mteb: none of these sets is one of MTEB's: nothing is written for it")
        return []
    values = evaluation[0].values
    meta = model_meta(values["model"])
    folder = directory / "results" / meta["name"].replace("/", "__") / meta["revision"]
    folder.mkdir(parents=True, exist_ok=True)
    pages = {"model_meta": meta}
    for name, items in found.items():
        pages[name] = _result(name, items) | {"twinviews_version": values["versions"]["twinviews"]}
    return [write_json(folder / f"{name}.json", page) for name, page in pages.items()]


def model_meta(card: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of MTEB's `ModelMeta` that it insists on, of an encoder's card; null is what is not known."""
    path = Path(card["name"])
    name = card["name"] if card["name"].count("/") == 1 and not path.is_absolute() else path.name
    weights = next(iter(card.get("weights", {}).values()), None)
    return dict.fromkeys(UNKNOWN) | {
        # MTEB takes a name of two parts, the organisation and the model.
        "name": name if "/" in name else f"no_model_name/{name}",
        "revision": weights[:40] if weights else "no_revision_available",
        "max_tokens": card.get("max_tokens"),
        "embed_dim": card.get("dimension"),
        "framework": ["PyTorch"] if card.get("kind") == "transformer" else [],
        "similarity_fn_name": "cosine",
    }


def _result(name: str, items: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    revisions = {item["files"].get("revision") or f"local-{item['sha256'][:16]}": None for item in items.values()}
    scores: dict[str, list[dict[str, Any]]] = {}
    for key, item in items.items():
        task, found = TASKS[key], (item["figures"][metric] for metric in ("all", "pearson"))
        spearman, pearson = (None if value is None else value / 100 for value in found)
        figures = dict.fromkeys(("spearman", "cosine_spearman", "main_score"), spearman)
        figures |= dict.fromkeys(("pearson", "cosine_pearson"), pearson)
        scores.setdefault(task.split, []).append(
            figures | {"hf_subset": task.subset, "languages": list(task.languages)}
        )
    unknown = dict.fromkeys(("mteb_version", "evaluation_time", "kg_co2_emissions"))
    return {"dataset_revision": "+".join(revisions), "task_name": name, "scores": scores} | unknown
