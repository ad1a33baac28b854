"""A view dataset is the same however it came about, also after Ctrl-C, and belongs to one plan."""

import json
import os
import random
import signal
import socket
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import datasets
import pyarrow as pa
import pytest
import typer
from foreigners import CTRL_C, Augment, Start, content, done, is_refused, start_beside, wait_for

from augment.models.weights import STARTER_TRANSLATION
from pipelines.base import interrupt
from pipelines.base.console import call, progress
from pipelines.storage.dataset import finished_dataset, open_dataset, read_plan
from tests.standin_hub import COMMIT, Repository, StandinHub, standin_hub

LINE = "stopping; run the same command again to resume\n"


def committed(out: Path) -> int:
    return len(list(out.glob("data-*.record.json")))


@pytest.mark.exhaustive_after(1)
@pytest.mark.parametrize(("workers", "number"), [(1, signal.SIGKILL), (2, signal.SIGKILL), (2, signal.SIGINT)])
def test_resumed_run_is_byte_identical(
    start: Start, lines: Path, folder: Path, workers: int, number: int
) -> None:
    run = ["slow", lines, "--shard-size", 5, "--nap", 0.03, "--workers", workers]
    done(start(*run, "--out", "undisturbed"))
    stopped = start(*run, "--out", "stopped")
    wait_for(lambda: committed(folder / "stopped") >= 2)
    if number == signal.SIGINT:
        os.killpg(stopped.pid, number)  # as a terminal does
        err = done(stopped, code=130)
        assert ("Traceback" in err, f"\n{err}".endswith(f"\n{LINE}")) == (False, True)
        assert list((folder / "stopped").glob("*.tmp")) == []
    else:
        stopped.send_signal(number)
        stopped.communicate(timeout=60)
    made = committed(folder / "stopped")
    assert 2 <= made < 12
    assert not finished_dataset(folder / "stopped")
    if workers > 1:
        time.sleep(0.5)  # workers notice that their parent is gone, and end
        assert committed(folder / "stopped") - made <= workers
    (folder / "stopped" / ".data-00011.arrow.1.augment.tmp").write_bytes(b"half a shard")
    assert 0 < json.loads(done(start(*run, "--out", "stopped", "--json")))["made_now"] < 60
    assert content(folder / "stopped") == content(folder / "undisturbed")
    assert [path.name for path in folder.glob(".*")] == []


@pytest.mark.exhaustive_after(1)
@pytest.mark.parametrize(("shard_size", "workers"), [(15, 1), (15, 2), (7, 2)])
def test_shards_and_workers_do_not_change_a_row(
    augment: Augment, lines: Path, folder: Path, shard_size: int, workers: int
) -> None:
    assert augment("span-mask", lines, "--seed", 5, "--out", "one").code == 0
    other = augment(
        "span-mask", lines, "--seed", 5, "--out", "other", "--shard-size", shard_size, "--workers", workers
    )
    assert other.code == 0
    assert len(list(Path("other").glob("data-*.arrow"))) == -(-60 // shard_size)
    one, many = (datasets.load_from_disk(name).to_list() for name in ("one", "other"))
    assert one == many
    assert len({row["view"] for row in one}) > 40
    augment("span-mask", lines, "--seed", 6, "--out", "seed")
    assert datasets.load_from_disk("seed").to_list() != one


@pytest.mark.exhaustive
def test_candidates_are_chosen_alike_by_any_workers_in_any_batch_and_after_a_resumption(
    augment: Augment, folder: Path
) -> None:
    run = ["backtranslate", "--pivot", "de", "--models", "starter", "--limit", 60, "--shard-size", 9]
    assert augment(*run, "--out", "one").code == 0
    rows = datasets.load_from_disk("one").to_list()
    assert Counter(row["status"] for row in rows).keys() == {"ok", "failed"}
    faults = {"figures", "negation", "gender", "shorter"}
    assert {row["reason"] for row in rows} <= {None, "meaning", "non-word", *faults}
    assert any(row["alternatives"] for row in rows)
    assert augment(*run, "--out", "two", "--workers", 2, "--batch-tokens", 64).code == 0
    assert content(folder / "two") == content(folder / "one")
    for number in (0, 2, 3):
        (folder / f"two/data-{number:05}.record.json").unlink()
    assert "27" in augment(*run, "--out", "two", "--json").out
    assert content(folder / "two") == content(folder / "one")


def test_a_second_run_does_nothing(augment: Augment, lines: Path, folder: Path) -> None:
    assert "made 60" in augment("span-mask", lines, "--shard-size", 16).out
    before = {path: path.stat().st_mtime_ns for path in Path("data").rglob("*") if path.is_file()}
    again = augment("span-mask", lines, "--shard-size", 16)
    assert ("nothing done" in again.out, again.err) == (True, "")
    assert {path: path.stat().st_mtime_ns for path in before} == before


@pytest.mark.parametrize(
    ("change", "difference"),
    [
        (["--length", "2"], "(--length 5, not 2)"),
        (["--seed", "1"], "(--seed 0, not 1)"),
        (["--limit", "5"], "(--limit none, not 5)"),
        (["--shard-size", "3"], "(--shard-size 1024, not 3)"),
    ],
)
def test_another_plan_is_refused_and_the_difference_named(
    augment: Augment, lines: Path, change: list[str], difference: str
) -> None:
    augment("span-mask", lines)
    before = content(Path("data"))
    is_refused(augment("span-mask", lines, *change), difference)
    assert content(Path("data")) == before
    assert augment("span-mask", lines, *change, "--overwrite").code == 0
    assert content(Path("data")) != before


def test_the_same_sentences_from_another_folder_are_the_same_plan(augment: Augment, lines: Path) -> None:
    augment("identity", lines)
    augment("ingest", lines, "--out", "elsewhere")
    assert "nothing done" in augment("identity", "elsewhere").out


@pytest.mark.exhaustive
def test_orphaned_workers_end(start: Start, lines: Path, folder: Path) -> None:
    process = start("slow", lines, "--out", "out", "--shard-size", 5, "--nap", 90, "--workers", 2)
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    wait_for(lambda: len(children.read_text().split()) >= 3)  # with what cleans up behind them
    time.sleep(1)  # each has its tasks then
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=60)  # returns when the workers, which have its stderr too, have ended


@pytest.mark.exhaustive
def test_a_folder_that_vanishes_ends_the_run_and_is_made_again(
    start: Start, lines: Path, folder: Path
) -> None:
    run = ["slow", lines, "--nap", 0.1, "--limit", 20, "--shard-size", 2]
    process = start(*run, "--out", "out")
    wait_for(lambda: committed(folder / "out"))
    (folder / "out").rename(folder / "moved")
    assert done(process, code=1).endswith(
        "error: out vanished while it was written: run the same command again\n"
    )
    assert not (folder / "out").exists()
    done(start(*run, "--out", "out"))
    done(start(*run, "--out", "moved"))
    assert content(folder / "out") == content(folder / "moved")


@pytest.mark.exhaustive
@pytest.mark.parametrize("workers", [1, 2])
def test_a_view_that_fails_ends_all_stages_with_one_line(
    start: Start, lines: Path, folder: Path, workers: int
) -> None:
    run = ["slow", lines, "--nap", -1, "--shard-size", 5, "--workers", workers, "--out", "out"]
    err = done(start(*run), code=1)
    assert err.count("\n") == 2
    assert err.splitlines()[-1].startswith("error: view 'slow' of slow_view failed: ValueError: sleep length")
    assert list((folder / "out").glob("*")) == []


@pytest.mark.exhaustive
@pytest.mark.parametrize("workers", [1, 2])
def test_the_result_counts_every_row(workers: int, start: Start, lines: Path, folder: Path) -> None:
    options = ["--nap", 0.01, "--shard-size", 5, "--workers", workers, "--json"]
    counts = json.loads(done(start("slow", lines, *options)))
    assert counts["made_now"] == 60
    assert counts["statuses"] == {"failed": 2, "ok": 48, "unchanged": 10}
    assert counts["reasons"] == {"asked-to": 2, "one-word": 10}


def test_datasets_and_pyarrow_open_what_was_written(augment: Augment, lines: Path) -> None:
    augment("span-mask", lines, "--shard-size", 25)
    fractions = ("target_fraction", "achieved_fraction")
    of_views = ["id", "text", "view", "status", "reason", "pivot", "edits", *fractions, "alternatives"]
    for folder, columns in (("data/sentences", ["id", "text"]), ("data/views/span-mask", of_views)):
        loaded = datasets.load_from_disk(folder)
        assert (loaded.column_names, loaded.num_rows) == (columns, 60)
        assert loaded.features == datasets.Features.from_arrow_schema(loaded.data.schema)
        shards = sorted(Path(folder).glob("data-*.arrow"))
        assert sum(pa.ipc.open_stream(shard.read_bytes()).read_all().num_rows for shard in shards) == 60
        assert datasets.Dataset.from_file(str(shards[0])).column_names == columns


def test_the_saved_recipe_makes_the_same_dataset(augment: Augment, lines: Path) -> None:
    augment("span-mask", lines, "--length", 3, "--seed", 9, "--limit", 40, "--out", "first")
    assert augment("span-mask", "--config", "first/recipe.json", "--out", "second").code == 0
    assert content(Path("first")) == content(Path("second"))


def test_flags_beat_the_config_file(augment: Augment, lines: Path, folder: Path) -> None:
    (folder / "r.yaml").write_text("length: 2\nseed: 4\nshard-size: 30\nunit: word\n")
    augment("span-mask", lines, "--config", "r.yaml", "--seed", 5, "--unit", "character")
    plan = json.loads(Path("data/views/span-mask/record.json").read_text())["plan"]
    assert (plan["seed"], plan["params"]["length"], plan["shard_size"]) == (5, 2, 30)
    assert plan["params"]["unit"] == "character"


@pytest.mark.parametrize(
    ("recipe", "expected"),
    [
        ("lenght: 2\n", "no option 'lenght' in `span-mask`"),
        ("command: identity\n", "r.yaml is a recipe of `identity`"),
        ("- length\n", "r.yaml is not a YAML recipe (it holds list, not a mapping)"),
        ("length: two\n", "--length"),
        *(
            (recipe, "r.yaml is not a YAML recipe")
            for recipe in ("length: [\n", "limit: 2024-99-99", 'out: "\\ud800"', "limit: !!float abc")
        ),
        pytest.param("seed: " + "[" * 100_000, "r.yaml is not a YAML recipe", id="deep"),
        pytest.param("limit: " + "1" * 5_000, "r.yaml is not a YAML recipe", id="digits"),
    ],
)
def test_a_bad_config_file_is_one_line(augment: Augment, folder: Path, recipe: str, expected: str) -> None:
    (folder / "r.yaml").write_text(recipe)
    refused = augment("span-mask", "--config", "r.yaml")
    is_refused(refused, expected)
    assert refused.err.count("\n") == 1
    assert not Path("data").exists()


def test_without_a_source_the_bundled_sample_is_taken_and_said(augment: Augment, folder: Path) -> None:
    assert "bundled sample" in augment("identity", "--limit", 5).err
    assert open_dataset(Path("data/sentences")).rows > 100
    assert open_dataset(Path("data/views/identity")).rows == 5
    Path("data/sentences/data-00000.record.json").unlink()  # as after a kill
    assert "bundled sample" in augment("span-mask", "--limit", 5).err
    assert augment("span-mask", "--limit", 5).err == ""


@pytest.mark.exhaustive
def test_list_parameters_of_a_view_are_given_as_yaml(start: Start, lines: Path, folder: Path) -> None:
    run = ["slow", lines, "--nap", 0, "--sizes", "[3, 4]"]
    done(start(*run))
    assert "nothing done" in done(start(*run))
    plan = json.loads((folder / "data/views/slow/record.json").read_text())["plan"]
    assert {key: plan["params"][key] for key in ("nap", "sizes", "pivot")} == {
        "nap": 0,
        "sizes": [3, 4],
        "pivot": None,
    }
    err = done(start("slow", lines, "--sizes", "[3, 4"), code=2)
    assert err.count("\n") == 1
    assert "'[3, 4' is not YAML: write it like [1, 2] or {a: 1}" in err


# A background job starts with Ctrl-C ignored, and so would the processes that these tests interrupt.
MARKED = f"{CTRL_C}import pipelines.__main__, pipelines.base.interrupt as stop; stop.end_at_once(); "


def span_mask(lines: Path, folder: Path, seconds: float | None = None) -> tuple[int, str, float]:
    """Run it in a folder, with Ctrl-C after `seconds`; returns exit code, stderr and how long it took."""
    folder.mkdir(exist_ok=True)
    program = f"{MARKED}print('here', flush=True); pipelines.__main__.main()"
    process = start_beside(folder, folder, "span-mask", lines, "--shard-size", 10, program=program)
    assert process.stdout is not None
    assert process.stdout.readline() == "here\n"
    started = time.monotonic()
    if seconds is not None:
        time.sleep(seconds)
        process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    return process.returncode, said, time.monotonic() - started


@pytest.mark.exhaustive
def test_interrupted_at_any_moment_it_prints_one_line_and_resumes_to_the_same(
    lines: Path, tmp_path: Path
) -> None:
    code, _, seconds = span_mask(lines, tmp_path / "whole")
    assert code == 0
    draw = random.Random(3)
    codes = []
    for number, share in enumerate([0, *(draw.random() for _ in range(5))]):
        folder = tmp_path / str(number)
        code, said, _ = span_mask(lines, folder, share * seconds)
        codes.append(code)
        assert code == 130 or (code == 0 and finished_dataset(folder / "data/views/span-mask"))
        # What is being printed when Ctrl-C comes may still follow.
        assert said.replace("60 sentences ingested to data/sentences/\n", "") == (LINE if code == 130 else "")
        assert span_mask(lines, folder)[0] == 0
        assert content(folder) == content(tmp_path / "whole")
    assert codes[0] == 130


@pytest.fixture
def ctrl_c() -> Iterator[Callable[[], None]]:
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield lambda: signal.raise_signal(signal.SIGINT)
    signal.signal(signal.SIGINT, before)


def test_an_interrupted_command_says_so_before_it_has_ended(
    ctrl_c: Callable[[], None], capsys: pytest.CaptureFixture[str]
) -> None:
    printed = []

    def work() -> None:
        try:
            ctrl_c()
        finally:  # as if the running step took a minute
            printed.append(capsys.readouterr().err)

    app = typer.Typer()
    app.command()(work)
    assert call(app, ["--"]) == 130
    assert (printed, capsys.readouterr().err) == ([LINE], "")


@pytest.mark.parametrize(
    ("pause", "expected"), [(0, ["steps: 2 of 4 batches", "steps: 4 of 4 batches"]), (600, [])]
)
def test_without_a_terminal_progress_is_a_line_now_and_then(
    pause: float, expected: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    def work() -> None:
        with progress("steps", 4, unit="batches", done=1, pause=pause) as advance:
            advance(1)
            advance(2)

    app = typer.Typer()
    app.command()(work)
    assert call(app, ["--"]) == 0
    assert capsys.readouterr().err.splitlines() == expected


@pytest.mark.parametrize("loss", ["finaliser", "library", "other error"])
def test_an_interrupt_that_a_library_loses_still_ends_the_command(
    loss: str, ctrl_c: Callable[[], None], capsys: pytest.CaptureFixture[str]
) -> None:
    class Finalised:
        def __del__(self) -> None:
            ctrl_c()

    went_on = []

    def work() -> None:
        if loss == "finaliser":
            Finalised()
        else:
            try:
                ctrl_c()
            except BaseException as error:
                if loss == "other error":
                    raise RuntimeError("the import failed") from error
        with progress("rows", 2) as advance:
            advance(1)
            went_on.append(1)

    app = typer.Typer()
    app.command()(work)
    assert call(app, ["--"]) == 130
    assert (capsys.readouterr().err, went_on) == (LINE, [])
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert call(app, ["--help"]) == 0
    assert not interrupt.is_interrupted()


@pytest.fixture
def opus_hub() -> Iterator[StandinHub]:
    """A Hub that has the bundled translation models as OPUS-MT's for German."""
    with standin_hub() as hub:
        for direction, model in (("en-de", "en-xx"), ("de-en", "xx-en")):
            paths = [path for path in (STARTER_TRANSLATION / model).iterdir() if path.name != "README.md"]
            files = {path.name: path.read_bytes() for path in paths}
            hub.repositories[f"model/Helsinki-NLP/opus-mt-{direction}"] = Repository(
                {"visibility": "public"}, files
            )
        yield hub


def fetched(hub: StandinHub) -> list[str]:
    """The files that were fetched since the last call."""
    files = [
        request.rpartition("/")[2]
        for request in hub.requests
        if request.startswith("GET") and "resolve" in request
    ]
    hub.requests.clear()
    return files


@pytest.mark.exhaustive
def test_a_run_takes_opus_mt_from_the_hub_and_never_switches(
    start: Start, folder: Path, tmp_path: Path, opus_hub: StandinHub
) -> None:
    (folder / "many.txt").write_text("".join(f"The dog has {number} bones.\n" for number in range(200)))
    online = {**opus_hub.environment(), "HF_HOME": str(tmp_path / "hub")}
    offline = {**online, "HF_HUB_OFFLINE": "1"}
    run, out = (
        ["backtranslate", "many.txt", "--pivot", "de", "--shard-size", 5],
        folder / "data/views/backtranslate-de",
    )
    killed = start(*run, **online)
    wait_for(lambda: committed(out))
    killed.kill()
    killed.communicate()
    assert fetched(opus_hub).count("model.safetensors") == 2
    assert not finished_dataset(out)
    said = done(start(*run, **{**offline, "HF_HOME": str(tmp_path / "empty")}), code=2)
    assert "Helsinki-NLP/opus-mt-en-de: neither a folder nor a model that the Hub gave (" in said
    assert f"; revision {COMMIT})" in said
    done(start(*run, "--workers", 2, **offline))
    plan = read_plan(out)
    assert plan is not None
    assert (plan.params["models"], plan.params["revision"]) == ("opus-mt", f"{COMMIT}+{COMMIT}")
    again = start("backtranslate", "many.txt", "--pivot", "de", "--out", "again", **offline)
    done(again)
    plan = read_plan(folder / "again")
    assert plan is not None
    assert plan.params["models"] == "opus-mt", "the cache serves a new run without a network"
    assert opus_hub.requests == []


@pytest.mark.exhaustive
def test_a_run_that_began_with_the_bundled_models_keeps_them_when_the_hub_answers(
    augment: Augment, start: Start, folder: Path, opus_hub: StandinHub
) -> None:
    (folder / "few.txt").write_text("A man is playing a guitar.\n")
    assert augment("backtranslate", "few.txt", "--pivot", "de").code == 0
    assert "already complete" in done(start("backtranslate", "--pivot", "de", **opus_hub.environment()))
    done(start("build-pairs", **opus_hub.environment()))
    assert opus_hub.requests == [], "nor are the models of a view beside it asked for"
    other = augment("backtranslate", "--pivot", "de", "--decode", "beam:2")
    assert "made with other options (--decode 'greedy', not 'beam:2')" in other.err


@pytest.mark.exhaustive
@pytest.mark.parametrize("answering", ["closed", "silent"])
def test_a_hub_out_of_reach_is_asked_once_a_view_and_the_bundled_models_serve(
    answering: str, start: Start, folder: Path, tmp_path: Path
) -> None:
    (folder / "few.txt").write_text("A man is playing a guitar.\n")
    with socket.create_server(("127.0.0.1", 0), backlog=8) as server:
        endpoint = f"http://127.0.0.1:{server.getsockname()[1]}"
        if answering == "closed":
            server.close()
        unreached = {"HF_ENDPOINT": endpoint, "HF_HUB_OFFLINE": "0", "HF_HOME": str(tmp_path / "hub")}
        process = start("backtranslate", "few.txt", "--pivot", "de", **unreached)
        said = process.communicate(timeout=120)[1]
        assert process.returncode == 0, said
        if answering == "silent":
            server.setblocking(False)
            asked = []
            with suppress(BlockingIOError):
                while True:
                    asked.append(server.accept()[0].recv(1000))
            assert sum(b"/api/models/" in request for request in asked) == 1
    assert said.count("OPUS-MT is out of reach (") == 1
    plan = read_plan(folder / "data" / "views" / "backtranslate-de")
    assert plan is not None
    assert plan.params["models"] == "starter"
