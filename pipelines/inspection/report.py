"""A dataset as one HTML page that needs no other file: provenance, statistics, rows with their changes."""

from collections.abc import Iterable, Mapping
from itertools import chain
from pathlib import Path
from typing import Any

from augment import __version__
from augment.meaning.judge import sentence_encoder
from augment.models.weights import STARTER_ENCODER
from pipelines.base.console import flat, render_page
from pipelines.base.files import sibling_path
from pipelines.base.record import write_recorded
from pipelines.inspection.inspect import figure, heading, lines, percent, sampling
from pipelines.inspection.opened import QUANTILES, DatasetReader, statistics
from pipelines.options import ReportOptions
from pipelines.storage.card import file_name, public_params, public_signature
from pipelines.storage.dataset import REPORT_FILE, read_plan
from pipelines.storage.pair_files import NEGATIVE

ROWS_PER_REASON = 3
MAX_REASONS = 8


def report_path(path: Path) -> Path:
    """Where a report goes: beside the dataset, but into a folder of pairs, beside which there may be a file of them."""
    plan = read_plan(path)
    is_pairs = plan is not None and plan.kind == "pairs"
    return path / REPORT_FILE if is_pairs else sibling_path(path, REPORT_FILE)


def write_report(out: Path, opened: DatasetReader, options: ReportOptions) -> bool:
    """Write a report; False if it is there already.

    Raises InputError for another file, or report without `overwrite`.
    """
    plan = {
        "kind": "page",
        "--rows": options.rows,
        "--sample": options.sample,
        "--seed": options.seed,
        "the dataset's sha256": opened.digest(),
        "the version of twinviews": __version__,
    }
    return write_recorded(out, plan, lambda: report_html(opened, options), overwrite=options.overwrite)


def report_html(opened: DatasetReader, options: ReportOptions) -> str:
    """The page: `rows` spread evenly, of a view some with each reason, and statistics of `sample` rows (0: of all)."""
    rows, summary = options.rows, statistics(opened, options.sample, options.seed)
    numbers = [(name, number) for name, number in flat(opened.counts) if isinstance(number, int)]
    greatest = max((number for _, number in numbers), default=0)
    groups = {"Rows, spread evenly": opened.sample(rows)}
    for reason in list(opened.counts["reasons"] if opened.kind == "view" and rows else ())[:MAX_REASONS]:
        groups[f"Rows with the reason {reason}"] = opened.sample(ROWS_PER_REASON, reason=reason)
    facts = {**opened.facts}
    if opened.plan is not None:
        inputs = [{**item, "name": file_name(item["name"])} for item in facts["inputs"]]
        facts |= {"inputs": inputs, "params": public_params(facts["params"])}
        facts |= {"signature": public_signature(opened.plan)} if opened.plan.signature else {}
    shown = {title: table.to_pylist() for title, table in groups.items()}
    _add_cosines(chain.from_iterable(shown.values()))
    return render_page(
        "pipelines.inspection",
        figure,
        percent,
        written,
        heading,
        lines,
        opened=opened._replace(facts=facts),
        found=summary,
        version=__version__,
        title=(opened.path if opened.path.name else opened.path.resolve()).name,
        # With the share of the greatest; left out if there is only the number of rows.
        counts=[
            (name, number, number / greatest) for name, number in numbers if greatest and len(numbers) > 1
        ],
        quantiles=list(QUANTILES),
        groups=shown,
        sampling=sampling(summary),
        command=f"augment report --rows {rows} --sample {options.sample} --seed {options.seed}",
    )


def _add_cosines(rows: Iterable[dict[str, Any]]) -> None:
    """Give rows with a negative its cosine and the second view's to the first, by the bundled encoder."""
    contrasted = [row for row in rows if row.get(NEGATIVE)]
    if contrasted:
        texts = [row[name] for name in ("view_a", "view_b", NEGATIVE) for row in contrasted]
        vectors = sentence_encoder(STARTER_ENCODER, "cpu").encode(texts, normalize_embeddings=True)
        views, seconds, negatives = vectors.reshape(3, len(contrasted), -1)
        for row, view, second, negative in zip(contrasted, views, seconds, negatives, strict=True):
            row |= {"cosine of view_b": float(view @ second), f"cosine of {NEGATIVE}": float(view @ negative)}


def written(value: object) -> str:
    """A setting as text: lists and mappings without brackets."""
    if isinstance(value, Mapping):
        value = [f"{key}={item}" for key, item in value.items()]
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
