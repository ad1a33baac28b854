"""A dataset as one HTML page that needs nothing beside itself: provenance, statistics, rows with their changes."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from augment import __version__
from augment.errors import InputError
from pipelines.console import harmless
from pipelines.files import UNSEALED, beside, is_written_by, remove_temporaries, seal, write_whole
from pipelines.folder import REPORT_FILE
from pipelines.lock import locked_file
from pipelines.look.figures import (
    QUANTILE_NAMES,
    figure,
    flat,
    measures,
    part_cells,
    percent,
    sampling,
    shares,
)
from pipelines.look.opened import Opened, open_path
from pipelines.look.rowtext import heading, lines
from pipelines.look.sample import Sample, Sampling, Wanted
from pipelines.look.statistics import SAMPLE_ROWS, Statistics, statistics
from pipelines.plan import read_plan

REPORT_ROWS = 20
ROWS_PER_REASON = 3
MOST_REASONS = 8
LONGEST = 1_000
GENERATOR = "Twinviews"
MARK = f'<meta name="generator" content="{GENERATOR} '.encode()
KINDS = {"sentences": "Sentences", "view": "View of sentences", "pairs": "Pairs of views"}
DEFINITIONS = (
    "Lengths are in characters. Quantiles are given to four digits. chrF is the sentence-level chrF2 of sacrebleu, "
    "0 to 100: “chrF, b ~ a” scores view_b with view_a as its reference.",
    "Self-BLEU is the corpus BLEU of view_a with view_b as its only reference, 0 to 100: the lower, the more the two "
    "views differ in wording.",
)


@dataclass(frozen=True, slots=True)
class Page:
    """What is on the page: how many rows, and the sample that slow statistics are of (0 for all) and its seed."""

    rows: int = REPORT_ROWS
    sample: int = SAMPLE_ROWS
    seed: int = 0


def report_path(path: Path) -> Path:
    """Where the report of a dataset goes: `data/pairs.arrow` -> `data/pairs.report.html`, beside a folder too.

    That of a folder of pairs lies in it: beside it may lie the one of a file with the same name.
    """
    is_pairs = path.is_dir() and (plan := read_plan(path)) is not None and plan.kind == "pairs"
    return path / REPORT_FILE if is_pairs else beside(path, REPORT_FILE)


def write_report(path: Path, out: Path | None = None, page: Page | None = None, *, overwrite: bool = False) -> bool:
    """Write the report of sentences, a view dataset, pairs or rejects.

    Args:
        path: The dataset.
        out: The file; beside the dataset if None.
        page: What is on the page.
        overwrite: Replace another report; a file that is no report of ours is never replaced.

    Returns:
        Whether it was written; False if this very report is there already.

    Raises:
        InputError: Nothing of ours at `path`, or something is in the way at `out`.
    """
    target = out if out is not None else report_path(path)
    _check_free(target, overwrite=True)
    html = report_html(open_path(path), page or Page())
    with locked_file(target):
        remove_temporaries(target)
        if target.is_file() and target.read_text(encoding="utf-8") == html:
            return False
        _check_free(target, overwrite=overwrite)
        write_whole(target, html)
    return True


def check_report(path: Path, out: Path, *, overwrite: bool) -> Opened:
    """What a report would be of.

    Raises:
        InputError: As for `write_report`.
    """
    _check_free(out, overwrite=overwrite)
    return open_path(path)


def _check_free(out: Path, *, overwrite: bool) -> None:
    if not out.exists():
        return
    ours = is_written_by(out, MARK, b"<!-- checksum ")
    if not (ours and overwrite):
        raise InputError(f"{out} exists: choose another --out" + (", or --overwrite it" if ours else ""))


def report_html(opened: Opened, page: Page) -> str:
    """The page; equal datasets and settings make equal pages."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("pipelines.look"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        finalize=_shown,
    )
    environment.filters |= {"figure": figure, "percent": percent}
    samplings = {title: Sampling(opened, wanted) for title, wanted in _wanted(opened, page).items()}
    found = statistics(opened, sample=page.sample, seed=page.seed, also=[each.count for each in samplings.values()])
    groups = [_group(opened.kind, title, each.sample()) for title, each in samplings.items()]
    html = environment.get_template("report.html").render(_content(opened, found, page, groups))
    return seal(f"{html}<!-- checksum {UNSEALED} -->\n")


def _shown(value: Any) -> Any:  # noqa: ANN401 - whatever a template puts out
    """Control characters in data are shown, not obeyed; what the template itself made is left alone."""
    return harmless(value) if type(value) is str else value


def _content(opened: Opened, found: Statistics, page: Page, groups: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    facts = opened.facts
    return {
        "generator": f"{GENERATOR} {__version__}",
        "kind": KINDS[opened.kind],
        "title": (opened.path if opened.path.name else opened.path.resolve()).name,
        "signature": facts.get("signature"),
        "unfinished": opened.unfinished,
        "tiles": list(_tiles(found, opened)),
        "rows": found.rows,
        "counts": _counted(opened.counts),
        "shares": shares(found),
        "measures": measures(found, opened.kind),
        "quantiles": QUANTILE_NAMES,
        "parts": [part_cells(name, part) for name, part in found.parts.items()],
        "columns": found.values,
        "groups": groups,
        "marked": opened.kind != "sentences",
        "facts": list(_facts(facts)),
        "inputs": facts.get("inputs", []),
        "notes": list(_notes(found, page)),
    }


def _tiles(found: Statistics, opened: Opened) -> Iterator[tuple[str, str]]:
    """The few numbers that a reader wants first."""
    yield "rows", f"{found.rows:,}"
    named = {"unchanged": "views equal their sentence", "identical": "pairs of identical views"}
    for name, label in named.items():
        if name in found.shares:
            yield label, f"{percent(found.shares[name].value)} %"
    means = {"achieved_fraction": "achieved fraction, mean", "words": "words, mean", "characters": "characters, mean"}
    means["chrf"] = f"chrF of {'the two views' if opened.kind == 'pairs' else 'view and sentence'}, mean*"
    for name, label in means.items():
        if name in found.measures:
            yield label, figure(found.measures[name].mean)
    if found.self_bleu is not None:
        yield "self-BLEU*", f"{found.self_bleu.score:.1f}"


def _counted(counts: Mapping[str, Any]) -> list[tuple[str, int, float]]:
    """What was counted, each beside the greatest number; nothing where it is no more than the number of rows."""
    lines = [(name, number) for name, number in flat(counts) if isinstance(number, int)]
    most = max((number for _, number in lines), default=0)
    return [(name, number, number / most) for name, number in lines] if most and len(lines) > 1 else []


def _wanted(opened: Opened, page: Page) -> dict[str, Wanted]:
    """Rows spread evenly, and of a view some of those that have none, by reason; each with its title."""
    wanted = {"Rows, spread evenly": Wanted(page.rows)}
    if opened.kind == "view" and page.rows:
        for reason in list(opened.counts.get("reasons", {}))[:MOST_REASONS]:
            wanted[f"Rows with the reason {reason}"] = Wanted(ROWS_PER_REASON, reason=reason, exact=True)
    return wanted


def _group(kind: str, title: str, sample: Sample) -> dict[str, Any]:
    rows = sample.rows
    return {
        "title": title,
        "rows": [{"heading": heading(kind, row), "lines": list(lines(kind, row, LONGEST))} for row in rows],
    }


def _facts(facts: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for name, value in facts.items():
        if name == "params":
            yield from ((key.replace("_", "-"), _written(each)) for key, each in value.items())
        elif name != "inputs" and value is not None:
            yield name, _written(value)


def _written(value: object) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{key}={each}" for key, each in value.items())
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


def _notes(found: Statistics, page: Page) -> Iterator[str]:
    starred = sampling(found)
    if starred is not None:
        yield starred + (f"; self-BLEU {found.self_bleu.signature}" if found.self_bleu else "") + "."
        yield from DEFINITIONS
    options = f"--rows {page.rows} --sample {page.sample} --seed {page.seed}"
    yield f"Written by twinviews {__version__}: augment report {options}"


def report_pairs(pairs: Path, target: Path) -> None:
    """Write the report of pairs that were just made, in the place of an older one; the caller holds the lock of both.

    Raises:
        InputError: A file that is no report of ours is in the way.
    """
    _check_free(target, overwrite=True)
    write_whole(target, report_html(open_path(pairs), Page()))
