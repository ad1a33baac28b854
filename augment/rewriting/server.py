"""A language model behind a server that speaks OpenAI's protocol: vLLM, llama.cpp, Ollama, and paid ones."""

import os
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from multiprocessing.pool import ThreadPool
from threading import Lock
from typing import TYPE_CHECKING

from augment.errors import InputError, MissingExtraError, TwinviewsError, one_line
from augment.rewriting.answers import Answer, Read

if TYPE_CHECKING:
    from openai import OpenAI

REQUEST_SECONDS = 120.0
TRIES = 5
"""How often the client asks again, with growing pauses or those of `Retry-After`, after 408, 409, 429 and
5xx."""
MOST_FAILURES = 20
"""Failures one after another that stop a run."""
MOST_SEED = 2**31
KEY_VARIABLE = "OPENAI_API_KEY"


@dataclass(eq=False)
class Server:
    """A model at a server; its key comes from the environment alone, and is in no message."""

    url: str
    model: str
    temperature: float
    max_tokens: int
    concurrency: int
    tokens_in: int = 0
    tokens_out: int = 0
    _failures: int = 0
    _lock: Lock = field(default_factory=Lock)

    @cached_property
    def _client(self) -> "OpenAI":
        try:
            from openai import OpenAI
        except ImportError:
            raise MissingExtraError("rewrite --url", "llm") from None
        key = os.environ.get(KEY_VARIABLE) or "none"
        return OpenAI(base_url=self.url, api_key=key, timeout=REQUEST_SECONDS, max_retries=TRIES)

    @cached_property
    def revision(self) -> str:
        """The id that the server gives for the model, or the name where it lists none.

        InputError without a server.
        """
        from openai import APIConnectionError, APIStatusError, AuthenticationError

        try:
            ids = [model.id for model in self._client.with_options(max_retries=0).models.list()]
        except AuthenticationError:
            raise InputError(
                f"--url {self.url} refuses the key: set {KEY_VARIABLE} to one that it knows"
            ) from None
        except APIConnectionError as error:
            reason = one_line(error.__cause__ or error, 120)
            problem = f"no server answers there ({reason}): start it, or check the address"
            raise InputError(f"--url {self.url}: {problem}") from None
        except (APIStatusError, ValueError, TypeError, AttributeError):  # it need not list its models
            return self.model
        return next((name for name in ids if name.partition(":")[0] == self.model), self.model)

    def write(self, prompts: Sequence[str], seeds: Sequence[int], read: Read) -> Generator[Answer]:
        """The answer to each prompt, as `read` takes it from row, text and whether it was cut.

        The next ones are asked for meanwhile. Raises TwinviewsError after `MOST_FAILURES` failed requests in a
        row.
        """

        def answer(row: int) -> Answer:
            return self._answer(prompts[row], seeds[row], partial(read, row))

        with ThreadPool(self.concurrency) as threads:  # at its end nobody waits for what is under way
            yield from threads.imap(answer, range(len(prompts)))

    def _answer(self, prompt: str, seed: int, read: Callable[[str, bool], Answer]) -> Answer:
        from openai import APIConnectionError, APIStatusError, APITimeoutError

        try:
            reply = self._client.chat.completions.create(
                model=self.model,
                messages=[{"role": "user", "content": prompt}],
                temperature=self.temperature,
                max_tokens=self.max_tokens,
                seed=seed % MOST_SEED,
            )
            choice = reply.choices[0]
            text, is_cut = choice.message.content or "", choice.finish_reason == "length"
        except APITimeoutError:
            return self._failed("server-timeout")
        except APIConnectionError:
            return self._failed("server-connection")
        except APIStatusError as error:
            return self._failed(f"server-{error.status_code}")
        except (ValueError, TypeError, AttributeError, IndexError):
            return self._failed("server-answer")
        with self._lock:
            self._failures = 0
            if reply.usage is not None:
                self.tokens_in += reply.usage.prompt_tokens or 0
                self.tokens_out += reply.usage.completion_tokens or 0
        return read(text, is_cut)

    def _failed(self, reason: str) -> Answer:
        with self._lock:
            self._failures += 1
            is_over = self._failures >= MOST_FAILURES
        if is_over:
            raise TwinviewsError(
                f"{self.url} failed {MOST_FAILURES} times in a row ({reason}): "
                "see to the server, then run the same command"
            )
        return Answer(None, reason)
