"""Read SentEval's classification sets from copies on the Hub that hold the same items."""

from __future__ import annotations

from pathlib import Path

from pipelines.console import InputError
from trainers.evaluation.hub import HUB, first_line, load_columns
from trainers.evaluation.task import Missing
from trainers.evaluation.transfer.labelled import Labelled, LabelledSet
from trainers.evaluation.transfer.sets import HubCopy, Part, TransferSet

ROWS_DIFFER = "a copy from the Hub: its order, and so its folds, are not those of SentEval's files"


def read_hub(about: TransferSet, organisation: str) -> LabelledSet | Missing:
    """Read one set from `organisation/<its name>`, or say why it cannot be had there.

    Only copies with the published number of items are known: SetFit's SUBJ, TREC, MRPC and SST-5, and MR as
    `cornell-movie-review-data/rotten_tomatoes`.

    Args:
        about: The set.
        organisation: Prefix of the data sets' names on the Hub, or a folder that holds such data sets.

    Raises:
        InputError: The copy has other columns, labels or another number of rows.
    """
    copy = about.hub
    if copy is None:
        return about.missing("no copy on the Hub with its items is known")
    local = Path(organisation).is_dir()
    if not local and organisation != copy.organisation:
        return about.missing(
            f"not known below {organisation} on the Hub",
            f"--data hf:{copy.organisation} ({copy.organisation}/{copy.name})",
        )
    source = f"{organisation}/{copy.name}"
    parts: dict[Part, tuple[Labelled, ...]] = {}
    revisions: set[str] = set()
    for part, splits in copy.splits:
        for split in splits:
            try:
                items, revision = _load(about, copy, source, split)
            except (OSError, ValueError) as error:
                where = None if local else f"https://huggingface.co/datasets/{source}"
                return about.missing(f"cannot load {source} ({first_line(error)})", where)
            parts[part] = parts.get(part, ()) + items
            revisions |= revision
    for part, size in about.sizes.items():
        if len(parts[part]) != size:
            raise InputError(f"{source} ({part}): {len(parts[part])} items, expected {size}: another copy is needed")
    files = {"revision": ",".join(sorted(revisions))} if revisions else {}
    return LabelledSet(about, parts, f"{HUB}{source}", files, ROWS_DIFFER)


def _load(about: TransferSet, copy: HubCopy, source: str, split: str) -> tuple[tuple[Labelled, ...], set[str]]:
    rows, revision = load_columns(source, None, split, (*copy.text, copy.label))
    items = tuple(_labelled(about, f"{source} {split} row {number}", *row) for number, row in enumerate(rows))
    return items, set(revision.values())


def _labelled(about: TransferSet, place: str, *row: object) -> Labelled:
    *given, label = row
    texts = [" ".join(text.split()) if isinstance(text, str) else "" for text in given]
    if not all(texts):
        raise InputError(f"{place}: expected text, got {given!r}")
    if not isinstance(label, int) or label not in range(about.classes):
        raise InputError(f"{place}: the label {label!r} is none of 0 to {about.classes - 1}")
    return Labelled(texts[0], label, texts[1] if len(texts) > 1 else None)
