"""A search in BEIR's layout: `corpus.jsonl`, `queries.jsonl` and `qrels/SPLIT.tsv` in one folder."""

from pathlib import Path
from typing import NamedTuple

from pipelines.terminal.console import InputError

QRELS = "qrels"
ENDINGS = (".jsonl", ".jsonl.gz", ".jsonl.zst", ".parquet")


class BeirFiles(NamedTuple):
    """The three tables of a search."""

    qrels: Path
    queries: Path
    corpus: Path


def beir_files(name: str) -> BeirFiles | None:
    """Return the files of a folder, its test split, or those around a file of qrels; None for anything else.

    Raises InputError for a folder, or a file of qrels, that lacks one of them.
    """
    path = Path(name).expanduser()
    if path.is_dir():
        return _in_folder(path, _split(path))
    if path.is_file() and path.parent.name == QRELS:
        return _in_folder(path.parent.parent, path)
    return None


def _split(folder: Path) -> Path:
    """Return the only split, or that for testing."""
    splits = sorted((folder / QRELS).glob("*.tsv"))
    named = [path for path in splits if path.stem == "test" or len(splits) == 1]
    if named:
        return named[0]
    if splits:
        raise InputError(f"{folder} has no {QRELS}/test.tsv: give one of its splits, such as {splits[0]}")
    layout = f"no {QRELS}/test.tsv beside queries.jsonl and corpus.jsonl, as in BEIR"
    raise InputError(f"{folder} is a folder with {layout}: give a file, or QUERIES,DOCUMENTS")


def _in_folder(folder: Path, qrels: Path) -> BeirFiles:
    paths = {}
    for name in ("queries", "corpus"):
        paths[name] = next((path for ending in ENDINGS if (path := folder / (name + ending)).is_file()), None)
        if paths[name] is None:
            raise InputError(f"{folder} has {QRELS} but no {name}.jsonl: get its files again")
    return BeirFiles(qrels, Path(str(paths["queries"])), Path(str(paths["corpus"])))
