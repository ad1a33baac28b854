"""What must be said beside a comparison: of the printed rows, of our copies of the sets, and of the runs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from trainers.evaluation.task import MARK
from trainers.results.papers import Column, PublishedTable, published_sizes
from trainers.results.records import Record, Run, group

OURS = "ours"
FEW = 3
"""Suites that are named one by one; of more, their number."""


def another_size(record: Record) -> bool:
    """Whether a copy of a set has more or fewer items than the papers score."""
    return record.of.size != published_sizes().get(record.set, record.of.size)


def another_task(record: Record) -> bool:
    """Whether an evaluation says of a set that it is not the task that the papers have."""
    return (record.of.note or "").startswith(MARK)


def remarks(
    suite: str, tables: Sequence[PublishedTable], runs: Sequence[Run], columns: Sequence[Column],
    aggregations: Sequence[str | None],
) -> Iterable[str]:  # fmt: skip
    """Yield what must be said beside a table, each remark once.

    Args:
        suite: Its name.
        tables: The papers' tables whose rows stand there.
        runs: Ours, those without the suite too: seeds that failed are said of them.
        columns: The table's.
        aggregations: The ways in which subsets are joined there.
    """
    yield from _of_papers(tables)
    if len(aggregations) > 1:
        joined = ", ".join(way for way in aggregations if way)
        yield f"subsets are joined in different ways ({joined}): compare rows that are joined alike"
    for run in runs:
        if run.lost:
            yield f"{run.title}: " + ", ".join(
                f"seed{'s' if len(seeds) > 1 else ''} {', '.join(seeds)} {why}" for why, seeds in run.lost.items()
            )
    order = {name: place for place, name in enumerate(dict.fromkeys(n for column in columns for n in column.sets))}
    present = {
        run.title: sorted((record for record in run.of(suite) if record.set in order), key=lambda r: order[r.set])
        for run in runs
        if run.of(suite)
    }
    pairs = [(title, record) for title, records in present.items() for record in records]
    sizes = published_sizes()
    other = (
        (f"{r.of.title}: {r.of.size:,} items, the papers score {sizes[r.set]:,}: another test", title)
        for title, r in pairs
        if another_size(r)
    )
    for line, titles in group(other).items():
        yield f"* {', '.join(titles)}, {line}"
    yield from _of_sets(present)
    yield from _of_copies(pairs)
    means = [column for column in columns if column.averaged]
    of_runs = ((line, title) for title, records in present.items() for line in _of_run(records, means))
    for line, titles in group(of_runs).items():
        yield f"{', '.join(titles)}: {line}"


def mixed_encoders(runs: Sequence[Run], suites: Sequence[str]) -> list[str]:
    """Return a remark for each run whose suites were not all evaluated with one encoder in one way.

    Args:
        runs: Ours.
        suites: Those that are compared.
    """
    said = []
    for run in runs:
        for seed in run.known:
            encoders = {r.suite: r.stored.encoder for suite in suites for r in run.of(suite) if r.seed == seed}
            # Weights tell encoders apart; a name may be the same folder written in another way.
            weighed = all(encoder["weights"] for encoder in encoders.values())
            parts = []
            for key in ("weights" if weighed else "model", "pooling", "precision", "adaptation"):
                values = group((encoder[key], suite) for suite, encoder in encoders.items())
                places = (
                    ", ".join(names) if len(names) <= FEW else f"{len(names)} suites" for names in values.values()
                )
                if len(values) > 1:
                    shown = (f"{value} ({place})" for value, place in zip(values, places, strict=True))
                    parts.append(f"{key} {', '.join(shown)}")
            if parts:
                said.append(f"{run.title}: its suites are not of one encoder: {'; '.join(parts)}")
    return list(dict.fromkeys(said))


def listed(titles: Sequence[str], of: int | None = None) -> str:
    """Return the names of sets as a list: a start that all share stands once, all `of` them are "every set"."""
    if len(titles) == of and len(titles) > 1:
        return "every set"
    words = [title.split() for title in titles]
    shared = 0
    while all(len(each) > shared + 1 and each[shared] == words[0][shared] for each in words):
        shared += 1
    return ", ".join([titles[0], *(" ".join(each[shared:]) for each in words[1:])])


def _of_papers(tables: Sequence[PublishedTable]) -> Iterable[str]:
    """Yield the notes on printed rows; the same on several rows stands once, behind all of them or the whole table."""
    noted = []
    for table in tables:
        for note, models in group((row.note, row.model) for row in table.rows if row.note).items():
            whole = all(row.note == note for row in table.rows)
            noted.append((note, table.source if whole else f"{table.source}, {', '.join(models)}"))
    for note, places in group(noted).items():
        yield f"{'; '.join(places)}: {note}"


def _of_sets(present: dict[str, list[Record]]) -> Iterable[str]:
    """Yield the notes on the sets: each remark once, with the sets it is of, and the runs if it is not of all."""
    said = []
    for title, records in present.items():
        noted = ((remark, r.of.title) for r in records for remark in (r.of.note or "").removeprefix(MARK).split("; "))
        alike = group((tuple(titles), remark) for remark, titles in group(noted).items() if remark)
        everything = len({r.of.title for r in records})
        for titles, lines in alike.items():
            marked = any((r.of.note or "").startswith(f"{MARK}{lines[0]}") for r in records)
            said.append(((MARK if marked else "", f"{listed(titles, everything)}: {'; '.join(lines)}"), title))
    for (mark, line), runs in group(said).items():
        yield f"{mark}{OURS if len(runs) == len(present) else ', '.join(runs)}, {line}"


def _of_copies(pairs: Sequence[tuple[str, Record]]) -> Iterable[str]:
    """Yield which sets are not the same items in all runs, by their checksums."""
    differing = []
    for records in group((r.set, (r.of.sha256, run, r.of.title)) for run, r in pairs).values():
        copies = group((items, run) for items, run, _ in records)
        if len(copies) > 1:
            differing.append((tuple(map(tuple, copies.values())), records[-1][2]))
    for copies_of, titles in group(differing).items():
        runs = list(dict.fromkeys(run for each in copies_of for run in each))
        where = " and in ".join(", ".join(each) for each in copies_of) if len(runs) > 1 else f"all seeds of {runs[0]}"
        yield f"{listed(titles)}: not the same items in {where}: figures of different copies"


def _of_run(records: Sequence[Record], averaged: Sequence[Column]) -> Iterable[str]:
    for seed in dict.fromkeys(record.seed for record in records):
        own = [record for record in records if record.seed == seed]
        leaks = [(r.of.title, r.of.seen_in_training) for r in own]
        seen = dict.fromkeys(f"{title} {leak.texts:,} of {leak.of:,}" for title, leak in leaks if leak and leak.texts)
        if seen:
            yield f"texts of these sets stand in its training data: {', '.join(seen)}"
        present = {record.set for record in own}
        for column in averaged:
            missing = [name for name in column.sets if name not in present]
            if missing and len(missing) < len(column.sets):
                yield f"no average without {', '.join(missing)}"
