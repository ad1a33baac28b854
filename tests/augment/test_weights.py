import errno
import hashlib
import json
import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest
import torch
from learnt import ENGLISH
from refusals import refused
from safetensors.numpy import save
from transformers import MarianMTModel

from augment.translate.marian import MarianTranslator
from augment.translate.models import resolve_models
from augment.weights import cached, find_encoder

COMMIT = "0123456789abcdef0123456789abcdef01234567"
SAFETENSORS = save({"weight": np.zeros(3, np.float32)})
FILES = {"config.json": b"{}", "model.safetensors": SAFETENSORS, "pytorch_model.bin": b"a pickle"}
FIND = (
    "import sys\nfrom augment.errors import InputError\nfrom augment.weights import find_encoder\n"
    "try:\n    weights = find_encoder(*sys.argv[1:])\n    print(weights.revision, *sorted(p.name for p in "
    "weights.path.iterdir()))\nexcept InputError as error:\n    print(error)"
)


class Hub(ThreadingHTTPServer):
    """A Hub with one model, `owner/model`, that lists the paths it was asked for; every other name gets a 503."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Answer)
        self.asked: list[str] = []
        self.files = FILES

    def answers(self) -> dict[str, bytes]:
        about = {"id": "owner/model", "sha": COMMIT, "siblings": [{"rfilename": name} for name in self.files]}
        tree = [
            {"type": "file", "path": name, "size": len(data), "oid": hashlib.sha1(data).hexdigest()}
            for name, data in self.files.items()
        ]
        api = "/api/models/owner/model"
        said = {api: about, f"{api}/revision/{COMMIT}": about, f"{api}/tree/{COMMIT}": tree}
        files = {f"/owner/model/resolve/{COMMIT}/{name}": data for name, data in self.files.items()}
        return {path: json.dumps(answer).encode() for path, answer in said.items()} | files


class Answer(BaseHTTPRequestHandler):
    server: Hub

    def do_GET(self) -> None:
        path = self.path.partition("?")[0]
        body = self.server.answers().get(path)
        if self.command == "GET":
            self.server.asked.append(path)
        if body is None:
            self.send_error(503)
            return
        self.send_response(200)
        for name, value in {"Length": str(len(body)), "Type": "application/json"}.items():
            self.send_header(f"Content-{name}", value)
        self.send_header("ETag", f'"{hashlib.sha1(body).hexdigest()}"')
        self.send_header("X-Repo-Commit", COMMIT)
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(body)

    do_HEAD = do_GET

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


@pytest.fixture
def hub() -> Iterator[Hub]:
    with Hub() as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


def find(hub: Hub, cache: Path, *arguments: str) -> str:
    """What `find_encoder` says in a process of its own, to which `hub` is the Hub."""
    address = f"http://127.0.0.1:{hub.server_port}"
    environment = {key: value for key, value in os.environ.items() if not key.lower().endswith("_proxy")}
    environment |= {"XDG_CACHE_HOME": str(cache / "user")}
    environment |= {"HF_ENDPOINT": address, "HF_HOME": str(cache), "HF_HUB_OFFLINE": "0", "HF_HUB_DISABLE_XET": "1"}
    command = [sys.executable, "-c", FIND, *arguments]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout.strip()


@pytest.mark.parametrize("name", ["modles/bert/base", "./bert", "../bert", "/no/bert", "~/no-bert", "bert/", "a b"])
def test_a_path_to_nothing_is_never_asked_of_the_hub(name: str, hub: Hub, tmp_path: Path) -> None:
    assert "no such folder" in find(hub, tmp_path, name)
    assert hub.asked == []


@pytest.mark.parametrize("revision", [None, COMMIT[::-1]])
def test_a_hub_that_does_not_answer_is_asked_once(revision: str | None, hub: Hub, tmp_path: Path) -> None:
    started = time.monotonic()
    said = find(hub, tmp_path, "modles/bert", *([revision] if revision else []))
    assert said.startswith("--encoder modles/bert: neither a folder nor a model that the Hub gave (")
    assert "\n" not in said
    assert len([path for path in hub.asked if "modles" in path]) == 1
    assert time.monotonic() - started < 30  # the client's own retries take longer


def test_a_model_of_the_hub_comes_without_its_pickle_and_is_asked_for_once(hub: Hub, tmp_path: Path) -> None:
    expected = f"{COMMIT} config.json model.safetensors"
    assert find(hub, tmp_path, "owner/model") == expected
    assert [path for path in hub.asked if path.endswith(".bin")] == []
    hub.asked.clear()
    assert find(hub, tmp_path, "owner/model", COMMIT) == expected
    assert [path for path in hub.asked if "owner" in path] == []
    (weights,) = tmp_path.glob(f"hub/*/snapshots/{COMMIT}/model.safetensors")
    weights.unlink()
    assert find(hub, tmp_path, "owner/model", COMMIT) == expected, "a snapshot without weights is fetched again"


def test_a_model_of_the_hub_that_has_a_pickle_alone_is_kept_as_safetensors(
    hub: Hub, opus: Path, tmp_path: Path
) -> None:
    hub.files = {path.name: path.read_bytes() for path in opus.iterdir()}
    expected = f"{COMMIT} {' '.join(sorted(hub.files.keys() - {'pytorch_model.bin'} | {'model.safetensors'}))}"
    assert find(hub, tmp_path, "owner/model") == expected
    assert len([path for path in hub.asked if path.endswith(".bin")]) == 1
    hub.asked.clear()
    assert find(hub, tmp_path, "owner/model", COMMIT) == expected
    assert [path for path in hub.asked if "owner" in path] == []


@pytest.fixture
def opus(translation_models: Path, tmp_path: Path) -> Path:
    """A small model in the files of Helsinki-NLP's on the Hub, with what old checkpoints have beside and lack."""
    folder = tmp_path / "models" / "de-en"
    folder.mkdir(parents=True)
    for name in ("generation_config.json", "source.spm", "target.spm", "tokenizer_config.json", "vocab.json"):
        shutil.copyfile(translation_models / "xx-en" / name, folder / name)
    model = MarianMTModel.from_pretrained(translation_models / "xx-en")
    config = model.config.to_dict()
    pad = config["pad_token_id"]
    config |= {"bad_words_ids": [[pad]], "num_beams": 4, "decoder_vocab_size": pad + 1}
    config |= {"share_encoder_decoder_embeddings": True, "max_length": 512}
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    state = model.state_dict()
    state["model.encoder.embed_positions.weight"] = model.model.encoder.embed_positions.weight
    del state["final_logits_bias"]
    torch.save(state, folder / "pytorch_model.bin")
    return folder


def test_a_pickle_translates_as_the_safetensors_it_was_made_of(
    opus: Path, translation_models: Path, user_cache: Path
) -> None:
    found = resolve_models(str(opus.parent), "de", "en")
    assert found.path.parent == user_cache / "weights"
    assert [path.name for path in (user_cache / "weights").glob("[!.]*")] == [found.revision]
    assert resolve_models(str(opus.parent), "de", "en", found.revision) == found
    texts = list(ENGLISH)
    made = [MarianTranslator(path).translate(texts) for path in (found.path, translation_models / "xx-en")]
    assert made[0] == made[1]
    assert [one.text for one in made[0]] == [ENGLISH[text] for text in texts]
    shutil.rmtree(user_cache)
    (opus / "source.spm").unlink()
    with refused(f"{opus} is not a MarianMT model: it lacks source.spm"):
        resolve_models(str(opus.parent), "de", "en")
    assert not user_cache.exists(), "the pickle is not converted"


def test_a_pickle_and_the_configuration_of_modules_count_for_the_revision(tmp_path: Path, user_cache: Path) -> None:
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


def test_what_could_not_be_stored_is_one_line_and_leaves_nothing(user_cache: Path) -> None:
    place, draft = user_cache / "weights" / "a", user_cache / "weights" / ".a"
    for folder in (place, draft):
        folder.mkdir(parents=True)

    def fill(draft: Path) -> None:
        (draft / "model.safetensors").write_bytes(b"half")
        raise OSError(errno.ENOSPC, "No space left on device")

    with refused(f"{place}: cannot be stored there (No space left on device)"):
        cached(place, "model*.safetensors", fill)
    assert not any(path.is_dir() for path in place.parent.iterdir())


def test_a_file_is_hashed_anew_only_where_it_changed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("config.json", "model.safetensors"):
        (tmp_path / name).write_bytes(FILES[name])
    first = find_encoder(str(tmp_path)).revision
    (tmp_path / "config.json").write_bytes(b"{ }")
    assert find_encoder(str(tmp_path)).revision != first
    monkeypatch.setattr(hashlib, "file_digest", None)
    assert find_encoder(str(tmp_path)).revision != first


class Malicious:
    """What would make a file if it were unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[object, ...]:
        return Path.touch, (self.path,)


def test_a_pickle_that_would_run_code_is_refused(tmp_path: Path, user_cache: Path) -> None:
    (tmp_path / "config.json").write_bytes(b"{}")
    torch.save({"weight": Malicious(tmp_path / "made")}, tmp_path / "pytorch_model.bin")
    with refused("more than weights; nothing in it was run"):
        find_encoder(str(tmp_path))
    assert not (tmp_path / "made").exists()
    assert [*(user_cache / "weights").glob("[!.]*")] == []


@pytest.mark.parametrize("name", ["pytorch_model.bin", "model.safetensors"])
@pytest.mark.parametrize("length", [0, -5])
def test_damaged_weights_are_one_line(name: str, length: int, tmp_path: Path, user_cache: Path) -> None:
    torch.save({"weight": torch.ones(300)}, tmp_path / "whole")
    data = (tmp_path / "whole").read_bytes() if name.endswith(".bin") else SAFETENSORS
    (tmp_path / "config.json").write_bytes(b"{}")
    (tmp_path / name).write_bytes(data[:length])
    with refused("damaged"):
        find_encoder(str(tmp_path))


@pytest.mark.parametrize("content", [["a", "list"], {"model": {}}])
def test_a_pickle_of_something_else_is_refused(content: object, tmp_path: Path, user_cache: Path) -> None:
    (tmp_path / "config.json").write_bytes(b"{}")
    torch.save(content, tmp_path / "pytorch_model.bin")
    with refused("not tensors by name"):
        find_encoder(str(tmp_path))
