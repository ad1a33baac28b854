"""Vectors against a computation by hand, packing, and models that cannot be used."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.console import InputError, TwinviewsError
from trainers.evaluation.encoder import cosines, load_encoder, pack


def by_hand(directory: Path, text: str) -> dict[str, np.ndarray]:
    """Return the mean of a text's token vectors and its first one, alone in its batch, so without any padding."""
    import torch
    from transformers import AutoModel, AutoTokenizer

    model = AutoModel.from_pretrained(directory).float().eval()
    with torch.inference_mode():
        states = model(**AutoTokenizer.from_pretrained(directory)(text, return_tensors="pt")).last_hidden_state[0]
    return {"mean": states.mean(dim=0).numpy(), "cls": states[0].numpy()}


@pytest.mark.parametrize("pooling", ["mean", "cls"])
def test_a_model_with_an_mlm_head_pools_without_its_padding(tiny_mlm: Path, pooling: str) -> None:
    short, long = "cat runs", "the cat sleeps here there red old young train plays stops"
    encoder = load_encoder(str(tiny_mlm), pooling=pooling)  # type: ignore[arg-type]
    vectors = encoder.encode([short, long])
    for text in (short, long):
        np.testing.assert_allclose(vectors[text], by_hand(tiny_mlm, text)[pooling], atol=1e-5)
    assert encoder.pooling == pooling
    assert not np.allclose(vectors[short], vectors[long], atol=0.1)


def test_half_precision_weights_are_computed_in_float32(tiny_mlm: Path) -> None:
    import torch

    assert {parameter.dtype for parameter in load_encoder(str(tiny_mlm)).model.parameters()} == {torch.float32}


def test_bf16_is_close_to_fp32_but_is_not_it(tiny_mlm: Path, sentences: list[str]) -> None:
    exact = load_encoder(str(tiny_mlm), pooling="mean").encode(sentences)
    rounded = load_encoder(str(tiny_mlm), pooling="mean", precision="bf16").encode(sentences)
    one, two = (np.stack([vectors[text] for text in sorted(set(sentences))]) for vectors in (exact, rounded))
    assert two.dtype == np.float32
    assert not np.array_equal(one, two)
    np.testing.assert_allclose(one, two, atol=0.2)


def test_vectors_do_not_depend_on_the_batches(tiny_mlm: Path, sentences: list[str]) -> None:
    encoder = load_encoder(str(tiny_mlm), pooling="mean")
    together = encoder.encode(sentences)
    alone = encoder.encode(sentences, batch_size=1)
    assert together.keys() == alone.keys() == set(sentences)
    for text, vector in together.items():
        np.testing.assert_allclose(vector, alone[text], atol=1e-5)


def test_each_distinct_text_is_encoded_once(tiny_mlm: Path) -> None:
    counted: list[int] = []
    load_encoder(str(tiny_mlm)).encode(["a cat", "a dog", "a cat"], advance=counted.append)
    assert sum(counted) == 2


def test_a_sentence_transformers_directory_gives_its_own_vectors(
    tiny_mlm: Path, sentences: list[str], tmp_path: Path
) -> None:
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import Pooling, Transformer

    parts = [Transformer(str(tiny_mlm)), Pooling(16, "cls")]
    prompts = {"task": "the old man sings "}
    SentenceTransformer(modules=parts, prompts=prompts, default_prompt_name="task").save_pretrained(
        str(tmp_path / "st")
    )
    texts = sorted(set(sentences))
    encoder = load_encoder(str(tmp_path / "st"))
    vectors = encoder.encode(texts)
    np.testing.assert_allclose(np.stack([vectors[text] for text in texts]), encoder.model.encode(texts), atol=1e-5)
    assert encoder.pooling == "cls"
    assert load_encoder(str(tmp_path / "st"), pooling="mean").pooling == "mean"


def test_the_checksum_of_the_weights_is_recorded(tiny_mlm: Path) -> None:
    import hashlib

    expected = hashlib.sha256((tiny_mlm / "model.safetensors").read_bytes()).hexdigest()
    assert load_encoder(str(tiny_mlm)).weights == {"model.safetensors": expected}


def test_a_plain_model_without_pooling_says_that_it_takes_means(
    tiny_mlm: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert load_encoder(str(tiny_mlm)).pooling == "mean"
    assert "masked means (--pooling mean|cls)" in capsys.readouterr().err
    load_encoder(str(tiny_mlm), pooling="mean")
    assert capsys.readouterr().err == ""


@given(st.lists(st.integers(1, 40), max_size=60), st.integers(1, 9), st.integers(1, 100))
def test_batches_hold_every_text_once_within_both_limits(lengths: list[int], size: int, tokens: int) -> None:
    texts = [str(index) for index in range(len(lengths))]
    batches = list(pack(texts, lengths, size, tokens))
    assert sorted(text for batch in batches for text in batch) == sorted(texts)
    for batch in batches:
        assert len(batch) <= size
        assert len(batch) == 1 or len(batch) * max(lengths[int(text)] for text in batch) <= tokens


def test_cosines_by_hand_and_exact_for_equal_texts() -> None:
    vectors = {
        "a": np.array([3.0, 4.0], np.float32), "b": np.array([4.0, 3.0], np.float32), "0": np.zeros(2, np.float32),
        "c": np.array([0.1, 0.7], np.float32),
    }  # fmt: skip
    assert cosines(vectors, ["a", "a", "c", "a"], ["b", "a", "c", "0"]).tolist() == [0.96, 1.0, 1.0, 0.0]


def test_nan_is_an_error_and_no_score(tiny_mlm: Path) -> None:
    import torch

    encoder = load_encoder(str(tiny_mlm), pooling="mean")
    with torch.no_grad():
        next(encoder.model.parameters()).fill_(float("nan"))
    with pytest.raises(TwinviewsError, match="gives NaN or infinity"):
        encoder.encode(["a cat"])


@pytest.mark.parametrize("name", ["./nowhere", "/nowhere", "runs/nowhere", "a/b/c"])
def test_a_mistyped_directory_is_not_looked_up_on_the_hub(name: str) -> None:
    with pytest.raises(InputError, match=f"no model directory '{name}'"):
        load_encoder(name)


def test_directories_without_a_usable_model_are_refused(tiny_mlm: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="holds no model"):
        load_encoder(str(tmp_path))
    copy = shutil.copytree(tiny_mlm, tmp_path / "copy")
    (copy / "model.safetensors").write_bytes((tiny_mlm / "model.safetensors").read_bytes()[:100])
    with pytest.raises(InputError, match="cannot load the model"):
        load_encoder(str(copy))
    (copy / "model.safetensors").rename(copy / "pytorch_model.bin")
    with pytest.raises(InputError, match="from safetensors only"):
        load_encoder(str(copy))


def test_a_broken_config_is_refused(tiny_mlm: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(tiny_mlm, tmp_path / "copy")
    config = json.loads((copy / "config.json").read_text())
    (copy / "config.json").write_text(json.dumps({**config, "model_type": "unheard-of"}))
    with pytest.raises(InputError, match="cannot load the model"):
        load_encoder(str(copy))
    (copy / "config.json").write_text("{")
    with pytest.raises(InputError, match="cannot load the model"):
        load_encoder(str(copy))
