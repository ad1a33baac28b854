"""What a dataset is like: shares, distributions, how alike its texts are; over a sample of its rows."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING, Any

from augment.words import special_tokens
from pipelines.look.opened import Opened
from pipelines.pairs import NEGATIVE, PAIR_COLUMNS
from pipelines.plan import Kind
from pipelines.similarity import chrf, chrf_signature, self_bleu

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray

SAMPLE_ROWS = 2_000
MOST_VALUES = 20
BINS = 20
QUANTILES = {"min": 0.0, "5%": 0.05, "25%": 0.25, "median": 0.5, "75%": 0.75, "95%": 0.95, "max": 1.0}
COMPARED = (("b", "a", "view_b", "view_a"), ("a", "text", "view_a", "text"), ("b", "text", "view_b", "text"))
"""What is compared with what in a pair: hypothesis and reference, by short names and by columns."""
IDENTICAL = "the two views are identical"


@dataclass(frozen=True, slots=True)
class Distribution:
    """Numbers summed up: how many, their mean and quantiles, and counts in bins of equal width between two `ends`.

    What lies beyond the ends is counted in the outermost bins.
    """

    n: int
    mean: float
    quantiles: Mapping[str, float]
    ends: tuple[float, float]
    counts: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Statistics:
    """What was found out about a sample of the rows.

    Attributes:
        rows: How many there are.
        sampled: How many were looked at.
        seed: What they were drawn by.
        shares: How many of how many, by what they are: `view equals the sentence`.
        measures: Distributions. chrF is 0 to 100, a length ratio is in characters.
        values: How often a text occurs in further columns of text, the most frequent first.
        self_bleu: Of pairs, the BLEU of `view_a` against `view_b`, and sacrebleu's signature of it.
        chrf_signature: What sacrebleu calls this chrF, where there is any.
    """

    rows: int
    sampled: int
    seed: int
    shares: Mapping[str, tuple[int, int]]
    measures: Mapping[str, Distribution]
    values: Mapping[str, Mapping[str, int]]
    self_bleu: tuple[float, str] | None = None
    chrf_signature: str | None = None


def statistics(opened: Opened, sample: int = SAMPLE_ROWS, seed: int = 0) -> Statistics:
    """Look at rows that are drawn at random.

    Args:
        opened: The dataset.
        sample: How many rows; 0 for all.
        seed: What they are drawn by.

    Raises:
        InputError: A file of it cannot be read.
    """
    rows = opened.rows
    places = range(rows) if sample == 0 or sample >= rows else sorted(Random(seed).sample(range(rows), sample))
    table = opened.take(places)
    shares: dict[str, tuple[int, int]] = {}
    measures: dict[str, Distribution | None] = {}
    MEASURED[opened.kind](table, shares, measures)
    further = {
        "sentences": ["label"],
        "view": [],
        "pairs": [n for n in table.schema.names if n not in (*PAIR_COLUMNS, NEGATIVE)],
    }
    values = dict(_values(table, further[opened.kind], measures))
    whole = table.filter(_both(table, "view_a", "view_b")) if opened.kind == "pairs" else None
    has_chrf = any(name.startswith("chrF") for name, each in measures.items() if each is not None)
    return Statistics(
        rows,
        table.num_rows,
        seed,
        {name: share for name, share in shares.items() if share[1]},
        {name: each for name, each in measures.items() if each is not None},
        values,
        self_bleu(whole["view_a"].to_pylist(), whole["view_b"].to_pylist()) if whole else None,
        chrf_signature() if has_chrf else None,
    )


def distribution(values: "ArrayLike", low: float | None = None, high: float | None = None) -> Distribution | None:
    """Numbers summed up; those that are not finite are left out, and None stands for none at all.

    The bins lie between `low` and `high`, otherwise between the 1% and the 99% quantiles; whole numbers have bins of
    one or more of them.
    """
    import numpy as np

    numbers = np.asarray(values, dtype=np.float64)
    numbers = numbers[np.isfinite(numbers)]
    if not numbers.size:
        return None
    first, last = np.quantile(numbers, [0.01, 0.99])
    ends = (float(first) if low is None else low, float(last) if high is None else high)
    if low is None and (numbers == np.round(numbers)).all():
        width = -(-(np.ceil(last) - np.floor(first) + 1) // BINS)
        edges = np.arange(np.floor(first) - 0.5, np.ceil(last) + 0.5 + width, width)
        ends = (float(edges[0] + 0.5), float(edges[-1] - 0.5))
    else:  # numbers that are all the same make one bar in the middle
        edges = np.linspace(*(ends if ends[0] < ends[1] else (ends[0] - 0.5, ends[0] + 0.5)), BINS + 1)
    counts, _ = np.histogram(np.clip(numbers, edges[0], edges[-1]), edges)
    quantiles = dict(zip(QUANTILES, np.quantile(numbers, list(QUANTILES.values())).tolist(), strict=True))
    return Distribution(numbers.size, float(numbers.mean()), quantiles, ends, tuple(counts.tolist()))


def _sentences(table: Any, shares: dict[str, Any], measures: dict[str, Any]) -> None:  # noqa: ANN401 - a table
    import pyarrow.compute as pc

    text = table["text"]
    measures["words"] = distribution(pc.list_value_length(pc.utf8_split_whitespace(text)))
    measures["characters"] = distribution(pc.utf8_length(text))
    if "pair" in table.schema.names:
        shares["have a pair"] = (len(text) - table["pair"].null_count, len(text))


def _view(table: Any, shares: dict[str, Any], measures: dict[str, Any]) -> None:  # noqa: ANN401 - a table
    """All but the first share is of the rows that have a view."""
    import pyarrow.compute as pc

    rows = table.filter(table["view"].is_valid())
    number, text, view = rows.num_rows, rows["text"], rows["view"]
    shares["have a view"] = (number, table.num_rows)
    shares["view equals the sentence"] = (_sum(pc.equal(rows["status"], "unchanged")), number)
    texts, views = text.to_pylist(), view.to_pylist()
    special = sum(bool(special_tokens(two).keys() - special_tokens(one)) for one, two in zip(texts, views, strict=True))
    shares["view has a special token that the sentence has not"] = (special, number)
    pivots = rows["pivot"]
    shares["pivot equals the sentence"] = (_sum(pc.equal(pivots, text)), number - pivots.null_count)
    for name in ("target fraction", "achieved fraction"):
        measures[name] = distribution(rows[name.replace(" ", "_")].drop_null(), 0, 1)
    for name in ("edits", "alternatives"):
        counts = pc.list_value_length(rows[name]).fill_null(0)
        measures[name] = distribution(counts if _sum(counts) else [])
    measures["length, view / text"] = distribution(_ratios(view, text))
    measures["chrF, view ~ text"] = distribution(chrf(views, texts), 0, 100)


def _pairs(table: Any, shares: dict[str, Any], measures: dict[str, Any]) -> None:  # noqa: ANN401 - a table
    """Rejects may lack a side: they count in nothing that it takes."""
    import pyarrow.compute as pc

    for name, one, two in (
        (IDENTICAL, "view_a", "view_b"),
        ("view_a equals the sentence", "view_a", "text"),
        ("view_b equals the sentence", "view_b", "text"),
    ):
        same = pc.equal(table[one], table[two])
        shares[name] = (_sum(same), len(same) - same.null_count)
    if NEGATIVE in table.schema.names:
        shares["have a negative"] = (len(table) - table[NEGATIVE].null_count, len(table))
        whole = table.filter(_both(table, "view_a", NEGATIVE))
        scores = chrf(whole[NEGATIVE].to_pylist(), whole["view_a"].to_pylist())
        measures["chrF, negative ~ a"] = distribution(scores, 0, 100)
    for one, two, hypothesis, reference in COMPARED:
        measures[f"length, {one} / {two}"] = distribution(_ratios(table[hypothesis], table[reference]))
    for one, two, hypothesis, reference in COMPARED:
        whole = table.filter(_both(table, hypothesis, reference))
        scores = chrf(whole[hypothesis].to_pylist(), whole[reference].to_pylist())
        measures[f"chrF, {one} ~ {two}"] = distribution(scores, 0, 100)


MEASURED: Mapping[Kind, Callable[[Any, dict[str, Any], dict[str, Any]], None]] = {
    "sentences": _sentences,
    "view": _view,
    "pairs": _pairs,
}


def _values(table: Any, names: list[str], measures: dict[str, Any]) -> Iterator[tuple[str, dict[str, int]]]:  # noqa: ANN401
    """How often each text occurs in further columns; numbers are measured."""
    import pyarrow as pa

    for name in names:
        column = table[name].drop_null() if name in table.schema.names else None
        if column is not None and pa.types.is_floating(column.type):
            measures[f"column {name}"] = distribution(column)
        elif column is not None and pa.types.is_string(column.type):
            counts = Counter(sorted(column.to_pylist()))
            yield name, dict(counts.most_common(MOST_VALUES))


def _both(table: Any, one: str, two: str) -> Any:  # noqa: ANN401 - a pyarrow table, and flags
    import pyarrow.compute as pc

    return pc.and_(table[one].is_valid(), table[two].is_valid())


def _ratios(hypothesis: Any, reference: Any) -> "NDArray[np.float64]":  # noqa: ANN401 - pyarrow columns
    """Characters of each hypothesis for one of its reference; not a number where there are none."""
    import numpy as np
    import pyarrow.compute as pc

    ours, theirs = (np.asarray(pc.utf8_length(each).cast("float64")) for each in (hypothesis, reference))
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios: NDArray[np.float64] = ours / theirs
    return ratios


def _sum(column: Any) -> int:  # noqa: ANN401 - a pyarrow column of numbers or booleans
    import pyarrow.compute as pc

    return int(pc.sum(column).as_py() or 0)
