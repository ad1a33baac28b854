"""Labelled texts: what is known of a classification set before it is read, and its items from a folder or the Hub."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple, TypeAlias

from pipelines.console import InputError
from trainers.evaluation.reading import check_count, file_lines, first_line, hub_columns, whole_folder
from trainers.evaluation.task import HUB, Missing
from trainers.files import file_sha256

PARENTS = ("", "senteval", "SentEval", "downstream", "data/downstream", "SentEval/data/downstream")
"""Where the folders of the sets stand below a data folder."""
ROWS_DIFFER = "a copy from the Hub: its order, and so its folds, are not those of SentEval's files"

Part = Literal["all", "train", "dev", "test"]


class Labelled(NamedTuple):
    """A text, or two, and the number of its class; words have one space between them, and some texts have none."""

    first: str
    label: int
    second: str | None = None

    @property
    def encoded(self) -> str:
        """What stands for the first text before an encoder: a full stop for no words, as in SentEval's examples."""
        return self.first or "."


class File(NamedTuple):
    """One file: how many items it holds, of which part, and, where a file holds one class, their label."""

    name: str
    items: int
    part: Part
    label: int = 0


class HubCopy(NamedTuple):
    """A copy on the Hub with the same items: its name below an organisation, its splits by part, its columns."""

    organisation: str
    name: str
    splits: tuple[tuple[Part, str], ...]
    text: tuple[str, ...] = ("text",)
    label: str = "label"


Reader: TypeAlias = Callable[[File, str], Labelled]
"""From a file and one of its lines to the item; raises ValueError for another kind of line."""


@dataclass(frozen=True, slots=True)
class Corpus:
    """What is known of a set before it is read.

    `read` is of a line, which should be what `line` says, after `header` lines; `bytewise` as in `file_lines`.
    """

    name: str
    title: str
    folders: tuple[str, ...]
    files: tuple[File, ...]
    read: Reader
    line: str
    where: str
    classes: int = 2
    header: int = 0
    bytewise: bool = False
    hub: HubCopy | None = None

    @property
    def sizes(self) -> dict[Part, int]:
        """The published number of items of each part."""
        return {part: sum(file.items for file in self.files if file.part == part) for _, _, part, _ in self.files}


class Items(NamedTuple):
    """A set's items by part, in the order of its files; `remark` is what is special about this copy."""

    parts: Mapping[Part, tuple[Labelled, ...]]
    source: str
    files: Mapping[str, str]
    remark: str | None = None


def read_corpus(corpus: Corpus, data: str) -> Items | Missing:
    """Read a set from a folder, or from the Hub where `data` is `hf:ORGANISATION`, or say what is missing.

    Raises:
        InputError: A line or row is malformed, or there is another number of items than published.
    """
    if data.startswith(HUB):
        return _read_hub(corpus, data.removeprefix(HUB))

    def absent(folder: Path) -> list[str]:
        return [file.name for file in corpus.files if not (folder / file.name).is_file()]

    folder = whole_folder(corpus.folders, Path(data).expanduser(), absent, PARENTS)
    if isinstance(folder, str):
        return Missing(corpus.name, corpus.title, folder, corpus.where)
    parts: dict[Part, tuple[Labelled, ...]] = {}
    for file in corpus.files:
        parts[file.part] = parts.get(file.part, ()) + _read(folder / file.name, file, corpus)
    return Items(parts, str(folder), {file.name: file_sha256(folder / file.name) for file in corpus.files})


def _read(path: Path, file: File, corpus: Corpus) -> tuple[Labelled, ...]:
    lines = file_lines(path, bytewise=corpus.bytewise)[corpus.header :]
    check_count(path, len(lines), file.items, "items")
    items = []
    for number, line in enumerate(lines, 1 + corpus.header):
        try:
            items.append(corpus.read(file, line))
        except ValueError:
            raise InputError(f"{path} line {number}: {line[:60]!r} is no {corpus.line}") from None
    return tuple(items)


def _read_hub(corpus: Corpus, organisation: str) -> Items | Missing:
    """Read one set from `organisation/<its name>`; only copies with the published number of items are known.

    `organisation` may also be a folder that holds such data sets.
    """
    copy = corpus.hub
    if copy is None:
        return Missing(corpus.name, corpus.title, "no copy on the Hub with its items is known", corpus.where)
    local = Path(organisation).is_dir()
    if not local and organisation != copy.organisation:
        where = f"--data hf:{copy.organisation} ({copy.organisation}/{copy.name})"
        return Missing(corpus.name, corpus.title, f"not known below {organisation} on the Hub", where)
    source = f"{organisation}/{copy.name}"
    parts: dict[Part, tuple[Labelled, ...]] = {}
    revisions: set[str] = set()
    for part, split in copy.splits:
        try:
            rows, revision = hub_columns(source, None, split, (*copy.text, copy.label))
        except (OSError, ValueError) as error:
            where = corpus.where if local else f"https://huggingface.co/datasets/{source}"
            return Missing(corpus.name, corpus.title, f"cannot load {source} ({first_line(error)})", where)
        items = (_labelled(corpus, f"{source} {split} row {number}", *row) for number, row in enumerate(rows))
        parts[part] = parts.get(part, ()) + tuple(items)
        revisions |= set(revision.values())
    for part, size in corpus.sizes.items():
        if len(parts[part]) != size:
            raise InputError(f"{source} ({part}): {len(parts[part])} items, expected {size}: another copy is needed")
    files = {"revision": ",".join(sorted(revisions))} if revisions else {}
    return Items(parts, f"{HUB}{source}", files, ROWS_DIFFER)


def _labelled(corpus: Corpus, place: str, *row: object) -> Labelled:
    *given, label = row
    texts = [words(text) if isinstance(text, str) else "" for text in given]
    if not all(texts):
        raise InputError(f"{place}: expected text, got {given!r}")
    if not isinstance(label, int) or label not in range(corpus.classes):
        raise InputError(f"{place}: the label {label!r} is none of 0 to {corpus.classes - 1}")
    return Labelled(texts[0], label, texts[1] if len(texts) > 1 else None)


def words(text: str) -> str:
    """Return the words of a text with one space between them: SentEval gives its encoders lists of words."""
    return " ".join(text.split())
