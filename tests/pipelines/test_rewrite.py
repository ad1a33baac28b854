"""`augment rewrite` against a server: what a kill, and a server that dies, leave and cost."""

import signal
from pathlib import Path

import datasets
import pytest
from foreigners import Augment, Start, wait_for
from standin_llm import standin

pytest.importorskip("openai")
ROWS, SHARD = 120, 20


def test_an_interruption_does_not_wait_for_the_server(start: Start, folder: Path) -> None:
    (folder / "s.txt").write_text("A dog runs.\n")
    with standin() as server:
        server.pause = 60
        process = start("rewrite", "s.txt", "--url", server.url, "--model", "standin")
        wait_for(lambda: server.prompts.total() == 1)
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=30) == 130


def test_a_kill_and_a_server_that_dies_lose_no_row_and_ask_for_none_that_is_there(
    augment: Augment, start: Start, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    (folder / "s.txt").write_text("".join(f"Dog {number} runs.\n" for number in range(2, ROWS + 2)))
    with standin() as server:
        server.pause = 0.02
        command = ["rewrite", "s.txt", "--url", server.url, "--model", "standin", "--min-meaning", "0"]
        command += ["--shard-size", str(SHARD), "--concurrency", "4"]
        killed = start(*command)
        wait_for(lambda: sum(server.prompts.values()) > 2.5 * SHARD)
        killed.kill()
        killed.wait()
        server.fault = "down"
        assert "failed 20 times in a row" in augment(*command).err
        server.fault = ""
        finished = augment(*command)
        assert (finished.code, "tokens in" in finished.err) == (0, True)
        asked = sum(server.prompts.values())
        assert augment(*command).code == 0
        assert sum(server.prompts.values()) == asked
        once = sum(times == 1 for times in server.prompts.values())
    rows = datasets.load_from_disk("data/views/rewrite")
    assert (len(rows), len({*rows["id"]}), {*rows["status"]}) == (ROWS, ROWS, {"ok"})
    assert once >= ROWS - 4 * SHARD
    written = [path.read_bytes() for path in Path("data/views/rewrite").rglob("*") if path.is_file()]
    assert not any(b"secret" in content for content in written)
    assert any(b"rev:standin:1b" in content for content in written)
    assert "another run may give other ones" in Path("data/views/rewrite/card.md").read_text()
