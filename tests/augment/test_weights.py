from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from augment.errors import InputError
from augment.weights import find_encoder

COMMIT = "0123456789abcdef0123456789abcdef01234567"
FILES = {"config.json": b"{}", "model.safetensors": b"weights", "pytorch_model.bin": b"a pickle"}
FIND = (
    "import sys\nfrom augment.errors import InputError\nfrom augment.weights import find_encoder\n"
    "try:\n    weights = find_encoder(*sys.argv[1:])\n    print(weights.revision, *sorted(p.name for p in "
    "weights.path.iterdir()))\nexcept InputError as error:\n    print(error)"
)


class Hub(ThreadingHTTPServer):
    """A Hub with one model, `owner/model`, that counts its requests; every other name gets a 503."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Answer)
        self.asked: list[str] = []


class Answer(BaseHTTPRequestHandler):
    server: Hub

    def do_GET(self) -> None:
        path = self.path.partition("?")[0]
        if self.command == "GET":
            self.server.asked.append(path)
        about = {"id": "owner/model", "sha": COMMIT, "siblings": [{"rfilename": name} for name in FILES]}
        tree = [
            {"type": "file", "path": name, "size": len(data), "oid": hashlib.sha1(data).hexdigest()}
            for name, data in FILES.items()
        ]
        name = path.rpartition("/")[2]
        if path in ("/api/models/owner/model", f"/api/models/owner/model/revision/{COMMIT}"):
            self._send(json.dumps(about).encode())
        elif path == f"/api/models/owner/model/tree/{COMMIT}":
            self._send(json.dumps(tree).encode())
        elif path == f"/owner/model/resolve/{COMMIT}/{name}" and name in FILES:
            self._send(FILES[name])
        else:
            self.send_error(503)

    do_HEAD = do_GET

    def _send(self, body: bytes) -> None:
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Content-Type", "application/json")
        self.send_header("ETag", f'"{hashlib.sha1(body).hexdigest()}"')
        self.send_header("X-Repo-Commit", COMMIT)
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


@pytest.fixture
def hub() -> Iterator[Hub]:
    server = Hub()
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


def find(hub: Hub, cache: Path, *arguments: str) -> str:
    """What `find_encoder` says in a process of its own, to which `hub` is the Hub."""
    address = f"http://127.0.0.1:{hub.server_port}"
    environment = {key: value for key, value in os.environ.items() if not key.lower().endswith("_proxy")}
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


def test_a_home_folder_may_be_written_with_a_tilde(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "mine").mkdir()
    for name in ("config.json", "model.safetensors"):
        (tmp_path / "mine" / name).write_bytes(FILES[name])
    assert find_encoder("~/mine").path == tmp_path / "mine"
    with pytest.raises(InputError, match="no such folder"):
        find_encoder("~/yours")
