"""Runs, kills, flipped bits, changed options and second writers in any order: nothing wrong is ever taken for right."""

import shutil
import sys
from collections.abc import Iterator
from functools import cache
from itertools import count
from pathlib import Path
from typing import TypeAlias

import pytest
from crash_model import Tree, states_after, write_tree
from crash_shim import Done, read_tree
from crash_worker import SENTENCES, Worker
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

pytestmark = [
    pytest.mark.exhaustive,
    pytest.mark.skipif(sys.platform != "linux", reason="the recording reads /proc"),
]

OUTPUTS = {"ingest": "data/sentences", "view": "data/views/span-mask", "pairs": "data/pairs.arrow"}
CHOICES = {"ingest": ("7", "4"), "view": ("5", "2"), "pairs": ("1.5", "1.3")}
"""Of each command, the two values of the option that is changed; they make different outputs."""
DERIVED = ("card.md", "recipe.json", "state.json", "dataset_info.json", "data-*.record.json")
"""Files of a dataset that those who read its rows do not look at; the command that made it does, and `verify`."""
NAMES, OTHERS = st.sampled_from([*OUTPUTS]), st.booleans()
Choices: TypeAlias = tuple[str | None, ...]
SHARES = st.floats(0, 1, exclude_max=True)


def command(name: str, choice: str, overwrite: bool = False) -> list[str]:
    """A command line; `choice` is the value of its option."""
    arguments = {
        "ingest": ["ingest", "lines.txt", "--shard-size", "2", "--limit", choice],
        "view": ["span-mask", "--shard-size", "2", "--length", choice],
        "pairs": [
            *("build-pairs", "--pairs", "original", "--view", "span-mask"),
            *("--filter", f"length-ratio:max={choice}"),
        ],
    }[name]
    return [*arguments, *(["--overwrite"] if overwrite else [])]


def part(tree: Tree, name: str, rows_only: bool = False) -> Tree:
    """The files of one output, without what interrupted runs left and the report."""
    stem = OUTPUTS[name].removesuffix(".arrow")
    left_out = DERIVED if rows_only and name != "pairs" else ()
    return {
        path: content
        for path, content in tree.items()
        if path.startswith((f"{stem}.", f"{stem}/")) and content is not None and "report" not in path
        if not any(map(Path(path).match, left_out))
        and not any(each.startswith(".") for each in Path(path).parts)
    }


class Lab:
    """Two processes that run commands, and what the commands make where nothing disturbs them."""

    def __init__(self, base: Path) -> None:
        self.base = base
        self.worker, self.rival = Worker(base / "spool"), Worker(base / "rival")
        self._numbers = count()
        self.made, self.wholes = cache(self._made), cache(self._wholes)

    def folder(self, tree: Tree) -> Path:
        """A new folder that holds the tree."""
        folder = self.base / str(next(self._numbers))
        write_tree(tree, folder)
        return folder

    def _made(self, *choices: str | None) -> Tree:
        """What ingest, view and pairs make with these options; without one the step is left out."""
        folder = self.folder({"lines.txt": SENTENCES.encode()})
        for name, choice in zip(OUTPUTS, choices, strict=False):
            if choice is not None:
                done = self.worker.run(folder, *command(name, choice))
                assert done.code == 0, done.err
        tree = read_tree(folder)
        shutil.rmtree(folder)
        return tree

    def standing(self, tree: Tree, name: str, *, rows_only: bool = False) -> Choices | None:
        """The options by which the output that stands in a tree was made; None if it, or what is read, is not whole."""
        return self.wholes(name, rows_only).get(frozenset(part(tree, name, rows_only).items()))

    def _wholes(self, name: str, rows_only: bool) -> dict[frozenset[tuple[str, bytes | None]], Choices]:
        limits, lengths = CHOICES["ingest"], (*CHOICES["view"], None)
        every: dict[str, list[Choices]] = {
            "ingest": [(limit,) for limit in limits],
            "view": [(limit, length) for limit in limits for length in CHOICES["view"]],
            "pairs": [
                (limit, length, most) for limit in limits for length in lengths for most in CHOICES["pairs"]
            ],
        }
        # A view that `build-pairs` made for itself has other shards than those of the command above.
        own = {(limit, None): (limit, None, "1.5") for limit in limits} if name == "view" else {}
        made_by = {choices: choices for choices in every[name]} | own
        return {
            frozenset(part(self.made(*by), name, rows_only).items()): choices
            for choices, by in made_by.items()
        }

    def close(self) -> None:
        """End the processes."""
        self.worker.close()
        self.rival.close()


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    made = Lab(tmp_path_factory.mktemp("lab"))
    yield made
    made.close()


class Outputs(RuleBasedStateMachine):
    """A folder in which commands are run, killed and disturbed."""

    def __init__(self, lab: Lab) -> None:
        super().__init__()
        self.lab = lab
        self.folder = lab.folder({"lines.txt": SENTENCES.encode()})
        self.choice = {name: values[0] for name, values in CHOICES.items()}

    def teardown(self) -> None:
        shutil.rmtree(self.folder)

    def asked(self, name: str, overwrite: bool) -> list[str] | None:
        """The command as it is now; None if there are no sentences, so that it would take the sample corpus."""
        is_ready = name == "ingest" or (self.folder / OUTPUTS["ingest"] / "record.json").exists()
        return command(name, self.choice[name], overwrite) if is_ready else None

    @initialize(name=st.sampled_from([None, *OUTPUTS]))
    def begin(self, name: str | None) -> None:
        """With the outputs up to one, which few examples would come to otherwise."""
        if name is not None:
            shutil.rmtree(self.folder)
            choices = [self.choice[each] for each in OUTPUTS][: list(OUTPUTS).index(name) + 1]
            write_tree(self.lab.made(*choices), self.folder)

    @rule(name=NAMES, change=OTHERS, overwrite=OTHERS)
    def run(self, name: str, change: bool, overwrite: bool) -> None:
        """Run a command, maybe with the other value of its option from now on."""
        one, two = CHOICES[name]
        if change:
            self.choice[name] = two if self.choice[name] == one else one
        if (arguments := self.asked(name, overwrite)) is not None:
            before = read_tree(self.folder)
            self.check(name, before, self.lab.worker.run(self.folder, *arguments), overwrite)

    def check(self, name: str, before: Tree, done: Done, overwrite: bool, *, alone: bool = True) -> None:
        """What a command that ended may have said, and must have made."""
        assert "Traceback" not in done.err
        after = read_tree(self.folder)
        if done.code == 0:
            self.check_result(name, after)
            return
        *notes, last = done.err.splitlines()
        assert (done.code, [line for line in notes if line.startswith("error")]) == (2, [])
        assert last.startswith("error: ")
        if alone and not overwrite:
            for each in OUTPUTS:
                if each == name or self.lab.standing(before, each):
                    assert part(after, each) == part(before, each), last
        inputs = list(OUTPUTS)[: list(OUTPUTS).index(name)]
        wanted = self.options(before, name)
        free = not part(before, name) or overwrite or self.lab.standing(before, name) == wanted
        assert not (free and wanted and all(self.lab.standing(before, each) for each in inputs)), last

    def options(self, tree: Tree, name: str) -> Choices | None:
        """The options that the output should be made with; None if its inputs are damaged or do not match."""
        standing: Choices = ()
        for each in list(OUTPUTS)[: list(OUTPUTS).index(name)]:
            whole = self.lab.standing(tree, each, rows_only=True)
            if whole is None or whole[: len(standing)] != standing:
                return None
            standing = whole
        return (*standing, self.choice[name])

    def check_result(self, name: str, tree: Tree) -> None:
        """Check that the output of a command that succeeded is the right one, and so are its inputs."""
        standing = self.lab.standing(tree, name)
        assert standing is not None
        assert standing == self.options(tree, name)

    @rule(name=NAMES, overwrite=OTHERS, share=SHARES, how=SHARES)
    def kill(self, name: str, overwrite: bool, share: float, how: float) -> None:
        """Stop a command at some operation, by a kill or one of the power cuts."""
        if (arguments := self.asked(name, overwrite)) is None:
            return
        before = read_tree(self.folder)
        log = self.lab.worker.run(self.folder, *arguments, record=True).log
        states = [tree for _, tree in states_after(before, log[: int(share * (len(log) + 1))])]
        shutil.rmtree(self.folder)
        write_tree(states[int(how * len(states))], self.folder)

    @rule(share=SHARES, place=SHARES, bit=st.integers(0, 7))
    def flip(self, share: float, place: float, bit: int) -> None:
        """Flip one bit of a file; if it belongs to an output that is whole, `verify` names it."""
        tree = read_tree(self.folder)
        files = sorted({path for name in OUTPUTS for path, content in part(tree, name).items() if content})
        if not files:
            return
        path = files[int(share * len(files))]
        name = next(name for name in OUTPUTS if path in part(tree, name))
        was_whole = self.lab.standing(tree, name)
        content = bytearray(tree[path] or b"")
        content[int(place * len(content))] ^= 1 << bit
        (self.folder / path).write_bytes(content)
        if was_whole:
            done = self.lab.worker.run(self.folder, "verify", OUTPUTS[name])
            assert done.code == 1, f"bit {bit} of byte {int(place * len(content))} of {path}"
            assert f"damaged: {path}" in done.out

    @rule(name=NAMES, share=SHARES)
    def second_writer(self, name: str, share: float) -> None:
        """Start the same command while the first is paused: one of them makes the output, or says who does."""
        if (arguments := self.asked(name, overwrite=False)) is None:
            return
        before = read_tree(self.folder)
        first = self.lab.worker.start(self.folder, *arguments, pause=int(share * 90))
        second = self.lab.rival.run(self.folder, *arguments)
        if first is None:
            first = self.lab.worker.resume()
            if second.code and "being written" in second.err:
                # A command that is paused right after it took the lock has not written its name there yet.
                owners = (f"another process (pid {self.lab.worker.pid}: ", "another process: ")
                assert any(owner in second.err for owner in owners), second.err
                assert second.err.count("\n") == 1
                second = first
        for done in (first, second):
            self.check(name, before, done, overwrite=False, alone=False)

    @invariant()
    def verify_finds_what_is_not_whole(self) -> None:
        tree = read_tree(self.folder)
        for name, path in OUTPUTS.items():
            there = part(tree, name)
            done = self.lab.worker.run(self.folder, "verify", path)
            if self.lab.standing(tree, name):
                assert done.code == 0, done.out
            else:
                assert done.code == 1 or (done.code, done.err.count("\n")) == (2, 1), there.keys()


def test_in_any_order_nothing_wrong_is_taken_for_right(lab: Lab) -> None:
    run_state_machine_as_test(
        lambda: Outputs(lab),
        settings=settings(
            max_examples=16,
            stateful_step_count=8,
            deadline=None,
            phases=[Phase.generate],
            derandomize=True,
            print_blob=False,
            suppress_health_check=list(HealthCheck),
        ),
    )
