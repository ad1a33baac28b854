"""`train push` against a stand-in of the Hub on localhost: what it is asked for, and what it then holds."""

import base64
import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

TOKEN = "hf_of_a_test"


class StandIn(ThreadingHTTPServer):
    """Repositories by name, each with its visibility and its files; large files come through LFS."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Requests)
        self.url = f"http://127.0.0.1:{self.server_port}"
        self.private: dict[str, bool] = {}
        self.files: dict[str, bytes] = {}
        self.blobs: dict[str, bytes] = {}


class Requests(BaseHTTPRequestHandler):
    """The requests that `create_repo`, `repo_info` and `upload_folder` of huggingface_hub make."""

    server: StandIn

    def log_message(self, *_: object) -> None:
        """Say nothing."""

    def body(self) -> bytes:
        return self.rfile.read(int(self.headers["Content-Length"]))

    def answer(self, value: Any, status: int = 200) -> None:  # noqa: ANN401 - JSON
        content = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def do_GET(self) -> None:
        name = self.path.removeprefix("/api/models/").removesuffix("/revision/main")
        found = {"id": name, "sha": "0" * 40, "private": self.server.private.get(name), "siblings": []}
        self.answer(found, 200 if name in self.server.private else 404)

    def do_PUT(self) -> None:
        body = self.body()
        self.server.blobs[hashlib.sha256(body).hexdigest()] = body
        self.answer({})

    def do_POST(self) -> None:
        body, hub = self.body(), self.server
        if self.headers["Authorization"] != f"Bearer {TOKEN}":
            self.answer({"error": "Invalid username or password."}, 401)
        elif self.path == "/api/repos/create":
            asked = json.loads(body)
            name = f"{asked['organization']}/{asked['name']}"
            status = 409 if name in hub.private else 200
            hub.private.setdefault(name, asked.get("private", asked.get("visibility") == "private"))
            self.answer({"url": f"{hub.url}/{name}", "name": name}, status)
        elif self.path == "/api/validate-yaml":
            self.answer({"errors": [], "warnings": []})
        elif self.path.endswith("/preupload/main"):
            self.answer({"files": [
                {"path": file["path"], "shouldIgnore": False,
                 "uploadMode": "lfs" if file["path"].endswith(".safetensors") else "regular"}
                for file in json.loads(body)["files"]
            ]})  # fmt: skip
        elif self.path.endswith("/info/lfs/objects/batch"):
            wanted = json.loads(body)["objects"]
            action = {"upload": {"href": f"{hub.url}/blobs"}}
            self.answer({"transfer": "basic", "objects": [{**each, "actions": action} for each in wanted]})
        else:
            assert self.path.endswith("/commit/main")
            for line in map(json.loads, body.splitlines()):
                value = line["value"]
                if line["key"] == "file":
                    hub.files[value["path"]] = base64.b64decode(value["content"])
                elif line["key"] == "lfsFile":
                    hub.files[value["path"]] = hub.blobs[value["oid"]]
            self.answer({"commitUrl": f"{hub.url}/me/mine/commit/0", "commitOid": "0" * 40, "success": True})


@pytest.fixture
def hub() -> Iterator[StandIn]:
    server = StandIn()
    Thread(target=server.serve_forever, daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


@pytest.fixture
def encoder(tmp_path: Path) -> Path:
    folder = tmp_path / "run"
    files = {
        "modules.json": b"[]", "README.md": b"---\ntags:\n- twinviews\n---\n\n# Encoder\n", "recipe.json": b"{}",
        "model.safetensors": bytes(range(256)) * 50, "1_Pooling/config.json": b"{}", "LICENSE": b"Apache License",
    }  # fmt: skip
    left = ["checkpoints/checkpoint-5/optimizer.pt", "checkpoints/best-5.safetensors", ".augment.lock", "optimizer.pt"]
    left.append("report.html")
    for name, content in {**files, **dict.fromkeys(left, b"large")}.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    return folder


WHOLE = {"modules.json", "README.md", "recipe.json", "model.safetensors", "1_Pooling/config.json", "LICENSE"}


def push(hub: StandIn, folder: Path, *arguments: str, token: str | None = TOKEN) -> tuple[int, str, str]:
    """Return exit code, output and errors of the real command in a process of its own."""
    environment = {key: value for key, value in os.environ.items() if key not in ("HF_TOKEN", "HF_HUB_OFFLINE")}
    # Without Xet, whose servers speak a protocol of their own, large files go by LFS.
    environment |= {"HF_ENDPOINT": hub.url, "HF_HOME": str(folder.parent / "home"), "HF_HUB_DISABLE_XET": "1"}
    environment |= {"HF_TOKEN": token} if token else {}
    command = [sys.executable, "-m", "trainers", "push", str(folder), *arguments]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout, done.stderr


def test_whole_encoder_is_pushed_privately_and_what_only_the_training_needs_is_not(hub: StandIn, encoder: Path) -> None:
    code, said, errors = push(hub, encoder, "hf:me/mine")
    assert (code, errors) == (0, "")
    assert said == f"{hub.url}/me/mine: 6 files, private\n"
    assert hub.private == {"me/mine": True}
    assert hub.files == {name: (encoder / name).read_bytes() for name in WHOLE}
    assert push(hub, encoder, "hf:me/mine")[0] == 0, "again, into the repository that is there"


def test_public_encoder_needs_a_licence_which_goes_into_its_card(hub: StandIn, encoder: Path) -> None:
    code, _, errors = push(hub, encoder, "hf:me/mine", "--public")
    assert (code, hub.private) == (2, {})
    assert errors == f"error: {encoder}/README.md names no licence: --public needs one, as --license apache-2.0\n"
    assert push(hub, encoder, "hf:me/mine", "--public", "--license", "mit")[0] == 0
    assert hub.private == {"me/mine": False}
    assert hub.files["README.md"].startswith(b"---\ntags:\n- twinviews\nlicense: mit\n---\n")
    code, _, errors = push(hub, encoder, "hf:me/mine")
    assert code == 2
    assert errors == f"error: {hub.url}/me/mine is there and public: give --public, or another name\n"


@pytest.mark.parametrize(
    ("name", "token", "said"),
    [
        ("hf:me/mine", None, "error: no token for the Hub: run `hf auth login`, or set HF_TOKEN"),
        ("hf:me/mine", "hf_wrong", "error: cannot push to hf:me/mine ("),
        ("hf:a/b/c", TOKEN, "error: cannot push to hf:a/b/c ("),
        ("me/mine", TOKEN, "error: cannot push to 'me/mine': give hf:USER/MODEL"),
    ],
)
def test_push_that_the_hub_cannot_take_is_one_line(
    name: str, token: str | None, said: str, hub: StandIn, encoder: Path
) -> None:
    card = (encoder / "README.md").read_bytes()
    code, _, errors = push(hub, encoder, name, "--license", "mit", token=token)
    assert code in (1, 2)
    assert errors.startswith(said)
    assert errors.count("\n") == 1
    assert hub.files == {}
    assert (encoder / "README.md").read_bytes() == card


@pytest.mark.parametrize("missing", ["", "modules.json", "README.md"])
def test_directory_that_is_no_encoder_is_refused(missing: str, hub: StandIn, encoder: Path) -> None:
    if missing:
        (encoder / missing).unlink()
    code, _, errors = push(hub, encoder if missing else encoder / "nowhere", "hf:me/mine")
    assert (code, errors.count("\n")) == (2, 1)
    assert "is no finished encoder" in errors
    assert hub.private == {}


@pytest.mark.parametrize("matter", ["a: [", "- a list"])
def test_card_whose_front_matter_is_broken_is_one_line(matter: str, hub: StandIn, encoder: Path) -> None:
    (encoder / "README.md").write_text(f"---\n{matter}\n---\n\n# Encoder\n")
    code, _, errors = push(hub, encoder, "hf:me/mine")
    assert (code, errors.count("\n")) == (2, 1)
    assert "README.md: its header is no YAML" in errors
    assert hub.private == {}
