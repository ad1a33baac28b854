"""Which items of a table belong together: copies of each other, and those of one group, such as a conversation."""

from collections.abc import Hashable, Sequence
from itertools import chain

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from trainers.evaluation.task import normalised


def item_groups(texts: Sequence[Sequence[str]], names: Sequence[str]) -> NDArray[np.int64]:
    """Return the number of each item's group, (items,), from 0 in order of first appearance.

    Items are together if they have the same `texts` in any order, but for case, spaces and marks (copies), or
    the same of the `names` that a column gives ("": none); so are two items that a third one joins.

    Example:
        >>> item_groups([["a cat"], ["A cat!"], ["a dog"], ["a bird"]], ["", "", "x", "x"])
        array([0, 0, 1, 1])
    """
    keys: list[list[Hashable]] = [[tuple(sorted(map(normalised, item)))] for item in texts]
    for item_keys, name in zip(keys, names, strict=True):
        item_keys += [name] if name else []
    numbers = {key: number for number, key in enumerate(dict.fromkeys(chain.from_iterable(keys)))}
    columns = [numbers[key] for item_keys in keys for key in item_keys]
    starts = np.cumsum([0, *map(len, keys)])
    size = len(keys) + len(numbers)
    # Items and keys are the nodes of one graph, in which each item has an edge to its keys.
    rows = np.concatenate([starts, np.full(len(numbers), starts[-1])])
    edges = csr_array(
        (np.ones(len(columns)), np.array(columns, dtype=int) + len(keys), rows), shape=(size, size)
    )
    parts = connected_components(edges, directed=False)[1][: len(keys)]
    order: dict[int, int] = {}
    return np.array([order.setdefault(part, len(order)) for part in parts.tolist()], dtype=np.int64)
