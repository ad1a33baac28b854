"""Verdicts in words and as rows of a table."""

from collections import defaultdict
from collections.abc import Sequence

from trainers.scores.statistics.candidates import MIN_ITEMS, Candidate, Difference

DECIMAL = "{:z.2f}".format
MOST = 20  # times as many items: advice to label more than that is none
SEARCH = ("nDCG", "MRR", "recall")
PAIRS = ("Spearman", "average precision")
RULE = """the mean of a table's figures, then of the tables, decides: sign-flip test of the differences by item at 5%; \
gains are corrected for the number of candidates (Holm), losses, also in single figures, are not"""

LEAKS = {
    "dev": "judged texts chose the encoder (--dev), so judge it on others",
    "texts": "judged texts are in the training text",
}


def sentence(start: str, candidates: Sequence[Candidate], outcome: str, best: str) -> str:
    """Return what to do, and why."""
    clauses = "; ".join(_finding(candidate, start) for candidate in candidates)
    clauses += "".join(_leaks(kind, candidates) for kind in LEAKS)
    advice = {"take": f"take {best}, not {start}", "few": "no verdict"}.get(outcome, f"keep {start}")
    return f"{advice}: {clauses}"


def _finding(candidate: Candidate, start: str) -> str:
    name, mean = candidate.name, candidate.mean
    if mean is None:
        return f"{name}: {_lacking(candidate)}"
    size = f"{abs(mean.difference):.2f} ({_range(mean)}) in {_looked_at(candidate)}"
    losses = ", ".join(f"{loss.title} by {-loss.difference:.2f}" for loss in candidate.losses)
    if candidate.outcome == "better":
        return f"{name} is better by {size}, and clearly worse in no figure"
    if candidate.outcome == "mixed":
        return f"{name} is better by {size}, but worse in {losses}: choose by the figure that you need"
    if candidate.outcome == "worse":
        return f"{name} is worse by {size}"
    worse = f", and it is worse in {losses}" * bool(losses)
    if not any(figure.difference for figure in candidate.figures):
        return f"{name} does exactly as well as {start}"
    # One of several has an interval above 0 and is not taken.
    chance = ", as the best of several may by chance" * (mean.change == "gain")
    if candidate.growth and 1 < candidate.growth <= MOST:
        advice = _advice(candidate.figures, mean.items, candidate.growth)
        return f"{name} gains about {size}{chance}{worse}: {advice}"
    direction = "gains" if mean.difference >= 0 else "loses"
    return (
        f"{name} {direction} about {size}{worse}: no clear change, gains show here from {mean.smallest:.1f} on"
    )


def _leaks(kind: str, candidates: Sequence[Candidate]) -> str:
    """Return how many texts of each table each encoder has seen in one way, in one clause; "" for none."""
    counts = defaultdict[str, list[str]](list)
    for candidate in candidates:
        for leak in candidate.leaks:
            if leak.kind == kind:
                of_table = f"{leak.seen:,} of {leak.judged:,}" + f" ({leak.table})" * bool(leak.table)
                counts[candidate.name].append(of_table)
    encoders = ", ".join(f"of {name} {' and '.join(tables)}" for name, tables in counts.items())
    return f"; but {LEAKS[kind]}: {encoders}" if encoders else ""


def _range(figure: Difference) -> str:
    """Return the interval of a gain, or of a loss by how much it is one."""
    low, high = (figure.low, figure.high) if figure.difference >= 0 else (-figure.high, -figure.low)
    return f"{low:z.2f} to {high:z.2f}"


def _looked_at(candidate: Candidate) -> str:
    """Return what the mean is of."""
    figures = [figure for figure in candidate.figures if figure.change not in ("constant", "few")]
    tables = dict.fromkeys(figure.table for figure in figures)
    if len(figures) == 1:
        return figures[0].title
    return f"the mean of {len(figures)} figures" + f" on {len(tables)} tables" * (len(tables) > 1)


def _lacking(candidate: Candidate) -> str:
    few = [figure for figure in candidate.figures if figure.change == "few"]
    if not few:
        return "all items have one outcome, so judge it on others"
    most = max(few, key=lambda figure: figure.independent)
    kind = " of the rarer kind" * (most.independent < most.items)
    return f"{most.independent} of the {MIN_ITEMS} independent {unit(most.title)}{kind} that a verdict needs"


def _advice(figures: Sequence[Difference], items: int, growth: float) -> str:
    if len({figure.table for figure in figures}) > 1:
        return f"label {max(growth, 1.1):.1f} times as many items in each table to be sure"
    return f"label about {rounded(items * (growth - 1))} more {unit(figures[0].title)} to be sure"


def unit(title: str) -> str:
    """Return what the items of a figure are."""
    if title.startswith(SEARCH):
        return "queries"
    return "pairs" if title.startswith(PAIRS) else "texts"


def rounded(number: float) -> str:
    """Return a number of items, 2 or more, with two figures that count."""
    return f"{int(float(f'{max(number, 2):.1e}')):,}"


def cells(figure: Difference) -> tuple[str, ...]:
    """Return title, items, both scores, their difference with its interval, and p, as they are printed."""
    numbers = map(DECIMAL, (figure.before, figure.after))
    ends = map(DECIMAL, (figure.low, figure.high))
    return figure.title, str(figure.items), *numbers, f"{figure.difference:+z.2f}", *ends, f"{figure.p:.4f}"
