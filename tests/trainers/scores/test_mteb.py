"""`--mteb`: a task of MTEB, scored by `mteb` on a model of ours."""

import json
from pathlib import Path

import pytest
from known_vectors import evaluate
from small_trainings import Capsys, train

pytest.importorskip("mteb")

from mteb import TaskMetadata
from mteb.abstasks import AbsTaskSTS
from mteb.get_tasks import _TASKS_REGISTRY

from trainers.encoders.model import load_model
from trainers.encoders.vectors import Vectors
from trainers.scores.tables.judge import read_judge


class LocalSTS(AbsTaskSTS):
    """A task as MTEB has them, read from a folder."""

    metadata = TaskMetadata(
        name="LocalSTS",
        description="Pairs of this test.",
        reference=None,
        type="STS",
        category="t2t",
        modalities=["text"],
        eval_splits=["test"],
        eval_langs=["eng-Latn"],
        main_score="cosine_spearman",
        date=None,
        domains=None,
        task_subtypes=None,
        license=None,
        annotations_creators=None,
        dialect=None,
        sample_creation=None,
        bibtex_citation=None,
        dataset={"path": "local-sts", "revision": "1"},
    )
    min_score, max_score = 0, 5


def test_a_task_of_mteb_is_scored_by_mteb_and_filed_with_the_others(
    model: Path, sentences: list[str], monkeypatch: pytest.MonkeyPatch, capsys: Capsys
) -> None:
    monkeypatch.chdir(model.parent)
    monkeypatch.setitem(_TASKS_REGISTRY, "LocalSTS", LocalSTS)
    rows = [
        {"sentence1": text, "sentence2": sentences[-row], "score": row % 6}
        for row, text in enumerate(sentences)
    ]
    Path("local-sts").mkdir()
    Path("local-sts/test.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    assert evaluate("tiny", "--mteb", "LocalSTS") == 0
    (results,) = Path("runs/evaluation").glob("tiny-*")
    stored = json.loads((results / "mteb.json").read_text())
    encoder = load_model("tiny")
    (task,) = read_judge("local-sts/test.jsonl").tasks
    expected = task.score(Vectors.encode(encoder, sentences), 0).metrics["score"]
    assert stored["sets"]["LocalSTS"]["figures"] == {"main score": pytest.approx(expected, abs=1e-4)}
    (kept,) = (results / "mteb").rglob("LocalSTS.json")
    assert encoder.fingerprint() in kept.parts
    assert train("compare", results, "--with", "none") == 0
    assert "LocalSTS main score" in capsys.readouterr().out
    assert evaluate("tiny", "--mteb", "NoSuchTask") == 2
    assert "--mteb NoSuchTask: " in capsys.readouterr().err
