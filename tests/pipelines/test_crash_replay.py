"""Whatever a kill, a power cut or a failing disk leaves of an output, the same command resumes to the same bytes."""

import errno
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import count, product
from pathlib import Path
from typing import Any, TypeAlias

import pytest
from crash_model import Tree, crash_states, left_after, unsure_names, write_tree
from crash_shim import Done, Failure, read_tree
from crash_worker import SENTENCES, Worker

pytestmark = [
    pytest.mark.exhaustive,
    pytest.mark.skipif(sys.platform != "linux", reason="the recording reads /proc"),
]

PAIRS = ("build-pairs", "--pairs", "original", "--view", "span-mask", "--filter", "length-ratio:max=1.5")
STEPS: Mapping[str, tuple[str, ...]] = {
    "ingest": ("ingest", "lines.txt", "--shard-size", "2"),
    "view": ("span-mask", "--shard-size", "2"),
    "pairs": (*PAIRS, "--rejects"),
    "pairs-folder": (*PAIRS, "--shards", "2", "--out", "data/folder"),
    "export": ("export", "data/pairs.arrow", "--to", "parquet", "--overwrite"),
    "ingest-overwritten": ("ingest", "lines.txt", "--limit", "4", "--overwrite"),
    "view-overwritten": ("span-mask", "--shard-size", "2", "--length", "3", "--overwrite"),
    "pairs-overwritten": (*PAIRS[:-1], "length-ratio:max=1.2", "--overwrite"),
}
"""Each builds on what the ones before it made."""


@dataclass(frozen=True)
class Step:
    """A command, the folder before it and after it, and what it did in between."""

    command: tuple[str, ...]
    before: Tree
    done: Done
    after: Tree


Steps: TypeAlias = Callable[[str], Step]
Again: TypeAlias = Callable[..., tuple[Done, Tree]]


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("crash")


@pytest.fixture(scope="module")
def workers(base: Path) -> Iterator[tuple[Worker, Worker]]:
    """Where commands are run first, and where they are run again: in another process than the interrupted one."""
    both = Worker(base / "spool-of-the-interrupted"), Worker(base / "spool")
    yield both
    for process in both:
        process.close()


@pytest.fixture(scope="module")
def steps(base: Path, workers: tuple[Worker, Worker]) -> Steps:
    """The commands up to the given one, run undisturbed and recorded."""
    folder, recorded = base / "undisturbed", {}
    write_tree({"lines.txt": SENTENCES.encode()}, folder)

    @cache
    def step(name: str) -> Step:
        for each, command in STEPS.items():
            if each not in recorded:
                before = read_tree(folder)
                done = workers[0].run(folder, *command, record=True)
                assert (done.code, done.err.count("error")) == (0, 0), done.err
                recorded[each] = Step(command, before, done, read_tree(folder))
            if each == name:
                break
        return recorded[name]

    return step


@pytest.fixture
def again(base: Path, workers: tuple[Worker, Worker]) -> Iterator[Again]:
    """Run a command in a folder of its own that holds a tree."""
    made = count()
    place = base / "again"

    def run(tree: Tree, command: tuple[str, ...], failure: Failure | None = None) -> tuple[Done, Tree]:
        folder = place / str(next(made))
        write_tree(tree, folder)
        done = workers[1].run(folder, *command, failure=failure)
        left = read_tree(folder)
        shutil.rmtree(folder)
        return done, left

    yield run
    shutil.rmtree(place, ignore_errors=True)


def differences(tree: Tree, expected: Tree) -> list[str]:
    """The paths that are not as expected, each with what is wrong."""
    wrong = {path: "more" for path in tree.keys() - expected.keys()}
    wrong |= {path: "missing" for path in expected.keys() - tree.keys()}
    wrong |= {path: "other" for path in tree.keys() & expected.keys() if tree[path] != expected[path]}
    return [f"{what}: {path}" for path, what in sorted(wrong.items())]


def shown(wrong: list[str]) -> str:
    return f"{len(wrong)} wrong:\n" + "\n".join(wrong)


OVERWRITTEN = [name for name in STEPS if name.endswith("-overwritten")]
CASES = [*product(("kill", "power cut"), STEPS, [True]), *product(["kill"], OVERWRITTEN, [False])]


@pytest.mark.parametrize(("how", "name", "is_same"), CASES)
def test_a_command_resumes_to_the_same_after(
    how: str, name: str, is_same: bool, steps: Steps, again: Again
) -> None:
    """Run the command on every state that a kill or a power cut may leave.

    Without a second --overwrite, what was half overwritten is finished or refused, but never a mixture of both.
    """
    step, wrong = steps(name), []
    states = [(said, tree) for said, tree in crash_states(step.before, step.done.log) if said.startswith(how)]
    assert len(states) > 5
    for said, tree in states:
        done, left = again(tree, step.command if is_same else step.command[:-1])
        is_refused = not is_same and (done.code, done.err.count("\n")) == (2, 1)
        if not is_refused and (done.code or left != step.after):
            wrong.append(
                f"{said}\n    exit {done.code} {done.err.strip()}; {differences(left, step.after)[:4]}"
            )
    assert not wrong, shown(wrong)


@pytest.mark.parametrize("name", STEPS)
def test_what_a_command_made_outlives_a_power_cut(name: str, steps: Steps) -> None:
    step = steps(name)
    left = left_after(step.before, step.done.log, set(unsure_names(step.done.log)), "synced")
    assert [each for each in differences(left, step.after) if not each.startswith("more")] == []


@pytest.mark.parametrize(
    ("name", "number"),
    [*product(STEPS, [errno.ENOSPC]), *product(("ingest", "view", "pairs", "export"), [errno.EIO])],
    ids=lambda value: value if isinstance(value, str) else errno.errorcode[value],
)
def test_a_failing_call_is_one_line_and_the_command_resumes(
    name: str, number: int, steps: Steps, again: Again
) -> None:
    """ENOSPC at every call that changes something, EIO at every call that reads too (bad input, where it is read)."""
    step, wrong = steps(name), []
    ends: dict[frozenset[Any], tuple[Done, Tree]] = {}
    reads = number == errno.EIO
    for call in count():
        done, left = again(step.before, step.command, Failure(call, number, reads))
        if call >= done.calls + reads * done.reads:
            break
        *notes, last = done.err.splitlines() or [""]
        is_told = (
            done.code in (1, 1 + reads)
            and last.startswith("error: ")
            and not any("error" in each for each in notes)
        )
        # A failure without consequences, such as that of naming a lock's holder, need not be reported.
        harm = [each for each in differences(left, step.after) if "/." not in each and ": ." not in each]
        unharmed = done.code == 0 and (not harm or "no report was written" in done.err)
        state = frozenset(left.items())
        if state not in ends:
            ends[state] = again(left, step.command)
        resumed, end = ends[state]
        if not (is_told or unharmed) or resumed.code or end != step.after:
            wrong.append(
                f"call {call}: exit {done.code} {done.err.strip()}; {harm[:3]}\n"
                f"    then exit {resumed.code} {resumed.err.strip()}; {differences(end, step.after)[:3]}"
            )
    assert not wrong, shown(wrong)


def test_writers_of_two_outputs_do_not_touch_each_other(
    steps: Steps, base: Path, workers: tuple[Worker, Worker]
) -> None:
    """Even if the name of one output begins with the other's."""
    (first_worker, worker), step, folder = workers, steps("pairs"), base / "neighbours"
    neighbours = [(*PAIRS, "--out", "data/pairs2.arrow"), ("export", "data/pairs2.arrow", "--to", "jsonl")]
    expected: Tree = {}
    for pause in (None, *range(0, step.done.calls, 4)):
        write_tree(step.before, folder)
        first = first_worker.start(
            folder, *step.command, pause=step.done.calls + 99 if pause is None else pause
        )
        for command in neighbours:
            done = worker.run(folder, *command)
            assert (done.code, done.err.count("error")) == (0, 0), f"next to one paused at {pause}: {done.err}"
        first = first or first_worker.resume()
        assert first.code == 0, f"paused at {pause}: {first.err}"
        expected = expected or read_tree(folder)
        assert differences(read_tree(folder), expected) == [], f"paused at {pause}"
        shutil.rmtree(folder)
