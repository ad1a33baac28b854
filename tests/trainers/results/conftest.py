"""Evaluations written by hand, in the form of `train evaluate`, with the items that their figures are of."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from made_items import WriteRun, figures_of

from trainers.evaluation.task import Predictions

SIZES = {"sts12": 3108, "sts13": 1500, "sts14": 3750, "sts15": 3000, "sts16": 1186, "stsb": 1379, "sickr": 4927}
SIZES |= dict.fromkeys(("afs-gun-control", "afs-gay-marriage", "afs-death-penalty"), 2000)


@pytest.fixture(autouse=True)
def _alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("TWINVIEWS_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.fixture
def write_run(tmp_path: Path) -> WriteRun:
    def write(
        name: str,
        figures: Mapping[str, Mapping[str, float | None]] | None = None,
        *,
        suite: str = "sts",
        items: Mapping[str, Predictions] | None = None,
        sets: Mapping[str, Mapping[str, Any]] | None = None,
        model: Mapping[str, Any] | None = None,
        precision: str = "fp32",
    ) -> Path:
        figures = figures or figures_of(items or {})
        folder = tmp_path / name / "evaluation"
        folder.mkdir(parents=True, exist_ok=True)
        values = {
            "suite": suite,
            "date": "2026-11-21T10:00:00+00:00",
            "model": {"name": name, "pooling": "mean", "weights": {"model.safetensors": "0" * 64}, **(model or {})},
            "adaptation": None,
            "settings": {"precision": precision},
            "average": {"sets": len(figures), "of": 7, "figures": {}},
            "sets": {
                key: {
                    "title": key.upper(),
                    "size": SIZES.get(key, 4),
                    "counted": True,
                    "sha256": key,
                    "note": None,
                    "figures": dict(each),
                    "seen_in_training": None,
                    **(sets or {}).get(key, {}),
                }
                for key, each in figures.items()
            },
        }
        (folder / f"{suite}.json").write_text(json.dumps(values))
        if items is not None:
            arrays: dict[str, Any] = {}
            for key, each in items.items():
                arrays[f"{key}/gold"], arrays[f"{key}/predicted"] = each.gold, each.predicted
                arrays[f"{key}/statistic"] = np.array(each.statistic)
            np.savez(folder / f"{suite}.items.npz", **arrays)
        return Path(name)

    return write


@pytest.fixture(scope="session")
def graded_data(tmp_path_factory: pytest.TempPathFactory, sentences: list[str]) -> Path:
    """A data folder that holds STS-B's test and dev sets, and none of the other six sets."""
    folder = tmp_path_factory.mktemp("data") / "stsbenchmark"
    folder.mkdir()
    for name, size in (("sts-test.csv", 1379), ("sts-dev.csv", 1500)):
        lines = [
            f"main-news\tx\t2016\t{i:04}\t{i % 11 / 2:.3f}\t{sentences[i % 48]}\t{sentences[(i * 5 + 1) % 48]}\n"
            for i in range(size)
        ]
        (folder / name).write_text("".join(lines), encoding="utf-8")
    return folder.parent


@pytest.fixture(scope="session")
def small(text_file: Path, tiny_bert: Path) -> list[str]:
    """Options of a training that takes six steps."""
    return ["--text", str(text_file), "--encoder", str(tiny_bert), "--batch-size", "8", "--max-tokens", "24"]
