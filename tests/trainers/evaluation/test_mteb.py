"""MTEB: its result files from our scores, and a run's directory as its model."""

from __future__ import annotations

import importlib.util
import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import typer

from pipelines.console import call
from trainers.embedding.model import load_model
from trainers.evaluation.cli import evaluate
from trainers.evaluation.discovery import load_suite
from trainers.evaluation.mteb import TASKS, model_meta

has_mteb = pytest.mark.skipif(importlib.util.find_spec("mteb") is None, reason="needs the extra eval")


@pytest.fixture
def results(tiny_mlm: Path, suite_data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    """The folder that `train evaluate --mteb` writes, from local files."""
    app = typer.Typer()
    app.command()(evaluate)
    shutil.copytree(tiny_mlm, tmp_path / "tiny")
    assert call(app, ["tiny", "--data", str(suite_data), "--pooling", "mean", "--mteb"]) == 0
    assert "--mteb: SICK-R has 4927 pairs, MTEB's has 9927: not written" in capsys.readouterr().err
    return tmp_path / "tiny" / "evaluation" / "mean"


def test_result_files_have_the_scores_in_mtebs_units(results: Path) -> None:
    ours = json.loads((results / "sts.json").read_text())
    (folder,) = (results / "mteb" / "results").glob("*/*")
    assert (folder.parent.name, folder.name) == (
        "no_model_name__tiny",
        next(iter(ours["model"]["weights"].values()))[:40],
    )
    files = {path.stem: json.loads(path.read_text()) for path in folder.iterdir()}
    assert sorted(files) == ["STS12", "STS13", "STS14", "STS15", "STS16", "STSBenchmark", "model_meta"]
    assert set(files["STSBenchmark"]["scores"]) == {"test", "validation"}
    (score,) = files["STSBenchmark"]["scores"]["test"]
    figures = ours["sets"]["stsb"]["figures"]
    assert score["main_score"] == score["cosine_spearman"] == pytest.approx(figures["all"] / 100)
    assert score["cosine_pearson"] == pytest.approx(figures["pearson"] / 100)
    assert (score["hf_subset"], score["languages"]) == ("default", ["eng-Latn"])
    assert files["STS12"]["dataset_revision"] == f"local-{ours['sets']['sts12']['sha256'][:16]}"


def test_every_set_that_is_mapped_is_one_of_ours(tmp_path: Path) -> None:
    known = {item.name for name in ("sts", "sts-multilingual") for item in load_suite(name).find(str(tmp_path))[1]}
    assert set(TASKS) <= known


@has_mteb
def test_the_names_subsets_and_languages_are_mtebs_own() -> None:
    import mteb

    for task in TASKS.values():
        there = mteb.get_task(task.name).metadata
        assert task.split in there.eval_splits or task.split == "validation"
        assert there.hf_subsets_to_langscripts[task.subset] == list(task.languages)


@has_mteb
def test_mteb_reads_the_result_files(results: Path) -> None:
    import mteb
    from mteb.results import TaskResult

    (folder,) = (results / "mteb" / "results").glob("*/*")
    read = TaskResult.from_disk(folder / "STS12.json")
    ours = json.loads((results / "sts.json").read_text())["sets"]["sts12"]["figures"]["all"]
    assert read.get_score() == pytest.approx(ours / 100)
    found = mteb.ResultCache(results / "mteb").load_results(include_remote=False)
    (model,) = found.model_results
    assert model.model_name == "no_model_name/tiny"
    assert {item.task_name for item in model.task_results} >= {"STS12", "STSBenchmark"}


@has_mteb
def test_mteb_takes_a_directory_as_a_model_and_gives_its_score(
    tiny_mlm: Path, sentences: list[str], tmp_path: Path
) -> None:
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


def test_a_models_card_names_what_is_known(tiny_mlm: Path) -> None:
    card = model_meta(load_model(str(tiny_mlm), pooling="mean").card())
    assert card["name"] == "no_model_name/tiny"
    assert (card["embed_dim"], card["max_tokens"], card["framework"]) == (16, 32, ["PyTorch"])
    assert model_meta({"name": "mine:letters"})["revision"] == "no_revision_available"
