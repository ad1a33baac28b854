"""What the single items of an evaluation gave, read from `<suite>.items.npz` and checked."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, cast, get_args

from pipelines.console import InputError
from trainers.evaluation.task import Items, Statistic
from trainers.files import read_arrays

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


def read_items(path: Path) -> dict[str, Items]:
    """Return what each item of each set gave, by set.

    Raises:
        InputError: The file is broken, or an item is no number.
    """
    try:
        arrays = read_arrays(path)
        return {
            name: _items(arrays[f"{name}/gold"], arrays[f"{name}/predicted"], str(arrays[f"{name}/statistic"]))
            for name in dict.fromkeys(key.rpartition("/")[0] for key in arrays)
        }
    except (OSError, ValueError, KeyError) as error:
        raise InputError(f"{path} is broken ({error}): evaluate again") from None


def _items(gold: NDArray[np.float64], predicted: NDArray[np.float64], statistic: str) -> Items:
    import numpy as np

    if statistic not in get_args(Statistic):
        raise ValueError(f"no statistic {statistic!r}")
    if gold.shape != predicted.shape or gold.ndim != 1 or not len(gold):
        raise ValueError(f"arrays of shapes {gold.shape} and {predicted.shape}")
    gold, predicted = gold.astype(np.float64), predicted.astype(np.float64)
    wrong = np.flatnonzero(~(np.isfinite(gold) & np.isfinite(predicted)))
    if len(wrong):
        raise ValueError(f"item {wrong[0] + 1} is no number")
    return Items(cast(Statistic, statistic), gold, predicted)
