from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch

from pipelines.console import InputError
from trainers.encoder import Encoder, by_length, masked_mean
from trainers.objective import spread
from trainers.pretrained import load_encoder, load_masked_lm, locate, save_encoder


def encoder_of(path: Path, pooling: str = "mean", max_tokens: int = 24) -> Encoder:
    return load_encoder(locate(str(path)), pooling=pooling, max_tokens=max_tokens)


@pytest.mark.parametrize("pooling", ["mean", "cls"])
def test_vector_is_the_same_alone_and_in_any_batch(tiny_bert: Path, sentences: list[str], pooling: str) -> None:
    encoder = encoder_of(tiny_bert, pooling)
    together = encoder.encode(sentences[:20], batch_size=20)
    alone = torch.cat([encoder.encode([text]) for text in sentences[:20]])
    torch.testing.assert_close(together, alone, atol=1e-5, rtol=0)
    assert (together[0] - together[1]).abs().max() > 1e-2


def test_large_batch_is_split_by_length_and_put_together_in_order(tiny_bert: Path, sentences: list[str]) -> None:
    encoder = encoder_of(tiny_bert).eval()
    texts = (sentences * 3)[:101]
    ids = encoder.tokenize(texts)
    batch = encoder.pad([ids[row] for row in range(101)])
    groups = by_length(batch["attention_mask"])
    assert len(groups) == 4
    assert sorted(torch.cat([rows for rows, _ in groups]).tolist()) == list(range(101))
    assert sum(len(rows) * width for rows, width in groups) < 0.9 * batch["input_ids"].numel()
    whole = masked_mean(encoder.tokens(**batch), batch["attention_mask"])
    torch.testing.assert_close(encoder(**batch), whole, atol=1e-5, rtol=0)


def test_mean_leaves_the_padding_out() -> None:
    tokens = torch.tensor([[[1.0, 2.0], [3.0, 4.0], [100.0, 100.0]]])
    assert masked_mean(tokens, torch.tensor([[1, 1, 0]])).tolist() == [[2.0, 3.0]]


@pytest.mark.parametrize("pooling", ["mean", "cls"])
def test_saved_directory_loads_in_sentence_transformers_with_the_same_vectors(
    tiny_bert: Path, tmp_path: Path, sentences: list[str], pooling: str
) -> None:
    from sentence_transformers import SentenceTransformer

    encoder = encoder_of(tiny_bert, pooling)
    save_encoder(encoder, tmp_path, "# A card\n")
    model = SentenceTransformer(str(tmp_path), device="cpu")
    np.testing.assert_allclose(model.encode(sentences[:12]), encoder.encode(sentences[:12]), atol=1e-5)
    assert model[1].pooling_mode == pooling
    assert model.max_seq_length == 32
    assert (tmp_path / "README.md").read_text(encoding="utf-8") == "# A card\n"
    assert not list(tmp_path.glob(".saving-*"))
    assert len({path.stat().st_mode for path in tmp_path.iterdir() if path.is_file()}) == 1
    assert not [path for path in tmp_path.rglob("*") if path.suffix in {".bin", ".pt", ".pkl"}]


def test_saved_directory_can_be_trained_on(tiny_bert: Path, tmp_path: Path, sentences: list[str]) -> None:
    first = encoder_of(tiny_bert)
    save_encoder(first, tmp_path, "# card")
    torch.testing.assert_close(encoder_of(tmp_path).encode(sentences[:4]), first.encode(sentences[:4]))
    assert load_masked_lm(locate(str(tmp_path))).base_model.config.hidden_size == 16


def test_older_layout_with_the_transformer_in_a_subfolder_is_found(tiny_bert: Path, tmp_path: Path) -> None:
    (tmp_path / "0_Transformer").symlink_to(tiny_bert)
    modules = [{"idx": 0, "name": "0", "path": "0_Transformer", "type": "sentence_transformers.models.Transformer"}]
    (tmp_path / "modules.json").write_text(json.dumps(modules), encoding="utf-8")
    torch.testing.assert_close(encoder_of(tmp_path).encode(["a dog"]), encoder_of(tiny_bert).encode(["a dog"]))


@pytest.mark.parametrize("text", ["{", "[]", '[{"idx": 0}]', "3"])
def test_broken_list_of_modules_is_one_line(tmp_path: Path, text: str) -> None:
    (tmp_path / "modules.json").write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=r"modules\.json is no list of sentence-transformers modules"):
        locate(str(tmp_path))


def test_starter_is_an_encoder_s_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert locate("starter") == locate(None)
    (tmp_path / "starter").mkdir()
    with pytest.raises(InputError, match="holds no model"):
        locate("starter")


def test_half_precision_weights_are_loaded_in_full(bare_bert: Path) -> None:
    assert {parameter.dtype for parameter in encoder_of(bare_bert).parameters()} == {torch.float32}


def test_stored_mask_becomes_the_tokenizer_s_own(tiny_bert: Path) -> None:
    encoder = encoder_of(tiny_bert)
    encoder.tokenizer.mask_token = "[UNK]"
    assert encoder.tokenize(["a [MASK] cat"])[0] == encoder.tokenize(["a [UNK] cat"])[0]
    encoder.tokenizer.mask_token = None
    with pytest.raises(InputError, match="no mask token"):
        encoder.tokenize(["a [MASK] cat"])


def test_texts_are_cut_at_max_tokens(tiny_bert: Path) -> None:
    encoder = encoder_of(tiny_bert, max_tokens=8)
    assert [len(ids) for ids in encoder.tokenize(["a " * 40, "a b"])] == [8, 4]


def test_more_tokens_than_positions_are_refused(tiny_bert: Path) -> None:
    with pytest.raises(InputError, match=r"--max-tokens 33 .* 32 positions"):
        encoder_of(tiny_bert, max_tokens=33)


def test_what_is_no_model_is_refused_in_one_line(tmp_path: Path, tiny_bert: Path) -> None:
    with pytest.raises(InputError, match=r"no encoder directory './nowhere'"):
        locate("./nowhere")
    with pytest.raises(InputError, match=r"no config\.json"):
        locate(str(tmp_path))
    (tmp_path / "config.json").write_text((tiny_bert / "config.json").read_text(), encoding="utf-8")
    with pytest.raises(InputError, match="cannot load the encoder") as caught:
        encoder_of(tmp_path)
    assert "\n" not in str(caught.value)


def test_pickled_weights_are_refused(tiny_bert: Path, tmp_path: Path) -> None:
    for file in tiny_bert.iterdir():
        if file.suffix != ".safetensors":
            (tmp_path / file.name).write_bytes(file.read_bytes())
    torch.save({}, tmp_path / "pytorch_model.bin")
    with pytest.raises(InputError, match="safetensors"):
        encoder_of(tmp_path)


def test_spread_is_zero_for_one_direction_and_one_for_opposite_ones() -> None:
    direction = torch.randn(1, 6)
    assert spread(direction * torch.rand(10, 1).add(0.1)).item() == pytest.approx(0, abs=1e-3)
    assert spread(torch.cat([direction, -direction])).item() == pytest.approx(1)
