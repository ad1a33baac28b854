"""The statistics of a dataset: what its views or pairs are like, over all rows, or where that is slow over a sample."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import TYPE_CHECKING, Any

from pipelines.look.distribution import Summary
from pipelines.look.opened import Opened, check_text
from pipelines.look.sample import Drawing
from pipelines.look.similarity import Bleu, SelfBleu, chrf, chrf_signature, tokenizer_for
from pipelines.look.tally import Tally, tally_pairs, tally_sentences, tally_view, words_changed

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

SAMPLE_ROWS = 2_000
MOST_PARTS = 12
OTHERS = "others"
TALLIES: Mapping[str, Callable[[Tally, Any], None]] = {
    "sentences": tally_sentences,
    "view": tally_view,
    "pairs": tally_pairs,
}
TEXTS: Mapping[str, tuple[str, ...]] = {"view": ("text", "view"), "pairs": ("text", "view_a", "view_b")}
"""The columns that a row must have to be compared."""
COMPARED: Mapping[str, Mapping[str, tuple[str, str]]] = {
    "view": {"chrf": ("view", "text")},
    "pairs": {"chrf": ("view_b", "view_a"), "chrf_a": ("view_a", "text"), "chrf_b": ("view_b", "text")},
}
"""What is compared with what: hypothesis and reference."""
CHRF = ("chrf", "chrf_a", "chrf_b")


@dataclass(frozen=True, slots=True)
class Share:
    """How many of how many."""

    count: int
    of: int

    @property
    def value(self) -> float | None:
        """The share, 0 to 1; None of none."""
        return self.count / self.of if self.of else None

    def as_dict(self) -> dict[str, Any]:
        """It as JSON."""
        return {"count": self.count, "of": self.of, "share": self.value}


@dataclass(frozen=True, slots=True)
class Statistics:
    """What was found out about rows.

    Attributes:
        rows: How many there are.
        shares: Such as those of unchanged or identical texts.
        measures: Distributions by name. chrF is 0 to 100, a length ratio is in characters.
        scores: Distributions of the further columns that hold numbers.
        values: How often each text occurs in further columns that hold text.
        sampled: Rows that chrF, self-BLEU and words changed are of.
        seed: What they were drawn by.
        chrf_signature: What sacrebleu calls this chrF.
        self_bleu: Of pairs, the BLEU of `view_a` against `view_b`.
        parts: Of pairs, the same for each combination of views, where there are several.
    """

    rows: int
    shares: Mapping[str, Share]
    measures: Mapping[str, Summary]
    scores: Mapping[str, Summary]
    values: Mapping[str, Mapping[str, int]]
    sampled: int = 0
    seed: int = 0
    chrf_signature: str | None = None
    self_bleu: Bleu | None = None
    parts: Mapping[str, "Statistics"] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        """All of it as JSON."""
        return {
            "rows": self.rows,
            "sampled": self.sampled,
            "seed": self.seed,
            "chrf_signature": self.chrf_signature,
            "shares": {name: share.as_dict() for name, share in self.shares.items()},
            "measures": {name: summary.as_dict() for name, summary in self.measures.items()},
            "scores": {name: summary.as_dict() for name, summary in self.scores.items()},
            "values": {name: dict(counts) for name, counts in self.values.items()},
            "self_bleu": self.self_bleu.as_dict() if self.self_bleu else None,
            "parts": {name: part.as_dict() for name, part in self.parts.items()},
        }


def statistics(
    opened: Opened, *, sample: int = SAMPLE_ROWS, seed: int = 0, also: Sequence[Callable[[Any], None]] = ()
) -> Statistics:
    """Go over all rows for what is fast, and over a sample for chrF, self-BLEU and words changed.

    Args:
        opened: The dataset.
        sample: Rows in the sample, drawn from those that have all texts; 0 for all rows.
        seed: What they are drawn by.
        also: What else is to be given every chunk of the rows, in order, as they go by once.

    Raises:
        InputError: A file of it cannot be read.
    """
    whole, parts = Tally(), dict[str, Tally]()
    texts = TEXTS.get(opened.kind, ())
    drawing = Drawing(lambda table: _have_all(table, texts))
    for table in opened.chunks():
        check_text(opened.path, table.schema)
        for look in (*also, drawing.count):
            look(table)
        for tally, rows in _split(table, opened.kind, whole, parts):
            TALLIES[opened.kind](tally, rows)
    if texts:
        every = range(drawing.total)
        places = every if sample == 0 or sample >= len(every) else sorted(Random(seed).sample(every, sample))
        for table in drawing.fetch(opened, places):
            for tally, rows in _split(_compared(table, opened.kind), opened.kind, whole, parts):
                _compare(tally, rows)
            _count_ngrams(table, opened.kind, whole, parts)
    several = sorted(parts.items(), key=lambda each: (-each[1].rows, each[0])) if len(parts) > 1 else []
    return _summed_up(whole, seed, {name: _summed_up(part, seed, {}) for name, part in several})


def _compared(table: Any, kind: str) -> Any:  # noqa: ANN401 - pyarrow tables
    """Texts, names of views and edits of a table, and the chrF of its texts as columns of their own."""
    import pyarrow as pa

    kept = [name for name in (*TEXTS[kind], "view_a_name", "view_b_name", "edits") if name in table.schema.names]
    compared = table.select(kept)
    for name, (hypothesis, reference) in COMPARED[kind].items():
        scores = chrf(*(table.column(side).to_pylist() for side in (hypothesis, reference)))
        compared = compared.append_column(name, pa.array(scores, pa.float64()))
    return compared


def _split(table: Any, kind: str, whole: Tally, parts: dict[str, Tally]) -> Iterator[tuple[Tally, Any]]:  # noqa: ANN401
    """The rows with their tally, and of pairs those of each combination of views with theirs."""
    import pyarrow.compute as pc

    yield whole, table
    if kind != "pairs" or not table.num_rows:
        return
    names = [pc.fill_null(table.column(f"{side}_name"), "?") for side in ("view_a", "view_b")]
    joined = pc.binary_join_element_wise(*names, " x ")
    for name in pc.unique(joined).to_pylist():
        known = name if name in parts or len(parts) < MOST_PARTS else OTHERS
        yield parts.setdefault(known, Tally()), table.filter(pc.equal(joined, name))


def _compare(tally: Tally, table: Any) -> None:  # noqa: ANN401 - a pyarrow table
    """Take compared rows of the sample in."""
    tally.sampled += table.num_rows
    for name in CHRF:
        if name in table.schema.names:
            tally.measure(name, table.column(name).to_numpy())
    if "edits" in table.schema.names:
        tally.share("words_changed", *words_changed(table.select(["text", "edits"]).to_pylist()))


def _count_ngrams(table: Any, kind: str, whole: Tally, parts: dict[str, Tally]) -> None:  # noqa: ANN401 - as above
    """Count n-grams of pairs for BLEU, once: all rows have what their combinations have together."""
    for tally, rows in _split(table, kind, whole, parts):
        if tally is whole:
            continue
        one, two = (rows.column(name).to_pylist() for name in ("view_a", "view_b"))
        if whole.bleu is None:
            whole.bleu = SelfBleu(tokenizer_for(one))
        part = SelfBleu(whole.bleu.tokenize)
        part.add(one, two)
        whole.bleu.absorb(part)
        tally.bleu = tally.bleu or SelfBleu(whole.bleu.tokenize)
        tally.bleu.absorb(part)


def _summed_up(tally: Tally, seed: int, parts: Mapping[str, Statistics]) -> Statistics:
    """What was counted, without what there is nothing of."""
    blank = {name for name in ("edits", "alternatives") if name in tally.measures and tally.measures[name].is_blank}
    left_out = blank | ({"words_changed"} if "edits" in blank else set())
    measures = {name: each.summary() for name, each in tally.measures.items() if name not in left_out}
    scores = {name: each.summary() for name, each in tally.scores.items()}
    return Statistics(
        rows=tally.rows,
        shares={name: Share(*share) for name, share in tally.shares.items() if name not in left_out},
        measures={name: each for name, each in measures.items() if each is not None},
        scores={name: each for name, each in scores.items() if each is not None},
        values={name: dict(_most_common(counts)) for name, counts in tally.values.items()},
        sampled=tally.sampled,
        seed=seed,
        chrf_signature=chrf_signature() if tally.sampled else None,
        self_bleu=tally.bleu.score() if tally.bleu else None,
        parts=parts,
    )


def _have_all(table: Any, names: Sequence[str]) -> "NDArray[np.bool_]":  # noqa: ANN401 - a pyarrow table
    """Which rows have something in all of these columns."""
    import numpy as np

    flags = [np.asarray(table.column(name).is_valid(), dtype=np.bool_) for name in names]
    have: NDArray[np.bool_] = np.logical_and.reduce([np.ones(table.num_rows, dtype=np.bool_), *flags])
    return have


def _most_common(counts: Counter[str]) -> list[tuple[str, int]]:
    """The most frequent values first, at most a score of them."""
    return sorted(counts.items(), key=lambda each: (-each[1], each[0]))[:20]
