"""NCBI-disease, BC5CDR, XL-BEL, COMETA, AskAPatient, names of your own: accuracy @1 and @5 by nearest name."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple, TypeAlias

import numpy as np

from pipelines.base.console import InputError
from trainers.encoders.vectors import Numbers, Vectors, nearest
from trainers.files import (
    bad_line,
    check_count,
    columns,
    csv_rows,
    filled_lines,
    find_file,
    usual_places,
)
from trainers.scores.task import Metrics, Missing, Predictions, Result, Task, declared

RANKS = {"acc@1": 1, "acc@5": 5}
METRICS = tuple(RANKS)

REMARK = "note.txt"  # what results must say of files that are not BioSyn's own

UNLINKED = frozenset({"", "-", "-1", "cui-less"})  # what corpora write for a mention that has no concept

Entry: TypeAlias = tuple[str, frozenset[str]]  # a name and the ids of its concepts
Names: TypeAlias = Mapping[str, frozenset[str]]  # distinct names, in file order, and the ids of their concepts


class Mention(NamedTuple):
    """What is to be linked: the texts of its parts (several if it names several concepts), and its concepts' ids."""

    parts: tuple[str, ...]
    ids: frozenset[str]


def joined(entries: Iterable[Entry]) -> Names:
    """Join entries of one name, as BioSyn does: their ids are united, the first one's place is kept."""
    names: dict[str, frozenset[str]] = {}
    for name, ids in entries:
        if name and ids:
            names[name] = names.get(name, frozenset()) | ids
    return names


def concepts(text: str) -> frozenset[str]:
    """The ids of a field such as `C567755|613097`, `D009794+D007592` or `MESH:D001943`, without prefixes."""
    ids = (
        part.strip().removeprefix("MESH:").removeprefix("OMIM:") for part in text.replace("+", "|").split("|")
    )
    return frozenset(part for part in ids if part.lower() not in UNLINKED)


def read_names(path: Path, *, synonyms: bool = True) -> Iterator[Entry]:
    """Yield lower-cased names and ids of `id||name` or (MEDIC) `id|id||name|synonym`.

    InputError for others.
    """
    for number, line in filled_lines(path):
        ids, _, names = line.partition("||")
        if line.count("||") != 1 or not ids.strip() or not names.strip():
            raise bad_line(path, number, "id||name", line)
        yield from (
            (name.strip().lower(), concepts(ids)) for name in (names.split("|") if synonyms else [names])
        )


def read_queries(path: Path) -> Iterator[Mention]:
    """Yield the mentions of lines `id||mention`; raises as `read_names` does."""
    return (Mention((name,), ids) for name, ids in read_names(path, synonyms=False))


def read_cometa(path: Path) -> Iterator[Mention]:
    """Yield the mentions of COMETA's tab-separated table, `Term` and `General SNOMED ID`.

    Raises as `columns` does.
    """
    cells = columns(path, csv_rows(path, delimiter="\t"), ("Term", "General SNOMED ID"))
    return (Mention((term.strip().lower(),), concepts(ids)) for _, (term, ids) in cells)


def read_concepts(path: Path) -> Iterator[Mention]:
    """Yield the linked mentions of lines `pmid||span||type||mention||id`; raises InputError for others."""
    for number, line in filled_lines(path):
        fields = line.split("||")
        if len(fields) != 5:
            raise bad_line(path, number, "pmid||span||type||mention||id", line)
        text, ids = fields[3].lower(), concepts(fields[4])
        if ids:
            yield Mention(tuple(part.strip() for part in text.split("|") if part.strip()) or (text,), ids)


class MentionSet(NamedTuple):
    """A dictionary, and beside it `files` files `pattern` of mentions, of which `fewest` have ids that it has.

    `read` is one of `READERS`.
    """

    name: str
    title: str
    folders: Sequence[str]
    dictionary: str
    pattern: str
    files: int
    read: str
    mentions: int | None = None
    fewest: int | None = None
    note: str | None = None
    where: str = ""


READERS = {"concepts": read_concepts, "queries": read_queries, "cometa": read_cometa}
MENTION_SETS = [MentionSet(**values) for values in declared("linking")]


def score_mentions(mentions: Sequence[Mention], names: Names, vectors: Vectors, seed: int = 0) -> Result:
    """Return accuracy @1 and @5 by the nearest names of a dictionary, by cosine; nothing is drawn.

    A mention is right @k if one of the k nearest distinct names has any of its ids, a composite one if each
    part is: BioSyn's rule (Sung et al. 2020). Part: the same of the mentions that are not word for word in the
    dictionary.
    """
    texts, entries = list(dict.fromkeys(part for mention in mentions for part in mention.parts)), list(names)
    last = max(RANKS.values())
    rows = nearest(vectors.of(texts), vectors.of(entries), last, device=vectors.device)
    near = dict(zip(texts, rows.tolist(), strict=True))

    def rank(part: str, ids: frozenset[str]) -> int:
        """The rank of the name that makes a part right, one more than the last without any."""
        right = (place for place, row in enumerate(near[part], 1) if names[entries[row]] & ids)
        return next(right, last + 1)

    ranks = np.array([max(rank(part, mention.ids) for part in mention.parts) for mention in mentions])
    new = np.array([not names.keys() >= set(mention.parts) for mention in mentions], bool)
    outcomes = (ranks == 1).astype(np.float64)
    parts = {"not in the dictionary": _accuracy(ranks[new])}
    return Result(_accuracy(ranks), Predictions("mean", np.ones_like(outcomes), outcomes), parts)


def _accuracy(ranks: Numbers) -> Metrics:
    return {name: 100 * float(np.mean(ranks <= last)) if len(ranks) else None for name, last in RANKS.items()}


def find(data: str) -> list[Task | Missing]:
    """Read the linking sets in a folder, and say which are missing; raises InputError for a bad file."""
    folder = Path(data).expanduser()
    return [*(_read(benchmark, folder) for benchmark in MENTION_SETS), *_own(folder)]


def _read(benchmark: MentionSet, data: Path) -> Task | Missing:
    """Return a set, which no paper averages."""
    title, pattern = benchmark.title, benchmark.pattern
    dictionary = find_file(benchmark.dictionary, usual_places(benchmark.folders, data))
    folder = dictionary.parent if dictionary else data
    paths = sorted([*folder.glob(pattern), *folder.glob(f"{pattern}.gz")]) if dictionary else []
    if dictionary is None or not paths:
        reason = f"no {benchmark.folders[0]}/ with {benchmark.dictionary} and {pattern} below {data}"
        return Missing(benchmark.name, title, reason, benchmark.where)
    check_count(folder, len(paths), benchmark.files, f"files {pattern}")
    mentions, names = (
        [mention for path in paths for mention in READERS[benchmark.read](path)],
        joined(read_names(dictionary)),
    )
    published = benchmark.mentions or len(mentions)
    if not (benchmark.fewest or published) <= len(mentions) <= published:
        check_count(folder, len(mentions), published, "mentions")
    if not mentions or not names:
        counts = f"{len(mentions)} mentions and {len(names)} names with ids"
        raise InputError(f"{folder}: {counts} of {title}: both are needed")
    note = f"{len(mentions)} of {published} mentions" if len(mentions) < published else benchmark.note
    if remark := find_file(REMARK, [folder]):
        note = " ".join(line for _, line in filled_lines(remark))
    lines = [f"\t{'|'.join(parts)}\t{'|'.join(sorted(ids))}\n" for parts, ids in mentions]
    lines += [f"{entry}\t{'|'.join(sorted(ids))}\n" for entry, ids in names.items()]
    return Task(
        name=benchmark.name,
        title=title,
        source=str(folder),
        note=note,
        counted=False,
        size=len(mentions),
        texts=[*names, *(part for mention in mentions for part in mention.parts)],
        lines=lines,
        score=partial(score_mentions, mentions, names),
    )


def _own(data: Path) -> Iterator[Task | Missing]:
    """Read a user's sets: `linking/<name>/dictionary.txt` of id||name and `mentions.txt` of id||mention."""
    for dictionary in sorted((data / "linking").glob("*/dictionary.txt")):
        name = dictionary.parent.name
        own = MentionSet(name, name, (name,), dictionary.name, "mentions.txt", 1, "queries")
        yield _read(own, data / "linking")
