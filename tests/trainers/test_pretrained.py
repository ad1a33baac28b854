import json
import pickle
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import nn

from pipelines.console import InputError
from trainers.encoders.loading import load_for_training, save_encoder
from trainers.encoders.location import locate
from trainers.encoders.modules import cnn_name, parts_of, pooling_of, with_cnn
from trainers.objective import Objective

COMMIT = "0123456789abcdef0123456789abcdef01234567"
MODULES = "sentence_transformers.models."


def encoder_of(path: Path | str, pooling: str = "mean") -> Objective:
    return Objective(load_for_training(locate(str(path)), pooling, 24), 24)


def write_modules(folder: Path, *modules: tuple[str, str]) -> None:
    entries = [
        {"idx": idx, "name": str(idx), "path": path, "type": kind if "." in kind else MODULES + kind}
        for idx, (kind, path) in enumerate(modules)
    ]
    (folder / "modules.json").write_text(json.dumps(entries), encoding="utf-8")


def write_config(folder: Path, name: str = "config.json", **config: object) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(json.dumps(config), encoding="utf-8")


def older(folder: Path, bert: Path, pooling: str = "mean_tokens") -> Path:
    """A directory as sentence-transformers of 2019 to 2024 wrote them."""
    folder.mkdir(exist_ok=True)
    shutil.copytree(bert, folder / "0_Transformer")
    modes = {f"pooling_mode_{name}": name == pooling for name in ("cls_token", "mean_tokens", "max_tokens")}
    write_config(folder / "1_Pooling", word_embedding_dimension=16, **modes)
    write_modules(folder, ("Transformer", "0_Transformer"), ("Pooling", "1_Pooling"))
    return folder


def saved(folder: Path, bert: Path, *after: nn.Module) -> Path:
    """A directory of the installed sentence-transformers with modules after the pooling."""
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import Pooling, Transformer

    modules = [Transformer(str(bert)), Pooling(16, "mean"), *after]
    SentenceTransformer(modules=modules, device="cpu").save_pretrained(str(folder), create_model_card=False)
    return folder


@pytest.mark.parametrize(("own", "asked"), [("cls_token", "mean"), ("mean_tokens", "cls"), ("max_tokens", "mean")])
def test_another_pooling_than_the_directory_s_own_is_said(
    tiny_bert: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], own: str, asked: str
) -> None:
    encoder = encoder_of(older(tmp_path, tiny_bert, own), asked)
    assert pooling_of(encoder.encoder) == asked
    said = f"was made for {own.split('_')[0]} pooling and is trained with {asked} (--pooling)"
    assert said in " ".join(capsys.readouterr().err.split())


def test_normalize_and_dense_are_kept_trained_and_saved(tiny_bert: Path, tmp_path: Path, sentences: list[str]) -> None:
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import Dense, LayerNorm, Normalize

    torch.manual_seed(5)
    source = saved(tmp_path / "source", tiny_bert, Dense(16, 6), LayerNorm(6), Normalize())
    encoder = encoder_of(source)
    assert encoder.dimension == 6
    expected = SentenceTransformer(str(source), device="cpu").encode(sentences)
    np.testing.assert_allclose(encoder.encode(sentences), expected, atol=1e-5)
    ids = encoder.pad(list(encoder.tokenize(sentences[:4])))
    (encoder.train().embed(**ids)[:, 0].sum()).backward()
    assert encoder.encoder[2].linear.weight.grad.abs().max() > 0
    with torch.no_grad():
        encoder.encoder[2].linear.weight.mul_(-1)
    encoder.eval()
    encoder.save(tmp_path / "new", "# card")
    again = SentenceTransformer(str(tmp_path / "new"), device="cpu")
    assert [type(module).__name__ for module in again] == ["Transformer", "Pooling", "Dense", "LayerNorm", "Normalize"]
    np.testing.assert_allclose(again.encode(sentences), encoder.encode(sentences), atol=1e-5)
    assert np.abs(again.encode(sentences) - expected).max() > 1e-2


def test_cnn_of_sentence_transformers_is_trained_with_the_padding_zeroed(
    tiny_bert: Path, tmp_path: Path, sentences: list[str]
) -> None:
    """The authors of IS-BERT wrote such directories: transformer, CNN, pooling."""
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import CNN, Pooling, Transformer

    torch.manual_seed(6)
    modules = [Transformer(str(tiny_bert)), CNN(16, 4, [1, 3]), Pooling(8, "mean")]
    model = SentenceTransformer(modules=modules, device="cpu")
    model.save_pretrained(str(tmp_path), create_model_card=False)
    encoder = encoder_of(tmp_path)
    assert cnn_name(parts_of(encoder.encoder, "it")) == "a CNN of widths 1, 3 with 4 filters each, without ReLU"
    # Alone, nothing is padded.
    np.testing.assert_allclose(encoder.encode(sentences), model.encode(sentences, batch_size=1), atol=1e-5)
    assert np.abs(model.encode(sentences, batch_size=48) - model.encode(sentences, batch_size=1)).max() > 1e-3


def refused(tmp_path: Path, bert: Path) -> dict[str, str]:
    """What is wrong, and what is said of it; the directories are made under `tmp_path`."""
    from sentence_transformers.sentence_transformer.modules import CNN, Dense, WordWeights

    folder = tmp_path / "own code"
    shutil.copytree(bert, folder)
    write_modules(folder, ("Transformer", ""), ("my.code.Pooling", "1"))
    older(tmp_path / "lstm", bert)
    write_modules(tmp_path / "lstm", ("Transformer", "0_Transformer"), ("LSTM", "1"), ("Pooling", "1_Pooling"))
    older(tmp_path / "no config", bert)
    (tmp_path / "no config" / "1_Pooling" / "config.json").unlink()
    saved(tmp_path / "pickled", bert, Dense(16, 6))
    (tmp_path / "pickled" / "2_Dense" / "model.safetensors").rename(tmp_path / "pickled/2_Dense/pytorch_model.bin")
    saved(tmp_path / "width", bert, Dense(32, 6))
    saved(tmp_path / "cnn", bert, CNN(16, 4, [1, 3]))
    saved(tmp_path / "weights", bert, WordWeights(["a"], {"a": 2.0}))
    (tmp_path / "images").mkdir()
    write_modules(tmp_path / "images", ("CLIPModel", "0_CLIP"))
    (tmp_path / "images" / "model.safetensors").touch()
    return {
        "own code": "cannot load the encoder",
        "lstm": "cannot load the encoder",
        "no config": "cannot load the encoder",
        "pickled": r"2_Dense/pytorch_model.bin is no safetensors file",
        "width": "Dense layer of .* takes 32 dimensions and gets 16",
        "cnn": r"has a CNN \(module 2\) that cannot be trained here: start from its transformer alone",
        "weights": r"has a WordWeights",
        "images": "begins with sentence_transformers.models.CLIPModel, no transformer",
    }


def test_modules_that_cannot_be_trained_are_one_line(tiny_bert: Path, tmp_path: Path) -> None:
    for name, message in refused(tmp_path, tiny_bert).items():
        with pytest.raises(InputError, match=message) as caught:
            encoder_of(tmp_path / name)
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize("text", ["{", "[]", '[{"idx": 0}]', "3"])
def test_broken_list_of_modules_is_one_line(tmp_path: Path, text: str) -> None:
    (tmp_path / "modules.json").write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=r"modules\.json is no list of sentence-transformers modules"):
        locate(str(tmp_path))


@pytest.mark.parametrize("text", ["{", "[1]", "3"])
def test_broken_configuration_of_a_pooling_is_one_line(tiny_bert: Path, tmp_path: Path, text: str) -> None:
    older(tmp_path, tiny_bert)
    (tmp_path / "1_Pooling" / "config.json").write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=r"1_Pooling/config\.json says no pooling"):
        locate(str(tmp_path)).pooling()


def test_digest_covers_every_part_of_the_weights(tiny_bert: Path, tmp_path: Path) -> None:
    sharded, encoder = tmp_path / "sharded", encoder_of(tiny_bert)
    encoder.encoder[0].model.save_pretrained(sharded, max_shard_size="5KB")
    encoder.encoder.tokenizer.save_pretrained(sharded)
    shards = sorted(sharded.glob("model-*.safetensors"))
    assert len(shards) > 1
    before = locate(str(sharded)).digest()
    torch.testing.assert_close(encoder_of(sharded).encode(["a dog"]), encoder.encode(["a dog"]))
    tensors = load_file(shards[-1])
    save_file({name: tensor + 1 for name, tensor in tensors.items()}, shards[-1], metadata={"format": "pt"})
    assert before is not None
    assert locate(str(sharded)).digest() != before
    with_convolutions = with_cnn(encoder.encoder, (1, 3), 4, relu=True)
    digests = set()
    for _ in range(2):
        save_encoder(with_convolutions, tmp_path / "cnn", "# card")
        digests.add(locate(str(tmp_path / "cnn")).digest())
        with torch.no_grad():
            with_convolutions[2].convs[0].weight.add_(1)
    assert len(digests) == 2


@pytest.fixture
def hub(tiny_bert: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of the Hub with one model, me/small, whose layout has a Dense layer; the network is off."""
    from huggingface_hub import constants
    from sentence_transformers.sentence_transformer.modules import Dense, Normalize

    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    model = tmp_path / "models--me--small"
    (model / "refs").mkdir(parents=True)
    (model / "refs" / "main").write_text(COMMIT)
    torch.manual_seed(7)
    return saved(model / "snapshots" / COMMIT, tiny_bert, Dense(16, 6), Normalize())


def test_model_of_the_hub_comes_with_its_layers_and_is_pinned_by_its_commit(
    hub: Path, sentences: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    source = locate("me/small")
    assert source.folder is None
    assert source.digest() == f"commit:{COMMIT}"
    assert source.pooling() == "mean"
    encoder = Objective(load_for_training(source, "mean", 24), 24)
    assert encoder.dimension == 6
    torch.testing.assert_close(encoder.encode(sentences), encoder_of(hub).encode(sentences))
    (hub / "modules.json").unlink()
    assert source.pooling() == "cls", "a bare transformer"


def pickled(encoder: Path, folder: Path, extra: dict[str, object], *, zipped: bool = True) -> Path:
    shutil.copytree(encoder, folder)
    tensors = load_file(folder / "model.safetensors")
    (folder / "model.safetensors").unlink()
    torch.save({**tensors, **extra}, folder / "pytorch_model.bin", _use_new_zipfile_serialization=zipped)
    return folder


@pytest.mark.parametrize("zipped", [True, False])
def test_encoder_that_has_a_pickle_alone_is_read_as_weights_and_saved_without_one(
    zipped: bool, tiny_bert: Path, tmp_path: Path, sentences: list[str]
) -> None:
    folder = pickled(tiny_bert, tmp_path / "old", {}, zipped=zipped)
    encoder = encoder_of(folder)
    assert torch.equal(encoder.encode(sentences[:3]), encoder_of(tiny_bert).encode(sentences[:3]))
    assert locate(str(folder)).digest() is not None
    encoder.save(tmp_path / "new", "# card")
    assert (tmp_path / "new" / "model.safetensors").is_file()
    assert not list((tmp_path / "new").rglob("*.bin"))


class Exploit:
    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self) -> tuple[object, ...]:
        return Path.touch, (self.mark,)


@pytest.mark.parametrize("zipped", [True, False])
def test_pickle_of_more_than_weights_is_refused_and_runs_nothing(
    zipped: bool, tiny_bert: Path, tmp_path: Path, recwarn: pytest.WarningsRecorder
) -> None:
    folder = pickled(tiny_bert, tmp_path / "evil", {"x": Exploit(tmp_path / "mark")}, zipped=zipped)
    for content in (None, pickle.dumps({"x": Exploit(tmp_path / "mark")}), b"hello", b"", b"\0" * 99):
        if content is not None:
            (folder / "pytorch_model.bin").write_bytes(content)
        recwarn.clear()
        with pytest.raises(InputError, match=r"a damaged file, or a pytorch_model\.bin of more than weights") as caught:
            encoder_of(folder)
        assert "\n" not in str(caught.value)
        assert not recwarn.list
    assert not (tmp_path / "mark").exists()
