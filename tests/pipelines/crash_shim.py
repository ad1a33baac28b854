"""A layer under a command's file operations: it counts them, records them, fails one of them, or pauses at one.

It is installed before our code is imported, and wraps operations of the system only: `os.open`, `os.replace`,
`io.FileIO` and so on. After every operation it compares the folder with what it knows, so that writes that bypass it
(Arrow's own files, memory maps) are recorded too, as never synced.
"""

import _io
import builtins
import io
import os
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from crash_model import Operation, Tree, left_after

NAMES_ONE = ("mkdir", "rmdir", "unlink", "remove", "truncate", "symlink")
NAMES_TWO = ("rename", "replace", "link")
DESCRIPTORS = ("write", "pwrite", "writev", "pwritev", "ftruncate", "posix_fallocate", "fsync", "fdatasync")
KINDS = {"remove": "unlink", "replace": "rename", "fdatasync": "fsync"}
RECORDED = {"mkdir", "rmdir", "unlink", "rename", "link", "fsync"}
WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC

real_open, real_os, RealFileIO = io.open, {name: getattr(os, name) for name in ("open", "close")}, io.FileIO


Pause: TypeAlias = tuple[int, Callable[[], None]]
"""The call before which a command pauses, and what it waits for."""


@dataclass(frozen=True)
class Failure:
    """Which call fails (they are numbered from 0) and with what; `reads` counts the calls that only read too."""

    call: int
    errno: int
    reads: bool = False


@dataclass(frozen=True)
class Done:
    """A command that ended: its exit code, what it said, its recorded operations, and the calls that it made."""

    code: int
    out: str
    err: str
    log: list[Operation]
    calls: int
    reads: int


class Shim:
    """What happens at the operations under `folder` between `begin` and `end`."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._roots: tuple[str, ...] = ()
        self._own = threading.local()  # of each thread: whether it compares the folder right now

    def begin(
        self, folder: Path, spool: Path, record: bool, failure: Failure | None, pause: Pause | None
    ) -> None:
        """Watch `folder`; operations in `spool` are counted and fail, but are not recorded."""
        self._folder = str(folder)
        self._roots = (self._folder, str(spool))
        self._calls = self._reads = 0
        self._log: list[Operation] | None = [] if record else None
        self._tree = read_tree(folder) if record else {}
        self._failure, self._pause = failure, pause

    def end(self) -> tuple[list[Operation], int, int]:
        """What was recorded, how many calls changed something, and how many only read."""
        if self._log is not None:
            self._compare()
        log, self._log, self._roots = self._log or [], None, ()
        return log, self._calls, self._reads

    def around(self, kind: str, paths: Sequence[str], work: Callable[[], Any], *, reads: bool = False) -> Any:  # noqa: ANN401
        """Do `work`, an operation on `paths`, with everything that is to happen at it."""
        compares = getattr(self._own, "compares", False)
        if compares or not self._roots or not any(self._is_watched(path) for path in paths):
            return work()
        with self._lock:
            if self._log is not None:
                self._compare()
            self._step(reads)
            done = work()
            if self._log is not None and not reads:
                self._record(kind, paths)
            return done

    def _is_watched(self, path: str) -> bool:
        return any(path == root or path.startswith(f"{root}/") for root in self._roots)

    def _step(self, reads: bool) -> None:
        failure, pause = self._failure, self._pause
        number = self._calls + self._reads if failure is not None and failure.reads else self._calls
        self._reads += reads
        self._calls += not reads
        if failure is not None and number == failure.call and (failure.reads or not reads):
            raise OSError(failure.errno, os.strerror(failure.errno))
        if pause is not None and not reads and number == pause[0]:
            pause[1]()

    def _record(self, kind: str, paths: Sequence[str]) -> None:
        kind = KINDS.get(kind, kind)
        inside = [os.path.relpath(path, self._folder) for path in paths if path.startswith(self._folder)]
        if kind in RECORDED and len(inside) == len(paths) and not inside[0].endswith(" (deleted)"):
            self._add(Operation(kind, *inside))
        self._compare()

    def _add(self, operation: Operation) -> None:
        assert self._log is not None
        self._log.append(operation)
        self._tree = left_after(self._tree, [operation], (), "all")

    def _compare(self) -> None:
        """Record what is there and is not known yet: files made, written or removed."""
        self._own.compares = True
        try:
            there = read_tree(Path(self._folder))
        finally:
            self._own.compares = False
        for path in sorted(there.keys() - self._tree.keys()):
            self._add(Operation("mkdir" if there[path] is None else "create", path))
        for path, content in there.items():
            if content is not None and content != self._tree[path]:
                self._add(Operation("write", path, data=content))
        for path in sorted(self._tree.keys() - there.keys(), reverse=True):
            self._add(Operation("rmdir" if self._tree[path] is None else "unlink", path))


def read_tree(folder: Path) -> Tree:
    """Everything in a folder by its path in it: the content of files, None for folders."""
    tree: Tree = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if path.is_dir():
            tree[name] = None
        else:
            with real_open(path, "rb") as stream:
                tree[name] = stream.read()
    return tree


shim = Shim()


def _absolute(path: Any, dir_fd: int | None = None) -> str:  # noqa: ANN401 - whatever a path may be
    if isinstance(path, int):
        return os.readlink(f"/proc/self/fd/{path}")
    named = os.fspath(path)
    named = os.fsdecode(named) if isinstance(named, bytes) else named
    return os.path.normpath(os.path.join(_absolute(dir_fd) if dir_fd is not None else os.getcwd(), named))


class ShimFileIO(RealFileIO):
    """`io.FileIO`, whose opening, writing and reading go through the shim."""

    def __init__(self, file: Any, mode: str = "r", closefd: bool = True, opener: Any = None) -> None:  # noqa: ANN401
        def work() -> None:
            RealFileIO.__init__(self, file, mode, closefd, opener)

        if isinstance(file, int) or opener is not None:
            work()
        else:
            shim.around("open", [_absolute(file)], work, reads=not set(mode) & set("wax+"))


def _method(name: str) -> Callable[..., Any]:
    real = getattr(RealFileIO, name)

    def method(self: ShimFileIO, *arguments: Any) -> Any:  # noqa: ANN401
        paths = [_absolute(self.fileno())]
        return shim.around(name, paths, lambda: real(self, *arguments), reads=name.startswith("read"))

    return method


for each in ("write", "truncate", "readinto", "readall", "read"):
    setattr(ShimFileIO, each, _method(each))


def shim_open(file: Any, mode: str = "r", buffering: int = -1, *more: Any, **named: Any) -> Any:  # noqa: ANN401
    """The built-in `open` on a `ShimFileIO`."""
    if isinstance(file, int) or ("b" in mode and len(set(mode) & set("rwax")) != 1):
        return real_open(file, mode, buffering, *more, **named)
    given = dict(zip(("encoding", "errors", "newline", "closefd", "opener"), more, strict=False)) | named
    raw = ShimFileIO(
        file, mode.replace("b", "").replace("t", ""), given.pop("closefd", True), given.pop("opener", None)
    )
    if buffering == 0:
        return raw
    kind = io.BufferedRandom if "+" in mode else io.BufferedReader if "r" in mode else io.BufferedWriter
    buffered = kind(raw)
    if "b" in mode:
        return buffered
    text = io.TextIOWrapper(buffered, **given, line_buffering=buffering == 1)
    text.mode = mode
    return text


def _wrap(name: str) -> Callable[..., Any]:
    real = getattr(os, name)

    def of_names(*arguments: Any, **options: Any) -> Any:  # noqa: ANN401
        one = _absolute(
            arguments[-1 if name == "symlink" else 0], options.get("dir_fd", options.get("src_dir_fd"))
        )
        two = [_absolute(arguments[1], options.get("dst_dir_fd"))] if name in NAMES_TWO else []
        return shim.around(name, [one, *two], lambda: real(*arguments, **options))

    def of_descriptor(descriptor: Any, *arguments: Any) -> Any:  # noqa: ANN401
        number = descriptor if isinstance(descriptor, int) else descriptor.fileno()
        # What is synced is recorded; there is no power cut that the disk itself would have to survive.
        work = (lambda: None) if "sync" in name else lambda: real(number, *arguments)
        return shim.around(name, [_absolute(number)], work)

    return of_descriptor if name in DESCRIPTORS else of_names


def _wrapped_open(path: Any, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:  # noqa: ANN401
    work = lambda: real_os["open"](path, flags, mode, dir_fd=dir_fd)  # noqa: E731
    number: int = shim.around("open", [_absolute(path, dir_fd)], work, reads=not flags & WRITING)
    return number


def install() -> None:
    """Put the shim under this interpreter; to be called before anything of ours is imported."""
    for name in (*NAMES_ONE, *NAMES_TWO, *DESCRIPTORS):
        setattr(os, name, _wrap(name))
    os.open = _wrapped_open
    for module in (io, _io):
        module.FileIO = ShimFileIO  # type: ignore[misc]
        module.open = shim_open
    builtins.open = shim_open
