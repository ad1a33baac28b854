"""What must be said beside a comparison: of the printed rows, of our copies of the sets, and of leakage."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from trainers.evaluation.task import MARK
from trainers.results.papers import PublishedTable, published_sizes
from trainers.results.records import Record, group


def another_size(record: Record) -> bool:
    """Whether a copy of a set has more or fewer items than the papers score."""
    return record.of.size != published_sizes().get(record.set, record.of.size)


def another_task(record: Record) -> bool:
    """Whether an evaluation says of a set that it is not the task that the papers have."""
    return (record.of.note or "").startswith(MARK)


def of_papers(tables: Sequence[PublishedTable]) -> Iterable[str]:
    """Yield the notes on printed rows; the same on several rows stands once, behind all of them or the whole table."""
    noted = []
    for table in tables:
        for note, models in group((row.note, row.model) for row in table.rows if row.note).items():
            whole = all(row.note == note for row in table.rows)
            noted.append((note, table.source if whole else f"{table.source}, {', '.join(models)}"))
    for note, places in group(noted).items():
        yield f"{'; '.join(places)}: {note}"


def of_sets(found: Sequence[tuple[str, Record]]) -> Iterable[str]:
    """Yield where our copies or protocols differ from the papers', or from each other; `found` has the runs' titles."""
    sizes = published_sizes()
    for title, size, printed in dict.fromkeys(
        (r.of.title, r.of.size, sizes[r.set]) for _, r in found if another_size(r)
    ):
        yield f"{MARK}ours, {title}: {size:,} items, the papers score {printed:,}: another test"
    every = {r.of.title for _, r in found}
    for note, titles in group((r.of.note, r.of.title) for _, r in found).items():
        where = "every set" if len(titles) == len(every) > 1 else ", ".join(titles)
        if note:
            yield f"{MARK if note.startswith(MARK) else ''}ours, {where}: {note.removeprefix(MARK)}"
    copies = group((r.of.title, r.of.sha256) for _, r in found)
    differing = [title for title, digests in copies.items() if len(digests) > 1]
    if differing:
        yield f"{', '.join(differing)}: figures of different copies, by their checksums"


def of_training(found: Sequence[tuple[str, Record]]) -> Iterable[str]:
    """Yield how much of the sets stands in the training data of which runs."""
    leaks = [(run, r.of.title, r.of.seen_in_training) for run, r in found if r.of.seen_in_training]
    seen = group((run, f"{title} {leak['texts']:,} of {leak['of']:,}") for run, title, leak in leaks if leak["texts"])
    for line, runs in group((", ".join(places), run) for run, places in seen.items()).items():
        yield f"{', '.join(runs)}: texts of these sets stand in its training data: {line}"
