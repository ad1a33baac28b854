"""`augment inspect`: counts, origin, statistics, and rows with what a view changed in a text marked word by word."""

import shutil
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from difflib import SequenceMatcher
from itertools import groupby
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias

import regex
from rich.console import Console
from rich.table import Table
from rich.text import Text

from pipelines.console import harmless, show, show_json, table
from pipelines.look.opened import QUANTILES, Statistics, open_path, spread, statistics
from pipelines.pairs import NEGATIVE, PAIR_COLUMNS
from pipelines.similarity import UNSPACED

Change: TypeAlias = Literal["same", "removed", "added"]

LONGEST = 1_000
"""Characters of a text that are compared and shown."""
WORD = regex.compile(rf"\s*+(?:(?:(?!{UNSPACED.pattern})[\p{{L}}\p{{N}}_]\p{{M}}*[\u200c\u200d'’‘\-‐‑]?)+|\X)|\s+")
"""A word with its accents and apostrophes, or one sign (an emoji with all its parts, a letter of an unspaced script),
and the white space before it."""
STYLES = {"same": "", "removed": "red strike", "added": "bold green"}
WIDE = 104
"""Columns from which a terminal has room for histograms."""
BARS = " ▁▂▃▄▅▆▇█"


class Piece(NamedTuple):
    """A stretch of text that is in both texts ("same"), in the old one only, or in the new one only."""

    change: Change
    text: str


def pieces(old: str, new: str, edits: Sequence[Mapping[str, Any]] = ()) -> list[Piece]:
    """How `old` became `new`: by the recorded edits if they lead there, otherwise word by word.

    Same and removed pieces make `old`, same and added pieces `new`. Only the first LONGEST characters are compared.
    """
    hidden = max(len(old), len(new)) - LONGEST
    if hidden > 0:
        return [*pieces(old[:LONGEST], new[:LONGEST]), Piece("same", f" … {hidden:,} more characters")]
    parts, at = list[Piece](), 0
    for edit in sorted(edits, key=lambda each: (each["start"], each["end"])):
        parts += [Piece("same", old[at : edit["start"]]), Piece("removed", old[edit["start"] : edit["end"]])]
        parts.append(Piece("added", edit["new"]))
        at = edit["end"]
    parts.append(Piece("same", old[at:]))
    if not edits or "".join(piece.text for piece in parts if piece.change != "removed") != new:
        parts = list(_compared(old, new))
    groups = groupby((piece for piece in parts if piece.text), lambda piece: piece.change)
    return [Piece(change, "".join(piece.text for piece in group)) for change, group in groups]


def _compared(old: str, new: str) -> Iterator[Piece]:
    before, after = WORD.findall(old), WORD.findall(new)
    for what, i, j, k, m in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        gone, come = "".join(before[i:j]), "".join(after[k:m])
        if what == "equal":
            yield Piece("same", gone)
            continue
        both = enumerate(zip(gone, come, strict=False))
        spaces = next((at for at, (one, two) in both if one != two or not one.isspace()), 0)
        yield from (Piece("same", gone[:spaces]), Piece("removed", gone[spaces:]), Piece("added", come[spaces:]))


def wdiff(parts: Iterable[Piece]) -> str:
    """Pieces as wdiff writes them: `a [-big-]{+large+} dog`."""
    marks = {"same": "{}", "removed": "[-{}-]", "added": "{{+{}+}}"}
    return "".join(marks[piece.change].format(piece.text) for piece in parts)


def figure(value: float) -> str:
    """A number in three digits or three decimals, from a hundred on without decimals; a dash for NaN."""
    if value != value:
        return "–"
    if abs(value) >= 100 or value == int(value):
        return f"{value:,.0f}"
    return f"{value:.3f}" if 0.001 <= abs(value) < 0.1 else f"{value:.3g}"


def percent(value: float) -> str:
    """A share as a percentage with one decimal."""
    return f"{100 * value:.1f}"


def flat(counts: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """Nested counts as lines: `reasons: too-long`."""
    nested = {key: value if isinstance(value, Mapping) else {None: value} for key, value in counts.items()}
    return [(key if name is None else f"{key}: {name}", n) for key, each in nested.items() for name, n in each.items()]


def sampling(found: Statistics) -> str:
    """Which rows the statistics are of, and the signatures of chrF and BLEU."""
    signatures = f"; chrF {found.chrf_signature}" if found.chrf_signature else ""
    signatures += f"; self-BLEU {found.self_bleu[1]}" if found.self_bleu else ""
    if found.sampled == found.rows:
        return f"statistics over all {found.rows:,} rows{signatures}"
    return f"statistics over {found.sampled:,} of {found.rows:,} rows, drawn with seed {found.seed}{signatures}"


def heading(kind: str, row: Mapping[str, Any]) -> str:
    """A row's id, and its status, scores and labels."""
    parts = [str(row["id"])]
    if kind == "view":
        parts.append(f"{row['status']} ({row['reason']})" if row["reason"] else str(row["status"]))
    for name, value in row.items() if kind == "pairs" else ():
        if name not in (*PAIR_COLUMNS, NEGATIVE) and value is not None:
            parts.append(f"{name} {figure(value) if isinstance(value, float) else value}")
    return "  ".join(parts)


def lines(kind: str, row: Mapping[str, Any]) -> Iterator[tuple[str, Sequence[Piece]]]:
    """The texts of a row by their names, views as they differ from the sentence."""
    text = row["text"] or ""
    plain = {"view": ("pivot",), "sentences": ("label", "pair")}.get(kind, ())
    for name in ("text", *plain):
        if row.get(name) is not None:
            yield name, pieces(row[name], row[name])
    if kind == "view" and row["view"] is not None:
        yield "view", pieces(text, row["view"], row["edits"] or ())
    for side in ("view_a", "view_b"):
        if row.get(side) is not None:
            yield row[f"{side}_name"] or side, pieces(text, row[side])
    if kind == "pairs" and row.get(NEGATIVE) is not None:
        yield NEGATIVE, pieces(row[NEGATIVE], row[NEGATIVE])


def inspect(path: Path, shown: int, seed: int | None, sampled: int, *, as_json: bool) -> None:
    """Print what is in sentences, a view dataset, pairs or rejects: counts, statistics over a sample, and some rows.

    The seed draws both; without one the rows are spread evenly. Raises InputError for what is damaged or not ours.
    """
    opened = open_path(path)
    rows = opened.take(spread(opened.rows, shown, seed)).to_pylist()
    found = statistics(opened, sampled, seed or 0)
    if as_json:
        whole = {"counts": opened.counts, "statistics": asdict(found)}
        show_json({"kind": opened.kind, "path": str(path), **opened.facts, **whole, "sample": rows})
        return
    facts = [(key, value) for key, value in opened.facts.items() if key not in ("inputs", "params") and value]
    inputs = opened.facts.get("inputs", [])
    origins = [("made from", f"{item['name']} (sha256 {item['sha256'][:12]}…)") for item in inputs]
    table((opened.kind, ""), [("path", opened.path), *facts, *origins])
    table(("counted", "rows"), flat(opened.counts))
    _show_statistics(found)
    for row in rows:
        _show_row(opened.kind, row)


def _show_statistics(found: Statistics) -> None:
    if found.shares:
        rows = [(name, f"{count:,}", f"{of:,}", percent(count / of)) for name, (count, of) in found.shares.items()]
        table(("share", "rows", "of", "%"), rows, right=("rows", "of", "%"))
    if found.measures:
        wide = not sys.stdout.isatty() or shutil.get_terminal_size().columns >= WIDE
        cells = []
        for name, each in found.measures.items():
            bars = "".join(BARS[-(-8 * count // max(each.counts))] for count in each.counts)  # any count above 0 shows
            cells.append([name, figure(each.mean), *map(figure, each.quantiles.values())] + [bars] * wide)
        table(["measure", "mean", *QUANTILES, *["histogram"] * wide], cells, right=["mean", *QUANTILES])
    for name, counts in found.values.items():
        table((f"column {name}", "rows"), counts.items())
    if found.self_bleu:
        show(f"self-BLEU of view_a against view_b: {found.self_bleu[0]:.1f}")
    show(sampling(found))


def _show_row(kind: str, row: Mapping[str, Any]) -> None:
    """A heading and the texts; on a terminal lines are wrapped and, if it can, coloured."""
    title = harmless(heading(kind, row))
    texts = [(harmless(label), parts) for label, parts in lines(kind, row)]
    if not sys.stdout.isatty():
        width = max(5, *(len(label) for label, _ in texts))
        show("\n".join(["", title, *(f"  {label:<{width}}  {harmless(wdiff(parts))}" for label, parts in texts)]))
        return
    console, grid = Console(file=sys.stdout, highlight=False), Table.grid(padding=(0, 2, 0, 0))
    colored = console.color_system is not None and not console.no_color
    for label, parts in texts:
        styled = Text.assemble(*((harmless(piece.text), STYLES[piece.change]) for piece in parts))
        grid.add_row("", label, styled if colored else Text(harmless(wdiff(parts))))
    console.print("", Text(title, "bold"), grid, sep="\n")
