"""MTEB takes a run's directory as its model."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

from trainers.embedding.model import load_model


@pytest.mark.skipif(importlib.util.find_spec("mteb") is None, reason="needs the extra eval")
def test_mteb_takes_a_directory_as_a_model(tiny_mlm: Path, sentences: list[str], tmp_path: Path) -> None:
    from datasets import Dataset
    from mteb.evaluate import evaluate as run
    from mteb.mocks.mock_tasks import MockSTSTask
    from scipy.stats import spearmanr
    from sentence_transformers import SentenceTransformer

    encoder = load_model(str(tiny_mlm), pooling="mean")
    encoder.model.save_pretrained(str(tmp_path / "run"))
    task = MockSTSTask()
    one, two, gold = sentences[:30], sentences[7:37], [float(row % 6) for row in range(30)]
    rows = Dataset.from_dict({"sentence1": one, "sentence2": two, "score": gold})
    task.dataset, task.data_loaded = {"test": rows}, True
    task.load_data = lambda **_: None  # type: ignore[method-assign, assignment]
    (found,) = run(SentenceTransformer(str(tmp_path / "run")), task, cache=None).task_results
    a, b = encoder.encode(one).astype(float), encoder.encode(two).astype(float)
    cosine = (a * b).sum(1) / np.linalg.norm(a, axis=1) / np.linalg.norm(b, axis=1)
    assert found.get_score() == pytest.approx(spearmanr(gold, cosine).statistic, abs=0.01)
