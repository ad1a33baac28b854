"""Encoders: their poolings, batches and files, compared with sentence-transformers on the same directory."""

from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import save_file
from sentence_transformers import SentenceTransformer
from small_trainings import build, encoder_of, pooled_by_hand, prepared

from pipelines.base.console import InputError
from trainers.encoders.location import locate
from trainers.encoders.model import load_model
from trainers.encoders.modules import with_cnn
from trainers.objective import by_length
from trainers.settings import POOLINGS, objective_names


@pytest.mark.exhaustive_after(1)
@pytest.mark.parametrize("pooling", POOLINGS)
def test_pooling_is_what_its_name_says(tiny_bert: Path, sentences: list[str], pooling: str) -> None:
    encoder = encoder_of(tiny_bert, pooling).eval()
    expected = np.stack([pooled_by_hand(tiny_bert, text, 24)[pooling] for text in sentences])
    np.testing.assert_allclose(encoder.encode(sentences), expected, atol=1e-5)
    others = [encoder_of(tiny_bert, other).encode(sentences).numpy() for other in POOLINGS if other != pooling]
    assert all(np.abs(other - expected).max() > 1e-2 for other in others)


OWN = {
    "isbert": ["WordWeights", "CNN", "Dense", "Pooling"],
    "distil": ["Pooling", "Dense"],
    "supervised-simcse": ["Pooling", "Dense"],
    "bsl": ["Pooling", "Dense"],
}
"""The modules after the transformer of a saved encoder, where they are not the pooling alone."""


@pytest.mark.exhaustive_after(3)
@pytest.mark.parametrize("name", [*objective_names(), "simcse", "supervised-simcse"])
def test_saved_encoder_and_batches_agree(
    name: str, tiny_bert: Path, sentences: list[str], tmp_path: Path
) -> None:
    simcse = name.endswith("simcse")
    objective = build("contrastive", tiny_bert, name) if simcse else prepared(name, tiny_bert, sentences)[0]
    alone = torch.cat([objective.encode([text]) for text in sentences])
    for size in (2, 17, 48):
        torch.testing.assert_close(objective.encode(sentences, batch_size=size), alone, atol=1e-5, rtol=0)
    objective.save(tmp_path, "# card")
    model = SentenceTransformer(str(tmp_path), device="cpu")
    assert [type(module).__name__ for module in model][1:] == OWN.get(name, ["Pooling"])
    for size in (1, 17, 48):
        np.testing.assert_allclose(model.encode(sentences, batch_size=size), alone, atol=1e-5)


def test_large_batch_is_split_by_length_and_put_together_in_order(
    tiny_bert: Path, sentences: list[str]
) -> None:
    encoder = encoder_of(tiny_bert).eval()
    texts = (sentences * 3)[:101]
    batch = encoder.pad(list(encoder.tokenize(texts)))
    groups = by_length(batch["attention_mask"])
    assert len(groups) == 8
    assert sorted(torch.cat([rows for rows, _ in groups]).tolist()) == list(range(101))
    assert sum(len(rows) * width for rows, width in groups) < 0.9 * batch["input_ids"].numel()
    whole = encoder.encoder(dict(batch))["sentence_embedding"]
    torch.testing.assert_close(encoder.embed(**batch), whole, atol=1e-5, rtol=0)


@pytest.mark.exhaustive_after(3)
@pytest.mark.parametrize(
    ("pooling", "cnn"),
    [*((pooling, None) for pooling in POOLINGS), ("mean", True), ("mean", False), ("cls", True)],
)
def test_saved_directory(
    tiny_bert: Path, tmp_path: Path, sentences: list[str], pooling: str, cnn: bool | None
) -> None:
    encoder = encoder_of(tiny_bert, pooling)
    if cnn is not None:
        encoder.encoder = with_cnn(encoder.encoder, (1, 3, 5), 4, relu=cnn)
    encoder.save(tmp_path, "# A card\n")
    model = SentenceTransformer(str(tmp_path), device="cpu")
    vectors = encoder.encode(sentences)
    assert vectors.shape == (48, 16 if cnn is None else 12)
    for size in (1, 5, 48):
        np.testing.assert_allclose(model.encode(sentences, batch_size=size), vectors, atol=1e-5)
    assert model.max_seq_length == (24 if pooling == "padded-mean" else 32)
    assert model.get_embedding_dimension() == encoder.dimension
    assert (tmp_path / "README.md").read_text(encoding="utf-8") == "# A card\n"
    assert not list(tmp_path.glob(".saving-*"))
    assert len({path.stat().st_mode for path in tmp_path.iterdir() if path.is_file()}) == 1
    again = encoder_of(tmp_path, pooling)
    assert [type(module) for module in again.encoder] == [type(module) for module in encoder.encoder]
    torch.testing.assert_close(again.encode(sentences), vectors, atol=1e-6, rtol=0)
    scored = load_model(str(tmp_path))
    np.testing.assert_allclose(scored.encode(sentences), vectors, atol=1e-5)
    assert (scored.card()["pooling"], "CNN" in scored.title) == (pooling, cnn is not None)


def test_stored_mask_becomes_the_tokenizer_s_own(tiny_bert: Path) -> None:
    encoder = encoder_of(tiny_bert)
    encoder.encoder.tokenizer.mask_token = "[UNK]"
    assert encoder.tokenize(["a [MASK] cat"])[0] == encoder.tokenize(["a [UNK] cat"])[0]
    encoder.encoder.tokenizer.mask_token = None
    with pytest.raises(InputError, match="no mask token"):
        encoder.tokenize(["a [MASK] cat"])


def test_a_folder_without_a_model_is_refused_in_one_line(tmp_path: Path, tiny_bert: Path) -> None:
    with pytest.raises(InputError, match="holds no model: give a directory with modules"):
        locate(str(tmp_path))
    for file in tiny_bert.iterdir():
        if file.suffix != ".safetensors":
            (tmp_path / file.name).write_bytes(file.read_bytes())
    with pytest.raises(InputError, match=r"and with \*\.safetensors or pytorch_model\.bin"):
        locate(str(tmp_path))
    weights, other = tmp_path / "model.safetensors", {"other": torch.zeros(3)}
    for write in (
        lambda: weights.write_bytes(b"half"),
        lambda: save_file(other, weights, metadata={"format": "pt"}),
        lambda: (weights.unlink(), torch.save(other, tmp_path / "pytorch_model.bin")),
    ):
        write()
        with pytest.raises(
            InputError, match=r"encoder .* cannot be loaded|the files of the encoder"
        ) as caught:
            encoder_of(tmp_path)
        assert "\n" not in str(caught.value)
