"""A server that speaks as much of OpenAI's protocol as language models' servers do, and its faults on demand."""

import json
import re
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Lock, Thread

MODEL = "standin:1b"
WORDS = {"dog": "hound", "dogs": "hounds", "runs": "races", "run": "race", "child": "kid", "small": "little"}


def answer_to(prompt: str) -> str:
    """The sentence of a prompt, its last line, with some words exchanged."""
    return re.sub(r"\w+", lambda match: WORDS.get(match[0], match[0]), prompt.splitlines()[-1])


class Standin(ThreadingHTTPServer):
    """Counts what it is asked; `fault` is what each request meets, `pause` the seconds that an answer takes."""

    daemon_threads = True
    request_queue_size = 64

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.prompts = Counter[str]()
        self.keys = set[str | None]()
        self.fault, self.pause, self.lock = "", 0.0, Lock()

    def handle_error(self, *_: object) -> None:
        """Say nothing of clients that were killed."""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/v1"


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1  # an answer is one packet: of two, the second waits 40 ms for the client's word on the first
    server: Standin

    def log_message(self, *_: object) -> None:
        """Say nothing."""

    def _send(self, status: int, content: object, **headers: str) -> None:
        body = content if isinstance(content, bytes) else json.dumps(content).encode()
        self.send_response(status)
        for name, value in {
            "Content-Type": "application/json",
            "Content-Length": str(len(body)),
            **headers,
        }.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self) -> None:
        self._send(
            200, {"object": "list", "data": [{"id": MODEL, "object": "model", "created": 0, "owned_by": "us"}]}
        )

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        prompt = request["messages"][-1]["content"]
        with self.server.lock:
            self.server.prompts[prompt] += 1
            self.server.keys.add(self.headers["Authorization"])
            is_first = self.server.prompts[prompt] == 1
        time.sleep(self.server.pause)
        match self.server.fault:
            case "busy" if is_first:
                self._send(429, {"error": {"message": "slow down"}}, Retry_After="0")
            case "cut" if is_first:
                self.connection.close()
            case "down":
                self._send(503, {"error": {"message": "no"}}, x_should_retry="false")
            case "html":
                self._send(200, b"<html>hello</html>")
            case "no choices":
                self._send(
                    200, {"id": "1", "object": "chat.completion", "created": 0, "model": MODEL, "choices": []}
                )
            case "stalls":
                time.sleep(5)
            case fault:
                text = fault.removeprefix("says:") if fault.startswith("says:") else answer_to(prompt)
                choice = {
                    "index": 0,
                    "finish_reason": "length" if fault == "long" else "stop",
                    "message": {"role": "assistant", "content": text},
                }
                usage = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
                reply = {"id": "1", "object": "chat.completion", "created": 0, "model": MODEL}
                self._send(200, {**reply, "choices": [choice], "usage": usage})


@contextmanager
def standin() -> Iterator[Standin]:
    """A server that runs until the end of the block."""
    with Standin() as server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()


def write_chat_model(folder: Path) -> None:
    """Save a causal model of random weights with a chat template, which writes a few of its words."""
    import torch
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

    own = "a the dog hound cat runs races sleeps on in red small big house . user :"
    words = ["<pad>", "</s>", "<unk>", *own.split(" ")]
    numbers = {word: number for number, word in enumerate(words)}
    tokenizer = Tokenizer(models.WordLevel(numbers, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    fast = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, pad_token="<pad>", eos_token="</s>", unk_token="<unk>"
    )
    fast.chat_template = "{% for message in messages %}user : {{ message.content }} {% endfor %}"
    fast.save_pretrained(folder)
    torch.manual_seed(1)
    config = LlamaConfig(
        vocab_size=len(words),
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=2,
        eos_token_id=1,
        pad_token_id=0,
        bos_token_id=1,
    )
    LlamaForCausalLM(config).save_pretrained(folder)
