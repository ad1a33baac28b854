"""Inputs and outputs in an S3 store: moto's server, on this machine."""

import asyncio
import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeAlias

import pytest
from foreigners import Augment, Start, content, done, is_refused, wait_for

from pipelines.base import files
from pipelines.base.console import MissingExtraError
from pipelines.base.files import locked_folder

boto3 = pytest.importorskip("boto3")
pytest.importorskip("s3fs")
pytest.importorskip("upath")
pytest.importorskip("moto.server")
Bucket: TypeAlias = Any


@pytest.fixture(scope="module")
def store() -> Iterator[str]:
    """The endpoint of a server that ends with these tests; clients of S3 remember it, so there is one."""
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


@pytest.fixture
def bucket(store: str, monkeypatch: pytest.MonkeyPatch) -> Bucket:
    """An empty bucket `views`."""
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "testing")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    monkeypatch.setenv("AWS_ENDPOINT_URL", store)
    made = boto3.resource("s3").Bucket("views")
    made.create()
    made.objects.all().delete()
    return made


def objects(bucket: Bucket, prefix: str) -> dict[str, bytes]:
    found = bucket.objects.filter(Prefix=prefix)
    return {each.key.removeprefix(prefix): each.get()["Body"].read() for each in found}


@pytest.mark.exhaustive
@pytest.mark.parametrize("workers", [1, 2])
def test_a_view_in_a_store_has_the_same_bytes(
    augment: Augment, lines: Path, bucket: Bucket, workers: int, caplog: pytest.LogCaptureFixture
) -> None:
    run = ["span-mask", "--shard-size", 16, "--workers", workers]
    augment("ingest", lines)
    assert augment(*run, "--out", "here").code == 0
    done = augment(*run, "--out", "s3://views/views/mask", "--json")
    assert done.code == 0, done.err
    assert "s3://views/views/mask has no locks" in caplog.text
    assert json.loads(done.out)["made_now"] == 60
    assert objects(bucket, "views/mask/") == content(Path("here"))
    assert "nothing done" in augment(*run, "--out", "s3://views/views/mask").out
    bucket.Object("views/mask/data-00001.arrow").put(Body=b"damaged")
    assert json.loads(augment(*run, "--out", "s3://views/views/mask", "--json").out)["made_now"] == 16
    assert objects(bucket, "views/mask/") == content(Path("here"))
    is_refused(augment(*run, "--out", "s3://views/views/mask", "--length", 2), "--length 5, not 2")
    assert augment(*run, "--out", "s3://views/views/mask", "--length", 2, "--overwrite").code == 0


def test_sentences_in_a_store_are_read_and_written(augment: Augment, lines: Path, bucket: Bucket) -> None:
    bucket.upload_file(str(lines), "texts/lines.txt")
    assert augment("ingest", "s3://views/texts/lines.txt", "--out", "from-store").code == 0
    assert augment("ingest", lines, "--out", "from-here").code == 0
    assert content(Path("from-store"))["data-00000.arrow"] == content(Path("from-here"))["data-00000.arrow"]
    assert augment("ingest", lines, "--out", "s3://views/sentences").code == 0
    assert objects(bucket, "sentences/") == content(Path("from-here"))
    assert augment("identity", "s3://views/sentences", "--out", "s3://views/identity").code == 0
    assert augment("identity", "from-here", "--out", "here").code == 0
    shard = "data-00000.arrow"
    assert objects(bucket, "identity/")[shard] == content(Path("here"))[shard]
    pairs = augment(
        "build-pairs", "s3://views/sentences", "--pairs", "original", "--view", "s3://views/identity"
    )
    assert pairs.code == 0, pairs.err


@pytest.mark.exhaustive
def test_a_killed_run_resumes_in_a_store(start: Start, lines: Path, folder: Path, bucket: Bucket) -> None:
    run = ["slow", lines, "--shard-size", 5, "--nap", 0.1]
    process = start(*run, "--out", "s3://views/slow")
    wait_for(lambda: len(objects(bucket, "slow/data-")) >= 2)
    process.kill()
    process.communicate()
    assert not json.loads(objects(bucket, "slow/")["record.json"])["files"]
    assert json.loads(done(start(*run, "--out", "s3://views/slow", "--json")))["made_now"] < 60
    done(start(*run, "--out", "slow"))
    assert objects(bucket, "slow/") == content(folder / "slow")


@pytest.mark.exhaustive
def test_a_store_that_answers_no_more_ends_the_run_with_one_line(
    start: Start, lines: Path, bucket: Bucket
) -> None:
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)  # of the same bucket
    server.start()
    host, port = server.get_host_and_port()
    run = ["slow", lines, "--shard-size", 5, "--nap", 0.1, "--out", "s3://views/lost", "--json"]
    process = start(*run, AWS_ENDPOINT_URL=f"http://{host}:{port}", AWS_MAX_ATTEMPTS="1")
    wait_for(lambda: "data-00000.record.json" in objects(bucket, "lost/"))
    server.stop()
    assert "Traceback" not in (err := done(process, code=1))
    assert err.splitlines()[-1].startswith("error: Could not connect to the endpoint")
    assert json.loads(done(start(*run)))["made_now"] < 60


def test_a_request_that_a_lost_connection_ends_prints_no_traceback(caplog: pytest.LogCaptureFixture) -> None:
    from fsspec.asyn import get_loop

    async def request() -> None:
        asyncio.get_running_loop().create_future().set_exception(ConnectionResetError("nobody waits for this"))

    files.resolve_path("memory://lost")
    asyncio.run_coroutine_threadsafe(request(), get_loop()).result()
    assert not caplog.records


def write_half(address: str) -> None:
    """Begin to write an object of more than S3 takes in one part, and stop with an error."""
    with files.atomic_write(files.resolve_path(address)) as stream:
        stream.write(bytes(6 << 20))
        raise ZeroDivisionError


@pytest.mark.parametrize("address", ["memory://half/data.arrow", "s3://views/half/data.arrow"])
def test_a_file_that_fails_does_not_appear_in_a_store(bucket: Bucket, address: str) -> None:
    place = files.resolve_path(address)
    with pytest.raises(ZeroDivisionError):
        write_half(address)
    assert not place.exists()
    files.write_if_changed(place, b"whole")
    with pytest.raises(ZeroDivisionError):
        write_half(address)
    assert place.read_bytes() == b"whole"
    files.write_if_changed(place, b"WHOLE")
    assert place.read_bytes() == b"WHOLE"
    place.unlink()


KILLED = """
import os
from pipelines.base import files
with files.atomic_write(files.resolve_path("s3://views/half/data.arrow")) as stream:
    stream.write(bytes(6 << 20))
    stream.flush()
    os.kill(os.getpid(), 9)
"""


@pytest.mark.exhaustive
def test_a_file_that_is_killed_does_not_appear_in_a_store(
    start: Start, bucket: Bucket, tmp_path: Path
) -> None:
    bucket.Object("half/data.arrow").put(Body=b"whole")
    done(start(program=KILLED, TMPDIR=str(tmp_path)), code=-9)
    assert objects(bucket, "half/") == {"data.arrow": b"whole"}


def test_a_second_writer_on_this_machine_is_refused(augment: Augment, lines: Path, bucket: Bucket) -> None:
    with locked_folder(files.resolve_path("s3://views/mask")):
        refused = augment("span-mask", lines, "--out", "s3://views/mask")
    is_refused(refused, f"s3://views/mask is being written by another process (pid {os.getpid()}: ")


def test_what_cannot_be_reached_is_one_line(augment: Augment, monkeypatch: pytest.MonkeyPatch) -> None:
    assert (
        "error: nowhere://views/x cannot be reached (" in augment("identity", "--out", "nowhere://views/x").err
    )
    monkeypatch.setitem(sys.modules, "upath", None)
    with pytest.raises(MissingExtraError, match=r"s3:// needs an extra.*twinviews\[s3\]"):
        files.resolve_path("s3://views/x")
    assert files.resolve_path(Path("a") / "b") == Path("a/b")
    assert os.fspath(files.resolve_path("a:b")) == "a:b"
