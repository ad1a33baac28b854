"""A dataset as one HTML page that needs no other file: provenance, statistics, rows with their changes."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from augment import __version__
from augment.errors import InputError
from pipelines.files import UNSEALED, beside, is_written_by, remove_temporaries, seal, write_whole
from pipelines.folder import REPORT_FILE
from pipelines.lock import locked_file
from pipelines.look.inspect import figure, flat, heading, lines, percent, sampling
from pipelines.look.opened import QUANTILES, Opened, open_path, spread, statistics
from pipelines.page import render_page
from pipelines.plan import read_plan

ROWS_PER_REASON = 3
MOST_REASONS = 8
MARK = b'<meta name="generator" content="Twinviews '


def report_path(path: Path) -> Path:
    """Where the report of a dataset goes: beside it, as in `data/pairs.report.html`, or into a folder of pairs.

    The report beside a folder of pairs may belong to a file with the same name.
    """
    is_pairs = path.is_dir() and (plan := read_plan(path)) is not None and plan.kind == "pairs"
    return path / REPORT_FILE if is_pairs else beside(path, REPORT_FILE)


def write_report(path: Path, out: Path, rows: int, sampled: int, seed: int, *, overwrite: bool) -> bool:
    """Write the report of sentences, a view dataset, pairs or rejects; False if this very report exists already.

    The page shows `rows`, spread evenly, and statistics of `sampled` rows drawn by the seed (0: of all). Raises
    InputError if any other file than a report is at `out`.
    """
    check_free(out, overwrite=True)
    html = report_html(open_path(path), rows, sampled, seed)
    with locked_file(out):
        remove_temporaries(out)
        if out.is_file() and out.read_bytes() == html.encode():
            return False
        check_free(out, overwrite=overwrite)
        write_whole(out, html)
    return True


def check_free(out: Path, *, overwrite: bool) -> None:
    """Raise InputError if `out` exists, unless it is a report and `overwrite` is given."""
    if out.exists():
        ours = is_written_by(out, MARK, b"<!-- checksum ")
        if not (ours and overwrite):
            raise InputError(f"{out} exists: choose another --out" + (", or --overwrite it" if ours else ""))


def report_html(opened: Opened, rows: int, sampled: int, seed: int) -> str:
    """The page; equal datasets and settings make equal pages."""
    found = statistics(opened, sampled, seed)
    numbers = [(name, number) for name, number in flat(opened.counts) if isinstance(number, int)]
    most = max((number for _, number in numbers), default=0)
    html = render_page(
        "pipelines.look",
        figure,
        percent,
        written,
        opened=opened,
        found=found,
        version=__version__,
        title=(opened.path if opened.path.name else opened.path.resolve()).name,
        # With the share of the greatest; left out if there is only the number of rows.
        counts=[(name, number, number / most) for name, number in numbers] if most and len(numbers) > 1 else [],
        quantiles=list(QUANTILES),
        groups=dict(_groups(opened, rows)),
        sampling=sampling(found),
        command=f"augment report --rows {rows} --sample {sampled} --seed {seed}",
    )
    return seal(f"{html}<!-- checksum {UNSEALED} -->\n")


def _groups(opened: Opened, rows: int) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Titles and rows: some spread evenly and, of a view, some with each reason."""
    groups = {"Rows, spread evenly": opened.take(spread(opened.rows, rows))}
    reasons = opened.counts["reasons"] if opened.kind == "view" and rows else {}
    for reason, total in list(reasons.items())[:MOST_REASONS]:
        groups[f"Rows with the reason {reason}"] = opened.take(spread(total, ROWS_PER_REASON), reason)
    for title, table in groups.items():
        found = table.to_pylist()
        yield title, [{"heading": heading(opened.kind, row), "lines": list(lines(opened.kind, row))} for row in found]


def written(value: object) -> str:
    """A setting as text: lists and mappings without brackets."""
    if isinstance(value, Mapping):
        value = [f"{key}={each}" for key, each in value.items()]
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
