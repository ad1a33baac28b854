"""Encoders of many architectures: their positions on every load, decoders without [CLS], and poolings of their own."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.base.modules import Router
from sentence_transformers.sentence_transformer.modules import Pooling, Transformer
from small_trainings import Capsys, build, encoder_of, error_line, train
from test_pretrained import older
from transformers import (
    AutoTokenizer,
    GPT2Config,
    GPT2Model,
    MPNetConfig,
    MPNetModel,
    Qwen3Config,
    Qwen3ForCausalLM,
    RobertaConfig,
    RobertaModel,
    T5Config,
    T5EncoderModel,
    XLMRobertaConfig,
    XLMRobertaModel,
)

from pipelines.base.console import InputError
from trainers.encoders.loading import load_for_training, save_encoder
from trainers.encoders.location import locate
from trainers.encoders.model import load_model

SIZES = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32}
KINDS: dict[str, tuple[Any, Any, dict[str, Any]]] = {
    "roberta": (RobertaConfig, RobertaModel, {**SIZES, "max_position_embeddings": 22}),
    "xlmr": (XLMRobertaConfig, XLMRobertaModel, {**SIZES, "max_position_embeddings": 22}),
    "mpnet": (MPNetConfig, MPNetModel, {**SIZES, "max_position_embeddings": 23}),
    "gpt2": (GPT2Config, GPT2Model, {"n_embd": 16, "n_layer": 2, "n_head": 2, "n_positions": 21}),
    "qwen3": (Qwen3Config, Qwen3ForCausalLM, {**SIZES, "num_key_value_heads": 2, "head_dim": 8}),
    "t5": (T5Config, T5EncoderModel, {"d_model": 16, "d_kv": 8, "d_ff": 32, "num_layers": 2, "num_heads": 2}),
}


@pytest.fixture(scope="module")
def architectures(tiny_bert: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Encoders of each kind; their tokenizer, that of the tiny BERT, states no length."""
    folder = tmp_path_factory.mktemp("architectures")
    inputs = ["input_ids", "attention_mask"]
    tokenizer = AutoTokenizer.from_pretrained(tiny_bert, model_max_length=10**30, model_input_names=inputs)
    for name, (config, kind, sizes) in KINDS.items():
        torch.manual_seed(4)
        sizes = {**sizes, "initializer_range": 0.5} if name != "t5" else sizes
        kind(config(vocab_size=len(tokenizer), pad_token_id=0, **sizes)).save_pretrained(folder / name)
        tokenizer.save_pretrained(folder / name)
    return folder


@pytest.mark.parametrize("name", ["roberta", "xlmr", "mpnet", "gpt2"])
def test_long_texts_are_cut_at_the_positions_on_every_load(
    name: str, architectures: Path, sentences: list[str], tmp_path: Path
) -> None:
    long, place = " ".join(sentences), str(architectures / name)
    plain = SentenceTransformer(place, device="cpu")
    plain.max_seq_length = 21
    expected = plain.encode([long])
    assert not np.allclose(expected, plain.encode([sentences[0]]), atol=0.1)
    mode = plain[1].pooling_mode
    for encoder in (load_model(place), load_model(place, pooling=mode)):
        np.testing.assert_allclose(encoder.encode([long]), expected, atol=1e-5)
        assert encoder.card()["max_tokens"] == 21
    save_encoder(load_for_training(locate(place), mode, 8), tmp_path / "run", "card")
    np.testing.assert_allclose(load_model(str(tmp_path / "run")).encode([long]), expected, atol=1e-5)
    router = Router.for_query_document(*([Transformer(place), Pooling(16, mode)] for _ in range(2)))
    SentenceTransformer(modules=[router], device="cpu").save_pretrained(str(tmp_path / "router"))
    np.testing.assert_allclose(load_model(str(tmp_path / "router")).encode([long]), expected, atol=1e-5)


@pytest.mark.parametrize("name", ["gpt2", "qwen3"])
def test_the_first_token_of_a_decoder_is_no_sentence(name: str, architectures: Path, text_file: Path) -> None:
    place = str(architectures / name)
    for load in (
        lambda: load_for_training(locate(place), "cls", 8),
        lambda: load_model(place, pooling="cls"),
    ):
        with pytest.raises(
            InputError, match=r"--pooling cls: a \w+'s first token .* give --pooling lasttoken"
        ):
            load()
    options = [
        "--preset",
        "simcse",
        "--text",
        text_file,
        "--max-tokens",
        "16",
        "--out",
        "out",
        "--encoder",
        place,
    ]
    assert train("contrastive", *options) == 2
    assert not Path("out").exists()
    assert train("contrastive", *options, "--pooling", "lasttoken", "--epochs", "0") == 0
    texts = ["a man plays guitar", "a dog", "a"]
    vectors = SentenceTransformer("out", device="cpu").encode(texts, normalize_embeddings=True)
    assert (vectors @ vectors.T)[np.triu_indices(3, 1)].max() < 0.999
    np.testing.assert_allclose(
        encoder_of("out", "lasttoken", 16).encode(texts), load_model("out").encode(texts), atol=1e-5
    )


@pytest.mark.parametrize("name", ["roberta", "mpnet", "t5"])
def test_the_first_token_of_an_encoder_is_one(name: str, architectures: Path) -> None:
    load_for_training(locate(str(architectures / name)), "cls", 8)


@pytest.mark.parametrize(
    "mode", ["lasttoken", "max", "weightedmean", "cls", "mean", "first-last", "padded-mean"]
)
def test_a_pooling_of_its_own_is_kept(
    mode: str, tiny_bert: Path, tmp_path: Path, sentences: list[str]
) -> None:
    source = tmp_path / "source"
    if "-" in mode:
        save_encoder(load_for_training(locate(str(tiny_bert)), mode, 24), source, "card")  # type: ignore[arg-type]
    else:
        SentenceTransformer(modules=[Transformer(str(tiny_bert)), Pooling(16, mode)], device="cpu").save(
            str(source)
        )
    assert locate(str(source)).pooling() == mode
    build("contrastive", source, "adapt", pooling=locate(str(source)).pooling()).save(
        tmp_path / "saved", "card"
    )
    vectors = [load_model(str(folder)).encode(sentences) for folder in (source, tmp_path / "saved")]
    np.testing.assert_array_equal(*vectors)
    np.testing.assert_allclose(encoder_of(source, mode).encode(sentences), vectors[0], atol=1e-5)


@pytest.mark.parametrize(
    ("key", "mode"),
    [
        ("max_tokens", "max"),
        ("lasttoken", "lasttoken"),
        ("weightedmean_tokens", "weightedmean"),
        ("cls_token", "cls"),
    ],
)
def test_older_names_of_poolings_are_read(key: str, mode: str, tiny_bert: Path, tmp_path: Path) -> None:
    folder = older(tmp_path / "older", tiny_bert)
    settings = {"word_embedding_dimension": 16, "pooling_mode_mean_tokens": False, f"pooling_mode_{key}": True}
    (folder / "1_Pooling" / "config.json").write_text(json.dumps(settings))
    assert locate(str(folder)).pooling() == mode
    assert load_model(str(folder)).card()["pooling"] == mode


def test_joined_poolings_are_refused_or_replaced(
    tiny_bert: Path, tmp_path: Path, text_file: Path, capsys: Capsys
) -> None:
    modules = [Transformer(str(tiny_bert)), Pooling(16, ("mean", "max"))]
    SentenceTransformer(modules=modules, device="cpu").save(str(tmp_path / "joined"))
    options = [
        "--text",
        text_file,
        "--encoder",
        tmp_path / "joined",
        "--max-tokens",
        "24",
        "--epochs",
        "0",
        "--out",
        "out",
    ]
    capsys.readouterr()
    assert train("contrastive", "--preset", "adapt", *options) == 2
    assert "--pooling 'mean+max': input should be 'mean', 'cls'" in error_line(capsys)
    assert train("contrastive", "--preset", "adapt", *options, "--pooling", "mean") == 0
    assert "was made for mean+max pooling and is trained with mean" in " ".join(
        capsys.readouterr().err.split()
    )
