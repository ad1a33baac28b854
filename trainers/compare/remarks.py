"""What must be said beside a comparison: of the printed rows, of our copies of the sets, and of the runs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from trainers.compare.papers import Column, PublishedTable, published_sizes
from trainers.compare.runs import Contender, Evaluation
from trainers.evaluation.task import MARK

OURS = "ours"
FEW = 3
"""Suites that are named one by one; of more, their number."""


def another_test(evaluation: Evaluation, name: str) -> bool:
    """Whether a copy of a set has more or fewer items than the papers score."""
    return name in evaluation.sets and evaluation.sets[name].size != published_sizes().get(
        name, evaluation.sets[name].size
    )


def another_task(evaluation: Evaluation, name: str) -> bool:
    """Whether an evaluation says of a set that it is not the task that the papers have."""
    return name in evaluation.sets and (evaluation.sets[name].note or "").startswith(MARK)


def remarks(
    suite: str,
    tables: Sequence[PublishedTable],
    contenders: Sequence[Contender],
    columns: Sequence[Column],
    ways: Sequence[str | None],
) -> Iterable[str]:
    """Yield what must be said beside a table, each remark once.

    Args:
        suite: Its name.
        tables: The papers' tables whose rows stand there.
        contenders: Ours, those without the suite too: seeds that failed are said of them.
        columns: The table's.
        ways: In which ways subsets are joined there.
    """
    yield from _of_papers(tables)
    if len(ways) > 1:
        joined = ", ".join(way for way in ways if way)
        yield f"subsets are joined in different ways ({joined}): compare rows that are joined alike"
    for contender in contenders:
        lost = ", ".join(f"{_plural('seed', seeds)} {', '.join(seeds)} {why}" for why, seeds in contender.lost.items())
        if lost:
            yield f"{contender.title}: {lost}"
    present = [contender for contender in contenders if contender.of(suite)]
    names = list(dict.fromkeys(name for column in columns for name in column.sets))
    for line, runs in _by_run(suite, present, lambda evaluation: _of_sizes(evaluation, names)):
        yield f"* {runs}, {line}"
    yield from _of_sets(suite, present, names)
    yield from _of_copies(suite, present, names)
    means = [column for column in columns if column.averaged]
    for line, runs in _by_run(suite, present, lambda evaluation: _of_run(evaluation, names, means)):
        yield f"{runs}: {line}"


def mixed_encoders(contenders: Sequence[Contender], suites: Sequence[str]) -> list[str]:
    """Return a remark for each contender whose suites were not all evaluated with one encoder in one way.

    Args:
        contenders: Ours.
        suites: Those that are compared.
    """
    said = []
    for contender in contenders:
        for run in contender.runs:
            encoders = {suite: run[suite].encoder for suite in suites if suite in run}
            # Weights tell encoders apart; a name may be the same folder written in another way.
            weighed = all(encoder["weights"] for encoder in encoders.values())
            compared = ("weights" if weighed else "model", "pooling", "precision", "adaptation")
            parts = [part for key in compared for part in _values(key, encoders)]
            if parts:
                said.append(f"{contender.title}: its suites are not of one encoder: {'; '.join(parts)}")
    return list(dict.fromkeys(said))


def shortly(titles: Sequence[str], of: int | None = None) -> str:
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
    noted: dict[str, list[str]] = {}
    for table in tables:
        for note in dict.fromkeys(row.note for row in table.rows if row.note):
            models = [row.model for row in table.rows if row.note == note]
            whole = len(models) == len(table.rows)
            noted.setdefault(note, []).append(table.source if whole else f"{table.source}, {', '.join(models)}")
    for note, places in noted.items():
        yield f"{'; '.join(places)}: {note}"


def _by_run(
    suite: str, contenders: Sequence[Contender], say: Callable[[Evaluation], Iterable[str]]
) -> Iterable[tuple[str, str]]:
    """Yield what is to be said of the evaluations, each line once, and the runs that it is true of."""
    said: dict[str, dict[str, None]] = {}
    for contender in contenders:
        for evaluation in contender.of(suite):
            for line in say(evaluation):
                said.setdefault(line, {})[contender.title] = None
    return ((line, ", ".join(runs)) for line, runs in said.items())


def _of_sizes(evaluation: Evaluation, names: Sequence[str]) -> Iterable[str]:
    for name in names:
        if another_test(evaluation, name):
            item, size = evaluation.sets[name], published_sizes()[name]
            yield f"{item.title}: {item.size:,} items, the papers score {size:,}: another test"


def _of_sets(suite: str, contenders: Sequence[Contender], names: Sequence[str]) -> Iterable[str]:
    """Yield the notes on the sets: each remark once, with the sets it is of, and the runs if it is not of all."""
    said: dict[tuple[str, str], list[str]] = {}
    for contender in contenders:
        items = [each.sets[name] for each in contender.of(suite) for name in names if name in each.sets]
        noted: dict[str, dict[str, None]] = {}
        for item in items:
            for remark in filter(None, (item.note or "").removeprefix(MARK).split("; ")):
                noted.setdefault(remark, {})[item.title] = None
        alike: dict[tuple[str, ...], list[str]] = {}
        for remark, titles in noted.items():
            alike.setdefault(tuple(titles), []).append(remark)
        everything = len({item.title for item in items})
        for sets, lines in alike.items():
            marked = any((item.note or "").startswith(f"{MARK}{lines[0]}") for item in items)
            remark = f"{shortly(sets, everything)}: {'; '.join(lines)}"
            said.setdefault((MARK if marked else "", remark), []).append(contender.title)
    for (mark, line), runs in said.items():
        yield f"{mark}{OURS if len(runs) == len(contenders) else ', '.join(runs)}, {line}"


def _of_copies(suite: str, contenders: Sequence[Contender], names: Sequence[str]) -> Iterable[str]:
    """Yield which sets are not the same items in all runs, by their checksums."""
    differing: dict[tuple[tuple[str, ...], ...], list[str]] = {}
    for name in names:
        copies: dict[str, dict[str, None]] = {}
        title = name
        for contender in contenders:
            for item in (each.sets[name] for each in contender.of(suite) if name in each.sets):
                copies.setdefault(item.sha256, {})[contender.title] = None
                title = item.title
        if len(copies) > 1:
            differing.setdefault(tuple(map(tuple, copies.values())), []).append(title)
    for copies_of, titles in differing.items():
        runs = list(dict.fromkeys(run for each in copies_of for run in each))
        where = " and in ".join(", ".join(each) for each in copies_of) if len(runs) > 1 else f"all seeds of {runs[0]}"
        yield f"{shortly(titles)}: not the same items in {where}: figures of different copies"


def _of_run(evaluation: Evaluation, names: Sequence[str], averaged: Sequence[Column]) -> Iterable[str]:
    seen = [(evaluation.sets[name].title, evaluation.sets[name].seen) for name in names if name in evaluation.sets]
    leaked = [f"{title} {count[0]:,} of {count[1]:,}" for title, count in seen if count is not None and count[0]]
    if leaked:
        yield f"texts of these sets stand in its training data: {', '.join(leaked)}"
    for column in averaged:
        missing = [name for name in column.sets if name not in evaluation.sets]
        if missing and len(missing) < len(column.sets):
            yield f"no average without {', '.join(missing)}"


def _values(key: str, encoders: Mapping[str, Mapping[str, str]]) -> Iterable[str]:
    found: dict[str, list[str]] = {}
    for suite, encoder in encoders.items():
        found.setdefault(encoder[key], []).append(suite)
    if len(found) > 1:
        places = (", ".join(suites) if len(suites) <= FEW else f"{len(suites)} suites" for suites in found.values())
        yield f"{key} " + ", ".join(f"{value} ({place})" for value, place in zip(found, places, strict=True))


def _plural(word: str, of: Sequence[object]) -> str:
    return word if len(of) == 1 else f"{word}s"
