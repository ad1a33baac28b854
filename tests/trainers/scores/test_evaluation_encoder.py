"""Vectors against a computation by hand, packing, models that cannot be used, and directories in MTEB."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest
import torch
from datasets import Dataset
from hypothesis import given
from hypothesis import strategies as st
from known_vectors import WORDS
from scipy.stats import spearmanr
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import CNN, Dense, Normalize, Pooling, Transformer
from small_trainings import Capsys, pooled_by_hand, write_bert

import trainers.encoders.model
from pipelines.base.console import InputError, TwinviewsError
from trainers.encoders.loading import load_for_training, save_encoder
from trainers.encoders.location import locate
from trainers.encoders.model import load_model, pack
from trainers.encoders.vectors import Vectors


@pytest.mark.parametrize("pooling", ["mean", "cls", "first-last", "padded-mean"])
def test_a_model_with_an_mlm_head_pools_as_by_hand(tiny_mlm: Path, pooling: str) -> None:
    short, long = "cat runs", "the cat sleeps here there red old young train plays stops"
    encoder = load_model(str(tiny_mlm), pooling=pooling)  # type: ignore[arg-type]
    vectors = encoder.encode([short, long])
    expected = [pooled_by_hand(tiny_mlm, text, 32)[pooling] for text in (short, long)]
    np.testing.assert_allclose(vectors, expected, atol=1e-5)
    assert encoder.card()["pooling"] == pooling
    assert not np.allclose(*vectors, atol=0.1)


def test_bf16_is_close_but_not_equal_to_fp32(tiny_mlm: Path, sentences: list[str]) -> None:
    one = load_model(str(tiny_mlm), pooling="mean").encode(sentences)
    two = load_model(str(tiny_mlm), pooling="mean", precision="bf16").encode(sentences)
    assert two.dtype == np.float32
    assert not np.array_equal(one, two)
    np.testing.assert_allclose(one, two, atol=0.2)


def test_another_pooling_keeps_prompt_and_dimension(
    tiny_mlm: Path, sentences: list[str], tmp_path: Path
) -> None:
    prompts = {"prompts": {"task": "the old man sings "}, "default_prompt_name": "task", "truncate_dim": 5}
    for pooling, other in (("mean", "cls"), ("cls", "mean"), ("cls", "cls")):
        modules = [Transformer(str(tiny_mlm)), Pooling(16, pooling, include_prompt=False)]
        SentenceTransformer(modules=modules, **prompts).float().save_pretrained(str(tmp_path / pooling))
        found = load_model(str(tmp_path / pooling), pooling=other).encode(sentences)  # type: ignore[arg-type]
        modules[1] = Pooling(16, other, include_prompt=False)
        expected = SentenceTransformer(modules=modules, **prompts).float().encode(sentences)
        np.testing.assert_allclose(found, expected, atol=1e-5)
        assert found.shape[1] == 5


@pytest.mark.parametrize("tail", ["Dense", "Normalize", "CNN"])
def test_every_module_is_run(
    tiny_mlm: Path,
    sentences: list[str],
    tmp_path: Path,
    tail: str,
    capsys: Capsys,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(trainers.encoders.model, "CPU_BATCH_TOKENS", 1)
    torch.manual_seed(0)
    first = Transformer(str(tiny_mlm))
    modules = {
        "Dense": [first, Pooling(16, "mean"), Dense(16, 6)],
        "Normalize": [first, Pooling(16, "mean"), Normalize()],
        "CNN": [first, CNN(16, 5, [1, 3]), Pooling(10, "mean")],
    }[tail]
    whole = SentenceTransformer(modules=modules).float()
    whole.save_pretrained(str(tmp_path / "st"))
    encoder = load_model(str(tmp_path / "st"))
    np.testing.assert_allclose(encoder.encode(sentences), whole.encode(sentences, batch_size=1), atol=1e-5)
    assert tail in encoder.title
    assert encoder.card()["modules"] == [type(module).__name__ for module in modules]
    assert load_model(str(tmp_path / "st"), pooling="cls").card()["modules"] == ["Transformer", "Pooling"]
    assert f"leaves out the model's own {tail}" in capsys.readouterr().err


def test_a_run_is_evaluated_at_the_tokens_asked_for(tmp_path: Path, sentences: list[str]) -> None:
    path = str(write_bert(tmp_path / "bert", WORDS, half=True, max_position_embeddings=80))
    save_encoder(load_for_training(locate(path), "padded-mean", 20), tmp_path / "run", "card")
    texts = [*sentences[:5], " ".join(sentences)]
    widths = ({"pooling": "padded-mean"}, 64), ({"max_tokens": 64}, 64), ({"max_tokens": 30}, 30), ({}, 20)
    for options, width in widths:
        encoder = load_model(str(tmp_path / "run"), **options)  # type: ignore[arg-type]
        expected = [pooled_by_hand(Path(path), text, width)["padded-mean"] for text in texts]
        np.testing.assert_allclose(encoder.encode(texts), expected, atol=1e-5)
        assert encoder.card()["max_tokens"] == width
    with pytest.raises(InputError, match="--max-tokens 81 is more than the encoder's 80 positions"):
        load_model(str(tmp_path / "run"), max_tokens=81)


def test_a_model_without_pooling_takes_means_and_says_so(tiny_mlm: Path, capsys: Capsys) -> None:
    assert load_model(str(tiny_mlm)).card()["pooling"] == "mean"
    assert "with mean pooling (--pooling mean|cls|first-last|padded-mean|max|" in capsys.readouterr().err
    load_model(str(tiny_mlm), pooling="mean")
    assert capsys.readouterr().err == ""


@given(st.lists(st.integers(1, 40), max_size=60), st.integers(1, 9), st.integers(1, 100))
def test_batches_hold_every_text_once_within_both_limits(lengths: list[int], size: int, tokens: int) -> None:
    batches = list(pack(lengths, size, tokens))
    assert sorted(row for batch in batches for row in batch) == list(range(len(lengths)))
    for batch in batches:
        assert len(batch) <= size
        assert len(batch) == 1 or len(batch) * max(lengths[row] for row in batch) <= tokens


def test_cosines_by_hand_and_exact_for_equal_texts() -> None:
    matrix = np.array([[3, 4], [4, 3], [0, 0], [0.1, 0.7]], np.float32)
    vectors = Vectors({"a": 0, "b": 1, "0": 2, "c": 3}, matrix)
    assert vectors.cosines(["a", "a", "c", "a"], ["b", "a", "c", "0"]).tolist() == [0.96, 1.0, 1.0, 0.0]


def test_nan_is_an_error(tiny_mlm: Path) -> None:
    encoder = load_model(str(tiny_mlm), pooling="mean")
    with torch.no_grad():
        next(encoder.model.parameters()).fill_(float("nan"))
    with pytest.raises(TwinviewsError, match="gives NaN or infinity"):
        encoder.encode(["a cat"])


@pytest.mark.skipif(importlib.util.find_spec("mteb") is None, reason="needs mteb")
def test_mteb_takes_a_directory_as_a_model(tiny_mlm: Path, sentences: list[str], tmp_path: Path) -> None:
    from mteb.evaluate import evaluate as run
    from mteb.mocks.mock_tasks import MockSTSTask

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
