"""Counting over the rows of a dataset, a table at a time: shares, distributions, and how often a value occurs."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from augment.words import SPECIAL_TOKENS
from pipelines.look.distribution import Distribution
from pipelines.look.similarity import SelfBleu
from pipelines.pairs import PAIR_COLUMNS

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

MOST_VALUES = 1_000
"""Distinct values of a column that are counted one by one; a column of more is no column of labels."""
RANGES: Mapping[str, tuple[float, float]] = {
    "target_fraction": (0, 1),
    "achieved_fraction": (0, 1),
    "chrf": (0, 100),
    "chrf_a": (0, 100),
    "chrf_b": (0, 100),
}
"""Where the histograms of measures with a natural range begin and end."""


class Tally:
    """What was counted so far: shares as (rows, of how many), distributions, values by column.

    Of `sampled` rows there are slow measures as well, and of pairs the BLEU of their views.
    """

    def __init__(self) -> None:
        self.rows = 0
        self.sampled = 0
        self.bleu: SelfBleu | None = None
        self.shares: dict[str, tuple[int, int]] = {}
        self.measures: dict[str, Distribution] = {}
        self.scores: dict[str, Distribution] = {}
        self.values: dict[str, Counter[str]] = {}

    def share(self, name: str, count: int, of: int) -> None:
        """Count `count` of `of` more under `name`."""
        before = self.shares.get(name, (0, 0))
        self.shares[name] = (before[0] + int(count), before[1] + int(of))

    def measure(self, name: str, values: Any) -> None:  # noqa: ANN401 - whatever numpy makes an array of
        """Take numbers into the distribution `name`."""
        if name not in self.measures:
            self.measures[name] = Distribution(*RANGES.get(name, (None, None)))
        self.measures[name].add(values)

    def column(self, table: Any, name: str) -> None:  # noqa: ANN401 - a pyarrow table
        """Take in a column that not all datasets have: numbers as a score, text as values."""
        import pyarrow as pa
        import pyarrow.compute as pc

        column = table.column(name)
        if pa.types.is_floating(column.type):
            scores = self.scores.setdefault(name, Distribution())
            scores.add(pc.cast(column, pa.float64()).drop_null().to_numpy())
        elif pa.types.is_string(column.type):
            counts = self.values.setdefault(name, Counter())
            for each in pc.value_counts(column.drop_null()).to_pylist():
                if each["values"] in counts or len(counts) < MOST_VALUES:
                    counts[each["values"]] += each["counts"]


def tally_sentences(tally: Tally, table: Any) -> None:  # noqa: ANN401 - a pyarrow table
    """Count sentences: lengths, and what is in further columns."""
    import pyarrow.compute as pc

    tally.rows += table.num_rows
    text = table.column("text")
    tally.measure("words", _numbers(pc.list_value_length(pc.utf8_split_whitespace(text))))
    tally.measure("characters", _numbers(pc.utf8_length(text)))
    if "label" in table.schema.names:
        tally.column(table, "label")
    if "pair" in table.schema.names:
        tally.share("pair", table.num_rows - table.column("pair").null_count, table.num_rows)


def tally_view(tally: Tally, table: Any) -> None:  # noqa: ANN401 - a pyarrow table
    """Count the rows of a view dataset; all measures are of the rows that have a view."""
    import pyarrow.compute as pc

    tally.rows += table.num_rows
    rows = table.filter(pc.is_valid(table.column("view")))
    number = rows.num_rows
    text, view = rows.column("text"), rows.column("view")
    tally.share("with_view", number, table.num_rows)
    tally.share("unchanged", _true(pc.equal(rows.column("status"), "unchanged")), number)
    tally.share("special_tokens", _special(text, view), number)
    for name in ("target_fraction", "achieved_fraction"):
        tally.measure(name, rows.column(name).drop_null().to_numpy())
    tally.measure("edits", _numbers(pc.list_value_length(rows.column("edits"))))
    tally.measure("length_ratio", _ratios(view, text))
    with_pivot = rows.filter(pc.is_valid(rows.column("pivot")))
    if with_pivot.num_rows:
        copied = _true(pc.equal(with_pivot.column("pivot"), with_pivot.column("text")))
        tally.share("pivot_is_text", copied, with_pivot.num_rows)
    if "alternatives" in rows.schema.names:
        tally.measure("alternatives", _numbers(pc.fill_null(pc.list_value_length(rows.column("alternatives")), 0)))


def tally_pairs(tally: Tally, table: Any) -> None:  # noqa: ANN401 - a pyarrow table
    """Count pairs; rejects may lack a side, then they count in no measure of it."""
    import pyarrow.compute as pc

    tally.rows += table.num_rows
    text, one, two = (table.column(name) for name in ("text", "view_a", "view_b"))
    for name, left, right in (("identical", one, two), ("a_is_text", one, text), ("b_is_text", two, text)):
        same = pc.equal(left, right)
        tally.share(name, _true(same), len(same) - same.null_count)
    for name, hypothesis, reference in (
        ("length_ratio", two, one),
        ("length_ratio_a", one, text),
        ("length_ratio_b", two, text),
    ):
        tally.measure(name, _ratios(hypothesis, reference))
    for name in table.schema.names:
        if name not in PAIR_COLUMNS:
            tally.column(table, name)


def words_changed(rows: Sequence[Mapping[str, Any]]) -> tuple[int, int]:
    """Words of the sentences that a recorded edit touches, and all their words."""
    from augment.edits import words

    touched = total = 0
    for row in rows:
        found = words(row["text"])
        total += len(found)
        spans = [(edit["start"], edit["end"]) for edit in row["edits"]]
        touched += sum(any(start < word.end and end > word.start for start, end in spans) for word in found)
    return touched, total


def _special(text: Any, view: Any) -> int:  # noqa: ANN401 - pyarrow columns
    """Views with a special token that their sentence does not have."""
    import pyarrow.compute as pc

    hits = pc.match_substring_regex(view, SPECIAL_TOKENS.pattern)
    both = zip(text.filter(hits).to_pylist(), view.filter(hits).to_pylist(), strict=True)
    return sum(
        not set(SPECIAL_TOKENS.findall(changed)) <= set(SPECIAL_TOKENS.findall(sentence)) for sentence, changed in both
    )


def _ratios(hypothesis: Any, reference: Any) -> "NDArray[np.float64]":  # noqa: ANN401 - pyarrow columns
    """Characters of each hypothesis for one of its reference; not a number where there are none."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    ours, theirs = (pc.cast(pc.utf8_length(each), pa.float64()).to_numpy() for each in (hypothesis, reference))
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios: NDArray[np.float64] = ours / theirs
    return ratios


def _numbers(column: Any) -> "NDArray[np.int64]":  # noqa: ANN401 - a pyarrow column
    numbers: NDArray[np.int64] = column.to_numpy()
    return numbers


def _true(column: Any) -> int:  # noqa: ANN401 - a pyarrow column of booleans
    import pyarrow.compute as pc

    return int(pc.sum(column).as_py() or 0)
