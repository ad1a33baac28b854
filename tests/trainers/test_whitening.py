from pathlib import Path

import numpy as np
import pytest
import torch
from fitting import trained
from objective_cases import build, encoder_of, prepared
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import Dense

from pipelines.console import TwinviewsError, call
from trainers.cli import app
from trainers.encoders.modules import whiten
from trainers.objective import Objective

WHITENED = ["bsl", "contrastive", "diffcse", "distil", "mirror", "rank", "regression", "sct"]


def vectors_at_start(name: str, encoder: Path, texts: list[str]) -> tuple[Objective, np.ndarray]:
    given = {"method": "sct"} if name == "distil" else {}  # ConGen adds a layer, and some rows are not trained on
    objective, rows, training = prepared(name, encoder, texts, whiten=True, pooling="cls", **given)
    objective.before_first_step(rows, training)
    return objective, objective.encode(texts).double().numpy()


@pytest.mark.parametrize("name", WHITENED)
def test_training_begins_with_the_vectors_that_numpy_whitens(name: str, tiny_bert: Path, sentences: list[str]) -> None:
    _, found = vectors_at_start(name, tiny_bert, sentences)
    plain = encoder_of(tiny_bert, "cls").encode(sentences).double().numpy()
    centred = plain - plain.mean(0)
    covariance = centred.T @ centred / len(plain)
    shrunk = 0.8 * covariance + 0.2 * np.trace(covariance) / len(covariance) * np.eye(len(covariance))
    left, singular, right = np.linalg.svd(shrunk)
    np.testing.assert_allclose(found, centred @ (left / np.sqrt(singular) @ right), atol=1e-4)


def test_both_networks_of_bsl_begin_whitened(tiny_bert: Path, sentences: list[str]) -> None:
    objective, _ = vectors_at_start("bsl", tiny_bert, sentences)
    for online, target in zip(objective.encoder.parameters(), objective.target.parameters(), strict=True):
        torch.testing.assert_close(online, target)


def test_plain_loader_reads_the_layer_and_it_was_trained(tiny_bert: Path, sentences: list[str], tmp_path: Path) -> None:
    start, _ = vectors_at_start("contrastive", tiny_bert, sentences)
    objective, _ = trained("contrastive", tiny_bert, sentences, tmp_path / "run", whiten=True, pooling="cls")
    objective.save(tmp_path / "saved", "")
    plain = SentenceTransformer(str(tmp_path / "saved"), device="cpu").encode(sentences)
    np.testing.assert_allclose(plain, objective.encode(sentences), atol=1e-5)
    assert not torch.equal(start.encoder.whitening.linear.weight, objective.encoder.whitening.linear.weight)


@pytest.mark.parametrize("command", [["isbert"], ["mlm"], ["contrastive", "--preset", "adapt"]])
def test_objective_that_trains_no_such_layer_or_holds_the_vectors_where_they_were_refuses(
    command: list[str], tiny_bert: Path, text_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = [
        "--text",
        str(text_file),
        "--encoder",
        str(tiny_bert),
        "--max-tokens",
        "24",
        "--out",
        str(tmp_path / "run"),
    ]
    assert call(app, [*command, "--whiten", *given]) == 2
    assert "--whiten" in capsys.readouterr().err.splitlines()[-1]


def test_head_that_is_kept_comes_behind_the_whitening(tiny_bert: Path) -> None:
    objective = build("contrastive", tiny_bert, whiten=True, keep_head=True)
    assert [type(module).__name__ for module in objective.encoder][-2:] == ["Dense", "Dense"]


def test_vectors_that_are_not_finite_are_one_line() -> None:
    with pytest.raises(TwinviewsError, match="NaN or infinity"):
        whiten(Dense(3, 3), torch.full((5, 3), torch.nan))


def test_vectors_that_do_not_vary_stay_as_they_are() -> None:
    layer = Dense(3, 3)
    before = [value.clone() for value in layer.parameters()]
    whiten(layer, torch.ones(5, 3))
    assert all(map(torch.equal, layer.parameters(), before))
