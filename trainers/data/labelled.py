"""Texts with labels from a user's table: drawn, and paired by label."""

import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING

import xxhash

from pipelines.base.console import InputError, counted, note
from pipelines.storage.pair_files import PAIR_COLUMNS
from trainers.data.tables import LABEL, LABELLED, TEXT, left_out, normalised, read_table

if TYPE_CHECKING:
    from datasets import Dataset

Labelled = dict[str, str]  # the label of each text
STEPS, BATCH_SIZE = 48, 64  # a training on pairs of one label takes so many steps, or one pass if that is more
PER_SENTENCE = 4  # pairs of a text, on average, as `augment build-pairs --pairs labels` makes them


def read_labelled(table: str, columns: Mapping[str, str] | None = None) -> Labelled:
    """Read texts and labels, of copies the first one's; `columns` are those that are called otherwise.

    Rows that are left out are counted on stderr. Raises InputError for other columns, or one label.
    """
    whole = read_table(table, {"label": LABELLED}, columns)
    if not whole.kind:
        raise InputError(
            f"{table} has the columns {', '.join(whole.names)[:200]}: "
            f"name them {' or '.join(TEXT)}, and {', '.join(LABEL[:-1])} or {LABEL[-1]}, "
            "or yours, as in --columns text=body,label=topic"
        )
    labelled: Labelled = {}
    labels, omitted = dict[str, str](), Counter[str]()
    for row in whole.rows:
        text, label = row["text"], row["label"]
        if not (text and label):
            omitted["rows without text or label"] += 1
            continue
        key = normalised(text)
        if key in labels:
            omitted["copies" if labels[key] == label else "copies with another label"] += 1
        else:
            labels[key] = labelled[text] = label
    if omitted:
        note(f"{table}: {left_out(omitted)}")
    count = len({*labelled.values()})
    if count < 2:
        raise InputError(f"{table} has {counted(count, 'label')}: give texts with two or more")
    return labelled


def drawn(labelled: Labelled, shots: int, seed: int) -> Labelled:
    """Return so many texts of each label, or all that it has, by the texts' hashes with the seed."""
    chosen = {text for texts in _by_label(labelled, seed).values() for text in texts[:shots]}
    return {text: label for text, label in labelled.items() if text in chosen}


def pairs_of(labelled: Labelled, seed: int) -> "Dataset":
    """Return pairs of texts with one label, with that label; raises InputError if there are not two.

    Every label has equally many, or all that it can have. Its texts, in an order that the seed draws, form a
    ring: pairs are those next to each other, then those two apart, and so on, so its texts occur about equally
    often.
    """
    from datasets import Dataset

    rings = {label: texts for label, texts in _by_label(labelled, seed).items() if len(texts) > 1}
    if sum(map(len, rings.values())) < 3:
        raise InputError("too few texts share a label: give classes as labels, some texts of each")
    most = math.ceil(PER_SENTENCE * sum(map(len, rings.values())) / len(rings))
    pairs = [(*pair, label) for label, texts in rings.items() for pair in islice(_ring_pairs(texts), most)]
    first, second, labels = ([*column] for column in zip(*pairs, strict=True))
    names = ["original"] * len(first)
    columns = ([f"{row:016x}" for row in range(len(first))], first, first, second, names, names)
    return Dataset.from_dict({**dict(zip(PAIR_COLUMNS, columns, strict=True)), "label": labels})


def _ring_pairs(texts: Sequence[str]) -> Iterator[tuple[str, str]]:
    for apart in range(1, len(texts) // 2 + 1):
        # Opposite texts of a ring meet twice.
        is_opposite = 2 * apart == len(texts)
        for place in range(apart if is_opposite else len(texts)):
            yield texts[place], texts[(place + apart) % len(texts)]


def _by_label(labelled: Labelled, seed: int) -> dict[str, list[str]]:
    """The texts of each label, in an order that the seed draws."""

    def drawn_number(text: str) -> int:
        return xxhash.xxh64_intdigest(f"{seed}|{text}".encode("utf-8", "surrogatepass"))

    members = defaultdict(list)
    for text in sorted(labelled, key=drawn_number):
        members[labelled[text]].append(text)
    return members
