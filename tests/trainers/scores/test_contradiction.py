"""The suite of contradictions: reading its three sets and the bundled one, and its two figures."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from pipelines.base.console import InputError
from trainers.encoders.vectors import Vectors
from trainers.scores.pairs import Benchmark, Pair, read_pairs
from trainers.scores.suites import contradiction
from trainers.scores.task import Missing, Task

SICK, BREAKING, COUNTERFACTUAL, BUNDLED = contradiction.BENCHMARKS
FILES = {
    "SICK/SICK_test_annotated.txt": "pair_ID\tsentence_A\tsentence_B\trelatedness_score\tentailment_judgment\n"
    "1\tA dog runs\tAn animal runs\t4\tENTAILMENT\n2\tA dog runs\tA dog barks\t3\tNEUTRAL\n"
    "3\tA dog runs\tNo dog runs\t4\tCONTRADICTION\n",
    "nli/breaking_nli/dataset.jsonl": "".join(
        json.dumps({"sentence1": "A dog runs", "sentence2": text, "gold_label": label, "category": "x"}) + "\n"
        for text, label in (("A hound runs", "entailment"), ("A cat runs", "contradiction"), ("It", "neutral"))
    ),
    "nli/counterfactual-snli/revised_hypothesis/test.tsv": "sentence1\tsentence2\tgold_label\n"
    "A dog runs\tIt runs\tentailment\nA dog runs\tIt sits\tcontradiction\n",
}


@pytest.fixture
def data(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize("benchmark", [SICK, BREAKING, COUNTERFACTUAL], ids=lambda benchmark: benchmark.name)
def test_a_set_is_its_entailed_and_contradicted_pairs(data: Path, benchmark: Benchmark) -> None:
    task = read_pairs(replace(benchmark, sizes={"": 2}), str(data))
    assert isinstance(task, Task)
    assert [line[0] for line in task.lines] == ["1", "0"]
    assert len({*task.texts}) == 3


def test_the_published_numbers_are_checked_and_absent_sets_named(data: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="2 graded pairs, expected 2134"):
        contradiction.find(str(data))
    assert [type(item) for item in contradiction.find(str(tmp_path / "nothing"))] == [Missing] * 3


def test_the_bundled_set_stands_beside_the_others_and_in_no_average(
    data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    small = [replace(item, sizes={"": 2}) for item in contradiction.BENCHMARKS[:3]]
    monkeypatch.setattr(contradiction, "BENCHMARKS", (*small, BUNDLED))
    tasks = contradiction.find(str(data))
    assert [(task.size, task.counted) for task in tasks] == [(2, True)] * 3 + [(40, False)]
    assert {line[0] for line in tasks[-1].lines} == {"0", "1"}


def test_a_line_that_is_no_pair_is_named(data: Path) -> None:
    path = data / "nli/breaking_nli/dataset.jsonl"
    path.write_text('{"sentence1": "A", "sentence2": "B"}\n', encoding="utf-8")
    with pytest.raises(
        InputError, match="line 1: expected a JSON object with sentence1, sentence2, gold_label"
    ):
        read_pairs(BREAKING, str(data))


def test_triples_compare_the_hypotheses_of_one_premise() -> None:
    angles = {"a": 0.0, "a+": 0.3, "a-": 0.5, "a--": 0.1, "b": 0.0, "b+": 0.4, "c": 0.0, "c-": 0.2}
    matrix = np.array([[np.cos(angle), np.sin(angle)] for angle in angles.values()], dtype=np.float32)
    vectors = Vectors({text: row for row, text in enumerate(angles)}, matrix)
    pairs = (
        Pair("a", "a+", 1.0),
        Pair("a", "a-", 0.0),
        Pair("a", "a--", 0.0),
        Pair("b", "b+", 1.0),
        Pair("c", "c-", 0.0),
    )
    result = contradiction.score({"": pairs}, vectors)
    assert tuple(result.metrics) == contradiction.METRICS
    assert result.metrics["triples"] == 50.0  # "a" alone has both: 0.3 is nearer than 0.5, not than 0.1
    cosines = [np.cos(angles[pair.second]) for pair in pairs]
    assert result.metrics["auc"] == pytest.approx(100 * roc_auc_score([pair.gold for pair in pairs], cosines))
    alone = contradiction.score({"": pairs[3:]}, vectors)
    assert alone.metrics["triples"] is None
