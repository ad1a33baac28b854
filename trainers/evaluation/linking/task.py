"""A set of mentions to link to a dictionary, and its accuracy by nearest name."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from pipelines.console import InputError
from trainers.evaluation.linking.mentions import Mention
from trainers.evaluation.linking.names import Dictionary
from trainers.evaluation.search import Similarity, nearest
from trainers.evaluation.task import Items, Result

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from trainers.evaluation.vectors import Vectors

RANKS = {"acc@1": 1, "acc@5": 5}
FIGURES = tuple(RANKS)


@dataclass(frozen=True, slots=True)
class LinkingSet:
    """Mentions and the dictionary whose names they are compared with.

    A mention is linked right @k if one of the k nearest distinct names bears any of its ids; a composite mention, if
    that holds of each of its parts. That equal names are one, with the ids of all their concepts, is BioSyn's rule
    (Sung et al. 2020); SapBERT's script (Liu et al. 2021) keeps such names apart.
    The names are nearest by cosine; SapBERT's own script takes the dot product, which stands among the parts.
    """

    name: str
    title: str
    mentions: tuple[Mention, ...]
    dictionary: Dictionary
    source: str
    files: Mapping[str, str] = field(default_factory=dict)
    note: str | None = None
    counted: bool = False

    @property
    def size(self) -> int:
        """The number of mentions."""
        return len(self.mentions)

    def texts(self) -> Iterable[str]:
        """Yield the dictionary's names and every part of every mention."""
        yield from self.dictionary.names
        for mention in self.mentions:
            yield from mention.parts

    def sha256(self) -> str:
        """Return a checksum of mentions and dictionary, the same in any layout of the files."""
        digest = hashlib.sha256()
        for mention in self.mentions:
            digest.update(f"{mention.group}\t{'|'.join(mention.parts)}\t{'|'.join(sorted(mention.ids))}\n".encode())
        for name, ids in zip(self.dictionary.names, self.dictionary.ids, strict=True):
            digest.update(f"{name}\t{'|'.join(sorted(ids))}\n".encode())
        return digest.hexdigest()

    def score(self, vectors: Vectors, seed: int) -> Result:
        """Return accuracy @1 and @5; `seed` is of no account.

        Parts: the same by dot product; of the mentions that are not word for word in the dictionary; of each group.
        """
        right = self._right(vectors, "cosine")
        known = set(self.dictionary.names)
        new = np.array([not known.issuperset(mention.parts) for mention in self.mentions], bool)
        parts = {"dot product": _figures(self._right(vectors, "dot")), "not in the dictionary": _figures(right[new])}
        groups = np.array([mention.group for mention in self.mentions])
        parts |= {str(group): _figures(right[groups == group]) for group in dict.fromkeys(groups.tolist()) if group}
        outcomes = right[:, 0].astype(np.float64)
        return Result(_figures(right), Items("mean", np.ones_like(outcomes), outcomes), parts)

    def _right(self, vectors: Vectors, similarity: Similarity) -> NDArray[np.bool_]:
        """Return whether each mention is linked right at each of `RANKS`, shape (mentions, ranks)."""
        distinct = list(dict.fromkeys(part for mention in self.mentions for part in mention.parts))
        found = nearest(
            vectors.of(distinct),
            vectors.of(self.dictionary.names),
            max(RANKS.values()),
            similarity,
        )
        rows = dict(zip(distinct, found.tolist(), strict=True))
        right = np.zeros((len(self.mentions), len(RANKS)), bool)
        for index, mention in enumerate(self.mentions):
            ranks = [self._rank(rows[part], mention.ids) for part in mention.parts]
            right[index] = [max(ranks) <= k for k in RANKS.values()]
        return right

    def _rank(self, rows: list[int], ids: frozenset[str]) -> int:
        hits = (place for place, row in enumerate(rows, 1) if self.dictionary.ids[row] & ids)
        return next(hits, 1 + max(RANKS.values()))


def checked(found: LinkingSet) -> LinkingSet:
    """Return a set, its note with the number of mentions that can only be wrong: no name has any of their concepts.

    Raises:
        InputError: That is all of them, or the dictionary has no name.
    """
    if not found.dictionary.names:
        raise InputError(f"{found.source}: the dictionary of {found.title} has no name with an id: get another one")
    known = {key for ids in found.dictionary.ids for key in ids}
    lost = [mention.ids for mention in found.mentions if not mention.ids & known]
    if not lost:
        return found
    capitals = {key.lower(): key for key in known}
    twins = ((key, capitals[key.lower()]) for ids in lost for key in sorted(ids) if key.lower() in capitals)
    twin = next(twins, None)
    hint = f" (do only capitals differ? {twin[0]!r} in the mentions, {twin[1]!r} in the dictionary)" if twin else ""
    if len(lost) == len(found.mentions):
        raise InputError(
            f"{found.source}: none of the {len(lost)} mentions has a concept of the dictionary, the first is "
            f"{'|'.join(sorted(lost[0]))}{hint}: give both the same ids"
        )
    many = f"{len(lost)} mentions have" if len(lost) > 1 else "1 mention has"
    remark = f"{many} no concept in the dictionary{hint}: counted as wrong"
    return replace(found, note="; ".join(filter(None, (found.note, remark))))


def _figures(right: NDArray[np.bool_]) -> dict[str, float | None]:
    means = 100 * right.mean(axis=0) if len(right) else [None] * len(RANKS)
    return {name: None if mean is None else float(mean) for name, mean in zip(RANKS, means, strict=True)}
