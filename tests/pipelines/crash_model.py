"""What a kill or a power cut may leave of a folder, by the file operations that were done in it.

The usual model: what a file held when it was last synced stays, what was written since may be lost or cut short; a
name that was made, moved or removed is sure when its folder was synced, and may be lost until then.
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

Tree: TypeAlias = dict[str, bytes | None]
"""Everything in a folder by its path: the content of files, None for folders."""
Contents: TypeAlias = Literal["all", "torn", "synced"]


@dataclass(frozen=True)
class Operation:
    """One operation on a path (and a second one), both within the folder; `data` is all of a file after a write."""

    kind: str
    path: str
    target: str = ""
    data: bytes = b""

    def __str__(self) -> str:
        return " ".join(part for part in (self.kind, self.path, self.target) if part)

    @property
    def changes_names(self) -> bool:
        """Whether it is undone if the folder of its path is not synced."""
        return self.kind not in {"write", "fsync"}

    @property
    def parent(self) -> str:
        """The folder that must be synced to make it sure."""
        return str(Path(self.target or self.path).parent)


@dataclass(eq=False)
class _Node:
    """A file (or, with None for its content, a folder), whatever it is called."""

    content: bytes | None
    synced: bytes = b""

    def left(self, contents: Contents) -> bytes | None:
        if self.content is None or contents == "all" or self.content == self.synced:
            return self.content
        if contents == "synced":
            return self.synced
        sure = len(self.synced) if self.content.startswith(self.synced) else 0
        return self.content[: sure + (len(self.content) - sure) // 2]


def _apply(names: dict[str, _Node], operation: Operation, made: _Node | None = None) -> _Node | None:
    """Do it, if what it depends on was not lost; returns what it makes, which is `made` where that is given."""
    path, target = operation.path, operation.target
    if operation.changes_names and operation.parent != "." and operation.parent not in names:
        return None
    if operation.kind in {"create", "mkdir"}:
        names[path] = made or _Node(None if operation.kind == "mkdir" else b"")
        return names[path]
    if path not in names:
        return None
    if operation.kind == "write":
        names[path].content = operation.data
    elif operation.kind == "fsync":
        names[path].synced = names[path].content or b""
    elif operation.kind == "link":
        names[target] = names[path]
    elif operation.kind == "rename":
        for inside in [name for name in names if name == path or name.startswith(f"{path}/")]:
            names[target + inside[len(path) :]] = names.pop(inside)
    elif operation.kind == "unlink" or not any(name.startswith(f"{path}/") for name in names):
        del names[path]
    return None


def left_after(before: Tree, log: Sequence[Operation], lost: Collection[int], contents: Contents) -> Tree:
    """What there is if the operations numbered `lost` left no trace.

    Args:
        before: What was there at first, and sure.
        log: What was done.
        lost: Numbers of operations in `log` that change names.
        contents: What files hold: all that was written, half of what was not synced, or none of that.
    """
    # by the program that wrote
    seen = {path: _Node(content, content or b"") for path, content in before.items()}
    left = dict(seen)
    for number, operation in enumerate(log):
        made = _apply(seen, operation)
        if operation.changes_names and number not in lost:
            _apply(left, operation, made)
    return {path: node.left(contents) for path, node in left.items()}


def crash_states(before: Tree, log: Sequence[Operation]) -> Iterator[tuple[str, Tree]]:
    """Every state that a crash after each of the operations may leave, each once, with a line that describes it."""
    seen = set()
    for count in range(len(log) + 1):
        for how, tree in states_after(before, log[:count]):
            key = frozenset(tree.items())
            if key not in seen:
                seen.add(key)
                yield f"{how}; after {count}: {log[count - 1] if count else 'nothing'}", tree


def states_after(before: Tree, done: Sequence[Operation]) -> Iterator[tuple[str, Tree]]:
    """What may be left when all of this was done.

    A kill; a power cut with everything lost that was not sure, with names kept but contents not, with contents cut
    short; with the last 1, 2, ... changes of names lost; with one of them lost; with one of them alone kept.
    """
    unsure = unsure_names(done)
    variants: list[tuple[str, Collection[int], Contents]] = [
        ("kill", (), "all"),
        ("power cut, nothing unsynced left", unsure, "synced"),
        ("power cut, names left", (), "synced"),
        ("power cut, files cut short", (), "torn"),
    ]
    for place, number in enumerate(unsure):
        variants += [
            (f"power cut, names lost from {done[number]}", unsure[place:], "all"),
            (f"power cut, lost: {done[number]}", (number,), "all"),
            (f"power cut, all lost but: {done[number]}", [each for each in unsure if each != number], "all"),
        ]
    for how, lost, contents in variants:
        yield how, left_after(before, done, set(lost), contents)


def unsure_names(done: Sequence[Operation]) -> list[int]:
    """Numbers of the operations whose change of names no sync of their folder followed."""
    unsure: list[int] = []
    for number, operation in enumerate(done):
        if operation.kind == "fsync":
            unsure = [each for each in unsure if done[each].parent != operation.path]
        elif operation.changes_names:
            unsure.append(number)
    return unsure


def write_tree(tree: Tree, folder: Path) -> None:
    """Make a folder that holds the tree."""
    folder.mkdir(parents=True)
    for path, content in sorted(tree.items()):
        if content is None:
            (folder / path).mkdir()
        else:
            (folder / path).write_bytes(content)
