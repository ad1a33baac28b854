import errno
import io
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
import torch
from huggingface_hub import constants
from safetensors.numpy import save
from samples import ENGLISH, refused
from transformers import MarianMTModel

from augment.errors import InputError
from augment.models import encoder
from augment.models.masked_lm import FillModel
from augment.models.weights import cached, find_encoder, hub_files
from augment.translate.marian import MarianTranslator
from augment.translate.model_names import resolve_models
from augment.types import Runtime
from tests.standin_hub import COMMIT, Repository, StandinHub, standin_hub

SAFETENSORS = save({"weight": np.zeros(3, np.float32)})
FILES = {"config.json": b"{}", "model.safetensors": SAFETENSORS, "pytorch_model.bin": b"a pickle"}
FIND = """
import sys
from augment.errors import InputError
from augment.translate.model_names import resolve_models
from augment.models.weights import find_encoder
name, *revision = sys.argv[1:]
try:
    found = resolve_models(name, "de", "en", *revision) if name == "opus-mt" else find_encoder(name, *revision)
    print(found.revision, *sorted(path.name for path in found.path.iterdir()))
except InputError as error:
    print(error)
"""


@pytest.fixture
def hub() -> Iterator[StandinHub]:
    with standin_hub() as hub:
        hub.repositories["model/owner/model"] = Repository({"visibility": "public"}, FILES)
        yield hub


def find(hub: StandinHub, cache: Path, *arguments: str) -> str:
    """What `find_encoder` or, for "opus-mt", `resolve_models` says in its own process, to which `hub` is the Hub."""
    environment = {key: value for key, value in os.environ.items() if not key.lower().endswith("_proxy")}
    environment |= {**hub.environment(), "XDG_CACHE_HOME": str(cache / "user"), "HF_HOME": str(cache)}
    command = [sys.executable, "-c", FIND, *arguments]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout.strip()


def fetched(hub: StandinHub, part: str) -> list[str]:
    """Return the requests since the last call that have `part` in their paths."""
    found = [request for request in hub.requests if request.startswith("GET ") and part in request]
    hub.requests.clear()
    return found


@pytest.mark.parametrize(
    "name", ["modles/bert/base", "./bert", "../bert", "/no/bert", "~/no-bert", "bert/", "a b"]
)
def test_a_path_that_does_not_exist_is_not_looked_up_on_the_hub(
    name: str, hub: StandinHub, tmp_path: Path
) -> None:
    assert "no such folder" in find(hub, tmp_path, name)
    assert hub.requests == []


def test_the_hub_is_asked_for_files_again_after_it_was_out_of_reach(
    hub: StandinHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    with standin_hub() as gone:
        pass
    monkeypatch.setattr(constants, "ENDPOINT", gone.endpoint)
    with refused(gone.endpoint):
        hub_files("owner/model")
    monkeypatch.setattr(constants, "ENDPOINT", hub.endpoint)
    assert hub_files("owner/model") == ["config.json", "model.safetensors"]


@pytest.mark.parametrize("revision", [None, COMMIT[::-1]])
def test_a_hub_that_does_not_answer_gets_one_request(
    revision: str | None, hub: StandinHub, tmp_path: Path
) -> None:
    hub.refusing, started = 503, time.monotonic()
    said = find(hub, tmp_path, "modles/bert", *([revision] if revision else []))
    assert said.startswith("--encoder modles/bert: neither a folder nor a model that the Hub gave (")
    assert "\n" not in said
    assert len(fetched(hub, "modles")) == 1
    assert time.monotonic() - started < 30  # the client's own retries take longer


def test_a_model_of_the_hub_is_downloaded_once_and_without_its_pickle(hub: StandinHub, tmp_path: Path) -> None:
    expected = f"{COMMIT} config.json model.safetensors"
    assert find(hub, tmp_path, "owner/model") == expected
    assert fetched(hub, ".bin") == []
    assert find(hub, tmp_path, "owner/model", COMMIT) == expected
    assert fetched(hub, "owner") == []
    hub.refusing = 503
    assert find(hub, tmp_path, "owner/model") == expected, "the cache knows which commit was the latest"
    hub.refusing = 0
    (weights,) = tmp_path.glob(f"hub/*/snapshots/{COMMIT}/model.safetensors")
    weights.unlink()
    assert find(hub, tmp_path, "owner/model", COMMIT) == expected, (
        "a snapshot without weights is fetched again"
    )


MODULES = json.dumps([{"path": "2_Dense", "type": "sentence_transformers.models.Dense"}]).encode()
DENSE = {"modules.json": MODULES, "2_Dense/config.json": b"{}", "2_Dense/model.safetensors": SAFETENSORS}


@pytest.mark.exhaustive
def test_weights_of_modules_are_downloaded_and_a_cache_without_them_is_completed(
    hub: StandinHub, tmp_path: Path
) -> None:
    files = {
        **FILES,
        **DENSE,
        "2_Dense/pytorch_model.bin": b"",
        "3_Dense/pytorch_model.bin": b"",
        "onnx/model.onnx": b"",
    }
    hub.repositories["model/owner/model"] = Repository({"visibility": "public"}, files)
    find(hub, tmp_path, "owner/model")
    (snapshot,) = tmp_path.glob(f"hub/*/snapshots/{COMMIT}")
    cached_files = {str(path.relative_to(snapshot)) for path in snapshot.rglob("*") if path.is_file()}
    assert files.keys() - cached_files == {"pytorch_model.bin", "2_Dense/pytorch_model.bin", "onnx/model.onnx"}
    (snapshot / "2_Dense" / "model.safetensors").unlink()
    find(hub, tmp_path, "owner/model", COMMIT)
    assert (snapshot / "2_Dense" / "model.safetensors").is_file()
    (snapshot / "2_Dense" / "model.safetensors").unlink()
    hub.refusing = 503
    assert "neither a folder nor a model that the Hub gave" in find(hub, tmp_path, "owner/model")


def test_the_revision_covers_the_weights_of_modules(tmp_path: Path, user_cache: Path) -> None:
    for name, content in {**FILES, **DENSE}.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(content)
    before, dense = find_encoder(str(tmp_path)).revision, tmp_path / "2_Dense" / "model.safetensors"
    dense.write_bytes(save({"weight": np.ones(4, np.float32)}))
    assert find_encoder(str(tmp_path)).revision != before


@pytest.mark.exhaustive
def test_an_opus_model_of_the_hub_is_downloaded_once(hub: StandinHub, opus: Path, tmp_path: Path) -> None:
    files = {path.name: path.read_bytes() for path in opus.iterdir()}
    hub.repositories["model/Helsinki-NLP/opus-mt-de-en"] = Repository({"visibility": "public"}, files)
    expected = f"{COMMIT} {' '.join(sorted(files))}"
    assert find(hub, tmp_path, "opus-mt") == expected
    assert len(fetched(hub, ".bin")) == 1
    assert find(hub, tmp_path, "opus-mt", COMMIT) == expected
    assert fetched(hub, "opus-mt") == []
    assert find(hub, tmp_path, "opus-mt", COMMIT[::-1]).startswith(
        "--models opus-mt: Helsinki-NLP/opus-mt-de-en: "
    )


@pytest.fixture
def opus(translation_models: Path, tmp_path: Path) -> Path:
    """A small model in the files of Helsinki-NLP's on the Hub, with the additions and gaps of old checkpoints."""
    left_out = shutil.ignore_patterns("model.safetensors", "source.vocab", "tokenizer.json")
    folder = shutil.copytree(translation_models / "xx-en", tmp_path / "models" / "de-en", ignore=left_out)
    model = MarianMTModel.from_pretrained(translation_models / "xx-en")
    pad = model.config.pad_token_id
    config = model.config.to_dict() | {"bad_words_ids": [[pad]], "num_beams": 4, "decoder_vocab_size": pad + 1}
    config |= {"share_encoder_decoder_embeddings": True, "max_length": 512}
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    state = model.state_dict()
    state["model.encoder.embed_positions.weight"] = model.model.encoder.embed_positions.weight
    del state["final_logits_bias"]
    torch.save(state, folder / "pytorch_model.bin")
    return folder


def test_a_pickle_translates_like_its_safetensors(
    opus: Path, translation_models: Path, user_cache: Path
) -> None:
    found = resolve_models(str(opus.parent), "de", "en")
    assert found.path == opus
    assert resolve_models(str(opus.parent), "de", "en", found.revision) == found
    texts = list(ENGLISH)
    made = [MarianTranslator(path).translate(texts) for path in (found.path, translation_models / "xx-en")]
    assert made[0] == made[1]
    assert [one.text for one in made[0]] == [ENGLISH[text] for text in texts]
    (opus / "source.spm").unlink()
    with refused(f"{opus} is not a MarianMT model: it lacks source.spm"):
        resolve_models(str(opus.parent), "de", "en")


def test_the_revision_covers_a_pickle_and_the_configuration_of_modules(
    tmp_path: Path, user_cache: Path
) -> None:
    (tmp_path / "1_Pooling").mkdir()
    (tmp_path / "config.json").write_bytes(b"{}")
    (tmp_path / "adapter.safetensors").write_bytes(SAFETENSORS)
    revisions = set()
    for size, pooling in ((3, "cls"), (4, "cls"), (4, "mean")):
        (tmp_path / "1_Pooling" / "config.json").write_text(pooling)
        torch.save({"weight": torch.ones(size)}, tmp_path / "pytorch_model.bin")
        found = find_encoder(str(tmp_path))
        assert (found.path / "1_Pooling" / "config.json").read_text() == pooling
        revisions.add(found.revision)
    assert len(revisions) == 3


def test_a_failed_write_to_the_cache_is_one_line_and_leaves_nothing(user_cache: Path) -> None:
    place, draft = user_cache / "weights" / "a", user_cache / "weights" / ".a"
    for folder in (place, draft):
        folder.mkdir(parents=True)

    def fill(draft: Path) -> None:
        (draft / "model.safetensors").write_bytes(b"half")
        raise OSError(errno.ENOSPC, "No space left on device")

    with refused(f"{place}: cannot be stored there (No space left on device)"):
        cached(place, fill)
    assert not any(path.is_dir() for path in place.parent.iterdir())


class Malicious:
    """It would make a file if it were unpickled."""

    def __reduce__(self) -> tuple[object, ...]:
        return Path.touch, (Path("made"),)


def load_encoder(folder: Path) -> object:
    return encoder.load_encoder(folder, "cpu")


def fill_model(folder: Path) -> object:
    return FillModel(folder, Runtime("cpu")).model


def translate(folder: Path) -> object:
    return MarianTranslator(folder, engine="transformers", precision="fp32").translate(["a"])


def pickled(content: object) -> bytes:
    stream = io.BytesIO()
    torch.save(content, stream)
    return stream.getvalue()


@pytest.mark.parametrize("use", [load_encoder, fill_model, translate])
@pytest.mark.parametrize("name", ["model.safetensors", "pytorch_model.bin"])
@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"half",
        pickled({"weight": torch.ones(300)})[:-5],
        pickled({"weight": Malicious()}),
        pickled(["a"]),
    ],
    ids=["empty", "half", "cut", "malicious", "a list"],
)
def test_weights_that_are_damaged_or_more_than_tensors_are_refused_in_one_line_and_not_run(
    use: Callable[[Path], object],
    name: str,
    content: bytes,
    encoder_folder: Path,
    translation_models: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    source = translation_models / "xx-en" if use is translate else encoder_folder
    folder = shutil.copytree(source, tmp_path / "model")
    (folder / "model.safetensors").unlink()
    (folder / name).write_bytes(content)
    with pytest.raises(InputError) as caught:
        use(folder)
    assert "\n" not in str(caught.value)
    assert str(folder) in str(caught.value)
    assert "weights_only" not in str(caught.value), "the library says how to run it"
    assert not (tmp_path / "made").exists()
