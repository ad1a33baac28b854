"""A Ray cluster on this machine makes the same bytes as local workers, also where it loses one of them."""

import os
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from foreigners import Start, content, done, wait_for

from pipelines.storage.dataset import finished_dataset

pytest.importorskip("ray")
ROOT = Path(__file__).parents[2]


@pytest.fixture
def cluster(site: Path) -> Iterator[str]:
    """The address of a cluster of two cores that ends with the test."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    environment = {**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{site}", "RAY_USAGE_STATS_ENABLED": "0"}
    environment["RAY_TEST_CLUSTER"] = f"127.0.0.1:{port}"
    # A short path: it holds sockets, whose names have 107 characters at most.
    with tempfile.TemporaryDirectory(prefix="ray", dir="/tmp", ignore_cleanup_errors=True) as scratch:
        command = [
            "start",
            "--head",
            "--block",
            f"--port={port}",
            "--node-ip-address=127.0.0.1",
            "--num-cpus=2",
        ]
        more = ["--include-dashboard=false", f"--temp-dir={scratch}", "--object-store-memory=100000000"]
        head = subprocess.Popen(
            [sys.executable, "-m", "ray.scripts.scripts", *command, *more],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        try:
            assert head.stdout is not None
            said = []
            for line in head.stdout:
                said.append(line)
                if "Ray runtime started" in line:
                    break
            else:
                raise AssertionError("".join(said))
            yield f"127.0.0.1:{port}"
        finally:
            os.killpg(head.pid, signal.SIGKILL)  # it would wait half a minute for its processes
            head.communicate(timeout=60)


def actors(cluster: str) -> list[int]:
    """Processes of this cluster that hold actors of ours."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            command, environment = ((process / name).read_bytes() for name in ("cmdline", "environ"))
        except OSError:
            continue
        if command.startswith(b"ray::ViewRun") and f"RAY_TEST_CLUSTER={cluster}".encode() in environment:
            found.append(int(process.name))
    return found


@pytest.mark.exhaustive
def test_a_cluster_makes_the_same_bytes_and_does_without_a_lost_worker(
    start: Start, lines: Path, folder: Path, cluster: str
) -> None:
    run = ["slow", lines, "--shard-size", 3, "--nap", 0.1]
    on_ray = ["--engine", "ray", "--address", cluster, "--workers", 2]
    for more in (["--out", "one"], ["--out", "two", "--workers", 2], ["--out", "ray", *on_ray]):
        done(start(*run, *more))
    process = start(*run, "--out", "lost", *on_ray)
    wait_for(lambda: len(list((folder / "lost").glob("data-*.record.json"))) >= 2)
    os.kill(actors(cluster)[0], signal.SIGKILL)
    assert not finished_dataset(folder / "lost"), "it was killed in the middle"
    done(process)
    one, *others = (content(folder / name) for name in ("one", "two", "ray", "lost"))
    assert [each == one for each in others] == [True] * 3
    run = ["backtranslate", "--pivot", "de", "--models", "starter", "--limit", 30, "--shard-size", 7]
    for more in (["--out", "chosen"], ["--out", "chosen-on-ray", *on_ray]):
        done(start(*run, *more))
    assert content(folder / "chosen") == content(folder / "chosen-on-ray")
    assert list(folder.rglob("*.tmp")) == []


@pytest.mark.exhaustive
def test_a_window_that_always_ends_its_worker_ends_the_run(start: Start, folder: Path, cluster: str) -> None:
    texts = [f"{number} {'kill' if number == 7 else 'live'}" for number in range(12)]
    (folder / "twelve.txt").write_text("\n".join(texts))
    run = ["slow", "twelve.txt", "--shard-size", 3, "--nap", 0, "--engine", "ray", "--address", cluster]
    err = done(start(*run), code=1)
    assert err.splitlines()[-1].startswith("error: the Ray cluster failed (")


def test_no_cluster_is_one_line(start: Start, lines: Path) -> None:
    err = done(start("identity", lines, "--engine", "ray", "--address", "127.0.0.1:1"), code=2)
    assert err.splitlines()[-1].startswith("error: --address 127.0.0.1:1: no Ray cluster answers there")
