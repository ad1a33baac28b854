"""Scores in MTEB's result files. MTEB itself takes a run's directory as it is: a sentence-transformers model."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pipelines.console import note
from trainers.evaluation.record import package_version, write_text

if TYPE_CHECKING:
    from trainers.embedding.vectors import TextEncoder
    from trainers.evaluation.suite import Evaluation, SetScores

ENGLISH = ("eng-Latn",)
NO_REVISION = "no_revision_available"
NO_NAME = "no_model_name"


@dataclass(frozen=True, slots=True)
class MtebTask:
    """Where a set's scores stand in MTEB, and the number of pairs of its copy: another number is another test."""

    name: str
    split: str
    pairs: int
    subset: str = "default"
    languages: tuple[str, ...] = ENGLISH


_TRACKS = {
    "en-en": ("en-en", ENGLISH),
    "ar-ar": ("ar-ar", ("ara-Arab",)),
    "es-es": ("es-es", ("spa-Latn",)),
    "en-ar": ("en-ar", ("eng-Latn", "ara-Arab")),
    "en-es": ("es-en", ("spa-Latn", "eng-Latn")),
    "en-tr": ("en-tr", ("eng-Latn", "tur-Latn")),
    "en-de": ("en-de", ("eng-Latn", "deu-Latn")),
    "en-fr": ("fr-en", ("fra-Latn", "eng-Latn")),
}

TASKS: Mapping[str, MtebTask] = {
    "sts12": MtebTask("STS12", "test", 3108),
    "sts13": MtebTask("STS13", "test", 1500),
    "sts14": MtebTask("STS14", "test", 3750),
    "sts15": MtebTask("STS15", "test", 3000),
    "sts16": MtebTask("STS16", "test", 1186),
    "stsb": MtebTask("STSBenchmark", "test", 1379),
    "stsb-dev": MtebTask("STSBenchmark", "validation", 1500),
    "sickr": MtebTask("SICK-R", "test", 9927),
    **{f"sts17-{track}": MtebTask("STS17", "test", 250, *there) for track, there in _TRACKS.items()},
}
"""The sets of the suites `sts` and `sts-multilingual` that MTEB has too, by their names."""

SUITES = ("sts", "sts-multilingual")


def write_results(directory: Path, evaluation: Evaluation) -> list[Path]:
    """Write what MTEB has too as its result files, a folder that `mteb.ResultCache` reads; return the paths.

    `results/<model>/<revision>/<task>.json` and `model_meta.json`. MTEB's figures are correlations in [-1, 1]; its main
    score is Spearman's over all pairs. A set read from local files is marked as such by its revision. `mteb_version`
    is null: MTEB did not run.

    Args:
        directory: The folder above `results/`.
        evaluation: Of the suites `sts` or `sts-multilingual`, possibly among others.
    """
    found: dict[str, dict[str, list[SetScores]]] = {}
    for scores in evaluation.suites:
        for item in scores.sets if scores.suite.name in SUITES else ():
            task = TASKS.get(item.task.name)
            if task is None or "all" not in item.result.metrics:
                continue
            if item.task.size != task.pairs:
                note(f"--mteb: {item.task.title} has {item.task.size} pairs, MTEB's has {task.pairs}: not written")
                continue
            found.setdefault(task.name, {}).setdefault(task.split, []).append(item)
    if not found:
        note("--mteb: none of these sets is one of MTEB's: nothing is written for it")
        return []
    meta = model_meta(evaluation.encoder)
    folder = directory / "results" / str(meta["name"]).replace("/", "__") / str(meta["revision"])
    folder.mkdir(parents=True, exist_ok=True)
    pages = {"model_meta": meta} | {name: _result(name, splits) for name, splits in found.items()}
    return [
        write_text(folder / f"{name}.json", json.dumps(page, indent=2, ensure_ascii=False) + "\n")
        for name, page in pages.items()
    ]


def model_meta(encoder: TextEncoder) -> dict[str, Any]:
    """Return the fields of MTEB's `ModelMeta` that it insists on, as JSON values; null is what is not known."""
    card = encoder.card()
    path = Path(encoder.name)
    name = encoder.name if encoder.name.count("/") == 1 and not path.is_absolute() else path.name
    weights: Mapping[str, str] = card.get("weights", {})
    first = next(iter(weights.values()), None)
    dimension = card.get("dimension")
    return {
        "loader": None,
        # MTEB takes a name of two parts, the organisation and the model.
        "name": name if "/" in name else f"{NO_NAME}/{name}",
        "revision": first[:40] if first else NO_REVISION,
        "release_date": None,
        "languages": None,
        "n_parameters": None,
        "memory_usage_mb": None,
        "max_tokens": card.get("max_tokens"),
        "embed_dim": dimension if isinstance(dimension, int) else None,
        "license": None,
        "open_weights": None,
        "public_training_code": None,
        "public_training_data": None,
        "framework": ["PyTorch"] if card.get("kind") == "transformer" else [],
        "similarity_fn_name": "cosine",
        "use_instructions": None,
        "training_datasets": None,
    }


def _result(name: str, splits: Mapping[str, Sequence[SetScores]]) -> dict[str, Any]:
    items = [item for found in splits.values() for item in found]
    revisions = dict.fromkeys(item.task.files.get("revision") or f"local-{item.task.sha256()[:16]}" for item in items)
    return {
        "dataset_revision": "+".join(revisions),
        "task_name": name,
        "mteb_version": None,
        "twinviews_version": package_version("twinviews"),
        "scores": {split: [_scores(item) for item in found] for split, found in splits.items()},
        "evaluation_time": None,
        "kg_co2_emissions": None,
    }


def _scores(item: SetScores) -> dict[str, Any]:
    metrics, task = item.result.metrics, TASKS[item.task.name]
    spearman, pearson = (None if (value := metrics.get(key)) is None else value / 100 for key in ("all", "pearson"))
    return {
        "spearman": spearman,
        "pearson": pearson,
        "cosine_spearman": spearman,
        "cosine_pearson": pearson,
        "main_score": spearman,
        "hf_subset": task.subset,
        "languages": list(task.languages),
    }
