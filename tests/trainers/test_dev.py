import gzip
import json
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from scipy.stats import spearmanr
from small_trainings import Capsys, Interrupted, check_same, prepared, read_log, train, trained, write_pairs

from pipelines.base.console import TwinviewsError
from trainers.encoders.model import load_model
from trainers.encoders.vectors import Vectors
from trainers.objective import Objective
from trainers.scores.dev_set import dev_score, graded_pairs, read_dev
from trainers.scores.pairs import Pair, Pairs
from trainers.scores.tables.judge import read_judge
from trainers.scores.task import Task
from trainers.settings import Training
from trainers.training.best import best_step, dev_scores, out_of_patience
from trainers.training.directory import CHECKPOINTS
from trainers.training.fit import Fitted, fit


def graded(first: Sequence[str], second: Sequence[str], grades: Sequence[float], **more: str) -> Pairs:
    return graded_pairs("", [Pair(*row) for row in zip(first, second, grades, strict=True)], **more)


def columns_of(dev: Pairs) -> tuple[Sequence[Any], ...]:
    """First texts, second texts and grades."""
    return tuple(zip(*dev.subsets[""], strict=True))


@pytest.fixture
def dev(sentences: list[str]) -> Pairs:
    """The more words two sentences share, the more alike they are."""
    pairs = [(one, other) for one in sentences[:8] for other in sentences[8:16]]
    shared = [len(set(one.split()) & set(other.split())) for one, other in pairs]
    return graded([one for one, _ in pairs], [other for _, other in pairs], shared)


def run(
    dev: Task | None, encoder: Path, texts: list[str], out: Path, **given: object
) -> tuple[Objective, Fitted]:
    return trained("mirror", encoder, texts, out, dev=dev, **{"evaluations": 4, **given})


def test_score_is_a_rank_correlation_without_side_effects(
    dev: Pairs, tiny_bert: Path, sentences: list[str]
) -> None:
    encoder = prepared("mirror", tiny_bert, sentences)[0].train()
    *sides, grades = columns_of(dev)
    left, right = (encoder.encode(list(side)).double().numpy() for side in sides)
    similarities = {
        "cosine": (left * right).sum(1) / np.linalg.norm(left, axis=1) / np.linalg.norm(right, axis=1),
        "dot": (left * right).sum(1),
        "euclidean": -np.linalg.norm(left - right, axis=1),
        "manhattan": -np.abs(left - right).sum(1),
    }
    expected = {name: 100 * spearmanr(found, grades).statistic for name, found in similarities.items()}
    assert len({round(value, 2) for value in expected.values()}) == 4
    state = torch.get_rng_state()
    assert dev_score(dev, encoder.encoder) == pytest.approx(expected["cosine"], abs=0.05)
    best = graded(*sides, grades, similarity="best")
    assert dev_score(best, encoder.encoder) == pytest.approx(max(expected.values()), abs=0.05)
    assert torch.equal(torch.get_rng_state(), state)
    assert encoder.training
    for name, value in similarities.items():
        same = graded(*sides, value.tolist(), similarity="best")
        assert dev_score(same, encoder.encoder) == pytest.approx(100, abs=0.1), name


def test_scoring_changes_no_training(
    dev: Pairs, tiny_bert: Path, sentences: list[str], tmp_path: Path
) -> None:
    alone, _ = run(None, tiny_bert, sentences, tmp_path / "alone")
    scored, fitted = run(dev, tiny_bert, sentences, tmp_path / "scored", keep="last")
    check_same(alone, scored)
    assert fitted.saved_step == fitted.steps == 12
    assert list(fitted.dev) == [0, 3, 6, 9, 12]
    assert fitted.dev[12] == pytest.approx(dev_score(dev, scored.encoder))
    lines = read_log(tmp_path / "scored")
    assert [(line["step"], "dev" in line, "loss" in line) for line in lines if "dev" in line] == [
        (0, True, False),
        *((step, True, True) for step in (3, 6, 9, 12)),
    ]
    assert not list((tmp_path / "scored" / CHECKPOINTS).glob("best-*"))


@pytest.fixture
def as_it_was(dev: Pairs, tiny_bert: Path, sentences: list[str]) -> Pairs:
    """Grades of the untrained encoder's own: it scores 100, and every training that changes it makes it worse."""
    objective, _, _ = prepared("mirror", tiny_bert, sentences)
    *sides, _ = columns_of(dev)
    vectors = [torch.nn.functional.normalize(objective.encode(list(side))) for side in sides]
    return graded(*sides, (vectors[0] * vectors[1]).sum(dim=-1).tolist())


def test_best_encoder_is_kept(as_it_was: Pairs, tiny_bert: Path, sentences: list[str], tmp_path: Path) -> None:
    given = {"lr": 1e-2, "evaluations": 6}
    kept, fitted = run(as_it_was, tiny_bert, sentences, tmp_path / "best", **given)
    assert run(as_it_was, tiny_bert, sentences, tmp_path / "last", keep="last", **given)[1].dev == fitted.dev
    assert (fitted.saved_step, fitted.dev[0]) == (0, max(fitted.dev.values())), (
        "nothing is better than the start"
    )
    assert dev_score(as_it_was, kept.encoder) == pytest.approx(fitted.dev[0], abs=1e-9)
    check_same(kept, prepared("mirror", tiny_bert, sentences)[0])


@pytest.mark.exhaustive
@pytest.mark.parametrize("save_every", [2, 5, 500])
def test_killed_run_remembers_its_best(
    save_every: int, dev: Pairs, tiny_bert: Path, sentences: list[str], tmp_path: Path
) -> None:
    given = {"lr": 1e-2, "evaluations": 6, "save_every": save_every}
    whole, expected = run(dev, tiny_bert, sentences, tmp_path / "whole", **given)
    with pytest.raises(Interrupted):
        run(dev, tiny_bert, sentences, tmp_path / "broken", last=9, **given)
    resumed, fitted = run(dev, tiny_bert, sentences, tmp_path / "broken", **given)
    assert 0 < expected.saved_step < 12, "neither the start nor the end"
    assert (fitted.saved_step, fitted.dev) == (expected.saved_step, expected.dev)
    check_same(whole, resumed)
    assert read_log(tmp_path / "broken") == read_log(tmp_path / "whole")
    left = [path.name for path in (tmp_path / "broken" / CHECKPOINTS).glob("best-*")]
    assert left == [f"best-{fitted.saved_step}.safetensors"]


def test_patience_ends_a_run_for_good(
    as_it_was: Pairs, tiny_bert: Path, sentences: list[str], tmp_path: Path
) -> None:
    given = {"lr": 1e-2, "evaluations": 12, "patience": 2, "save_every": 1}
    whole, fitted = run(as_it_was, tiny_bert, sentences, tmp_path, **given)
    again, found = run(as_it_was, tiny_bert, sentences, tmp_path, **given)
    assert (found.steps, found.saved_step, found.dev, found.last) == (
        fitted.steps,
        fitted.saved_step,
        fitted.dev,
        fitted.last,
    )
    check_same(whole, again)
    best = tmp_path / CHECKPOINTS / f"best-{fitted.saved_step}.safetensors"
    best.write_bytes(b"")
    with pytest.raises(TwinviewsError, match="cannot read the best weights"):
        run(as_it_was, tiny_bert, sentences, tmp_path, **given)


def test_first_of_equal_scores_is_the_best() -> None:
    scores = {0: 70.0, 2: 60.0, 4: 61.0, 6: 61.0}
    history = [{"step": step, "dev": score} for step, score in scores.items()]
    assert dev_scores(history) == scores
    assert best_step(history) == 0
    assert best_step(history[1:]) == 4
    assert best_step([{"step": 1, "loss": 1.0}]) is None
    patient = Training(lr=1e-3, patience=2)
    assert not out_of_patience(patient, history[:3]), (
        "patience counts from the best of the training, not from its start"
    )
    assert not out_of_patience(patient, history)
    assert out_of_patience(patient, [*history, {"step": 8, "dev": 60.0}])


def test_a_score_of_an_encoder_of_one_direction_is_undefined_and_never_the_best(
    dev: Pairs, tiny_bert: Path, sentences: list[str], tmp_path: Path, capsys: Capsys
) -> None:
    objective, rows, _ = prepared("mirror", tiny_bert, sentences, evaluations=2)
    layer = objective.encoder[0].model.encoder.layer[-1].output.LayerNorm
    weight = layer.weight.clone()
    with torch.no_grad():
        layer.weight.zero_()
        layer.bias.fill_(1)
    assert dev_score(dev, objective.encoder) is None

    def after_step(step: int, total: int) -> None:
        layer.weight.data.copy_(weight)

    objective.after_step = after_step  # type: ignore[method-assign]
    layer.requires_grad_(False)
    fitted = fit(objective, rows, tmp_path, 1, dev)
    assert (list(fitted.dev), fitted.saved_step > 0) == ([6, 12], True)
    assert "score on --dev None is undefined at step 0: its texts are all alike" in capsys.readouterr().err


def write_long(path: Path, columns: str, sentences: list[str]) -> Path:
    """Texts that differ only behind their first eight words."""
    texts = [f"{'a dog ' * 4}{text}" for text in sentences]
    rows = [
        f"{text},{place % 2}" if columns == "text,label" else f"{text},{texts[place - 1]},{place % 5}"
        for place, text in enumerate(texts)
    ]
    path.write_text("\n".join([columns, *rows]) + "\n", encoding="utf-8")
    return path


@pytest.mark.parametrize("columns", ["text,label", "sentence1,sentence2,score"])
@pytest.mark.parametrize("preset", ["adapt", "tuned"])
def test_the_score_is_that_of_the_saved_encoder_without_steps_too(
    columns: str, preset: str, tiny_bert: Path, text_file: Path, sentences: list[str], capsys: Capsys
) -> None:
    table = write_long(Path("dev.csv"), columns, sentences)
    method = (
        ["distil", "--sharpen", "3"]
        if preset == "adapt"
        else ["contrastive", "--epochs", "1", "--keep", "last"]
    )
    options = [
        "--text",
        text_file,
        "--encoder",
        tiny_bert,
        "--max-tokens",
        "8",
        "--batch-size",
        "16",
        "--dev",
        table,
    ]
    assert train(*method, "--preset", preset, *options, "--precision", "fp32", "--out", "run") == 0
    logged = [line["dev"] for line in read_log(Path("run")) if "dev" in line][-1]
    (task, *_) = read_judge(str(table)).tasks
    judged = task.score(Vectors.encode(load_model("run"), task.texts), 1111).metrics["score"]
    assert logged == pytest.approx(judged, abs=0.01)
    assert f"dev {logged:.2f} at step" in capsys.readouterr().out
    assert f"{logged:.2f}" in Path("run/README.md").read_text(encoding="utf-8")


def test_the_best_similarity_is_for_pairs_alone(
    text_file: Path, tiny_bert: Path, sentences: list[str], capsys: Capsys
) -> None:
    table = write_long(Path("labels.csv"), "text,label", sentences)
    write_pairs(Path("pairs.arrow"), [(text, text, other) for text, other in pairwise(sentences)])
    options = ["--encoder", tiny_bert, "--max-tokens", "24", "--dev", table, "--epochs", "0"]
    text = ["--text", text_file, "--dev-similarity", "best"]
    assert train("contrastive", "--preset", "tuned", *options, *text) == 2
    assert (
        "--dev-similarity best is for graded pairs, not for 5-NN accuracy on labels.csv"
        in capsys.readouterr().err
    )
    assert train("bsl", "--preset", "code", "--views", "pairs.arrow", *options, "--out", "bsl") == 0
    assert json.loads(Path("bsl/recipe.json").read_text())["dev_similarity"] == "cosine"
    assert "best of four" not in Path("bsl/README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("ending", [".jsonl.gz", ".json", ".csv.gz", ".JSONL"])
def test_compressed_tables_are_read_as_the_judge_reads_them(
    ending: str, sentences: list[str], tmp_path: Path
) -> None:
    rows = [{"text": text, "label": f"l{place % 2}"} for place, text in enumerate(sentences)]
    lines = [json.dumps(row) for row in rows]
    if ending == ".csv.gz":
        lines = ["text,label", *(f"{row['text']},{row['label']}" for row in rows)]
    text = ("\n".join(lines) + "\n").encode()
    path = tmp_path / f"dev{ending}"
    path.write_bytes(gzip.compress(text) if ending.endswith("gz") else text)
    dev = read_dev(str(path), None)
    assert not isinstance(dev, Pairs)
    assert (dev.title, len(dev.texts)) == ("5-NN accuracy", len(sentences))


def test_a_start_that_nothing_beats_is_said_to_be_saved(
    text_file: Path, tiny_bert: Path, capsys: Capsys
) -> None:
    Path("dev.tsv").write_text(
        "score\tsentence1\tsentence2\n1\ta dog\ta dog\n0\ta man\ta tree\n", encoding="utf-8"
    )
    options = [
        "--preset",
        "no-mask",
        "--text",
        text_file,
        "--encoder",
        tiny_bert,
        "--batch-size",
        "16",
        "--max-tokens",
        "24",
    ]
    assert train("mirror", *options, "--dev", "dev.tsv", "--evaluations", "2", "--out", "run") == 0
    last = capsys.readouterr().out.splitlines()[-1]
    assert "dev 100.00 at step 0; before the training 100.00, after it 100.00" in last


def test_pairs_are_read_from_a_file_on_any_scale_or_from_a_benchmark_by_its_name(tmp_path: Path) -> None:
    path = tmp_path / "dev.tsv"
    path.write_text("score\tsentence1\tsentence2\n4.5\ta dog\ta cat\n-1\ta man\ta bird\n", encoding="utf-8")
    found = read_dev(str(path), None)
    assert isinstance(found, Pairs)
    first, second, grades = columns_of(found)
    assert (first, second) == (("a dog", "a man"), ("a cat", "a bird"))
    assert grades[0] > grades[1]
    (tmp_path / "stsbenchmark").mkdir()
    lines = [f"news\tfile\t2012\t{row}\t{row % 6}\ta dog {row}\ta cat {row}\n" for row in range(1500)]
    (tmp_path / "stsbenchmark" / "sts-dev.csv").write_text("".join(lines), encoding="utf-8")
    found = read_dev("stsb-dev", str(tmp_path))
    assert found.lines[7] == "1.0\ta dog 7\ta cat 7\n"


@pytest.mark.parametrize("language", ["en", "de", "es", "fr", "ru"])
def test_translated_benchmarks_are_development_sets_too(language: str, tmp_path: Path) -> None:
    (tmp_path / "stsb-multi-mt").mkdir()
    lines = [f"a dog {row},a cat {row},{row % 6}\n" for row in range(1500)]
    (tmp_path / "stsb-multi-mt" / f"stsb-{language}-dev.csv").write_text("".join(lines), encoding="utf-8")
    dev = read_dev(f"stsb-{language}-dev", str(tmp_path))
    assert dev.lines[7] == "1.0\ta dog 7\ta cat 7\n"
