"""A small stand-in for the Hugging Face Hub on localhost: it creates repositories, and takes and gives their files."""

import base64
import hashlib
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

USER, COMMIT = "somebody", "0123456789abcdef0123456789abcdef01234567"
LARGE = (".parquet", ".safetensors", ".bin", ".arrow")
"""Endings of files that the Hub takes through Git LFS."""


@dataclass
class Repository:
    """A repository: its settings as `create_repo` sent them, and its files but for `.gitattributes`."""

    settings: dict[str, Any]
    files: dict[str, bytes] = field(default_factory=dict)


@dataclass
class StandinHub:
    """The repositories by `model/OWNER/NAME` or `dataset/OWNER/NAME`, and every request as `POST /api/...`.

    With `refusing` a status, such as 403, every request gets that answer.
    """

    endpoint: str = ""
    repositories: dict[str, Repository] = field(default_factory=dict)
    requests: list[str] = field(default_factory=list)
    uploads: dict[str, bytes] = field(default_factory=dict)
    refusing: int = 0

    def environment(self) -> dict[str, str]:
        """Return the environment in which a process takes this for the Hub."""
        return {
            "HF_ENDPOINT": self.endpoint,
            "HF_HUB_OFFLINE": "0",
            "HF_HUB_DISABLE_XET": "1",
            "HF_TOKEN": "hf_test",
        }

    def answer(self, method: str, path: str, body: bytes) -> Any:  # noqa: ANN401 - JSON, or a file
        """Answer a request; raises KeyError for what is not on the Hub."""
        parts = path.partition("?")[0].strip("/").split("/")
        if method == "PUT" and parts[0] == "objects":
            assert hashlib.sha256(body).hexdigest() == parts[1]
            self.uploads[parts[1]] = body
            return {}
        if parts == ["api", "validate-yaml"]:
            return {"errors": [], "warnings": []}
        if parts == ["api", "whoami-v2"]:
            return {"name": USER, "type": "user", "orgs": []}
        if parts == ["api", "repos", "create"]:
            return self._create(json.loads(body))
        if parts[-3:] == ["lfs", "objects", "batch"]:
            objects = json.loads(body)["objects"]
            upload = [{"upload": {"href": f"{self.endpoint}/objects/{each['oid']}"}} for each in objects]
            return {
                "transfer": "basic",
                "objects": [{**a, "actions": b} for a, b in zip(objects, upload, strict=True)],
            }
        if parts[2:3] == ["resolve"] and parts[3] in (COMMIT, "main"):
            return self.repositories["/".join(["model", *parts[:2]])].files["/".join(parts[4:])]
        repository = self.repositories[f"{parts[1].removesuffix('s')}/{parts[2]}/{parts[3]}"]
        if parts[4:5] == ["revision"] and parts[5] not in (COMMIT, "main"):
            raise KeyError(parts[5])
        if len(parts) == 4 or parts[4] == "revision":
            sizes = {".gitattributes": 0, **{name: len(data) for name, data in repository.files.items()}}
            files = [{"rfilename": name, "size": size} for name, size in sizes.items()]
            private = repository.settings["visibility"] == "private"
            return {"id": f"{parts[2]}/{parts[3]}", "sha": COMMIT, "private": private, "siblings": files}
        if parts[4] == "tree":
            sizes = {name: len(data) for name, data in repository.files.items()}
            return [
                {"type": "file", "path": name, "size": size, "oid": COMMIT} for name, size in sizes.items()
            ]
        if parts[4] == "preupload":
            paths = [each["path"] for each in json.loads(body)["files"]]
            modes = {path: "lfs" if path.endswith(LARGE) else "regular" for path in paths}
            return {
                "files": [{"path": path, "uploadMode": modes[path], "shouldIgnore": False} for path in paths]
            }
        if parts[4] == "commit":
            self._commit(repository, [json.loads(line) for line in body.splitlines()])
        url = f"{self.endpoint}/{parts[2]}/{parts[3]}/commit/{COMMIT}"
        return {"id": f"{parts[2]}/{parts[3]}", "sha": COMMIT, "commitUrl": url, "commitOid": COMMIT}

    def _create(self, settings: dict[str, Any]) -> dict[str, Any]:
        kind, owner = settings.get("type", "model"), settings.get("organization") or USER
        name, folder = f"{owner}/{settings['name']}", "" if kind == "model" else f"{kind}s/"
        status = 409 if f"{kind}/{name}" in self.repositories else 200
        self.repositories.setdefault(f"{kind}/{name}", Repository(settings))
        return {"url": f"{self.endpoint}/{folder}{name}", "status": status}

    def _commit(self, repository: Repository, lines: list[dict[str, Any]]) -> None:
        for line in lines:
            value = line["value"]
            if line["key"] == "file":
                repository.files[value["path"]] = base64.b64decode(value["content"])
            elif line["key"] == "lfsFile":
                repository.files[value["path"]] = self.uploads[value["oid"]]


@contextmanager
def standin_hub() -> Iterator[StandinHub]:
    """The stand-in, as long as the block runs."""
    hub = StandinHub()

    class Handler(BaseHTTPRequestHandler):
        def _handle(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            hub.requests.append(f"{self.command} {self.path}")
            absent = False
            try:
                answer = {} if hub.refusing else hub.answer(self.command, self.path, body)
                status = hub.refusing or (answer.pop("status", 200) if isinstance(answer, dict) else 200)
            except KeyError as missing:
                status, answer = 404, {"error": f"nothing at {self.path} ({missing})"}
                absent = str(missing.args[0]).startswith(("model/", "dataset/"))
            data = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
            about = {"ETag": f'"{hashlib.sha1(data).hexdigest()}"', "X-Repo-Commit": COMMIT}
            about |= {"X-Error-Code": "RepoNotFound" if absent else "EntryNotFound"} if status == 404 else {}
            about |= {"Content-Type": "application/json", "Content-Length": str(len(data))}
            self.send_response(status)
            for name, value in about.items():
                self.send_header(name, value)
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(data)

        do_GET = do_HEAD = do_POST = do_PUT = _handle

        def log_message(self, format: str, *arguments: object) -> None:
            """Nothing on stderr."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    hub.endpoint = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield hub
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
